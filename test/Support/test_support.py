# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests' own instruments: each must refuse what it exists to refuse."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import schema_types
import support
import sweeps


def graph_of(node, types, opset, domain="", version=1):
    """A model of one node with inputs of the given element types."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "g",
        [info(n, t, None) for n, t in zip(node.input, types)],
        [info(n, types[0], None) for n in node.output],
    )
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, version))
    return helper.make_model(graph, opset_imports=opsets)


F32, F16 = TensorProto.FLOAT, TensorProto.FLOAT16
BF16 = TensorProto.BFLOAT16


@pytest.mark.parametrize(
    "op,arity,kind,opset,domain,legal",
    [
        ("Conv", 2, BF16, 21, "", False),
        ("Conv", 2, BF16, 22, "", True),
        ("Conv", 2, F16, 17, "", True),
        ("MatMul", 2, BF16, 12, "", False),
        ("MatMul", 2, BF16, 13, "", True),
        ("ConvGrad", 3, BF16, 17, "com.microsoft", False),
        ("ConvGrad", 3, F16, 17, "com.microsoft", True),
        ("LayerNormalization", 2, F16, 15, "", False),
        ("LayerNormalization", 2, F16, 17, "", True),
    ],
)
def test_schema_types(op, arity, kind, opset, domain, legal):
    names = [f"x{i}" for i in range(arity)]
    node = helper.make_node(op, names, ["y"], name="n", domain=domain)
    _, problems = schema_types.infer(
        graph_of(node, [kind] * arity, opset, domain)
    )
    assert bool(problems) != legal


def test_schema_types_sees_mixed_operands():
    node = helper.make_node("Add", ["a", "b"], ["y"])
    _, problems = schema_types.infer(graph_of(node, [F16, F32], 17))
    assert problems


@pytest.mark.parametrize(
    "array", [np.ones(9), np.zeros(9), np.array([0, 0, 1.0, 2.0])]
)
def test_uninformative_data_is_refused(array):
    good = np.arange(1.0, 10.0)
    support.assert_informative(good, good)
    for pair in ((good, array), (array, good)):
        with pytest.raises(AssertionError):
            support.assert_informative(*pair)


def test_new_nonfinite_values_are_refused():
    masked = np.array([1.0, -np.inf])
    support.assert_no_new_nonfinite(masked, masked)
    with pytest.raises(AssertionError):
        support.assert_no_new_nonfinite(np.ones(2), masked)


def test_rounding_depth_counts_the_longest_path():
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Reshape", ["a", "s"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["c"]),
        helper.make_node("Add", ["c", "a"], ["d"]),
        helper.make_node("Softmax", ["d"], ["e"]),
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", [], []))
    types = {**dict.fromkeys("abcd", BF16), "e": F32}
    assert support.rounding_depth(model, types, "bf16") == 3
    assert support.error_bound(4, "bf16") == 2 * 2.0**-8


@pytest.mark.parametrize("whole", [False, True])
def test_samples_have_every_class(monkeypatch, whole):
    monkeypatch.setattr(sweeps, "ALL", whole)
    monkeypatch.setitem(sweeps.SWEEPS, "s", sweeps.Sweep("words", 3, 5))
    words = ["ab", "a", "b", "bc", "d"]
    chosen = sweeps.sample("s", words, set)
    assert chosen == (words if whole else ["ab", "bc", "d"])
    assert sweeps.count("s") == len(chosen)


def test_sweeps_say_how_many_cases_there_are(monkeypatch):
    monkeypatch.setitem(sweeps.SWEEPS, "s", sweeps.Sweep("words", 3, 5))
    with pytest.raises(AssertionError, match="should say"):
        sweeps.sample("s", ["ab", "a", "b", "bc"], set)


def test_sweeps_are_of_test_files():
    for name, sweep in sweeps.SWEEPS.items():
        folder, _, file = name.partition("/")
        assert list((support.ROOT / "test" / folder).rglob(file)), name
        assert 0 < sweep.sampled < sweep.all, name
