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
