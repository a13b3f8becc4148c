# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What no list of operators keeps right, and the safety analyses do.

Every model (models/safety/*.onnxtxt) runs in the strict reference evaluator, which
computes each node in the type that the model says, against its own fp32 run.
Without the analysis that the model is about, each of them is wrong by far in
at least one of the types named here.
"""

import pathlib

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_models import rewritten
from support import UNIT_ROUNDOFF, relative_rms

MODELS = pathlib.Path(__file__).parents[1] / "models" / "safety"
# The roundings: a contraction's operands, its result, and a product after it.
GROWTH = 4

CASES = [
    ("layer_norm_big", "fp16", []),
    ("layer_norm_big", "bf16", []),
    ("rms_norm_big", "fp16", []),
    ("rms_norm_big", "bf16", []),
    ("softmax_big", "fp16", []),
    ("softmax_big", "bf16", []),
    ("squared_error", "fp16", []),
    ("squared_error", "bf16", []),
    ("rotary_positions", "fp16", []),
    ("rotary_positions", "bf16", []),
    ("size_in_float", "fp16", ["--allow=Mul"]),
    ("size_in_float", "bf16", ["--allow=Mul"]),
    ("mean_of_ones", "fp16", ["--allow=ReduceMean"]),
    ("mean_of_ones", "bf16", ["--allow=ReduceMean"]),
    ("sum_of_ones", "bf16", ["--allow=ReduceSum"]),
]


def make_feed(model):
    rng = np.random.default_rng(1)
    feed = {"n": np.array(4096), "b": np.array(True)}
    dims = model.graph.input[0].type.tensor_type.shape.dim
    shape = [dim.dim_value for dim in dims]
    if shape[-1] > 1000:
        feed["x"] = np.ones(shape, np.float32)
    else:
        feed["x"] = rng.standard_normal(shape).astype(np.float32)
    return {value.name: feed[value.name] for value in model.graph.input}


@pytest.mark.parametrize("name,dtype,flags", CASES)
def test_safety(name, dtype, flags):
    source = onnx.parser.parse_model((MODELS / f"{name}.onnxtxt").read_text())
    mixed = rewritten(source, f"--mixed-{dtype}", *flags)
    onnx.checker.check_model(mixed, full_check=True)
    # The models of sums of ones consist of a reduction only.
    assert "ones" in name or mixed != source, "nothing runs in 16 bit"
    feed = make_feed(source)
    (expected,) = ReferenceEvaluator(source).run(None, feed)
    (actual,) = ReferenceEvaluator(mixed).run(None, feed)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert np.isfinite(actual).all()
    if "ones" in name:
        assert (actual == expected).all()
    assert relative_rms(actual, expected) <= GROWTH * UNIT_ROUNDOFF[dtype]
