# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Squares and long sums of inputs of which no range is known, in fp16.

Each case overflows for inputs that fp16 holds, and a warning says so. With the
--deny-node that the warning names the result is finite and nothing is left to
warn of. Models that bound or normalize their inputs, and those of test/models,
get no warning.
"""

import pathlib
import re

import numpy as np
import onnx
import pytest
from onnx_models import parse, run_ort
from support import run_mp_opt

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
HEALTHY_MODELS = sorted(
    path
    for pattern in ("fwd/*/model.onnx", "train/*/forward.onnx")
    for path in MODELS.glob(pattern)
)
TEXT = "squares or long sums of inputs of unknown range are in fp16"

RISKY = {
    "square": "q = Mul (x, x) r = MatMul (q, w)",
    "power": "q = Pow (x, two) r = MatMul (q, w)",
    # A name that a regular expression would read otherwise.
    "gram": 't = Transpose <perm = [1, 0]> (x) ["a.g+"] r = MatMul (x, t)',
    "gemm": "r = Gemm <transB = 1> (x, x)",
    "einsum": 'r = Einsum <equation = "ij,kj->ik"> (x, x)',
    "scaled": "a = Mul (x, two) b = Sub (a, w) q = Mul (b, b) r = MatMul (q, w)",
    "squares": "q = ReduceSumSquare <axes = [-1]> (x) r = MatMul (w, q)",
    "sum": "t = Tile (x, repeats) q = ReduceSum (t, last) r = MatMul (w, q)",
    "greatest": "p = Mul (x, x) q = ReduceMax <axes = [-1]> (p) r = MatMul (w, q)",
}
HEALTHY = {
    "plain": "r = MatMul (x, w)",
    "activation": "a = MatMul (x, w) q = Mul (a, a) r = MatMul (q, w)",
    "bounded": "a = Tanh (x) q = Mul (a, a) r = MatMul (q, w)",
    "clipped": "a = Clip (x, one, two) q = Mul (a, a) r = MatMul (q, w)",
    "normalized": "a = LayerNormalization (x, ones) q = Mul (a, a)"
    " r = MatMul (q, w)",
    "unit_length": "n = ReduceL2 <axes = [-1]> (x) a = Div (x, n)"
    " t = Transpose <perm = [1, 0]> (a) r = MatMul (a, t)",
    "rms_norm": "p = Mul (x, x) m = ReduceMean <axes = [-1]> (p)"
    " e = Add (m, one) s = Sqrt (e) a = Div (x, s) r = MatMul (a, w)",
    "length": "p = Mul (x, x) q = ReduceSum (p, last) d = Sqrt (q)"
    " r = MatMul (w, d)",
    "two_inputs": "r = MatMul (x, z)",
    "softmax": "s = Softmax (x) r = MatMul (s, x)",
}


def write_model(body, path):
    weights = ",".join(str(number) for number in np.linspace(-1, 1, 16))
    model = parse(
        "g (float[4,4] x, float[4,4] z) => (float r)\n"
        f"<float[4,4] w = {{{weights}}}, float[4] ones = {{1,1,1,1}},"
        " float one = {1}, float two = {2}, int64[1] last = {-1},"
        " int64[2] repeats = {1,32}>\n"
        f"{{ {body} }}",
        opset=17, ir=8,
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)


def run(path):
    feeds = dict.fromkeys("xz", np.full((4, 4), 3e3, np.float32))
    return run_ort(path, feeds)[0]


@pytest.mark.parametrize("name", RISKY)
def test_warning_and_what_it_advises(name, tmp_path):
    source, mixed = tmp_path / "source.onnx", tmp_path / "mixed.onnx"
    write_model(RISKY[name], source)
    assert np.isfinite(run(source)).all()
    done = run_mp_opt(source, "--mixed-fp16", "--emulate", "-o", mixed)
    (line,) = [line for line in done.stderr.splitlines() if TEXT in line]
    assert "warning: " in line and " of 'x'" in line
    assert not np.isfinite(run(mixed)).all()
    (advice,) = re.findall(r"(--deny-node=)'(.*)' keeps them fp32$", line)
    flags = ["--mixed-fp16", "--emulate", "".join(advice)]
    done = run_mp_opt(source, *flags, "-o", mixed)
    assert TEXT not in done.stderr
    assert np.isfinite(run(mixed)).all()


@pytest.mark.parametrize("name", RISKY)
def test_no_warning_in_bf16(name, tmp_path):
    source = tmp_path / "source.onnx"
    write_model(RISKY[name], source)
    done = run_mp_opt(source, "--mixed-bf16", "-o", tmp_path / "mixed.onnx")
    assert "warning" not in done.stderr


def test_no_warning_of_what_the_user_names(tmp_path):
    source = tmp_path / "source.onnx"
    write_model(RISKY["gemm"], source)
    flags = ["--mixed-fp16", "--allow-node=r"]
    done = run_mp_opt(source, *flags, "-o", tmp_path / "mixed.onnx")
    assert "warning" not in done.stderr


@pytest.mark.parametrize("name", HEALTHY)
def test_no_warning_behind_a_bound(name, tmp_path):
    source = tmp_path / "source.onnx"
    write_model(HEALTHY[name], source)
    done = run_mp_opt(source, "--mixed-fp16", "-o", tmp_path / "mixed.onnx")
    assert "warning" not in done.stderr


@pytest.mark.parametrize(
    "path", HEALTHY_MODELS, ids=[path.parent.name for path in HEALTHY_MODELS]
)
def test_no_warning_for_healthy_models(path, tmp_path):
    done = run_mp_opt(path, "--mixed-fp16", "-o", tmp_path / "mixed.onnx")
    assert "warning" not in done.stderr
