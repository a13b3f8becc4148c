# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random nodes of every op at every version, most of them wrong.

Inputs too many, too few or absent, of unknown, wrong or odd types; attributes
out of range. Whatever the node, mp-opt says what is wrong or converts it: it
neither crashes nor contradicts itself. ONNX's own inference functions, which
import calls, take much for granted.
"""

import os
import random
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))

from properties import RUNNER, Runner

COUNT = 20000
SCHEMAS = [
    schema
    for schema in onnx.defs.get_all_schemas_with_history()
    if schema.domain in ("", "ai.onnx.ml")
]
SHAPES = [(), (0,), (1,), (2,), (4,), (2, 3), (3, 1, 2), (1, 2, 4, 4)]
AttrType = onnx.defs.OpSchema.AttrType
VALUES = {
    AttrType.INT: [0, 1, -1, 2, 3, 100, -(2**40), 2**40],
    AttrType.FLOAT: [0.0, 1.0, -1.0, float("nan"), 1e30],
    AttrType.STRING: ["", "ij,jk->ik", "SAME_UPPER", "->", "i", "nearest"],
    AttrType.INTS: [[0], [1, 1], [-1], [2**40, 2], [0] * 4, [-5], [3] * 9],
    AttrType.FLOATS: [[1.0, 2.0], [float("inf")]],
    AttrType.STRINGS: [["a"], ["", "b"]],
    AttrType.TENSOR: [
        numpy_helper.from_array(np.zeros(shape, dtype))
        for shape in ((), (1,), (2, 2))
        for dtype in (np.float32, np.int64)
    ],
}


def attributes_of(rng, schema):
    """None if a required one cannot be made: those that are graphs."""
    chosen = {}
    for name, attribute in schema.attributes.items():
        values = VALUES.get(attribute.type)
        if values is None and attribute.required:
            return None
        if values and (attribute.required or rng.random() < 0.4):
            chosen[name] = rng.choice(values)
    return chosen


class Parts:
    """What a graph of one node consists of."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes, self.weights = [], []
        info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        self.inputs = [info]

    def operand(self, name):
        rng, shape = self.rng, self.rng.choice(SHAPES)
        kind = rng.choice(["absent", "unknown", "behind", "float", "int64",
                           "weight", "sizes"])  # fmt: skip
        if kind == "absent":
            return ""
        if kind in ("unknown", "behind"):
            inner = name if kind == "unknown" else name + "_"
            self.nodes.append(helper.make_node("Op", ["x"], [inner], domain="my"))
            if kind == "behind":
                self.nodes.append(helper.make_node("Identity", [inner], [name]))
        elif kind in ("float", "int64"):
            dims = rng.choice([list(shape), ["q"] * len(shape), None])
            dtype = getattr(TensorProto, kind.upper())
            info = helper.make_tensor_value_info(name, dtype, dims)
            self.inputs.append(info)
        else:
            value = rng.choice([1.0, -2.0, 1e30])
            if kind == "sizes":
                value = rng.choice([0, 1, -1, 5, 2**40, -(2**62)])
            dtype = np.float32 if kind == "weight" else np.int64
            array = np.full(shape, value, dtype)
            self.weights.append(numpy_helper.from_array(array, name))
        return name


def make_model(rng, schema, attributes):
    parts = Parts(rng)
    most = min(schema.max_input, schema.min_input + 3) + 1
    count = rng.choice([schema.min_input, rng.randint(0, most)])
    inputs = [parts.operand(f"a{index}") for index in range(count)]
    most = min(schema.max_output, max(1, schema.min_output) + 2) + 1
    outputs = [f"y{index}" for index in range(rng.randint(1, most))]
    parts.nodes.append(
        helper.make_node(
            schema.name, inputs, outputs, domain=schema.domain, **attributes
        )
    )
    graph = helper.make_graph(
        parts.nodes,
        "g",
        parts.inputs,
        [onnx.ValueInfoProto(name="y0")],
        parts.weights,
    )
    opsets = {"": 17, "my": 1, schema.domain: schema.since_version}
    imports = [helper.make_opsetid(d, v) for d, v in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.skipif(not os.access(RUNNER, os.X_OK), reason="no runner built")
def test_hostile_nodes(tmp_path):
    rng, runner, found = random.Random(0), Runner(), []
    converted = 0
    for index in range(COUNT):
        schema = rng.choice(SCHEMAS)
        attributes = attributes_of(rng, schema)
        if attributes is None:
            continue
        model = make_model(rng, schema, attributes)
        low = rng.choice(["bf16", "fp16"])
        pipeline = f"builtin.module(mp-mixed-precision{{precision={low}}})"
        data = model.SerializeToString()
        report, _, _ = runner.run({"pipeline": pipeline}, data)
        error = report.get("error", "")
        converted += not error
        wrong = report.get("violations", [])
        if error and ("runner ended" in error or error == "no message"):
            wrong = [error]
        if wrong:
            text = onnx.printer.to_text(model)
            found.append(f"{index}: {low}: {wrong}\n{text}")
    runner.stop()
    print("\n".join(found))
    assert not found
    assert COUNT / 10 < converted < COUNT
