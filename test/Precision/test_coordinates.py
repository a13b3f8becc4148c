# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions in images: a grid plus offsets that a product computes.

Offsets of some pixels come from a product, which may run in 16 bit; from there
to a place in an image all is fp32, constants as well. At no width is an index
off by more than one of the fp32 model's, or outside of the image.
"""

import numpy as np
import pytest
from graphs import Graph, failures, report
from places import COUNT, I64, WIDTHS, column, compare, offsets, wave
from support import DTYPES


def sample(graph, position, width):
    """Both neighbours of a position, weighted by its fraction."""
    whole = graph.add("Floor", position)
    fraction = position - whole
    image = graph.constant(7 * np.sin(np.arange(width) / 7))  # of slope 1
    values = []
    for start in (whole, whole + 1):
        index = graph.add("Cast", graph.add("Clip", start, 0, width - 1), to=7)
        graph.output(index, I64)
        values.append(graph.add("Gather", image, index))
    graph.output(values[0] * (1 - fraction) + values[1] * fraction)


def spread(width):
    return np.linspace(3.3, width - 4.4, COUNT)[:, None]


def grid_sample(graph, maker, width, rng):
    """A constant grid in pixels, moved."""
    return offsets(graph, maker, 1, 3, rng) + spread(width)


def unit_grid(graph, maker, width, rng):
    """A constant grid in [-1, 1], moved by some pixels."""
    grid = (2 * spread(width) + 1) / width - 1
    return offsets(graph, maker, 1, 6 / width, rng) + grid


def unit_grid_sample(graph, maker, width, rng):
    """A constant grid in [-1, 1], as torch has it: ((x + 1) W - 1) / 2."""
    return ((unit_grid(graph, maker, width, rng) + 1) * width - 1) * 0.5


def flow(graph, maker, width, rng):
    """Optical flow: the grid is counted by Range, the flow is scaled."""
    step = (width - 8) // COUNT
    size = graph.input("size", np.array(step * COUNT, I64))
    count = graph.add("Range", graph.constant(0, I64), size, graph.constant(step, I64))
    last = graph.constant([1], I64)
    grid = graph.add("Unsqueeze", graph.add("Cast", count, to=1), last)
    return grid + graph.add("Tanh", offsets(graph, maker, 1, 1, rng)) * 4


def affine(graph, maker, width, rng):
    """theta times a base grid: the product itself makes the position."""
    theta = np.array([[0.98, 0.013]], np.float32)
    x = np.linspace(-0.97, 0.97, COUNT)
    base = np.stack([x, np.ones(COUNT)])
    product = graph.add("MatMul", graph.input("theta", theta), base)
    place = graph.add("Reshape", product, graph.constant([COUNT, 1], I64))
    return ((place + 1) * width - 1) * 0.5


def roi_align(graph, maker, width, rng):
    """RoiAlign spelled out: bins of a box, two samples in each."""
    moved = offsets(graph, maker, 2, 2, rng) + (spread(width) + [[-2, 2]])
    first, end = column(graph, moved, 0, 1), column(graph, moved, 1, 2)
    inside = (end - first) / 2 * [[0.25, 0.75, 1.25, 1.75]]
    return graph.add("Clip", first + inside - 0.5, 0, width - 1)


def grid_op(graph, maker, width, rng):
    """ONNX's GridSample, at places in [-1, 1]."""
    moved = unit_grid(graph, maker, width, rng)
    x = graph.add("Reshape", moved, graph.constant([1, 1, COUNT, 1], I64))
    places = graph.add("Concat", x, np.zeros((1, 1, COUNT, 1)), axis=3)
    image = np.tile(wave(width), (1, 1, 1, 1))
    graph.output(graph.add("GridSample", image, places, padding_mode="border"))


def reference_points(graph, maker, width, rng):
    """Deformable attention: points and offsets in shares of the image."""
    product = offsets(graph, maker, 1, 3, rng)
    points = graph.constant(spread(width) / width) + product / width
    return ((points * 2 - 1 + 1) * width - 1) * 0.5


SAMPLERS = {
    f.__name__: f
    for f in (
        grid_sample, unit_grid_sample, flow, roi_align, grid_op, reference_points
    )
}


def check(name, maker, width, dtype):
    graph, make = Graph(), {**SAMPLERS, "affine": affine}[name]
    position = make(graph, maker, width, np.random.default_rng(2))
    if position is not None:
        sample(graph, position, width)
    compare(graph, dtype, width)


@pytest.mark.parametrize("dtype", DTYPES)
def test_samplers(dtype):
    cases = [
        (s, m, w, dtype) for s in SAMPLERS for m in ("MatMul", "Conv") for w in WIDTHS
    ]
    cases += [("affine", "MatMul", w, dtype) for w in WIDTHS]
    found = failures(check, cases)
    assert not found, report(found, cases)
