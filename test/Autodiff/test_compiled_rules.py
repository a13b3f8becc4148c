# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of images that are sampled or resized, compiled by mp-run.

The loss is compared with onnxruntime's forward pass, gradients with torch's.
"""

import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import rules
from support import MP_OPT, attempt, scratch_dir

CASES = [
    ("grid_sample", "linear-zeros-edges"),
    ("grid_sample", "cubic-border-corners"),
    ("grid_sample", "cubic-reflection-edges"),
    ("grid_sample", "nearest-border-edges"),
    ("grid_sample", "volume-linear-reflection-1"),
    ("resize", "antialias-torch-linear"),
    ("resize", "antialias-torch-cubic"),
]


def find_case(family, name):
    return next(c for c in rules.cases_of(family) if c.name == name)


@pytest.mark.parametrize("family, name", CASES)
def test_compiled(family, name):
    case, folder = find_case(family, name), scratch_dir("compiled")
    model = rules.differentiate(case, dtype=TensorProto.FLOAT)
    onnx.save(model, folder / "g.onnx")
    values, data = rules.values_of(case), {}
    for key, value in values.items():
        is_float = value.dtype.kind == "f"
        data[f"in:{key}"] = value.astype(np.float32) if is_float else value
    outputs = zip(rules.forward_pass(case)(values), rules.weights_of(case))
    data["out:loss"] = np.float32(sum(np.sum(y * w) for y, w in outputs))
    for key, value in rules.stored_torch_gradients(case, family).items():
        data[f"out:{key}_grad"] = value.astype(np.float32)
    np.savez(folder / "data.npz", **data)
    done = attempt(
        "run", folder / "g.onnx", folder / "data.npz", "--check=1e-4,1e-4",
        program=pathlib.Path(MP_OPT).with_name("mp-run"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
