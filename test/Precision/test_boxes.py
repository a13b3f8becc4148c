# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boxes: constant anchors plus offsets that a product computes.

NonMaxSuppression chooses the boxes of the fp32 model, RoiAlign looks at the
same places and a centre is in the same cell, at any width of the image.
"""

import numpy as np
import pytest
from graphs import Graph, failures, report
from places import COUNT, I64, WIDTHS, column, compare, offsets, wave
from support import DTYPES


def anchors(width):
    """Neighbours whose overlap is far from the limit of NonMaxSuppression."""
    pairs = np.linspace(20, width - 20, COUNT // 2)
    centre = np.repeat(pairs, 2)
    centre[1::2] += np.where(np.arange(COUNT // 2) % 2, 3.0, 9.0)
    return centre[:, None]


def with_exp(graph, maker, width, rng):
    """Corners [COUNT, 2] along one axis: offsets times sizes, sizes by Exp."""
    size = graph.constant(np.full((COUNT, 1), 12.0))
    delta = offsets(graph, maker, 2, 0.02, rng)
    centre = column(graph, delta, 0, 1) * size + anchors(width)
    half = graph.add("Exp", column(graph, delta, 1, 2)) * size * 0.5
    return centre - half, centre + half, centre


def like_yolo(graph, maker, width, rng):
    """(sigmoid * 2 - 0.5 + grid) * stride; (sigmoid * 2)^2 * anchor."""
    stride = 8
    double = graph.add("Sigmoid", offsets(graph, maker, 2, 0.1, rng)) * 2
    grid = anchors(width) / stride
    centre = (column(graph, double, 0, 1) - 0.5 + grid) * stride
    apart = graph.add("Pow", column(graph, double, 1, 2), 2) * 12 * 0.5
    return centre - apart, centre + apart, centre


def from_distances(graph, maker, width, rng):
    """Distances from a point of a grid to the left and the right, in strides."""
    distances = offsets(graph, maker, 2, 0.05, rng) + 0.75
    grid = graph.constant(anchors(width) / 8)
    low = grid - column(graph, distances, 0, 1)
    high = grid + column(graph, distances, 1, 2)
    return [value * 8 for value in (low, high, (low + high) * 0.5)]


def suppressed(graph, corners, width):
    low, high, _ = corners
    zeros, tens = (graph.constant(np.full((COUNT, 1), k)) for k in (0, 10))
    boxes = graph.add("Concat", low, zeros, high, tens, axis=1)
    boxes = graph.add("Unsqueeze", boxes, graph.constant([0], I64))
    scores = graph.constant(np.linspace(0.9, 0.1, COUNT).reshape(1, 1, COUNT))
    chosen = graph.add(
        "NonMaxSuppression", boxes, scores, graph.constant(COUNT, I64), 0.4, 0.0,
    )
    graph.output(chosen, I64)


def suppressed_by_class(graph, corners, width):
    """torchvision's batched_nms: boxes of a class are moved away from others."""
    low, high, _ = corners
    kinds = graph.input("kinds", np.arange(COUNT) // 2 % 5)
    last = graph.constant([1], I64)
    number = graph.add("Unsqueeze", graph.add("Cast", kinds, to=1), last)
    shift = number * (graph.add("ReduceMax", high, keepdims=0) + 1)
    suppressed(graph, [low + shift, high + shift, None], width)


def aligned(graph, corners, width):
    """A wave of slope 1 tells where RoiAlign looks, in numbers that 16 bit has."""
    low, high, _ = corners
    zeros, one = (graph.constant(np.full((COUNT, 1), k)) for k in (0, 1))
    boxes = graph.add("Concat", low, zeros, high, one, axis=1)
    image = graph.constant(np.tile(wave(width), (1, 1, 2, 1)))
    batch = graph.constant(np.zeros(COUNT), I64)
    graph.output(
        graph.add(
            "RoiAlign", image, boxes, batch, output_height=1, output_width=12,
            sampling_ratio=1,
        )
    )


def gathered(graph, corners, width):
    """The cell of a centre."""
    index = graph.add("Cast", graph.add("Floor", corners[2]), to=7)
    graph.output(index, I64)
    table = graph.constant(np.cos(np.arange(width)))
    graph.output(graph.add("Gather", table, index))


DECODERS = {f.__name__: f for f in (with_exp, like_yolo, from_distances)}
READERS = {
    f.__name__: f for f in (suppressed, suppressed_by_class, aligned, gathered)
}


def check(decoder, reader, maker, width, dtype):
    graph = Graph()
    rng = np.random.default_rng(4)
    corners = DECODERS[decoder](graph, maker, width, rng)
    READERS[reader](graph, corners, width)
    compare(graph, dtype, width)


@pytest.mark.parametrize("dtype", DTYPES)
def test_boxes(dtype):
    cases = [
        (d, r, m, w, dtype)
        for d in DECODERS
        for r in READERS
        for m in ("MatMul", "Conv")
        for w in WIDTHS
        # onnxruntime has no RoiAlign of the opset in which Conv has bf16.
        if (r, m) != ("aligned", "Conv")
    ]
    found = failures(check, cases)
    assert not found, report(found, cases)
