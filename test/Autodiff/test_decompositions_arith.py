# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of onnxruntime-training against their decompositions.

onnxruntime-training computes the com.microsoft op, ONNX's reference evaluator
what --onnx-decompose-gradients makes of it, both in float32, at the opsets
that training graphs have and at the newest that onnxruntime-training knows.
"""

import dataclasses

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import rules
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


def floats(*shape):
    rng = rules.generator(str(shape))
    return rng.uniform(-2, 2, shape).astype(np.float32)


def positive(*shape):
    return np.abs(floats(*shape)) + np.float32(0.3)


def ints(*values):
    return np.array(values, np.int64)


X = floats(2, 3, 4)
G = floats(4, 3, 2).reshape(2, 3, 4)
B = floats(4)
SOFT = np.exp(X) / np.exp(X).sum(-1, keepdims=True)
BOOL = (np.bool_,)

NODES = [
    Node("relu", "ReluGrad", (G, X)),
    Node("sigmoid", "SigmoidGrad", (G, positive(2, 3, 4) / 3)),
    Node("tanh", "TanhGrad", (G, X / 3)),
    Node("gelu", "GeluGrad", (G, X)),
    Node("fast-gelu", "FastGeluGrad", (G, X)),
    Node("quick-gelu", "QuickGeluGrad", (G, X)),
    Node("quick-gelu-alpha", "QuickGeluGrad", (G, X), {"alpha": 1.25}),
    Node("bias-gelu", "BiasGeluGrad_dX", (G, X, B)),
    Node("bias-fast-gelu", "BiasFastGeluGrad_dX", (G, X, B)),
    Node("leaky", "LeakyReluGrad", (G, X), {"alpha": 0.25}),
    Node("forward-gelu", "Gelu", (X,)),
    Node("forward-fast-gelu", "FastGelu", (X,)),
    Node("forward-fast-gelu-bias", "FastGelu", (X, B)),
    Node("forward-bias-gelu", "BiasGelu", (X, B)),
    Node("forward-quick-gelu", "QuickGelu", (X,), {"alpha": 1.25}),
    Node("div", "DivGrad", (G, X, positive(2, 3, 4)), outputs=(np.float32,) * 2),
    Node("div-row", "DivGrad", (G, X, positive(4)), outputs=(np.float32,) * 2),
    Node("div-left", "DivGrad", (G, X[:, :1], positive(2, 3, 4)),
         outputs=(np.float32,) * 2),
    Node("scale", "Scale", (X, np.array(2.5, np.float32))),
    Node("scale-down", "Scale", (X, np.array(2.5, np.float32)),
         {"scale_down": 1}),
    Node("scale-int", "Scale", (X, np.array(3, np.int64)), {"scale_down": 1}),
    Node("all-l2", "ReduceAllL2", (X, B, G)),
    Node("all-l2-one", "ReduceAllL2", (X,)),
    Node("reduce-sum", "ReduceSumTraining", (X, ints(0, 2)), {"keepdims": 0}),
    Node("reduce-sum-noop", "ReduceSumTraining", (X, ints()),
         {"noop_with_empty_axes": 1}),
    Node("reduce-sum-empty", "ReduceSumTraining", (X, ints())),
    Node("mixed-scale", "MixedPrecisionScale",
         (np.array(0.5, np.float32), X, B), {"to": 1},
         outputs=(np.float32,) * 2, expected=(X / 2, B / 2)),
    Node("mixed-scale-fused", "MixedPrecisionScale",
         (np.array(0.5, np.float32), X, B), {"to": 1, "fuse_outputs": 1},
         expected=(np.concatenate([X.flat, B]) / 2,)),
]
NODES += [
    Node(f"softmax-{op}-{axis}", op, (G, SOFT), {"axis": axis})
    for op in ("SoftmaxGrad", "SoftmaxGrad_13")
    for axis in (1, 2, -1)
] + [
    Node(f"logsoftmax-{op}-{axis}", op, (G, np.log(SOFT)), {"axis": axis})
    for op in ("LogSoftmaxGrad", "LogSoftmaxGrad_13")
    for axis in (1, 2, -1)
] + [
    Node(f"softmax-{op}-default", op, (G, SOFT))
    for op in ("SoftmaxGrad", "SoftmaxGrad_13")
]

# Gathering: repeated rows add up.
I2 = np.array([[0, 2], [2, 2]], np.int64)
NODES += [
    Node(
        f"gather-{axis}-{kind}",
        "GatherGrad",
        (ints(4, 3, 5), I2.astype(kind), floats(*shape)),
        {"axis": axis},
    )
    for axis, shape in [
        (0, (2, 2, 3, 5)),
        (1, (4, 2, 2, 5)),
        (2, (4, 3, 2, 2)),
        (-1, (4, 3, 2, 2)),
        (-2, (4, 2, 2, 5)),
    ]
    for kind in ("int32", "int64")
] + [
    Node(
        f"elements-{axis}",
        "GatherElementsGrad",
        (floats(2, 2), ints(3, 4), I2),
        {"axis": axis},
        opsets=(16, 17, 18),
    )
    for axis in (0, 1, -1)
] + [
    Node("nd", "GatherNDGrad", (ints(3, 3, 2), I2, floats(2, 2)),
         opsets=(16, 17, 18)),
    Node("nd-batch", "GatherNDGrad",
         (ints(2, 3, 3, 2), I2.reshape(2, 1, 2), floats(2, 1, 2)),
         {"batch_dims": 1}, opsets=(16, 17, 18)),
    Node("nd-batch-points", "GatherNDGrad",
         (ints(2, 3), np.array([[[1], [1]], [[0], [2]]], np.int64),
          floats(2, 2)),
         {"batch_dims": 1}, opsets=(16, 17, 18)),
    Node("slice", "SliceGrad",
         (floats(2, 3), ints(4, 5), ints(1, 0), ints(3, 3), ints(0, 1),
          ints(1, 1))),
    Node("slice-steps", "SliceGrad",
         (floats(2, 3), ints(4, 5), ints(-1, 0), ints(-100, 5), ints(0, 1),
          ints(-2, 2))),
    Node("slice-short", "SliceGrad",
         (floats(4, 2), ints(4, 5), ints(-3), ints(-1), ints(-1))),
]

# Parts, wholes and checks.
BAD = X.copy()
BAD[0, 0, 0] = np.inf
NAN = X.copy()
NAN[0, 0, 0] = np.nan
NODES += [
    Node("concat", "ConcatTraining", (X, G[:, :1]), {"axis": 1},
         outputs=(np.float32, np.int64)),
    Node("split", "SplitTraining", (X, ints(1, 2)), {"axis": 1},
         outputs=(np.float32,) * 2),
    Node("view", "View", (X, ints(2, 3), ints(2, 9)),
         outputs=(np.float32,) * 2,
         expected=(X.flat[:6].reshape(2, 3), X.flat[6:].reshape(2, 9))),
    Node("pass", "PassThrough", (X, B), outputs=(np.float32,) * 2,
         expected=(X, B)),
    Node("zero", "ZeroGradient", (X, B)),
    Node("group", "Group", (X, B), outputs=BOOL),
    Node("finite", "IsFinite", (np.concatenate([BAD, NAN]),), outputs=BOOL,
         expected=(np.isfinite(np.concatenate([BAD, NAN])),)),
    Node("all", "All", (np.array([True, True]),), outputs=BOOL,
         expected=(np.array(True),)),
    Node("all-empty", "All", (np.zeros(0, np.bool_),), outputs=BOOL,
         expected=(np.array(True),)),
    Node("not-all", "All", (np.array([True, False]),), outputs=BOOL,
         expected=(np.array(False),)),
] + [
    Node(f"all-finite-{name}-{flag}", "IsAllFinite", (B, value),
         {flag: 1} if flag else {}, outputs=BOOL,
         expected=(np.array(name not in bad),))
    for name, value in [("good", X), ("inf", BAD), ("nan", NAN)]
    for flag, bad in [
        ("", ("inf", "nan")),
        ("isinf_only", ("inf",)),
        ("isnan_only", ("nan",)),
    ]
]

# Shapes and matrix products.
NODES += [
    Node(f"broadcast-{a}-{b}", "BroadcastGradientArgs", (ints(*a), ints(*b)),
         outputs=(np.int64,) * 2)
    for a, b in [
        ((2, 3), (2, 3)),
        ((2, 1), (2, 3)),
        ((3,), (2, 3)),
        ((4, 1, 3), (2, 1)),
        ((), (2, 3)),
        ((1, 3), (1, 3)),
        ((1, 3), (2, 1, 3)),
        ((3,), (1, 3)),
        ((1, 1), (3,)),
    ]
] + [
    Node(f"matmul-{name}", op, (floats(*a), floats(*b)), attributes)
    for name, op, attributes, a, b in [
        ("plain", "FusedMatMul", {}, (2, 3), (3, 4)),
        ("alpha", "FusedMatMul", {"alpha": 0.5}, (2, 2, 3), (3, 4)),
        ("turned", "FusedMatMul", {"transA": 1, "transB": 1}, (2, 3, 4),
         (2, 5, 3)),
        ("batch-a", "FusedMatMul", {"transBatchA": 1}, (3, 2, 4), (2, 4, 5)),
        ("batch-both", "FusedMatMul",
         {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1},
         (4, 2, 2, 3), (5, 2, 2, 4)),
        ("transpose", "TransposeMatMul", {"transA": 1}, (3, 2), (3, 4)),
    ]
]


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


@pytest.fixture(scope="module")
def by_onnxruntime():
    """All results of onnxruntime-training, from one process."""
    folder, cases = scratch_dir("nodes"), []
    for node in NODES:
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


@training.needs_runtime
@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_against_kernel(node, by_onnxruntime):
    expected = expected_of(node, by_onnxruntime)
    for opset in node.opsets:
        model = decompose(node, opset)
        assert {n.domain for n in model.graph.node} <= {""}
        check(model, expected)
        evaluator = ReferenceEvaluator(model, new_ops=OPERATORS)
        actual = evaluator.run(None, feeds_of(node))
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
