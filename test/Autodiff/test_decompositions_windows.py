# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of convolutions, pools and Resize."""

import numpy as np

from kernels import Node, make_test, values


def conv(name, x, w, y, bias=True, **attributes):
    return Node(
        "conv-" + name,
        "ConvGrad",
        (values(*y), values(*x), values(*w)),
        (x, w, (w[0],) if bias else None),
        attributes,
    )


CONVOLUTIONS = [
    conv("plain", (2, 2, 5, 6), (3, 2, 3, 2), (2, 3, 3, 5), kernel_shape=[3, 2]),
    conv(
        "pads",
        (2, 2, 5, 6),
        (3, 2, 3, 3),
        (2, 3, 3, 3),
        bias=False,
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
        dilations=[1, 1],
        group=1,
    ),
    conv(
        "group",
        (2, 4, 5, 5),
        (6, 2, 2, 2),
        (2, 6, 4, 2),
        kernel_shape=[2, 2],
        strides=[1, 2],
        group=2,
    ),
    conv(
        "dilated",
        (1, 2, 7, 7),
        (2, 2, 2, 3),
        (1, 2, 5, 3),
        kernel_shape=[2, 3],
        dilations=[2, 2],
        auto_pad="NOTSET",
        pads=[0, 0, 0, 0],
    ),
]


def max_pool_grad(name, x, kernel, strides, domain, opset, order="C"):
    """The kernel crashes in a graph that holds nothing else."""
    counts = [(n - k) // s + 1 for n, k, s in zip(x[2:], kernel, strides)]
    shape = (*x[:2], *counts)
    rng, indices = np.random.default_rng(3), np.zeros(shape, np.int64)
    gradient = values(*shape)
    total = np.zeros(x, np.float32)
    for place in np.ndindex(*shape):
        cell = [
            p * s + rng.integers(k)
            for p, s, k in zip(place[2:], strides, kernel)
        ]
        total[(*place[:2], *cell)] += gradient[place]
        image = place[0] * x[1] + place[1]
        indices[place] = image * np.prod(x[2:]) + np.ravel_multi_index(
            cell, x[2:], order=order
        )
    return Node(
        f"max-pool-{name}-{opset}",
        "MaxPoolGrad",
        (gradient, indices),
        (x,),
        {
            "kernel_shape": kernel,
            "strides": strides,
            "storage_order": int(order == "F"),
        },
        domain=domain,
        opset=opset,
        expected=(total,),
    )


def average_pool_grad(name, x, y, **attributes):
    return Node(
        "average-pool-" + name,
        "AveragePoolGrad",
        (values(*y),),
        (x,),
        {"kernel_shape": [3, 2], **attributes},
        domain="",
    )


POOLS = [
    max_pool_grad(name, (2, 2, 5, 7), kernel, strides, domain, opset, order)
    for name, kernel, strides, order in [
        ("apart", [2, 3], [2, 3], "C"),
        ("overlapping", [3, 2], [2, 1], "C"),
        ("columns", [2, 2], [1, 1], "F"),
    ]
    for domain, opset in [("", 15), ("com.microsoft", 17)]
] + [
    average_pool_grad("plain", (2, 2, 5, 6), (2, 2, 3, 5)),
    average_pool_grad("strides", (1, 2, 5, 6), (1, 2, 2, 3), strides=[2, 2]),
    *[
        average_pool_grad(
            f"pads-{include}",
            (1, 2, 5, 6),
            (1, 2, 3, 4),
            strides=[2, 2],
            pads=[1, 1, 1, 1],
            count_include_pad=include,
        )
        for include in (0, 1)
    ],
]
RESIZES = [
    # Kernels for it exist on GPUs only: each cell has become four.
    Node(
        "resize",
        "ResizeGrad",
        (
            values(1, 2, 6, 4),
            values(1, 2, 3, 2),
            None,
            np.array([1, 1, 2, 2], np.float32),
        ),
        ((1, 2, 3, 2),),
        {
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
        expected=(values(1, 2, 6, 4).reshape(1, 2, 3, 2, 2, 2).sum((3, 5)),),
    )
]

NODES = CONVOLUTIONS + POOLS + RESIZES


test_kernels = make_test(NODES)
