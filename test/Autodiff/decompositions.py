# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of com.microsoft, and two ways to compute them.

onnxruntime-training computes the op itself, ONNX's reference evaluator what
--onnx-decompose-gradients makes of it, both in float32, at the opsets that
training graphs have and at the newest that onnxruntime-training knows.
"""

import dataclasses

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

import rules  # noqa: F401, it says where the next ones are
import training
from operators import OPERATORS
from support import run_mp_opt, scratch_dir

OPSETS = (13, 15, 17, 18)


@dataclasses.dataclass(frozen=True)
class Node:
    name: str
    op: str
    inputs: tuple
    attributes: dict = dataclasses.field(default_factory=dict)
    # Element types of the outputs.
    outputs: tuple = (np.float32,)
    opsets: tuple = OPSETS
    # onnxruntime-training has no kernel for a CPU, or one for buffers that it
    # shares: the numbers that there should be.
    expected: tuple = ()
    tolerance: float = 2e-6


def make_model(node, opset):
    names = [f"x{i}" for i in range(len(node.inputs))]
    outputs = [f"y{i}" for i in range(len(node.outputs))]
    made = helper.make_node(
        node.op, names, outputs, domain="com.microsoft", **node.attributes
    )

    def info(name, dtype, shape):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        [made],
        "g",
        [info(n, v.dtype, v.shape) for n, v in zip(names, node.inputs)],
        [info(n, t, None) for n, t in zip(outputs, node.outputs)],
    )
    opsets = [("", opset), ("com.microsoft", 1)]
    return helper.make_model(
        graph,
        ir_version=8,
        opset_imports=[helper.make_opsetid(*o) for o in opsets],
    )


def feeds_of(node):
    return {f"x{i}": value for i, value in enumerate(node.inputs)}


def run_all(nodes):
    """All results of onnxruntime-training, from one process."""
    folder, cases = scratch_dir("nodes"), []
    for node in nodes:
        onnx.save(make_model(node, 17), folder / f"{node.name}.onnx")
        np.savez(folder / f"{node.name}.npz", **feeds_of(node))
        cases.append(
            {
                "name": node.name,
                "model": str(folder / f"{node.name}.onnx"),
                "feeds": str(folder / f"{node.name}.npz"),
            }
        )
    return training.work("nodes", cases=cases)


def decompose(node, opset):
    folder = scratch_dir("decomposed")
    onnx.save(make_model(node, opset), folder / "m.onnx")
    run_mp_opt(
        folder / "m.onnx",
        "--onnx-decompose-gradients",
        "-o",
        folder / "d.onnx",
    )
    return onnx.load(folder / "d.onnx")


def evaluate(model, node):
    evaluator = ReferenceEvaluator(model, new_ops=OPERATORS)
    return evaluator.run(None, feeds_of(node))


def expected_of(node, results):
    error = results.get(node.name + ":error")
    if node.expected:
        assert error is not None, "there is a kernel after all"
        return list(node.expected)
    assert error is None, str(error)
    return [results[f"{node.name}:y{i}"] for i in range(len(node.outputs))]


def check(model, expected):
    """The checker wants the shapes of outputs stated."""
    for output, value in zip(model.graph.output, expected, strict=True):
        output.type.tensor_type.ClearField("shape")
        shape = output.type.tensor_type.shape
        shape.SetInParent()
        for size in value.shape:
            shape.dim.add().dim_value = size
    onnx.checker.check_model(model, full_check=True)


def compare(node, results):
    """With what `run_all` has found."""
    expected = expected_of(node, results)
    for opset in node.opsets:
        model = decompose(node, opset)
        assert {n.domain for n in model.graph.node} <= {""}
        check(model, expected)
        actual = evaluate(model, node)
        for value, wanted in zip(actual, expected, strict=True):
            value = np.asarray(value)
            if node.op == "BroadcastGradientArgs":
                # Axes to sum over, in any order.
                value, wanted = np.sort(value), np.sort(wanted)
            assert value.dtype == wanted.dtype, opset
            assert value.shape == wanted.shape, opset
            np.testing.assert_allclose(
                value,
                wanted,
                rtol=node.tolerance,
                atol=node.tolerance,
                err_msg=f"opset {opset}",
            )
