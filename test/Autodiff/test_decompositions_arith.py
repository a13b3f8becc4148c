# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise, indexing and bookkeeping ops of onnxruntime-training against
their decompositions."""

import numpy as np
import pytest

import decompositions
import rules
import training
from decompositions import Node


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


@pytest.fixture(scope="module")
def results():
    return decompositions.run_all(NODES)


@training.needs_runtime
@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_against_kernel(node, results):
    decompositions.compare(node, results)


def decomposed(op, opset, *inputs, **attributes):
    """The results in the element type of the inputs."""
    node = Node("node", op, inputs, attributes, (inputs[-1].dtype,))
    model = decompositions.decompose(node, opset)
    return decompositions.evaluate(model, node)[0]


@pytest.mark.parametrize("opset", [13, 15, 17])
def test_sums_of_rows_are_wide(opset):
    """In fp16, 2048 + 1 is 2048."""
    indices = np.zeros(4096, np.int64)
    rows = np.ones((4096, 1), np.float16)
    sums = decomposed("GatherGrad", opset, ints(3, 1), indices, rows)
    assert sums.dtype == np.float16
    assert sums.tolist() == [[4096], [0], [0]]


@pytest.mark.parametrize(
    "op, y, slope",
    [
        ("SigmoidGrad", 0.998, lambda y: y * (1 - y)),
        ("TanhGrad", 0.998, lambda y: 1 - y * y),
    ],
)
def test_functions_are_wide(op, y, slope):
    """One rounding, of the result."""
    y = np.array([y], np.float16)
    grad = np.array([3.0], np.float16)
    wanted = 3 * slope(y.astype(np.float64))
    assert decomposed(op, 17, grad, y) == wanted.astype(np.float16)
