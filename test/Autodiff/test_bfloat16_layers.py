# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of bfloat16 layers are valid ONNX, with the types of their values.

Several operators of the training vocabulary refuse bfloat16; standard ops take
their place.
"""

import onnx
import pytest
from onnx import TensorProto

import rules

FAMILIES = ["convolution", "grid_sample", "loss", "normalization", "pooling", "resize"]
# The checker refuses these forward nodes: deprecated, with a body of fp32, or
# without bfloat16.
REFUSED = ("group-18", "mean-variance", "opset-")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{family}-{case.name}")
        for family in FAMILIES
        for case in rules.cases_of(family)
        if not case.name.startswith(REFUSED)
        # One of each kind is enough of many.
        if family != "resize" or case.name.endswith("up")
    ],
)
def test_types(case):
    model = rules.differentiate(case, dtype=TensorProto.BFLOAT16)
    onnx.checker.check_model(model, full_check=True)
    outputs = {o.name: o.type.tensor_type for o in model.graph.output}
    inputs = {i.name: i.type.tensor_type for i in model.graph.input}
    for name in rules.wanted_of(case):
        gradient = outputs[name + "_grad"]
        assert gradient.elem_type == TensorProto.BFLOAT16
        assert gradient.shape == inputs[name].shape
