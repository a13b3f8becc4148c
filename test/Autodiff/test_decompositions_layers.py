# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of normalizations, dropouts and losses."""

import numpy as np

from kernels import Node, make_test, values


def scalar(value):
    return np.array(value, np.float32)


def batch_norm(name, x, opset=15):
    c = x[1]
    operands = (values(*x), values(c), values(c + 1)[:c])
    statistics = (values(c + 2)[:c], values(c + 3, low=0.5)[:c])
    return [
        Node(
            f"batch-internal-{name}",
            "BatchNormInternal",
            (*operands, *statistics),
            (x, (c,), (c,), (c,), (c,)),
            {"epsilon": 1e-3, "momentum": 0.8},
            opset=opset,
        ),
        Node(
            f"batch-grad-{name}",
            "BatchNormalizationGrad",
            (values(*x[::-1]).reshape(x), *operands[:2], *statistics),
            (x, (c,), (c,)),
            {"epsilon": 1e-3},
            opset=opset,
        ),
    ]


def layer_norm(name, x, axis):
    parameters, rows = x[axis:], (*x[:axis], *[1] * len(x[axis:]))
    grad, bias = values(*x), values(*parameters)
    scale = values(*parameters, low=0.5)
    image, mean = values(*x, low=-2), values(*rows)
    inverse = values(*rows, low=0.5)
    return [
        Node(
            f"layer-{name}",
            "LayerNormalizationGrad",
            (grad, image, scale, mean, inverse),
            (x, parameters, parameters),
            {"axis": axis},
        ),
        Node(
            f"simplified-{name}",
            "SimplifiedLayerNormalizationGrad",
            (grad, image, scale, inverse),
            (x, parameters),
            {"axis": axis},
        ),
        Node(
            f"invertible-{name}",
            "InvertibleLayerNormalizationGrad",
            (grad, image, scale, bias, inverse),
            (x, parameters, parameters),
            {"axis": axis},
        ),
    ]


NORMALIZATIONS = [
    *batch_norm("images", (2, 3, 4, 2)),
    *batch_norm("rows", (5, 3), 17),
    *layer_norm("last", (2, 3, 5), 2),
    *layer_norm("axes", (2, 3, 5), 1),
]

MASK = np.array([[True, False, True], [False, True, True]])
DROPOUTS = [
    Node(
        f"dropout-{name}",
        "DropoutGrad",
        (values(2, 3), mask, *operands),
        ((2, 3),),
    )
    for name, mask, operands in [
        ("default", MASK, ()),
        ("ratio", MASK, (scalar(0.2),)),
        ("mode", MASK, (scalar(0.2), np.array(True))),
        # The kernel does not look at the mask then.
        ("zero", MASK | True, (scalar(0.0), np.array(True))),
    ]
] + [
    Node(
        "dropout-bits",
        "BitmaskDropoutGrad",
        (values(5, 9), np.array([0x80000001, 0x155], np.uint32), scalar(0.2)),
        ((5, 9),),
        expected=(
            np.where(
                np.isin(np.arange(45), [0, 31, 32, 34, 36, 38, 40]),
                values(5, 9).ravel() / np.float32(0.8),
                np.float32(0),
            ).reshape(5, 9),
        ),
    ),
]

LABELS = {
    (3, 4): np.array([1, 3, 0]),
    (2, 3, 2): np.array([[0, 1], [2, 1]]),
}


def log_softmax(x, axis):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def label_loss(size, reduction, weighted, ignore, dtype=np.int64):
    scores, labels = values(*size, low=-3), LABELS[size].astype(dtype)
    log_prob = log_softmax(scores, 1)
    weights = values(size[1], low=0.5) if weighted else None
    name = f"{len(size)}d-{reduction}-{weighted}-{ignore}-{labels.dtype}"
    shape = labels.shape if reduction == "none" else ()
    grad = values(*shape, low=0.5) if shape else scalar(1.5)
    given = {"reduction": reduction}
    index = None if ignore is None else np.array(ignore)
    fixed = given if ignore is None else {**given, "ignore_index": ignore}
    grads = [
        Node(
            f"loss-grad-{name}",
            "SoftmaxCrossEntropyLossGrad",
            (grad, log_prob, labels, weights),
            (size,),
            fixed,
        ),
        Node(
            f"internal-grad-{name}",
            "SoftmaxCrossEntropyLossInternalGrad",
            (grad, log_prob, labels, weights, index, values(*size)),
            (size,),
            given,
        ),
    ]
    forward = Node(
        f"internal-{name}",
        "SoftmaxCrossEntropyLossInternal",
        (scores, labels, weights, index),
        (shape, size),
        given,
    )
    return [*grads, forward]


def sparse_loss(reduction, weighted):
    scores, labels = values(3, 4, low=-3), LABELS[(3, 4)]
    weights = values(3, low=0.5) if weighted else None
    probabilities = np.exp(log_softmax(values(3, 4), 1))
    log_prob = log_softmax(scores, 1)
    grad, given = scalar(1.5), {"reduction": reduction}
    name = f"{reduction}-{weighted}"
    return [
        Node(
            f"sparse-{name}",
            "SparseSoftmaxCrossEntropy",
            (scores, labels, weights),
            ((), (3, 4)),
            given,
            domain="",
        ),
        Node(
            f"sparse-grad-{name}",
            "SparseSoftmaxCrossEntropyGrad",
            (grad, log_prob, labels, weights),
            ((3, 4),),
            given,
            domain="",
        ),
        Node(
            f"dense-{name}",
            "SoftmaxCrossEntropy",
            (scores, probabilities),
            ((), (3, 4)),
            given,
        ),
        Node(
            f"dense-grad-{name}",
            "SoftmaxCrossEntropyGrad",
            (grad, log_prob, 2 * probabilities),
            ((3, 4),),
            given,
        ),
    ]


LOSSES = [
    node
    for size in LABELS
    for reduction in ("mean", "sum", "none")
    for weighted, ignore in [(False, None), (True, None), (True, 1), (False, 1)]
    for node in label_loss(size, reduction, weighted, ignore)
]
LOSSES += label_loss((3, 4), "mean", True, None, np.int32)
LOSSES += [
    node
    for reduction in ("mean", "sum")
    for weighted in (False, True)
    for node in sparse_loss(reduction, weighted)
]
# Nothing counts: the loss and its gradient are 0.
LOSSES.append(
    Node(
        "loss-grad-all-ignored",
        "SoftmaxCrossEntropyLossGrad",
        (scalar(1), log_softmax(values(2, 3), 1), np.array([1, 1])),
        ((2, 3),),
        {"ignore_index": 1},
    )
)

NODES = NORMALIZATIONS + DROPOUTS + LOSSES


test_kernels = make_test(NODES)
