# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights are rounded to nearest even, bit for bit as ml_dtypes and numpy do:
small ones while the pass runs, big ones while the model is written."""

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx_models import make_model, rewritten
from support import DTYPES, ELEMENT_TYPE

DTYPE = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}
# The largest finite numbers that do not round to infinity.
LARGEST = {"bf16": 3.3895314e38, "fp16": 65519.0}


def make_values(dtype, count):
    """Every fp32 exponent, ties, subnormals, zeros, infinities and NaN."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, count, dtype=np.uint32)
    # Half of them are exactly between two 16-bit numbers, or next to that.
    drop = 16 if dtype == "bf16" else 13
    tie = bits[::2] >> drop << drop | np.uint32(1 << drop - 1)
    bits[::2] = tie + rng.integers(-1, 2, len(tie)).astype(np.uint32)
    values = bits.view(np.float32)
    values[np.isfinite(values) & (np.abs(values) > LARGEST[dtype])] = 1.0
    # A random exponent seldom falls into fp16's subnormals.
    values[1::8] = rng.uniform(-1e-4, 1e-4, len(values[1::8]))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-24, 2.0**-25, 1.0]
    values[: len(special)] = special
    return values


def convert(values, dtype):
    model = make_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
        {"x": [1, 1]}, {"y": None}, {"w": values.reshape(1, -1)}
    )
    (weight,) = rewritten(model, f"--mixed-{dtype}").graph.initializer
    assert weight.data_type == ELEMENT_TYPE[dtype]
    return np.frombuffer(weight.raw_data, np.uint16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [256, 1 << 18], ids=["small", "big"])
def test_rounding(dtype, count):
    values = make_values(dtype, count)
    actual = convert(values, dtype)
    with np.errstate(all="ignore"):
        expected = values.astype(DTYPE[dtype]).view(np.uint16)
    isnan = np.isnan(values)
    assert (actual[~isnan] == expected[~isnan]).all()
    assert np.isnan(actual[isnan].view(DTYPE[dtype]).astype(np.float32)).all()
    assert isnan.any() and (np.signbit(values) == (actual >> 15 == 1)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_is_kept(dtype):
    """What is a 16-bit number already stays that number."""
    numbers = np.arange(1 << 16, dtype=np.uint16).view(DTYPE[dtype])
    actual = convert(numbers.astype(np.float32), dtype)
    isnan = np.isnan(numbers.astype(np.float32))
    assert (actual[~isnan] == numbers.view(np.uint16)[~isnan]).all()
