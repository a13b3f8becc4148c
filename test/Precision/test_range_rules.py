# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mp-annotate-ranges says that a value reaches, against what it does.

Random graphs of constants, inputs and every operator that has a rule. Of
vectors a claim must be true; of single numbers, where ranges are points, every
overflow must be claimed as well.
"""

import re

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import make_model
from support import run_mp_opt

NODES = 100
FP16_OVERFLOW = 65520.0
UNARY = [
    "Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid",
    "HardSwish", "Identity", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal",
    "Relu", "Round", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus",
    "Softsign", "Sqrt", "Tanh", "Transpose", "Neg", "Abs",
]
BINARY = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Sum", "Add", "Mul"]
# Their rules know bounds only.
LOOSE = {"Cos", "HardSigmoid", "HardSwish", "Mish", "Sign", "Sin", "Softmax"}
# Shape inference and indices come with these.
VECTORS = ["Concat", "Slice", "ReduceMax", "ReduceMin", "MatMul", "Where"]
MARKED = re.compile(r'mp\.hazard = .*onnx\.results = \["(\w+)"\]')
CLAIM = re.compile(r"mp\.hazard = \"result '(\w+)' reaches ([^,]+),")


def make_value(rng):
    scale = 10.0 ** rng.uniform(-3, 5)
    return np.float32(rng.choice([-1, 1]) * scale)


class Builder:
    def __init__(self, seed, width):
        self.rng = np.random.default_rng(seed)
        self.width = width
        self.nodes, self.constants, self.values = [], [], []
        for index in range(12):
            data = np.array([make_value(self.rng) for _ in range(width)])
            self.add_constant(f"c{index}", data.astype(np.float32))
            self.values.append(f"c{index}")
        self.values.append("x")

    def add_constant(self, name, data):
        self.constants.append(numpy_helper.from_array(data, name))

    def pick(self):
        # Most operands are recent, which makes the graph deep.
        back = min(int(self.rng.exponential(12)), len(self.values) - 1)
        return self.values[-1 - back]

    def add_node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def add_vector_op(self, op):
        if op == "Concat":
            joined = self.add_node(op, self.pick(), self.pick(), axis=0)
            return self.add_node("Slice", joined, "begin", "end")
        if op == "Slice":
            part = self.add_node(op, self.pick(), "begin", "one_i")
            return self.add_node("Expand", part, "shape")
        if op in ("ReduceMax", "ReduceMin"):
            part = self.add_node(op, self.pick())
            return self.add_node("Expand", part, "shape")
        if op == "MatMul":
            part = self.add_node(op, self.pick(), self.pick())
            return self.add_node("Expand", part, "shape")
        return self.add_node(op, "mask", self.pick(), self.pick())

    def build(self):
        for name, data in (("begin", 0), ("one_i", 1), ("end", self.width)):
            self.add_constant(name, np.array([data], np.int64))
        self.add_constant("shape", np.array([self.width], np.int64))
        self.add_constant("mask", np.arange(self.width) % 2 == 0)
        ops = UNARY + 2 * BINARY + (VECTORS if self.width > 1 else [])
        while len(self.nodes) < NODES:
            op = str(self.rng.choice(ops))
            if op in VECTORS:
                name = self.add_vector_op(op)
            elif op in UNARY:
                name = self.add_node(op, self.pick())
            else:
                name = self.add_node(op, self.pick(), self.pick())
            self.values.append(name)
        outputs = [
            helper.make_tensor_value_info(n.output[0], TensorProto.FLOAT, None)
            for n in self.nodes
        ]
        shape = [self.width]
        return make_model(
            self.nodes, {"x": shape}, outputs, self.constants, opset=18
        )


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("seed", range(25))
def test_claims(seed, width, tmp_path):
    model = Builder(seed, width).build()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    done = run_mp_opt(path, "--mp-annotate-ranges=precision=fp16")
    claims = dict(CLAIM.findall(done.stdout))
    marked = set(MARKED.findall(done.stdout))
    options = ort.SessionOptions()
    options.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    session = ort.InferenceSession(model.SerializeToString(), options)
    x = np.full(width, 70000 if seed % 2 else 0.5, np.float32)
    names = [value.name for value in model.graph.output]
    results = dict(zip(names, session.run(names, {"x": x}), strict=True))
    for name, number in claims.items():
        reached = np.abs(results[name]).max()
        assert reached >= float(number) * (1 - 1e-4), name
    if width > 1:
        return
    # The range of these values, and of values computed from them, is unknown.
    unknown = {"x"}
    for node in model.graph.node:
        name = node.output[0]
        if unknown & set(node.input) or node.op_type in LOOSE:
            unknown.add(name)
            continue
        value = np.abs(results[name]).max()
        if FP16_OVERFLOW * 1.001 < value < 1e38:
            assert name in marked, (node.op_type, value)


def test_claims_are_made(tmp_path):
    total = 0
    for seed in range(12):
        path = tmp_path / f"{seed}.onnx"
        onnx.save(Builder(seed, 3).build(), path)
        done = run_mp_opt(path, "--mp-annotate-ranges=precision=fp16")
        total += done.stdout.count(" reaches ")
    assert total > 10
