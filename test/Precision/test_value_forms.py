# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other forms of levels, phases, indices, distances and states.

Each model has one output, `y`. It is within 4 u of the fp32 model, relative to
the spread of its values; integers are equal.
"""

import re

import numpy as np
import pytest
from graphs import run
from onnx_models import describe, inputs_of, parse, rewritten
from support import DTYPES, UNIT_ROUNDOFF

GROWTH = 4
RNG = np.random.default_rng(12)
F = np.float32


def noise(*shape, level=0.0, spread=1.0):
    return (level + spread * RNG.standard_normal(shape)).astype(F)


LEVEL = {"x": noise(16, 4, level=5000, spread=2)}
SIGNAL = {"x": noise(1, 2, 16, level=5000)}
SERIES = {"x": noise(1, 64, level=20000, spread=3)}
NEAR_ONE = {"p": (1 - 10.0 ** -RNG.uniform(2, 5, (16, 4))).astype(F)}
TIMES = {"t": (1000 * RNG.random((32, 1))).astype(F)}
POSITIONS = {"p": np.arange(32) * 97, "q": noise(32, 8)}
CODES = {"x": noise(16, 4, level=20.8, spread=0.4)}
SCAN = {"e": noise(500, 2, level=3)}

# Constants that the bodies name.
CENTRES = (20 + 0.05 * np.arange(32).reshape(8, 4)).astype(F)
CONSTANTS = {
    "mu": F(5000), "two": F(2), "one": F(1), "zero": F(0), "tau": F(2 * np.pi),
    "w": noise(4, 3), "w4": noise(4, 4), "w5": noise(8, 5), "k": noise(3, 2, 3),
    "row": noise(63, 3), "square": np.eye(2, dtype=F), "c": CENTRES,
    "cc": (CENTRES**2).sum(1), "ct": CENTRES.T.copy(),
    "f": np.array([1, 0.3, 0.1, 0.03], F), "fr": np.array([[1, 0.3, 0.1, 0.03]], F),
    "steps": np.array([[1], [37], [1009], [3]], F), "n": F(64),
    "s0": np.zeros(2, F), "gain": F(0.001), "slope": F(0.5), "shift": F(-2500),
    "i0": np.array([0]), "i1": np.array([1]), "i2": np.array([2]),
    "m1": np.array([-1]), "last": np.array(-1), "axis": np.array(1),
    "e0": np.array([63]), "e1": np.array([64]), "three": np.array([3]),
    "times": np.array(3), "s8": np.zeros((32, 4), F), "k1": noise(3, 2, 1),
    "pads": np.array([0, 0, 1, 0, 0, 1]),
    "half": np.array([1, 1, 0.5], F), "twice": np.array([1, 1, 2], F),
}

BRANCHES = (
    "<then_branch = t () => (float[{0}] yes) {{ yes = {1} }},"
    " else_branch = e () => (float[{0}] no) {{ no = {2} }}>"
)
SUM = (
    "l, o = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] a)"
    " => (float[2] t, float[2] r) {{ {} r = Identity (t) }}> (s0, p)"
    " y = MatMul (o, square)"
)

FORMS = {
    # The level is removed before the first product.
    "mean_folded": ("a = Mul (x, slope) b = Add (a, shift) y = MatMul (b, w)", LEVEL),
    "padded": ("a = Sub (x, mu) b = Pad (a, pads) y = Conv (b, k)", SIGNAL),
    "relu_between": ("a = Sub (x, mu) b = Relu (a) y = MatMul (b, w)", LEVEL),
    "no_nans": (
        "h = IsNaN (x) a = Where (h, zero, x) b = Sub (a, mu) y = MatMul (b, w)", LEVEL,
    ),
    "pairs": (
        "a = Unsqueeze (x, i0) b = Unsqueeze (x, i1) d = Sub (a, b) y = MatMul (d, w)",
        LEVEL,
    ),
    "steps_of_a_series": (
        "a = Slice (x, i0, e0, i1) b = Slice (x, i1, e1, i1) d = Sub (b, a)"
        " y = MatMul (d, row)", SERIES,
    ),
    "resized": (
        'r = Resize <mode = "linear"> (x, , half)'
        ' u = Resize <mode = "linear"> (r, , twice)'
        " d = Sub (x, u) y = Conv (d, k1)", SIGNAL,
    ),
    "pooled": (
        "r = MaxPool <kernel_shape = [3], pads = [1, 1]> (x) d = Sub (r, x)"
        " y = Conv (d, k1)", SIGNAL,
    ),
    "global_pool": ("r = GlobalAveragePool (x) d = Sub (x, r) y = Conv (d, k1)", SIGNAL),
    "in_a_branch": (
        "g = Greater (mu, one) a = If (g) "
        + BRANCHES.format("16,4", "Sub (x, mu)", "Identity (x)")
        + " y = MatMul (a, w)", LEVEL,
    ),
    "level_comes_back": (
        "g = Gather <axis = 1> (x, last) l = Unsqueeze (g, i1) a = Sub (x, l)"
        " p = MatMul (a, w4) y = Add (p, l)", LEVEL,
    ),
    "level_comes_and_goes": (
        "g = Gather <axis = 1> (x, last) l = Unsqueeze (g, i1) a = Sub (x, l)"
        " p = MatMul (a, w4) q = Add (p, l) b = Sub (q, l) y = MatMul (b, w)", LEVEL,
    ),
    "negated": ("a = Neg (p) b = Add (a, one) l = Log (b) y = MatMul (l, w)", NEAR_ONE),
    "logit": ("a = Sub (one, p) b = Div (p, a) l = Log (b) y = MatMul (l, w)", NEAR_ONE),
    # Phases.
    "fourier_features": (
        "a = MatMul (t, fr) b = Mul (a, tau) s = Sin (b) c0 = Cos (b)"
        " z = Concat <axis = 1> (s, c0) y = MatMul (z, w5)", TIMES,
    ),
    "bias": ("a = Gemm (t, fr, f) y = Sin (a)", TIMES),
    "wrapped": ("a = MatMul (t, fr) b = Mod <fmod = 1> (a, tau) y = Sin (b)", TIMES),
    "fraction": ("a = MatMul (t, fr) b = Floor (a) y = Sub (a, b)", TIMES),
    "two_products": (
        "a = MatMul (t, fr) b = Mul (t, t) d = MatMul (b, fr) s = Add (a, d) y = Cos (s)",
        {"t": TIMES["t"] / 30},
    ),
    "read_in_a_branch": (
        "g = Greater (mu, one) a = MatMul (t, fr) y = If (g) "
        + BRANCHES.format("32,4", "Sin (a)", "Cos (a)"), TIMES,
    ),
    "made_in_a_branch": (
        "g = Greater (mu, one) p = If (g) "
        + BRANCHES.format("32,4", "MatMul (t, fr)", "Mul (t, fr)") + " y = Sin (p)", TIMES,
    ),
    "in_a_loop": (
        "y = Loop (times, , s8) <body = b (int64 i, bool on, float[32,4] s)"
        " => (bool go, float[32,4] r) { go = Identity (on) a = MatMul (t, fr) q = Sin (a) r = Add (s, q) }>", TIMES,
    ),
    "rotary_einsum": (
        'c0 = Cast <to = 1> (p) a = Einsum <equation = "i,j->ij"> (c0, f)'
        " z = Concat <axis = 1> (a, a) c1 = Cos (z) r = Mul (q, c1) y = MatMul (r, w5)", POSITIONS,
    ),
    "counted_mask": (
        "a = CumSum (m, axis) u = Unsqueeze (a, i2) v = MatMul (u, fr) y = Sin (v)",
        {"m": np.ones((1, 300), F)},
    ),
    # Indices and distances.
    "modulo": (
        "a = Floor (x) p = MatMul (a, steps) b = Mod <fmod = 1> (p, n)"
        " y = Cast <to = 7> (b)", CODES,
    ),
    "powers": (
        "q = Pow (x, two) s = ReduceSum (q, m1) p = MatMul (x, ct) d = Mul (p, two)"
        " a = Add (s, cc) e = Sub (a, d) y = ArgMin <axis = 1> (e)", CODES,
    ),
    "einsum": (
        "q = Mul (x, x) s = ReduceSum (q, m1)"
        ' p = Einsum <equation = "bd,nd->bn"> (x, c)'
        " d = Mul (two, p) a = Add (s, cc) e = Sub (a, d) y = ArgMin <axis = 1> (e)", CODES,
    ),
    "sums_of_squares": (
        "s = ReduceSumSquare <axes = [1]> (x) p = Gemm <alpha = -2.0> (x, ct) a = Add (s, cc)"
        " e = Add (a, p) g = Neg (e) y = ArgMax <axis = 1> (g)", CODES,
    ),
    "kernel": (
        "q = Mul (x, x) s = ReduceSum (q, m1) p = MatMul (x, ct) d = Mul (p, two)"
        " a = Add (s, cc) e = Sub (a, d) g = Neg (e) y = Exp (g)", CODES,
    ),
    "neighbours": (
        "q = Mul (x, x) s = ReduceSum (q, m1) st = Transpose <perm = [1, 0]> (s)"
        " xt = Transpose <perm = [1, 0]> (x) p = MatMul (x, xt) d = Mul (p, two) g = Neg (s)"
        " a = Add (g, d) e = Sub (a, st) v, y = TopK (e, three)", CODES,
    ),
    # States.
    "mean": (
        "p = MatMul (e, square) l0, l, o = Scan <num_scan_inputs = 1, body = b"
        " (float c0, float[2] s, float[2] a) => (float c1, float[2] t, float[2] r)"
        " { c1 = Add (c0, one) d = Sub (a, s) q = Div (d, c1) t = Add (s, q)"
        " r = Identity (t) }> (zero, s0, p) y = MatMul (o, square)", SCAN,
    ),
    "count": (
        "p = MatMul (e, square) "
        + SUM.format("g = Greater (a, zero) v = Where (g, one, zero) t = Add (s, v)"),
        SCAN,
    ),
    "product_inside": (
        "p = Identity (e) "
        + SUM.format("v = MatMul (a, square) u = Mul (v, gain) t = Add (s, u)"),
        SCAN,
    ),
}


def build(body, feed):
    words = set(re.findall(r"\w+", body))
    known = {n: v for n, v in CONSTANTS.items() if n in words}
    model = parse(f"g () => () {{ {body} }}", 17, 8, **known)
    model.graph.input.extend(inputs_of(feed))
    whole = any(op in body for op in ("Cast <to = 7>", "ArgM", "TopK"))
    kind = np.int64 if whole else np.float32
    model.graph.output.append(describe("y", kind, None))
    return model


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORMS)
def test_form(name, dtype):
    body, feed = FORMS[name]
    model = build(body, feed)
    mixed = rewritten(model, f"--mixed-{dtype}", "--emulate")
    (want,), (got,) = run(model, feed), run(mixed, feed)
    if want.dtype == np.int64:
        assert (got == want).all()
        return
    error = np.abs(got - want).max() / np.ptp(want)
    assert error <= GROWTH * UNIT_ROUNDOFF[dtype]
