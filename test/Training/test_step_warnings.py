# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What onnxruntime warns of in a step: defaults of inputs, and nothing else.

That a parameter or a state may be given makes its default no constant, and
onnxruntime says so once for each; a step that it runs needs them so.
"""

import sys

import onnx
import pytest

from support import MODELS, attempt, run_mp_opt, scratch_dir, training_models

FLAGS = {
    "fp32": (),
    "fp16": ("--mixed-fp16",),
    "bf16": ("--mixed-bf16", "--emulate"),
    "clipped": ("--clip-norm=1", "--accumulate=2", "--average=ema:decay=0.9"),
}
# Only a new process has its own log.
LOAD = "import sys, onnxruntime; onnxruntime.InferenceSession(sys.argv[1])"
DEFAULT = "appears in graph inputs and will not be treated as constant"


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("name", training_models())
def test_only_defaults_are_warned_of(name, flags):
    loss = "mse" if name == "mlp_mse" else "softmax-cross-entropy"
    step = scratch_dir(name) / "step.onnx"
    run_mp_opt(
        MODELS / "train" / name / "forward.onnx",
        "--train", f"--loss={loss}", "--optimizer=adamw", "--summary=none",
        *flags, "-o", step,
    )
    graph = onnx.load(step).graph
    read = {value for node in graph.node for value in node.input}
    read |= {output.name for output in graph.output}
    for node in graph.node:
        assert node.op_type != "Constant" or node.output[0] in read, node.name
    done = attempt(
        "-c", LOAD, step, program=sys.executable, code=0
    )
    lines = done.stderr.splitlines()
    warnings = [line for line in lines if ":onnxruntime:" in line]
    others = [line for line in warnings if DEFAULT not in line]
    assert not others, others[0]
    inputs = {value.name for value in graph.input}
    assert len(warnings) == sum(t.name in inputs for t in graph.initializer)
