# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every unary operator at every bf16 and fp16 number, against float64.

What is computed in fp32 and rounded once is within half a unit in the last
place for arithmetic and roots, and within one for other functions.
"""

import math
import os
import pathlib
import subprocess

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx_models import make_model
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
MP_RUN = os.environ.get("MP_RUN", ROOT / "build" / "bin" / "mp-run")


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


# The operator, float64's answer, and how many units in the last place apart
# the results may be.
OPERATORS = [
    ("Abs", np.abs, 0.5),
    ("Neg", np.negative, 0.5),
    ("Floor", np.floor, 0.5),
    ("Ceil", np.ceil, 0.5),
    ("Round", np.rint, 0.5),
    ("Relu", lambda x: np.maximum(x, 0), 0.5),
    ("Sqrt", np.sqrt, 0.5),
    ("Reciprocal", lambda x: 1 / x, 0.5),
    ("Exp", np.exp, 1),
    ("Log", np.log, 1),
    ("Tanh", np.tanh, 1),
    ("Erf", erf, 1),
    ("Sigmoid", sigmoid, 1),
    ("Softplus", softplus, 1),
    ("Softsign", lambda x: x / (1 + np.abs(x)), 1),
    ("Sin", np.sin, 1),
    ("Cos", np.cos, 1),
    ("Tan", np.tan, 1),
    ("Asin", np.arcsin, 1),
    ("Acos", np.arccos, 1),
    ("Atan", np.arctan, 1),
    ("Sinh", np.sinh, 1),
    ("Cosh", np.cosh, 1),
    ("Asinh", np.arcsinh, 1),
    ("Acosh", np.arccosh, 1),
    ("Atanh", np.arctanh, 1),
    ("Sign", np.sign, 0.5),
]

TYPES = {
    "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16, 8, -126),
    "float16": (TensorProto.FLOAT16, np.float16, 11, -14),
}


def unit_in_last_place(values, digits, least):
    """The distance between neighbours at `values` in the type."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(np.abs(values)))
    return np.exp2(np.maximum(exponent, least) - digits + 1)


def run(folder, kind, dtype, numbers):
    inputs = [helper.make_tensor_value_info("x", kind, [numbers.size])]
    nodes, outputs = [], []
    for op, _, _ in OPERATORS:
        nodes.append(helper.make_node(op, ["x"], [op]))
        outputs.append(helper.make_tensor_value_info(op, kind, [numbers.size]))
    # IR and opset under which all of them take bf16.
    model = make_model(
        nodes, inputs, outputs, opset=22, ir=10, name="unary"
    )
    onnx.save(model, folder / "model.onnx")
    numbers.tofile(folder / "x.bin")
    name = "bfloat16" if dtype is ml_dtypes.bfloat16 else "float16"
    subprocess.run(
        [MP_RUN, "run", folder / "model.onnx",
         f"--raw=x:{folder}/x.bin:{name}[{numbers.size}]",
         "-o", folder / "out.npz"],
        check=True, capture_output=True)
    with np.load(folder / "out.npz") as file:
        return {name: file[name].view(dtype) for name in file.files}


@pytest.fixture(scope="module", params=TYPES)
def results(request, tmp_path_factory):
    kind, dtype, digits, least = TYPES[request.param]
    numbers = np.arange(65536, dtype=np.uint16).view(dtype)
    outputs = run(tmp_path_factory.mktemp(request.param), kind, dtype, numbers)
    return numbers.astype(np.float64), outputs, dtype, digits, least


def count_wrong(found, exact, dtype, digits, least, allowed):
    """Results further from the exact ones than `allowed` units."""
    rounded = exact.astype(dtype).astype(np.float64)
    both_nan = np.isnan(found) & np.isnan(exact)
    same = found == rounded
    finite = np.isfinite(found) & np.isfinite(exact)
    units = np.zeros_like(exact)
    ulp = unit_in_last_place(exact[finite], digits, least)
    units[finite] = np.abs(found[finite] - exact[finite]) / ulp
    # fp32's own error comes on top of the half unit of the last rounding.
    near = finite & (units <= max(allowed, 0.5 + 2.0 ** (digits - 22)))
    # Next to the greatest number, one unit decides over infinity.
    edge = np.isinf(found) != np.isinf(rounded)
    largest = float(ml_dtypes.finfo(dtype).max)
    at_edge = edge & (np.abs(exact) > largest * (1 - 2.0 ** (1 - digits)))
    return int(np.sum(~(both_nan | same | near | (at_edge & (allowed >= 1)))))


@pytest.mark.parametrize("op, exact, allowed", OPERATORS,
                         ids=[op for op, _, _ in OPERATORS])
def test_all_numbers(results, op, exact, allowed):
    numbers, outputs, dtype, digits, least = results
    with np.errstate(all="ignore"):
        expected = exact(numbers)
    found = outputs[op].astype(np.float64)
    assert np.unique(found[np.isfinite(found)]).size > 2
    wrong = count_wrong(found, expected, dtype, digits, least, allowed)
    assert wrong == 0


def test_truncation_would_fail(results):
    """A kernel that cuts digits off instead of rounding is found."""
    numbers, outputs, dtype, digits, least = results
    with np.errstate(all="ignore"):
        exact = np.sqrt(numbers)
        bits = exact.astype(np.float32).view(np.uint32)
    if dtype is ml_dtypes.bfloat16:
        cut = (bits >> 16 << 16).view(np.float32).astype(np.float64)
    else:
        cut = (bits >> 13 << 13).view(np.float32).astype(np.float64)
    assert count_wrong(cut, exact, dtype, digits, least, 0.5) > 1000
