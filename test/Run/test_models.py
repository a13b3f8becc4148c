# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and their gradients in 16 bit, compiled, are as good as others'.

Outputs: the error against float64 is at most three times that of the same
casts around fp32 nodes in onnxruntime. Gradients: at most three times that of
torch's autocast (test/Training/test_autocast.py).
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

from runs import MODELS, mp_run, run_mp_opt, scratch_dir

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Training"))
from test_autocast import (  # noqa: E402
    ERRORS, FACTOR, check_errors, find_errors, read_batch,
)

COSINE = {"bf16": 0.999, "fp16": 0.9999}
FORWARD = sorted(p.parent.name for p in MODELS.glob("fwd/*/model.onnx"))
each_type = pytest.mark.parametrize("dtype", COSINE)


def run_onnxruntime(path, data):
    session = onnxruntime.InferenceSession(path)
    arrays = np.load(data)
    feeds = {i.name: arrays["in:" + i.name] for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def compare(model, changed, data):
    """The errors of the second one's outputs against the first in float64."""
    done = mp_run("compare", model, changed, data, "--json", "--nodes=0")
    return json.loads(done.stdout)["models"][1]["outputs"]


def is_good(errors, reference, dtype):
    """Of an output: `reference` is the error that others make."""
    bound = FACTOR * reference + 1e-5 * errors["rms"]
    good = errors["rmse"] <= bound and errors["cosine"] >= COSINE[dtype]
    return good and errors["new_specials"] == 0


def convert(model, dtype):
    folder = scratch_dir("models")
    mixed, emulated = folder / "mixed.onnx", folder / "emulated.onnx"
    for path, flags in ((mixed, []), (emulated, ["--emulate"])):
        run_mp_opt(
            model, f"--mixed-{dtype}", *flags, "--summary=none", "-o", path
        )
    return mixed, emulated


def find_references(model, emulated, data):
    """The errors of onnxruntime's outputs, by name."""
    exact = run_onnxruntime(model, data)
    rounded = run_onnxruntime(emulated, data)
    differences = {n: rounded[n].astype("f8") - e for n, e in exact.items()}
    return {n: np.sqrt(np.mean(d**2)) for n, d in differences.items()}


@pytest.mark.parametrize("name", FORWARD)
@each_type
def test_outputs(name, dtype):
    folder = MODELS / "fwd" / name
    model, data = folder / "model.onnx", folder / "io0.npz"
    mixed, emulated = convert(model, dtype)
    references = find_references(model, emulated, data)
    outputs = compare(model, mixed, data)
    assert {errors["name"] for errors in outputs} == references.keys()
    for errors in outputs:
        assert errors["rms"] > 0 and errors["rmse"] > 0
        assert is_good(errors, references[errors["name"]], dtype), errors


def test_a_dropped_bias_is_noticed(tmp_path):
    folder = MODELS / "fwd" / "resnet18_w8_op17"
    model, data = folder / "model.onnx", folder / "io0.npz"
    mixed, emulated = convert(model, "fp16")
    references = find_references(model, emulated, data)
    wrong = onnx.load(mixed)
    last = [n for n in wrong.graph.node if n.op_type == "Gemm"][-1]
    (bias,) = [t for t in wrong.graph.initializer if t.name == last.input[2]]
    zeros = np.zeros_like(onnx.numpy_helper.to_array(bias))
    bias.CopyFrom(onnx.numpy_helper.from_array(zeros, bias.name))
    onnx.save(wrong, tmp_path / "wrong.onnx")
    (errors,) = compare(model, tmp_path / "wrong.onnx", data)
    assert not is_good(errors, references[errors["name"]], "fp16")


@pytest.mark.parametrize("name", sorted(ERRORS))
@each_type
def test_gradients(tmp_path, name, dtype):
    feeds, exact = read_batch(name)
    np.savez(tmp_path / "batch.npz", **feeds)
    step = tmp_path / "step.onnx"
    loss = "mse" if name == "mlp_mse" else "softmax-cross-entropy"
    run_mp_opt(
        MODELS / "train" / name / "forward.onnx", "--train", f"--loss={loss}",
        "--optimizer=none", f"--mixed-{dtype}", "--summary=none", "-o", step,
    )
    mp_run("run", step, tmp_path / "batch.npz", "-o", tmp_path / "found.npz")
    found = dict(np.load(tmp_path / "found.npz"))
    check_errors(find_errors(found, exact), exact, ERRORS[name][dtype])
