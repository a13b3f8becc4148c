# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposed operators against onnxruntime-training's own kernels, in fp32."""

import dataclasses
import functools
import typing

import numpy as np
import onnx
import pytest

import decompositions
from onnx_models import run_ort
from training import needs_runtime


@dataclasses.dataclass(frozen=True)
class Node:
    name: str
    op: str
    # Arrays, or None for an operand left out.
    inputs: tuple
    # Shapes of the results, None for one left out.
    outputs: tuple
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = "com.microsoft"
    opset: int = 15
    # The kernel's results, if the runtime does not have the kernel.
    expected: typing.Optional[tuple] = None

    def __repr__(self):
        return self.name


def model_of(node, unknown=False):
    outputs = [
        ("" if shape is None else f"o{k}", np.float32, shape)
        for k, shape in enumerate(node.outputs)
    ]
    return decompositions.node_model(
        node.op, node.inputs, outputs, node.opset, unknown,
        domain=node.domain, **node.attributes,
    )  # fmt: skip


def by_standard_ops(node, unknown):
    model, feeds = model_of(node, unknown)
    model = decompositions.decomposed(model)
    assert all(n.op_type != node.op for n in model.graph.node)
    onnx.checker.check_model(model)
    names = [output.name for output in model.graph.output]
    return dict(zip(names, run_ort(model, feeds, names)))


def assert_close(actual, expected, tolerance=2e-5):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].shape == value.shape, name
        assert actual[name].dtype == value.dtype, name
        largest = max(np.abs(value).max(initial=0), 1e-3)
        error = np.abs(actual[name] - value).max(initial=0)
        assert error <= tolerance * largest, name


def make_test(nodes):
    """A test of each node, with known and unknown sizes."""

    @functools.cache
    def kernels():
        asked = [node for node in nodes if node.expected is None]
        found = decompositions.by_kernels([model_of(node) for node in asked])
        return {node.name: results for node, results in zip(asked, found)}

    @needs_runtime
    @pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
    @pytest.mark.parametrize("node", nodes, ids=str)
    def test(node, unknown):
        if node.expected is None:
            expected = kernels()[node.name]
        else:
            expected = {f"o{k}": v for k, v in enumerate(node.expected)}
        assert_close(by_standard_ops(node, unknown), expected)

    return test


def values(*shape, low=-1.0, high=1.0):
    rng = np.random.default_rng(sum(shape) + 7 * len(shape))
    return rng.uniform(low, high, shape).astype(np.float32)
