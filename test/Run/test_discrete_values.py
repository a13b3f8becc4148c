# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers of the reference in float64 are those of fp32 (--verify, compare)."""

import json

import pytest

from discrete_models import CASES
import support
from runs import OUTSIDE, attempt


def compare(case, folder, *flags):
    model, data = case.write(folder)
    done = attempt("compare", model, model, data, "--json", "--check", *flags)
    return done, json.loads(done.stdout)["models"]


def verify(case, folder, *flags):
    model, data = case.write(folder)
    return support.attempt(
        model, "--summary=none", f"--verify={data}", "-o", folder / "out.onnx",
        *flags, timeout=300
    )


@pytest.mark.parametrize("name", CASES)
def test_fp32_is_near_its_reference(tmp_path, name):
    """On data where float64 alone would decide otherwise."""
    done, models = compare(CASES[name], tmp_path, "--nodes=0")
    assert done.returncode == 0, done.stdout
    for output in models[1]["outputs"]:
        assert output["reference"] == "float64" and "fp32_error" not in output
        assert output["error"] < 2e-5 and output["allowed"] < 1e-4


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.wrong])
def test_other_integers_are_refused(tmp_path, name):
    """And the node that makes them is named."""
    case = CASES[name]
    done = verify(case, tmp_path, "--mixed-bf16", *case.wrong)
    assert done.returncode == OUTSIDE, done.stderr
    assert "error: NOT verified: output 'y'" in done.stderr
    assert " places than in fp32: keep in fp32 what they are made of" in done.stderr


@pytest.mark.parametrize("name", ["buckets", "tokens", "greedy", "dynamic"])
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_equal_integers_are_verified(tmp_path, name, dtype):
    done = verify(CASES[name], tmp_path, f"--mixed-{dtype}")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


@pytest.mark.parametrize(
    "name, flags",
    [
        ("quantized", ("--mixed-fp16", "--allow-node=q|d")),
        ("best", ("--mixed-bf16", "--allow-node=s3")),
    ],
)
def test_choices_that_do_not_matter(tmp_path, name, flags):
    """One step of eight bits, one of two rows that are nearly the same: a
    warning, as long as outputs are within what rounding explains."""
    done = verify(CASES[name], tmp_path, *flags)
    assert done.returncode == 0, done.stderr
    text = "makes other integers in "
    assert text in done.stderr and "outputs do not show it" in done.stderr
