# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of attention scores that are masked as a whole.

fp32 keeps the scores beside -10000 and loses them beside -1e9, where the row
comes out even. 16 bit must do the same: in attention with masks of every form
all rows are as in fp32, by onnxruntime with storage rounded (--emulate) and by
ONNX's reference evaluator, which rounds strictly.
"""

import functools

import numpy as np
import onnx
import onnx_models
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_models import parse, rewritten
from support import DTYPES, UNIT_ROUNDOFF, run_mp_opt

SIZE, WIDTH = 6, 8
# One row is masked as a whole, the others in part or not at all.
MASK = np.tril(np.ones((SIZE, SIZE), bool))
MASK[2] = False
# Errors of 16-bit scores pass through an exponential, and are summed.
GROWTH = 16

# The mask is made of `m`, `low` and `one`, and ends in `b`, of the scores `a`.
FORMS = {
    "product": "i = Sub (one, m) n = Mul (i, low) [sum] b = Add (n, a)",
    "subtracted": "p = Mul (m, low) n = Sub (p, low) b = Sub (a, n)",
    "difference": "i = Sub (one, m) p = Neg (low) n = Mul (i, p)"
    " b = Sub (a, n)",
    "chosen": "k = Cast <to = 9> (m) n = Where (k, zero, low) b = Add (a, n)",
    "quotient": "i = Sub (m, one) v = Reciprocal (low) n = Div (i, v)"
    " p = Neg (n) b = Add (a, p)",
    "integers": "k = Cast <to = 7> (m) l = Cast <to = 7> (low)"
    " o = Cast <to = 7> (one) i = Sub (o, k) p = Mul (i, l)"
    " n = Cast <to = 1> (p) b = Add (a, n)",
    "branches": "i = Sub (one, m) b = If (yes) <"
    "then_branch = g1 () => (float[6,6] t) { n = Mul (i, low) t = Add (a, n) },"
    " else_branch = g2 () => (float[6,6] e) { e = Identity (a) }>",
    "constant": "b = Add (a, table)",
    "two_sums": "i = Sub (one, m) n = Mul (i, low) c = Add (a, n)"
    " b = Add (c, bias)",
    "bias_first": "i = Sub (one, m) n = Mul (i, low) c = Add (n, bias)"
    " b = Add (a, c)",
    "another_mask": "c = Add (a, other) i = Sub (one, m)"
    " n = Mul (i, low) b = Add (c, n)",
}
# Forms of a softmax of the sum.
SOFTMAXES = {
    "softmax": "s = Softmax (b)",
    "moved": "c = Transpose <perm = [1, 0]> (b) d = Softmax <axis = 0> (c)"
    " s = Transpose <perm = [1, 0]> (d)",
    "scaled": "c = Mul (b, scale) s = Softmax (c)",
    "parts": "p = ReduceMax <axes = [-1]> (b) d = Sub (b, p) e = Exp (d)"
    " u = ReduceSum (e, axes) s = Div (e, u)",
    "log": "d = LogSoftmax (b) s = Exp (d)",
}
CASES = [(form, "softmax", "-1e4") for form in FORMS]
CASES += [("product", softmax, "-1e4") for softmax in SOFTMAXES]
CASES += [("product", "softmax", low) for low in ("-100", "-3e5", "-1e7")]
CASES += [("product", "softmax", low) for low in ("-1e9", "-3.4028235e+38")]
CASES = list(dict.fromkeys(CASES))


def make_model(form, softmax, low):
    rng = np.random.default_rng(3)
    number = np.float32(low)
    weights = {
        "w": rng.standard_normal((WIDTH, WIDTH)) / 2,
        "one": 1.0,
        "zero": 0.0,
        "scale": 0.5,
        # Beside this one fp32 keeps no scores; it masks no row as a whole.
        "other": np.float32(-1e9) * np.eye(SIZE, k=1),
        "low": number,
        "table": np.where(MASK, np.float32(0), number),
        "bias": rng.standard_normal((SIZE, SIZE)),
    }
    weights = {n: np.asarray(v, np.float32) for n, v in weights.items()}
    return parse(
        f"g (float[{SIZE},{WIDTH}] x, bool[{SIZE},{SIZE}] keep, bool yes)"
        f" => (float[{SIZE},{WIDTH}] y, float[{SIZE},{SIZE}] s)\n"
        "<int64[1] axes = {-1}>\n"
        "{ m = Cast <to = 1> (keep) q = MatMul (x, w)"
        " r = Transpose <perm = [1, 0]> (x) z = MatMul (q, r)"
        f" a = Mul (z, scale) {FORMS[form]} {SOFTMAXES[softmax]}"
        " y = MatMul (s, x) }",
        opset=17, ir=8, **weights,
    )


FEED = {
    "x": np.random.default_rng(4).standard_normal((SIZE, WIDTH)).astype("f4"),
    "keep": MASK,
    "yes": np.array(True),
}


def run_ort(model):
    return onnx_models.run_ort(model, FEED)


def run_reference(model):
    return ReferenceEvaluator(model).run(None, FEED)


@functools.lru_cache(maxsize=None)
def convert(case, dtype, *flags):
    return rewritten(make_model(*case), f"--mixed-{dtype}", *flags)


def get_error(case, dtype, *flags):
    want = run_ort(make_model(*case))
    error = 0.0
    for run, model in (
        (run_ort, convert(case, dtype, "--emulate", *flags)),
        (run_reference, convert(case, dtype, *flags)),
    ):
        for one, other in zip(want, run(model), strict=True):
            error = max(error, np.abs(one - other.astype(np.float32)).max())
    return error


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_rows_are_those_of_fp32(case, dtype):
    assert get_error(case, dtype) <= GROWTH * UNIT_ROUNDOFF[dtype]


@pytest.mark.parametrize(("dtype", "step"), [("bf16", 64), ("fp16", 8)])
def test_the_reason_names_the_mask(dtype, step, tmp_path):
    source = tmp_path / "source.onnx"
    onnx.save(make_model("product", "softmax", "-1e4"), source)
    done = run_mp_opt(source, f"--mixed-{dtype}", "--explain=sum")
    assert "node 'sum' (Add-14) runs in f32" in done.stdout
    assert (
        "class: deny: sum with a mask of -10000 ('low'), beside which"
        f" {dtype} steps by {step}"
    ) in done.stdout


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_in_16_bit_loses_the_row(dtype):
    """Where the user insists; else the test above would show nothing."""
    case = ("product", "softmax", "-1e4")
    error = get_error(case, dtype, "--allow-node=sum")
    assert error > GROWTH * UNIT_ROUNDOFF[dtype]
