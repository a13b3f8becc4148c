# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions in images: grids and anchors plus what a product says.

Offsets of some pixels come from a product, which may run in 16 bit; from there
to a place in an image all is fp32, constants as well. At no width is an index
off by more than one of the fp32 model's, or outside of the image.
"""

import numpy as np
import pytest
from graphs import Graph, failures, report, run, run_mixed
from support import DTYPES

WIDTHS = [100, 700, 2000, 4000]
COUNT = 32
I64 = np.int64


def offsets(graph, maker, columns, reach, rng):
    """The result of a product, [COUNT, columns], of up to `reach`."""
    x = rng.uniform(-1, 1, (COUNT, 4)).astype(np.float32)
    w = rng.uniform(-1, 1, (4, columns)) * reach / 4
    if maker == "MatMul":
        return graph.add("MatMul", graph.input("x", x), graph.constant(w))
    # The channels of a head, next to each other as detectors have them.
    image = graph.input("x", x.T.reshape(1, 4, COUNT, 1))
    result = graph.add("Conv", image, graph.constant(w.T.reshape(columns, 4, 1, 1)))
    turned = graph.add("Transpose", result, perm=[0, 2, 3, 1])
    return graph.add("Reshape", turned, graph.constant([COUNT, columns], I64))


def column(graph, value, first, last):
    bounds = [graph.constant([n], I64) for n in (first, last, 1)]
    return graph.add("Slice", value, *bounds)


def compare(graph, dtype, width):
    """Integers and places in the mixed model beside those of the fp32 one."""
    for want, got in zip(
        run(graph.model(), graph.feed), run_mixed(graph, dtype), strict=True
    ):
        assert got.shape == want.shape, f"{got.shape} instead of {want.shape}"
        apart = np.abs(got.astype(np.float64) - want).max()
        assert apart <= 1, f"off by {apart:.4g}"
        if got.dtype == I64:
            inside = (got >= 0) & (got < width)
            assert inside.all(), f"outside: {got[~inside][:4]}"


# Images of which two samples are interpolated -----------------------------


def sample(graph, position, width):
    """Both neighbours of a position, weighted by its fraction."""
    low, high, one = (graph.constant(k) for k in (0, width - 1, 1))
    whole = graph.add("Floor", position)
    fraction = graph.add("Sub", position, whole)
    image = graph.constant(np.sin(np.arange(width) / 7))
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


def unit_grid_sample(maker, width, rng):
    """A constant grid in [-1, 1], as torch has it: ((x + 1) W - 1) / 2."""
    graph = Graph()
    grid = (2 * spread(width) + 1) / width - 1
    moved = graph.add(
        "Add", offsets(graph, maker, 1, 6 / width, rng), graph.constant(grid)
    )
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


# Boxes made of anchors ------------------------------------------------------


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
    shift = graph.add("Mul", column(graph, delta, 0, 1), size)
    centre = graph.add("Add", shift, graph.constant(anchors(width)))
    length = graph.add("Mul", graph.add("Exp", column(graph, delta, 1, 2)), size)
    half = graph.add("Mul", length, graph.constant(0.5))
    return graph.add("Sub", centre, half), graph.add("Add", centre, half), centre


def like_yolo(graph, maker, width, rng):
    """(sigmoid * 2 - 0.5 + grid) * stride; (sigmoid * 2)^2 * anchor."""
    stride = 8
    two, half = graph.constant(2), graph.constant(0.5)
    sigmoid = graph.add("Sigmoid", offsets(graph, maker, 2, 0.1, rng))
    double = graph.add("Mul", sigmoid, two)
    grid = graph.constant(anchors(width) / stride)
    cell = graph.add("Sub", column(graph, double, 0, 1), half)
    centre = graph.add("Mul", graph.add("Add", cell, grid), graph.constant(stride))
    squared = graph.add("Pow", column(graph, double, 1, 2), two)
    length = graph.add("Mul", squared, graph.constant(12))
    apart = graph.add("Mul", length, half)
    return graph.add("Sub", centre, apart), graph.add("Add", centre, apart), centre


def suppressed(graph, corners, width):
    low, high, _ = corners
    zeros, tens = (graph.constant(np.full((COUNT, 1), k)) for k in (0, 10))
    boxes = graph.add("Concat", low, zeros, high, tens, axis=1)
    boxes = graph.add("Unsqueeze", boxes, graph.constant([0], I64))
    scores = graph.constant(np.linspace(0.9, 0.1, COUNT).reshape(1, 1, COUNT))
    chosen = graph.add(
        "NonMaxSuppression", boxes, scores, graph.constant(COUNT, I64),
        graph.constant(0.4), graph.constant(0.0),
    )
    graph.output(chosen, I64)


def aligned(graph, corners, width):
    """A wave of slope 1 tells where RoiAlign looks, in numbers that 16 bit has."""
    low, high, _ = corners
    wave = np.abs((np.arange(width) % 16) - 8.0)
    zeros, one = (graph.constant(np.full((COUNT, 1), k)) for k in (0, 1))
    boxes = graph.add("Concat", low, zeros, high, one, axis=1)
    image = graph.constant(np.tile(wave, (1, 1, 2, 1)))
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


SAMPLERS = {f.__name__: f for f in (grid_sample, unit_grid_sample, flow, roi_align)}
DECODERS = {f.__name__: f for f in (with_exp, like_yolo)}
READERS = {f.__name__: f for f in (suppressed, aligned, gathered)}


def check_sampler(name, maker, width, dtype):
    make = {**SAMPLERS, "affine": affine}[name]
    compare(make(maker, width, np.random.default_rng(2)), dtype, width)


def check_boxes(decoder, reader, maker, width, dtype):
    graph = Graph()
    rng = np.random.default_rng(4)
    corners = DECODERS[decoder](graph, maker, width, rng)
    READERS[reader](graph, corners, width)
    compare(graph, dtype, width)


@pytest.mark.parametrize("dtype", DTYPES)
def test_samplers(dtype):
    cases = [
        (s, m, w, dtype) for s in SAMPLERS for m in ("MatMul", "Conv") for w in WIDTHS
    ]
    cases += [("affine", "MatMul", w, dtype) for w in WIDTHS]
    found = failures(check_sampler, cases)
    assert not found, report(found, cases)


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
    found = failures(check_boxes, cases)
    assert not found, report(found, cases)
