# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the greatest of each window is: small windows are compared at once,
bigger ones in loops. Pads are the lowest value, and never what is found."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import helper

from runs import mp_run

LOWEST = {np.float32: -np.inf, np.float64: -np.inf, np.float16: -np.inf,
          np.int8: -128, np.uint8: 0}
POOLS = {
    "pads": dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 2, 2, 1]),
    "wide": dict(kernel_shape=[5, 4], strides=[1, 2], pads=[4, 1, 2, 3]),
    "gaps": dict(kernel_shape=[2, 3], strides=[1, 3], pads=[2, 3, 1, 4],
                 dilations=[3, 2]),
    "ceil": dict(kernel_shape=[3, 2], strides=[2, 3], pads=[0, 1, 1, 0],
                 ceil_mode=1),
    "columns": dict(kernel_shape=[2, 2], pads=[1, 0, 1, 1], storage_order=1),
    "inside": dict(kernel_shape=[3, 3], strides=[2, 2]),
}


def make_image(dtype, rng):
    """Ties, the lowest value over whole windows, and NaN."""
    image = rng.integers(0, 3, [2, 3, 9, 10]).astype(dtype)
    image[rng.random(image.shape) < 0.6] = LOWEST[dtype]
    image[0, 0] = LOWEST[dtype]
    if np.issubdtype(dtype, np.floating):
        image[rng.random(image.shape) < 0.03] = np.nan
    return image


def find_first(image, order, cells):
    """The greatest of those that are in the image, and its place, or None."""
    rows, columns = image.shape
    best = None
    for row, column in cells:
        if not (0 <= row < rows and 0 <= column < columns):
            continue
        value = image[row, column]
        if best is None or not np.isnan(best[0]) and not value <= best[0]:
            place = column * rows + row if order else row * columns + column
            best = value, place
    return best


def expect(image, counts, kernel_shape, pads=(0, 0, 0, 0), strides=(1, 1),
           dilations=(1, 1), storage_order=0, ceil_mode=0):
    found = np.zeros(image.shape[:2] + tuple(counts), np.int64)
    size = image[0, 0].size
    for n, c, i, j in np.ndindex(found.shape):
        cells = [
            (i * strides[0] + k * dilations[0] - pads[0],
             j * strides[1] + m * dilations[1] - pads[1])
            for k, m in itertools.product(*map(range, kernel_shape))
        ]
        best = find_first(image[n, c], storage_order, cells)
        if best:
            found[n, c, i, j] = (n * image.shape[1] + c) * size + best[1]
    return found


@pytest.mark.parametrize("sizes", ["known", "unknown"])
@pytest.mark.parametrize("dtype", LOWEST, ids=lambda t: t.__name__)
@pytest.mark.parametrize("pool", POOLS)
def test_places_of_the_greatest(tmp_path, pool, dtype, sizes):
    image = make_image(dtype, np.random.default_rng(3))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shape = ["n", "c", "h", "w"] if sizes == "unknown" else image.shape
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], **POOLS[pool])
    graph = helper.make_graph(
        [node], "pool",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info("y", element, None),
         helper.make_tensor_value_info("places", onnx.TensorProto.INT64, None)],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8
    )
    onnx.save(model, tmp_path / "pool.onnx")
    np.savez(tmp_path / "x.npz", x=image)
    mp_run("run", tmp_path / "pool.onnx", tmp_path / "x.npz",
           "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as results:
        places = results["places"]
    want = expect(image, places.shape[2:], **POOLS[pool])
    np.testing.assert_array_equal(places, want)
