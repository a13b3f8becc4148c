# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps that mp-opt makes, run in onnxruntime."""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Support"))
from onnx_models import make_model  # noqa: E402
from support import run_mp_opt, scratch_dir  # noqa: E402

UPDATED = "_new"
SCALE = "loss_scale"
SKIPPED = "loss_scale.skipped_steps"


def make_net(sizes=(4, 8, 3), seed=0, unused=False):
    """A forward model: layers of MatMul, Add and, between them, Relu."""
    rng = np.random.default_rng(seed)
    nodes, weights, value = [], {}, "x"
    for index, (inner, outer) in enumerate(zip(sizes, sizes[1:])):
        weight = rng.normal(size=(inner, outer)) / np.sqrt(inner)
        weights[f"w{index}"] = weight.astype(np.float32)
        weights[f"b{index}"] = np.zeros(outer, np.float32)
        last = index == len(sizes) - 2
        operands = [[value, f"w{index}"], [f"m{index}", f"b{index}"]]
        made = "y" if last else f"a{index}"
        nodes.append(helper.make_node("MatMul", operands[0], [f"m{index}"]))
        nodes.append(helper.make_node("Add", operands[1], [made]))
        if not last:
            value = f"r{index}"
            nodes.append(helper.make_node("Relu", [made], [value]))
    outputs = {"y": ["N", sizes[-1]]}
    if unused:
        weights["unused"] = np.ones(3, np.float32)
        nodes.append(helper.make_node("Add", ["unused", "unused"], ["aside"]))
        outputs["aside"] = [3]
    inputs = {"x": ["N", sizes[0]]}
    return make_model(nodes, inputs, outputs, weights, 18, 9, name="net")


def batch(sizes=(4, 8, 3), count=8, seed=1, scale=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, sizes[0])).astype(np.float32)
    labels = rng.normal(size=(count, sizes[-1])) * scale
    return {"x": x, "labels": labels.astype(np.float32)}


def session_options():
    """One thread, and nothing rewritten: sums keep their order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    return options


class Step:
    """A step model with its state."""

    def __init__(self, source, *flags, train=True):
        folder = self.folder = scratch_dir("step")
        if isinstance(source, onnx.ModelProto):
            onnx.save(source, folder / "source.onnx")
            source = folder / "source.onnx"
        self.path = path = folder / "step.onnx"
        train = ["--train"] if train else []
        self.messages = run_mp_opt(
            source, *train, *flags, "-o", path, "--summary=none"
        ).stderr
        self.model = onnx.load(path)
        onnx.checker.check_model(self.model, full_check=True)
        self.session = onnxruntime.InferenceSession(
            path, session_options(), providers=["CPUExecutionProvider"]
        )
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.state = {
            name: value
            for name, value in self.defaults().items()
            if name + UPDATED in self.outputs
        }

    def defaults(self):
        """The values that inputs have if they are not given."""
        inputs = {i.name for i in self.model.graph.input}
        return {
            t.name: onnx.numpy_helper.to_array(t, self.folder)
            for t in self.model.graph.initializer
            if t.name in inputs
        }

    def run(self, feeds):
        """One step; the outputs by name."""
        values = self.session.run(None, {**self.state, **feeds})
        results = dict(zip(self.outputs, values))
        self.state = {
            name: results[name + UPDATED] for name in self.state
        }
        return results

    def trained(self):
        """The state without that of loss scaling."""
        return {
            name: value
            for name, value in self.state.items()
            if not name.startswith(SCALE)
        }


def same_bits(a, b):
    return a.keys() == b.keys() and all(
        a[n].dtype == b[n].dtype and a[n].tobytes() == b[n].tobytes()
        for n in a
    )
