# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalization on a device, whose statistics are computed in one pass:
right for large means, for samples that are unlike the rest, for images of odd
sizes."""

import numpy as np
import pytest

from runs import DEVICE, compute, write_model

# Sizes above the limit of one pass, and one below.
SHAPES = {
    "odd": (5, 2, 331, 347),
    "one": (1, 2, 727, 725),
    "line": (67, 3, 5651),
    "many": (130, 2, 4099),
    "small": (3, 2, 7, 7),
}
# A sample is at least 1/64 of all elements: it multiplies rounding errors by
# 65 at most. Sums are of at most 2^12 terms in a row.
BOUND = 65 * 2.0**-24 * 4


def make_images(shape, generator):
    """The first channel has a large mean; in the second one, the part from
    which the sample is taken is far from the rest."""
    x = generator.standard_normal(shape)
    x[:, 0] += 1e3
    axis = 0 if shape[0] > 1 else 2
    outliers = np.moveaxis(x[:, 1:2], axis, 0)
    outliers[: -(-shape[axis] // 64)] += 300
    return x.astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_statistics(tmp_path, name):
    shape = SHAPES[name]
    sizes = ", ".join(map(str, shape))
    channels = shape[1]
    model = write_model(
        tmp_path,
        f"""net (float[{sizes}] x, float[{channels}] scale, float[{channels}] shift,
     float[{channels}] m, float[{channels}] v)
    => (float[{sizes}] y, float[{channels}] mean, float[{channels}] var) {{
  y, mean, var = BatchNormalization<training_mode = 1, momentum = 0.0>(
      x, scale, shift, m, v)
}}
""",
    )
    generator = np.random.default_rng(3)
    data = {"x": make_images(shape, generator)}
    for key in ("scale", "shift", "m", "v"):
        data[key] = generator.random(channels).astype(np.float32) + 0.5
    found = compute(model, data, DEVICE)
    x = data["x"].astype(np.float64)
    axes = tuple(axis for axis in range(len(shape)) if axis != 1)
    wide = (1, channels) + (1,) * (len(shape) - 2)
    mean, var = x.mean(axes), x.var(axes)
    # The sample's mean is at most 8 deviations from that of all elements.
    errors = (np.abs(mean) + 8 * np.sqrt(var)) * 2.0**-22
    assert np.all(np.abs(found["mean"] - mean) <= errors)
    np.testing.assert_allclose(found["var"], var, rtol=BOUND)
    y = (x - mean.reshape(wide)) / np.sqrt(var + 1e-5).reshape(wide)
    y = y * data["scale"].reshape(wide) + data["shift"].reshape(wide)
    np.testing.assert_allclose(found["y"], y, atol=2e-3)
    again = compute(model, data, DEVICE)
    for key, value in found.items():
        np.testing.assert_array_equal(again[key], value, err_msg=key)


# Sizes of a batch, and windows: kernel, strides, pads, ceil_mode. Windows
# overlap, leave cells out, and reach beyond the image.
POOLS = {
    "resnet": ((2, 3, 13, 11), (3, 3), (2, 2), (1, 1, 1, 1), 0),
    "dense": ((2, 2, 7, 7), (3, 2), (1, 1), (1, 0, 2, 1), 0),
    "gaps": ((1, 2, 17, 19), (2, 2), (3, 4), (0, 1, 1, 0), 0),
    "ceil": ((2, 2, 10, 9), (3, 3), (2, 3), (0, 0, 0, 0), 1),
    "line": ((3, 2, 29), (4,), (3,), (2, 1), 0),
    "space": ((1, 2, 5, 6, 7), (2, 3, 2), (1, 2, 2), (1, 1, 0, 0, 1, 1), 0),
}


def window_starts(size, kernel, stride, before, after, ceil):
    room = size + before + after - kernel
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + before:
        count -= 1
    return [start * stride - before for start in range(count)]


def max_pool(x, kernel, strides, pads, ceil):
    """The greatest of each window, and its position; the first of equal
    ones."""
    rank = len(kernel)
    starts = [
        window_starts(
            x.shape[2 + axis], kernel[axis], strides[axis], pads[axis],
            pads[rank + axis], ceil,
        )
        for axis in range(rank)
    ]  # fmt: skip
    shape = x.shape[:2] + tuple(map(len, starts))
    places = np.zeros(shape, np.int64)
    flat = np.arange(x.size).reshape(x.shape)
    for window in np.ndindex(shape):
        cells = tuple(
            slice(
                max(0, starts[axis][window[2 + axis]]),
                starts[axis][window[2 + axis]] + kernel[axis],
            )
            for axis in range(rank)
        )
        part = x[window[:2]][cells].ravel()
        nans = np.flatnonzero(np.isnan(part))
        first = nans[0] if nans.size else part.argmax()
        places[window] = flat[window[:2]][cells].ravel()[first]
    return x.ravel()[places], places


@pytest.mark.parametrize("name", POOLS)
def test_pool_gradients(tmp_path, name):
    """Few different numbers: many cells of a window are equal. The gradient of
    the first of them has the window's part."""
    shape, kernel, strides, pads, ceil = POOLS[name]
    generator = np.random.default_rng(4)
    x = generator.integers(-2, 3, shape).astype(np.float32)
    x[0, 0][tuple(slice(3) for _ in kernel)] = -np.inf
    x[-1, -1].flat[5] = np.nan
    y, places = max_pool(x, kernel, strides, pads, ceil)
    given = generator.integers(-8, 9, y.shape).astype(np.float32)
    planes, cells = shape[0] * shape[1], int(np.prod(shape[2:]))
    windows = int(np.prod(y.shape[2:]))
    text = ", ".join

    def ints(values):
        return text(map(str, values))

    model = write_model(
        tmp_path,
        f"""net (float[{ints(shape)}] x, float[{ints(y.shape)}] g)
    => (float[{ints(y.shape)}] y, int64[{ints(y.shape)}] places,
        float[{ints(shape)}] d)
<int64[2] rows = {{{planes}, {windows}}}, int64[2] all = {{{planes}, {cells}}},
 int64[{len(shape)}] image = {{{ints(shape)}}}, int64 cells = {{{cells}}},
 int64 zero = {{0}}, int64 one = {{1}}, int64 planes = {{{planes}}},
 int64[2] column = {{-1, 1}}, float none = {{0}}> {{
  y, places = MaxPool<kernel_shape = [{ints(kernel)}],
      strides = [{ints(strides)}], pads = [{ints(pads)}], ceil_mode = {ceil}>(x)
  numbers = Range(zero, planes, one)
  first = Mul(numbers, cells)
  begins = Reshape(first, column)
  flat = Reshape(places, rows)
  own = Sub(flat, begins)
  zeros = Expand(none, all)
  values = Reshape(g, rows)
  sums = ScatterElements<axis = 1, reduction = "add">(zeros, own, values)
  d = Reshape(sums, image)
}}
""",
    )
    found = compute(model, {"x": x, "g": given}, DEVICE)
    expected = np.zeros(x.size)
    np.add.at(expected, places.ravel(), given.ravel())
    np.testing.assert_array_equal(found["y"], y)
    np.testing.assert_array_equal(found["places"], places)
    np.testing.assert_array_equal(found["d"], expected.reshape(shape))
