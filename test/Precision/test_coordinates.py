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
    low, high, one = (graph.constant(k) for k in (0, width - 1, 1))
    whole = graph.add("Floor", position)
    fraction = graph.add("Sub", position, whole)
    image = graph.constant(7 * np.sin(np.arange(width) / 7))  # of slope 1
    values = []
    for start in (whole, graph.add("Add", whole, one)):
        index = graph.add("Cast", graph.add("Clip", start, low, high), to=7)
        graph.output(index, I64)
        values.append(graph.add("Gather", image, index))
    rest = graph.add("Sub", one, fraction)
    graph.output(
        graph.add(
            "Add", graph.add("Mul", values[0], rest),
            graph.add("Mul", values[1], fraction),
        )
    )


def spread(width):
    return np.linspace(3.3, width - 4.4, COUNT)[:, None]


def grid_sample(maker, width, rng):
    """A constant grid in pixels, moved."""
    graph = Graph()
    moved = graph.add(
        "Add", offsets(graph, maker, 1, 3, rng), graph.constant(spread(width))
    )
    sample(graph, moved, width)
    return graph


def unit_grid(graph, maker, width, rng):
    """A constant grid in [-1, 1], moved by some pixels."""
    grid = (2 * spread(width) + 1) / width - 1
    return graph.add(
        "Add", offsets(graph, maker, 1, 6 / width, rng), graph.constant(grid)
    )


def unit_grid_sample(maker, width, rng):
    """A constant grid in [-1, 1], as torch has it: ((x + 1) W - 1) / 2."""
    graph = Graph()
    moved = unit_grid(graph, maker, width, rng)
    one, half = graph.constant(1), graph.constant(0.5)
    scaled = graph.add("Mul", graph.add("Add", moved, one), graph.constant(width))
    sample(graph, graph.add("Mul", graph.add("Sub", scaled, one), half), width)
    return graph


def flow(maker, width, rng):
    """Optical flow: the grid is counted by Range, the flow is scaled."""
    graph = Graph()
    step = (width - 8) // COUNT
    size = graph.input("size", np.array(step * COUNT, I64))
    count = graph.add("Range", graph.constant(0, I64), size, graph.constant(step, I64))
    last = graph.constant([1], I64)
    grid = graph.add("Unsqueeze", graph.add("Cast", count, to=1), last)
    product = offsets(graph, maker, 1, 1, rng)
    scaled = graph.add("Mul", graph.add("Tanh", product), graph.constant(4))
    sample(graph, graph.add("Add", grid, scaled), width)
    return graph


def affine(maker, width, rng):
    """theta times a base grid: the product itself makes the position."""
    graph = Graph()
    theta = np.array([[0.98, 0.013]], np.float32)
    x = np.linspace(-0.97, 0.97, COUNT)
    base = np.stack([x, np.ones(COUNT)])
    name = graph.input("theta", theta)
    product = graph.add("MatMul", name, graph.constant(base))
    place = graph.add("Reshape", product, graph.constant([COUNT, 1], I64))
    one, half = graph.constant(1), graph.constant(0.5)
    scaled = graph.add("Mul", graph.add("Add", place, one), graph.constant(width))
    sample(graph, graph.add("Mul", graph.add("Sub", scaled, one), half), width)
    return graph


def roi_align(maker, width, rng):
    """RoiAlign spelled out: bins of a box, two samples in each."""
    graph = Graph()
    box = spread(width) + [[-2, 2]]
    moved = graph.add(
        "Add", offsets(graph, maker, 2, 2, rng), graph.constant(box)
    )
    first, end = column(graph, moved, 0, 1), column(graph, moved, 1, 2)
    size = graph.add("Div", graph.add("Sub", end, first), graph.constant(2))
    bins = graph.constant([[0.25, 0.75, 1.25, 1.75]])
    inside = graph.add("Mul", size, bins)
    place = graph.add("Sub", graph.add("Add", first, inside), graph.constant(0.5))
    low, high = graph.constant(0), graph.constant(width - 1)
    sample(graph, graph.add("Clip", place, low, high), width)
    return graph


def grid_op(maker, width, rng):
    """ONNX's GridSample, at places in [-1, 1]."""
    graph = Graph()
    moved = unit_grid(graph, maker, width, rng)
    x = graph.add("Reshape", moved, graph.constant([1, 1, COUNT, 1], I64))
    zeros = graph.constant(np.zeros((1, 1, COUNT, 1)))
    image = graph.constant(np.tile(wave(width), (1, 1, 1, 1)))
    places = graph.add("Concat", x, zeros, axis=3)
    graph.output(graph.add("GridSample", image, places, padding_mode="border"))
    return graph


def reference_points(maker, width, rng):
    """Deformable attention: points and offsets in shares of the image."""
    graph = Graph()
    product = offsets(graph, maker, 1, 3, rng)
    size = graph.constant(width)
    points = graph.add(
        "Add", graph.constant(spread(width) / width), graph.add("Div", product, size)
    )
    two, one, half = (graph.constant(k) for k in (2, 1, 0.5))
    unit = graph.add("Sub", graph.add("Mul", points, two), one)
    scaled = graph.add("Mul", graph.add("Add", unit, one), size)
    sample(graph, graph.add("Mul", graph.add("Sub", scaled, one), half), width)
    return graph


SAMPLERS = {
    f.__name__: f
    for f in (
        grid_sample, unit_grid_sample, flow, roi_align, grid_op, reference_points
    )
}


def check(name, maker, width, dtype):
    make = {**SAMPLERS, "affine": affine}[name]
    compare(make(maker, width, np.random.default_rng(2)), dtype, width)


@pytest.mark.parametrize("dtype", DTYPES)
def test_samplers(dtype):
    cases = [
        (s, m, w, dtype) for s in SAMPLERS for m in ("MatMul", "Conv") for w in WIDTHS
    ]
    cases += [("affine", "MatMul", w, dtype) for w in WIDTHS]
    found = failures(check, cases)
    assert not found, report(found, cases)
