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

import training
from onnx_models import describe, inputs_of, make_model, rewritten
from operators import OPERATORS
from support import scratch_dir

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


def node_model(op, inputs, outputs, opset, unknown=False, **attributes):
    """A node, and what to feed it with. Operands are x0, x1, ...; one that is
    left out is None. Results are names, types and shapes, or "" and so on."""
    feeds = {f"x{i}": v for i, v in enumerate(inputs) if v is not None}
    names = ["" if v is None else f"x{i}" for i, v in enumerate(inputs)]
    while not names[-1]:
        # Kernels crash on some that are left out by an empty name.
        names.pop()
    attributes = {"domain": "com.microsoft", **attributes}
    made = helper.make_node(op, names, [o[0] for o in outputs], **attributes)
    results = [describe(*output) for output in outputs if output[0]]
    model = make_model(
        [made], inputs_of(feeds, unknown), results, opset=opset,
        domains=["com.microsoft"],
    )  # fmt: skip
    return model, feeds


def by_kernels(models):
    """The results of onnxruntime-training, from one process, of models and
    their feeds: arrays by name; "error" instead where there is no kernel."""
    folder, cases = scratch_dir("kernels"), []
    for index, (model, feeds) in enumerate(models):
        path, data = folder / f"{index}.onnx", folder / f"{index}.npz"
        onnx.save(model, path)
        np.savez(data, **feeds)
        case = {"name": str(index), "model": str(path), "feeds": str(data)}
        cases.append(case)
    found = [{} for _ in models]
    for key, value in training.work("nodes", cases=cases).items():
        index, _, name = key.partition(":")
        found[int(index)][name] = value
    return found


def decomposed(model):
    made = rewritten(model, "--onnx-decompose-gradients")
    assert {node.domain for node in made.graph.node} <= {""}
    return made


def model_of(node, opset):
    outputs = [(f"y{i}", t, None) for i, t in enumerate(node.outputs)]
    return node_model(
        node.op, node.inputs, outputs, opset, **node.attributes
    )


def run_all(nodes):
    """What kernels give, by the names of nodes."""
    found = by_kernels([model_of(node, 17) for node in nodes])
    return {node.name: results for node, results in zip(nodes, found)}


def decompose(node, opset):
    return decomposed(model_of(node, opset)[0])


def evaluate(model, node):
    evaluator = ReferenceEvaluator(model, new_ops=OPERATORS)
    return evaluator.run(None, model_of(node, 17)[1])


def expected_of(node, results):
    results = results[node.name]
    error = results.get("error")
    if node.expected:
        assert error is not None, "there is a kernel after all"
        return list(node.expected)
    assert error is None, str(error)
    return [results[f"y{i}"] for i in range(len(node.outputs))]


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
                value, wanted, node.tolerance, node.tolerance,
                err_msg=f"opset {opset}",
            )  # fmt: skip
