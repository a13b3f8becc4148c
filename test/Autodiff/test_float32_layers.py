# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same gradients in fp32, as onnxruntime computes them.

Statistics that a forward node states are fp32: only there are they what the
gradient reads.
"""

import numpy as np
import pytest
from onnx import TensorProto

import onnx_models
import rules

FAMILIES = ["convolution", "grid_sample", "loss", "normalization", "pooling", "resize"]
# Cases that onnxruntime does not support: an output_padding of a stride or
# more, an LRN of even size, GlobalLpPool of this version, and a Resize that
# excludes outside positions or has a vector input.
MISSING = (
    "transposed-padded-past-stride",
    "lrn-2",
    "lrn-4",
    "global-lp",
    "linear-exclude-outside",
    "one-axis",
)


STATISTICS = [
    rules.Case(
        f"layer-{'-'.join(outputs)}",
        "y, mean, inv = LayerNormalization(x, s, b)",
        {"x": (2, 3, 4), "s": (4,), "b": (4,)},
        wrt=("x", "s", "b") if "y" in outputs else ("x",),
        outputs=outputs,
    )
    for outputs in [("y", "mean", "inv"), ("mean",), ("inv",)]
]


def gradients(case):
    model = rules.differentiate(case, dtype=TensorProto.FLOAT)
    return run(case, model, rules.values_of(case))


def run(case, model, values):
    values = {
        name: value.astype(np.float32) if value.dtype.kind == "f" else value
        for name, value in values.items()
    }
    names = rules.wanted_of(case)
    found = onnx_models.run_ort(model, values, [n + "_grad" for n in names])
    return dict(zip(names, found))


def assert_near(actual, expected):
    largest = max(np.abs(v).max() for v in expected.values())
    for name, value in expected.items():
        assert actual[name].shape == value.shape
        assert actual[name].dtype == np.float32
        assert np.abs(actual[name] - value).max() <= 2e-4 * largest, name


@pytest.mark.parametrize("case", STATISTICS, ids=str)
def test_statistics(case):
    assert_near(gradients(case), rules.difference_quotients(case))


def test_simplified():
    """An operator of onnxruntime that ONNX does not know."""
    case = rules.Case(
        "simplified",
        "y = RMSNormalization<epsilon=0.01>(x, s)",
        {"x": (2, 4), "s": (4,)},
        opset=23,
    )
    model = onnx_models.parse(
        "g (float[2,4] x, float[4] s, float[2,4] w) => (float loss) "
        "<float[2,4] y> {"
        "y = SimplifiedLayerNormalization<axis=-1, epsilon=0.01>(x, s) "
        "z = Mul(y, w) loss = ReduceSum<keepdims=0>(z) }"
    )
    (weights,) = rules.weights_of(case)
    values = {**rules.values_of(case), "w": weights}
    found = run(case, rules.with_gradients(model, "x,s"), values)
    assert_near(found, rules.difference_quotients(case))


@pytest.mark.parametrize(
    "family, case",
    [
        pytest.param(family, case, id=f"{family}-{case.name}")
        for family in FAMILIES
        for case in rules.cases_of(family)
        if not case.name.startswith(MISSING)
    ],
)
def test_case(family, case):
    expected = rules.stored_torch_gradients(case, family)
    assert_near(
        gradients(case), expected or rules.difference_quotients(case)
    )
