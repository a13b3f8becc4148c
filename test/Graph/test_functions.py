# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with model-local functions, big and hostile ones among them.

What converts well is in models/traps/function_*.onnxtxt; here is what must come back
as it was, and what grows without bounds where every call has its own clone.
"""

import pathlib
import time

import onnx
import pytest
from onnx import helper
from onnx_models import make_model
from support import DTYPES, attempt, run_mp_opt

TRAPS = pathlib.Path(__file__).parents[1] / "models" / "traps"
FUNCTIONS = sorted(p.stem for p in TRAPS.glob("function*.onnxtxt"))
SECONDS = 20
IMPORTS = [helper.make_opsetid("", 22), helper.make_opsetid("loc", 1)]


def function(name, nodes, inputs=("p",), outputs=("r",)):
    return helper.make_function(
        "loc", name, list(inputs), list(outputs), nodes, IMPORTS
    )


def call(name, source, target):
    return helper.make_node(name, [source], [target], domain="loc")


def model(nodes, functions):
    return make_model(
        nodes, {"x": [4, 4]}, {"y": [4, 4]}, opset=IMPORTS[0].version,
        ir=10, domains=["loc"], functions=functions,
    )  # fmt: skip


def chain(length, calls):
    """Functions that call the next one `calls` times; the last one computes."""
    functions = []
    for index in range(length):
        names = ["p", *(f"t{i}" for i in range(1, calls)), "r"]
        nodes = [
            call(f"f{index + 1}", *pair)
            for pair in zip(names, names[1:], strict=False)
        ]
        functions.append(function(f"f{index}", nodes))
    last = [
        helper.make_node("MatMul", ["p", "p"], ["t"]),
        helper.make_node("Tanh", ["t"], ["r"]),
    ]
    return [*functions, function(f"f{length}", last)]


def convert(source, tmp_path, *flags):
    """The source's and the output's path; fails if it takes too long."""
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(source, before)
    start = time.monotonic()
    run_mp_opt(before, *flags, "-o", after)
    assert time.monotonic() - start < SECONDS
    return before, after


def assert_unchanged(source, tmp_path):
    both = ["--onnx-specialize-functions", "--onnx-merge-functions"]
    before, after = convert(source, tmp_path, *both)
    assert before.read_bytes() == after.read_bytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_deny_all_changes_nothing(name, tmp_path):
    source = onnx.parser.parse_model((TRAPS / f"{name}.onnxtxt").read_text())
    ops = {node.op_type for node in source.graph.node if not node.domain}
    for item in source.functions:
        ops |= {node.op_type for node in item.node if not node.domain}
    deny = "--deny=" + ",".join(sorted(ops))
    before, after = convert(source, tmp_path, "--mixed-bf16", deny)
    assert before.read_bytes() == after.read_bytes()
    assert_unchanged(source, tmp_path)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential_functions(dtype, tmp_path):
    """2^30 calls in 30 functions."""
    source = model([call("f0", "x", "y")], chain(30, 2))
    before, after = convert(source, tmp_path, f"--mixed-{dtype}")
    onnx.checker.check_model(onnx.load(after))
    # Shared clones are linear, and equal ones are merged.
    assert after.stat().st_size < 8 * before.stat().st_size
    assert_unchanged(source, tmp_path)


def test_deep_functions(tmp_path):
    """More calls inside each other than any stack of frames holds."""
    source = model([call("f0", "x", "y")], chain(20000, 1))
    convert(source, tmp_path, "--mixed-bf16")
    assert_unchanged(source, tmp_path)


def test_many_calls_of_a_big_function(tmp_path):
    """More calls than the limit has clones for."""
    body = [
        helper.make_node("Tanh", [f"t{i}"], [f"t{i + 1}"]) for i in range(100)
    ]
    calls = [call("f", f"v{i}", f"v{i + 1}") for i in range(1000)]
    ends = [
        helper.make_node("Identity", ["x"], ["v0"]),
        helper.make_node("Identity", ["v1000"], ["y"]),
    ]
    source = model(
        [ends[0], *calls, ends[1]], [function("f", body, ["t0"], ["t100"])]
    )
    convert(source, tmp_path, "--mixed-bf16")
    assert_unchanged(source, tmp_path)


def test_recursive_functions(tmp_path):
    """Directly or by others, called or not."""
    for functions in (
        [function("self", [call("self", "p", "r")])],
        [
            function("ping", [call("pong", "p", "r")]),
            function("pong", [call("ping", "p", "r")]),
        ],
    ):
        nodes = [helper.make_node("MatMul", ["x", "x"], ["y"])]
        source = tmp_path / "recursive.onnx"
        onnx.save(model(nodes, functions), source)
        done = attempt(
            source, "-o", tmp_path / "out.onnx", code=1
        )
        assert "': expected no recursion, found a call of it in" in done.stderr
