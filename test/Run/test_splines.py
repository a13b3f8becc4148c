# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of B-splines (KAN), as torch's exporter writes them."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_models import make_model
from runs import attempt, run_mp_opt, scratch_dir


class Spline:
    """y[b, o] = sum over f, k of w[o, f, k] B_k(l(x)[b, f])."""

    def __init__(self, features, outputs, order, cells):
        self.nodes, self.constants = [], []
        rng = np.random.default_rng(order)
        knots = (np.arange(-order, cells + order + 1) * 2 / cells - 1).astype("f")
        self.grid = self.constant(np.tile(knots, (features, 1)))
        weight = rng.normal(0, 0.3, (features, 3)).astype("f")
        self.constant(weight, "l.weight")
        self.constant(np.zeros(features, "f"), "l.bias")
        shape = outputs, features, cells + order
        self.constant(rng.normal(0, 0.3, shape).astype("f"), "w")
        x = self.add("Gemm", "x", "l.weight", "l.bias", transB=1)
        basis = self.add("Flatten", self.make_basis(x, order), axis=1)
        w = self.add("Transpose", self.add("Flatten", "w", axis=1), perm=[1, 0])
        self.nodes.append(helper.make_node("MatMul", [basis, w], ["y"]))
        self.outputs = outputs

    def constant(self, value, name=None):
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def part(self, value, axis, begin, end):
        ints = (self.constant(np.array([n])) for n in (begin, end, axis))
        return self.add("Slice", value, *ints)

    def ratio(self, top, bottom):
        return self.add(
            "Div", self.add("Sub", *top), self.add("Sub", *bottom)
        )

    def make_basis(self, x, order):
        """De Boor's recursion."""
        last = 2**62
        x = self.add("Unsqueeze", x, self.constant(np.array([2])))

        def knots(begin, end):
            return self.part(self.grid, 1, begin, end)

        inside = self.add(
            "And",
            self.add("GreaterOrEqual", x, knots(0, -1)),
            self.add("Less", x, knots(1, last)),
        )
        basis = self.add("Cast", inside, to=onnx.TensorProto.FLOAT)
        for k in range(1, order + 1):
            low, high = knots(0, -k - 1), knots(k + 1, last)
            left = self.ratio((x, low), (knots(k, -1), low))
            right = self.ratio((high, x), (high, knots(1, -k)))
            basis = self.add(
                "Add",
                self.add("Mul", left, self.part(basis, 2, 0, -1)),
                self.add("Mul", right, self.part(basis, 2, 1, last)),
            )
        return basis

    def save(self, path, batch):
        model = make_model(
            self.nodes, {"x": [batch, 3]}, {"y": [batch, self.outputs]},
            self.constants, name="spline"
        )
        onnx.save(model, path)


@pytest.mark.parametrize(
    "features, outputs, order, batch", [(2, 1, 3, "batch"), (1, 2, 3, 6)]
)
def test_gradients(features, outputs, order, batch):
    onnxruntime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    folder = scratch_dir()
    model, step = f"{folder}/m.onnx", f"{folder}/step.onnx"
    Spline(features, outputs, order, cells=4).save(model, batch)
    flags = ["--train", "--loss=mse", "--optimizer=none", "-o", step]
    run_mp_opt(model, *flags)
    session = onnxruntime.InferenceSession(step)
    batch = {
        i.name: rng.uniform(
            -1, 1, [s if isinstance(s, int) else 5 for s in i.shape]
        ).astype("f")
        for i in session.get_inputs()
    }
    expected = session.run(None, batch)
    np.savez(f"{folder}/batch.npz", **batch)
    results = f"{folder}/results.npz"
    done = attempt("run", step, f"{folder}/batch.npz", "-o", results)
    assert done.returncode == 0, done.stderr
    found = np.load(results)
    for output, value in zip(session.get_outputs(), expected):
        np.testing.assert_allclose(
            found[output.name], value, rtol=1e-4, atol=1e-5
        )
