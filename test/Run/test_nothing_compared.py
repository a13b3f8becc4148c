# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where nothing is compared, nothing is verified."""

import json

import numpy as np
import pytest

import support
from runs import BAD_INPUT, OUTSIDE, attempt, fail, mp_run, write_model

LOG = """
f (float[n,4] x) => (float[n,4] y) <float two = {2}>
{ a = Log (x) y = Mul (a, two) }
"""
# One output is the same for all data, a second one depends on their size.
ANCHORS = """
f (float[n,4] x, float[4,4] w) => (float[n,4] y, float[4] z, int64[2] s)
<float[4] a = {1, 2, 3, 4}>
{ y = MatMul (x, w) z = Mul (a, a) s = Shape (x) }
"""
CONSTANT = "f (float[n,4] x) => (float[2] z) <float[2] a = {1, 2}> { z = Mul (a, a) }"


@pytest.fixture
def data(tmp_path):
    def write(x, **others):
        np.savez(tmp_path / "x.npz", x=np.asarray(x, np.float32), **others)
        return tmp_path / "x.npz"

    return write


def verify(model, data, tmp_path):
    return support.attempt(
        model, "--mixed-bf16", "--summary=none", f"--verify={data}", "-o",
        tmp_path / "out.onnx", timeout=120
    )


def test_nothing_but_nan(tmp_path, data):
    model, x = write_model(tmp_path, LOG), data(-np.ones((3, 4)))
    done = verify(model, x, tmp_path)
    assert done.returncode == OUTSIDE
    assert done.stderr.endswith("nothing compared: output 'y' is NaN in both\n")
    done = attempt("compare", model, model, x, "--json")
    assert done.returncode == OUTSIDE
    assert "error: nothing compared: output 'y' is NaN in both" in done.stderr
    for compared in json.loads(done.stdout)["models"]:
        (output,) = compared["outputs"]
        for key in ("error", "cosine", "rmse", "max_abs"):
            assert output[key] is None
        assert output["compared"] == 0 and output["is_outside"]
        assert compared["nodes"] == []


def test_nothing_but_infinity(tmp_path, data):
    model, x = write_model(tmp_path, LOG), data(np.zeros((3, 4)))
    text = fail(OUTSIDE, "compare", model, model, x)
    assert "nothing compared: output 'y' is infinite in both" in text


def test_some_nan(tmp_path, data):
    model, x = write_model(tmp_path, LOG), data([[-1, 2, 3, 4]] * 2)
    done = verify(model, x, tmp_path)
    assert done.returncode == 0, done.stderr
    text = "; 2 of 8 elements of 'y' are NaN or infinite in both"
    assert done.stderr.rstrip().endswith(text)


def test_expected_nan(tmp_path, data):
    model = write_model(tmp_path, LOG)
    y = np.full((1, 4), np.nan, np.float32)
    done = attempt("run", model, data([[-1] * 4], **{"out:y": y}), "--check")
    assert done.returncode == OUTSIDE and "nothing compared" in done.stdout


def test_no_rows(tmp_path, data):
    model, x = write_model(tmp_path, LOG), data(np.zeros((0, 4)))
    text = "x.npz: input 'x' is float[0,4]: the data have no rows"
    assert text in fail(BAD_INPUT, "compare", model, model, x)
    done = verify(model, x, tmp_path)
    assert done.returncode == BAD_INPUT and text in done.stderr


def test_special_numbers_in_the_data(tmp_path, data):
    """They are named before the run, and do not end it."""
    x = np.ones((3, 4))
    x[1, 2], x[2, 0] = np.nan, np.inf
    model = write_model(tmp_path, LOG)
    told = mp_run("compare", model, model, data(x)).stderr
    text = "warning: input 'x' has 1 NaN and 1 infinite of 12 elements, the first in "
    assert told.count(text + "row 1: ") == 1


def test_outputs_without_data(tmp_path, data):
    """Beside others they are told of; alone they prove nothing."""
    w = np.eye(4, dtype=np.float32)
    done = verify(write_model(tmp_path, ANCHORS), data(np.ones((2, 4)), w=w), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "verified: " in done.stderr
    for name in "zs":
        text = f"; nothing compared: output '{name}' does not depend on the data"
        assert text in done.stderr
    model = write_model(tmp_path, CONSTANT)
    text = fail(OUTSIDE, "compare", model, model, data(np.ones((2, 4))))
    assert "nothing compared: output 'z' does not depend on the data" in text
