# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places in images: offsets from a product, and how far two models are apart."""

import numpy as np
from graphs import run, run_mixed

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


def wave(width):
    """An image whose samples tell where they are: a row of slope 1 or -1, in
    numbers that 16 bit has."""
    return np.abs((np.arange(width) % 16) - 8.0)


def compare(graph, dtype, width):
    """Indices, places and samples of waves of the mixed model are within one
    of the fp32 model's, and indices inside of the image."""
    for want, got in zip(
        run(graph.model(), graph.feed), run_mixed(graph, dtype), strict=True
    ):
        assert got.shape == want.shape, f"{got.shape} instead of {want.shape}"
        apart = np.abs(got.astype(np.float64) - want).max()
        assert apart <= 1, f"off by {apart:.4g}"
        if got.dtype == I64:
            inside = (got >= 0) & (got < width)
            assert inside.all(), f"outside: {got[~inside][:4]}"
