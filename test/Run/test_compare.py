# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run compare: errors against float64, and the nodes that make them."""

import json
import re

import numpy as np
import pytest

from runs import (
    BAD_INPUT, OUTSIDE, USAGE, attempt, fail, mp_run, run_mp_opt, write_model,
)

# The second node loses bits that are small relative to 4096.
A = """
f (float[n] x) => (float[n] y)
<float big = {4096}, float third = {0.33333334}>
{
  scaled = Mul(x, third)
  raised = Add(scaled, big)
  lowered = Sub(raised, big)
  y = Neg(lowered)
}
"""
# The same without the loss.
B = """
f (float[n] x) => (float[n] y)
<float third = {0.33333334}>
{
  scaled = Mul(x, third)
  y = Neg(scaled)
}
"""
X = np.linspace(1, 2, 64, dtype=np.float32)


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "x.npz", x=X)
    return tmp_path / "x.npz"


def compare(*arguments):
    return json.loads(mp_run("compare", *arguments, "--json").stdout)


def test_two_models(tmp_path, data):
    a = write_model(tmp_path, A, "a.onnxtxt")
    b = write_model(tmp_path, B, "b.onnxtxt")
    first, second = compare(a, b, data)["models"]
    scaled = X.astype("f8") * np.float64(np.float32(1 / 3))
    in_f32 = X * np.float32(1 / 3)
    lossy = ((in_f32 + np.float32(4096)) - np.float32(4096)).astype("f8")
    (errors,) = first["outputs"]
    difference = np.abs(lossy - scaled)
    assert errors["max_abs"] == pytest.approx(difference.max(), rel=1e-6)
    rmse = np.sqrt(np.mean(difference**2))
    assert errors["rmse"] == pytest.approx(rmse, rel=1e-6)
    worst = np.argmax(difference / (1e-5 + 1e-3 * scaled))
    assert errors["worst_index"] == f"[{worst}]"
    cosine = lossy @ scaled / np.linalg.norm(lossy) / np.linalg.norm(scaled)
    assert errors["cosine"] == pytest.approx(cosine, abs=1e-12)
    (errors,) = second["outputs"]
    assert errors["max_abs"] == pytest.approx(
        np.abs(in_f32 - scaled).max(), rel=1e-6
    )


def test_the_worst_node(tmp_path, data):
    """Of rounding that the subtraction uncovers, the subtraction is told."""
    a = write_model(tmp_path, A, "a.onnxtxt")
    first, _ = compare(a, a, data)["models"]
    worst = first["nodes"][0]
    assert worst["value"] == "lowered" and worst["added"] > 1e-5
    assert "Sub-14" in worst["node"]
    inherited = [n for n in first["nodes"] if n["value"] == "y"][0]
    assert inherited["added"] == 0 and inherited["error"] == worst["error"]
    (none, _) = compare(a, a, data, "--nodes=0")["models"]
    assert none["nodes"] == []


def test_fp32_that_is_far_itself(tmp_path, data):
    """The model is its own measure then, and others are not."""
    a = write_model(tmp_path, A, "a.onnxtxt")
    other = write_model(tmp_path, A.replace("0.33333334", "0.35"), "b.onnxtxt")
    (first,), (same,) = (m["outputs"] for m in compare(a, a, data)["models"])
    assert first["error"] > 2**-14 >= first["allowed"] and first["is_outside"]
    assert same["reference"] == "fp32" and not same["is_outside"]
    assert same["error"] == 0 and same["fp32_error"] == first["error"]
    mp_run("compare", a, a, data, "--check")
    done = attempt("compare", a, other, data, "--check")
    assert done.returncode == OUTSIDE
    assert "outside, fp32 itself is off by 0.0" in done.stdout
    # A bound does not grow with the error that it is for.
    (_,), (bad,) = (m["outputs"] for m in compare(a, other, data)["models"])
    assert bad["allowed"] <= 2**-14 < bad["error"]


def test_no_element_that_is_finite_in_both(tmp_path, data):
    """An infinite result is no error of 0 and no cosine of 1."""
    text = "f (float[n] x) => (float[n] y) <float big = {3e38}>"
    a = write_model(tmp_path, text + "{ z = Mul(x, big) y = Mul(z, big) }")
    first, _ = compare(a, a, data)["models"]
    (errors,) = first["outputs"]
    assert errors["is_outside"]
    assert errors["error"] is errors["cosine"] is errors["max_abs"] is None


# Rounding z to 16 bit changes hardly anything, rounding r much.
WEIGHED = """
f (float[n] x) => (float[n] y)
<float third = {0.33333334}, float little = {1e-3}, float seven = {0.7}>
{
  p = Mul(x, third)
  q = Mul(p, seven)
  r = Mul(q, third)
  o = Mul(x, seven)
  z = Mul(o, little)
  i = Identity(z)
  y = Add(r, i)
}
"""


def test_what_nodes_add_to_the_outputs(tmp_path, data):
    model, mixed = write_model(tmp_path, WEIGHED), tmp_path / "mixed.onnx"
    run_mp_opt(model, "--mixed-bf16", "--allow-node=.*", "-o", mixed)
    _, second = compare(model, mixed, data, "--nodes=7")["models"]
    nodes = {n["value"]: n for n in second["nodes"]}
    for name in "oz":
        assert nodes[name]["error"] > 1e-3 > 5 * nodes[name]["to_outputs"]
    order = [n["to_outputs"] for n in second["nodes"] if "to_outputs" in n]
    assert order == sorted(order, reverse=True) and len(order) >= 5
    values = [n["value"] for n in second["nodes"]]
    assert max(map(values.index, "pqr")) < min(map(values.index, "ozi"))
    out = mp_run("compare", model, mixed, data).stdout
    assert "nodes that add most to the outputs" in out


def test_precision(tmp_path):
    text = "f (float[8,16] x, float[16,8] w) => (float[8,8] y) {y = MatMul(x, w)}"
    model = write_model(tmp_path, text)
    flags = (model, "--random=3")
    fp32, bf16 = compare(*flags, "--precision=bf16")["models"]
    _, fp16 = compare(*flags, "--precision=fp16")["models"]
    errors = [m["outputs"][0]["rmse"] for m in (fp32, fp16, bf16)]
    size = fp32["outputs"][0]["rms"]
    assert errors[0] < 1e-6 * size
    assert 2.0**-14 * size < errors[1] < 2.0**-10 * size
    assert 6 < errors[2] / errors[1] < 11


def test_a_tolerance(tmp_path, data):
    a = write_model(tmp_path, A, "a.onnxtxt")
    b = write_model(tmp_path, B, "b.onnxtxt")
    mp_run("compare", a, b, data, "--check=1e-6,0")
    done = attempt("compare", b, a, data, "--check=1e-6,0")
    assert done.returncode == OUTSIDE
    assert "of 64, worst at [" in done.stdout


def test_bounds_that_rounding_gives(tmp_path, data):
    """Beside float64, of the types that a model has: what is lost in fp32 is
    outside of what the other model's fp32 explains."""
    a = write_model(tmp_path, A, "a.onnxtxt")
    b = write_model(tmp_path, B, "b.onnxtxt")
    mp_run("compare", a, b, data, "--check")
    done = attempt("compare", b, a, data, "--check")
    assert done.returncode == OUTSIDE and "  outside" in done.stdout
    (good,), (bad,) = (m["outputs"] for m in compare(b, a, data)["models"])
    assert not good["is_outside"] and bad["is_outside"]
    assert good["error"] == pytest.approx(good["rmse"] / good["rms"])
    assert bad["allowed"] < 1e-5 < bad["error"]


def test_text(tmp_path):
    """Sections have titles of their own, numbers two or three digits."""
    text = "f (float[8,16] x, float[16,8] w) => (float[8,8] y) {y = MatMul(x, w)}"
    model = write_model(tmp_path, text)
    out = mp_run("compare", model, "--random", "--precision=bf16").stdout
    titles = [line for line in out.splitlines() if line.startswith("== ")]
    assert len(titles) == 2 and titles[0] != titles[1]
    assert all("in float64 ==" in title for title in titles)
    assert f"{model} in bf16" in titles[1]
    assert "outside" not in out
    assert max(map(len, re.findall(r"\d+\.(\d+)", out))) <= 9
    row = [line for line in out.splitlines() if line.startswith("y ")][1]
    assert re.fullmatch(r"y( +\d\S*){3} +\S+ % +\S+ %", row), row


def test_outputs_that_differ(tmp_path, data):
    a = write_model(tmp_path, A, "a.onnxtxt")
    b = write_model(tmp_path, B.replace("y", "z"), "b.onnxtxt")
    assert "no output 'y'" in fail(BAD_INPUT, "compare", a, b, data)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["m"], "expected two models"),
        (["m", "--precision=bf61"], "expected bf16 or fp16, got 'bf61'"),
        (["a", "b", "--mixed-bf16"], "--precision=bf16 says it here"),
        (["a", "b", "c", "d"], "expected two models"),
        (["m.onnx", "x.npz"], "'x.npz' is data: a second model stands before"),
        (["m.onnx", "x.npz"], "or --precision=bf16 or fp16 makes one of 'm."),
    ],
)
def test_usage(arguments, text):
    assert text in fail(USAGE, "compare", *arguments)
