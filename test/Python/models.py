# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of the tests."""

import pathlib
import subprocess

import onnx.parser
from onnx import helper
from support import MP_OPT

ROOT = pathlib.Path(__file__).parents[2]
CLASSIFIER = ROOT / "examples/training/classifier.onnxtxt"


def parse(text):
    return onnx.parser.parse_model(text)


def write_classifier(folder):
    """As a file of ONNX."""
    path = folder / "classifier.onnx"
    subprocess.run([MP_OPT, CLASSIFIER, "-o", path], check=True)
    return path


def identity(kind, sizes="N,2"):
    """A model that gives what it takes, of a type as ONNX's text spells it."""
    return parse(
        '<ir_version: 10, opset_import: ["": 21]>\n'
        f"copy ({kind}[{sizes}] x) => ({kind}[{sizes}] y) {{ y = Identity(x) }}"
    )


def big_chain(length=60, width=64):
    """Something that takes a while to compile."""
    weights = [
        helper.make_tensor(
            f"w{i}", 1, [width, width], [(i % 7 - 3) / width] * width * width
        )
        for i in range(length)
    ]
    nodes, last = [], "x"
    for i in range(length):
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]))
        kind = ("Gelu", "Softmax", "Sigmoid", "Elu")[i % 4]
        nodes.append(helper.make_node(kind, [f"m{i}"], [f"h{i}"]))
        last = f"h{i}"
    graph = helper.make_graph(
        nodes, "chain",
        [helper.make_tensor_value_info("x", 1, ["n", width])],
        [helper.make_tensor_value_info(last, 1, ["n", width])],
        weights,
    )  # fmt: skip
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    )
