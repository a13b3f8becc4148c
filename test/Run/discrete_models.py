# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that make integers, choices or steps of floats, and data that lie on
their edges: float64 would decide otherwise than fp32."""

import numpy as np
import onnx
from onnx_models import parse


def normal(seed, *sizes, scale=1.0):
    array = np.random.default_rng(seed).normal(size=sizes) * scale
    return array.astype(np.float32)


class Case:
    """`wrong` are flags of a conversion that makes other integers."""

    def __init__(self, text, weights, data, *wrong):
        self.text, self.weights, self.data = text, weights, data
        self.wrong = wrong

    def write(self, folder):
        model = parse(self.text, 20, 9, **self.weights)
        onnx.save(model, folder / "m.onnx")
        np.savez(folder / "m.npz", **self.data)
        return folder / "m.onnx", folder / "m.npz"


def on_edges(values, steps):
    """`values / steps` in fp32: times `steps` they are whole but for rounding."""
    return (np.asarray(values, np.float32) / np.float32(steps)).astype(np.float32)


CODES = normal(1, 32, 16)

CASES = {
    # Relative positions of T5: powers of two are on the edges.
    "buckets": Case(
        """m (float[n] d) => (float[n,8] y) {
          a = Div (d, eight) b = Log (a) e = Div (b, c) g = Mul (e, eight)
          k = Cast <to = 7> (g) row = Gather (table, k) y = MatMul (row, w)
        }""",
        {
            "eight": np.float32(8), "c": np.float32(2.7725887),
            "table": normal(0, 40, 16), "w": normal(2, 16, 8),
        },
        {"d": np.arange(8, 520, dtype=np.float32)},
        "--allow-node=a|b|e|g",
    ),
    # A search for the nearest code; data are midway between two codes.
    "codes": Case(
        """m (float[n,16] x) => (float[n,8] y) {
          ct = Transpose <perm = [1, 0]> (codes)
          p = MatMul (x, ct) q = Mul (p, two) d = Sub (squares, q)
          k = ArgMin <axis = 1, keepdims = 0> (d)
          row = Gather (codes, k) y = MatMul (row, w)
        }""",
        {
            "codes": CODES, "squares": (CODES**2).sum(1).astype(np.float32),
            "two": np.float32(2), "w": normal(3, 16, 8),
        },
        {"x": (CODES + 0.98 * np.roll(CODES, 1, 0)) / np.float32(2)},
        "--allow-node=p|q|d",
    ),
    # An expert for each token.
    "routing": Case(
        """m (float[n,16] x) => (float[n,16] y) {
          s = MatMul (x, router) k = ArgMax <axis = 1, keepdims = 0> (s)
          we = Gather (experts, k) x3 = Unsqueeze (x, one)
          y3 = MatMul (x3, we) y = Squeeze (y3, one)
        }""",
        {
            "router": np.repeat(normal(4, 16, 2), 2, 1)
            + normal(5, 16, 4, scale=1e-3),
            "experts": normal(6, 4, 16, 16), "one": np.array([1], np.int64),
        },
        {"x": normal(7, 64, 16)},
        "--allow-node=s",
    ),
    # The best places of a sequence.
    "best": Case(
        """m (float[b,24,16] x) => (float[b,4,8] y) {
          s3 = MatMul (x, v) s = Squeeze (s3, two)
          t, k = TopK <axis = 1> (s, four)
          k3 = Unsqueeze (k, two) size = Expand (k3, sizes)
          row = GatherElements <axis = 1> (x, size) y = MatMul (row, w)
        }""",
        {
            "v": normal(8, 16, 1), "w": normal(9, 16, 8),
            "two": np.array([2], np.int64), "four": np.array([4], np.int64),
            "sizes": np.array([1, 1, 16], np.int64),
        },
        {"x": np.repeat(normal(10, 4, 12, 16), 2, 1) + normal(11, 4, 24, 16, scale=1e-3)},
    ),
    # Tokens from numbers between 0 and 1.
    "tokens": Case(
        """m (float[n] x) => (float[n,8] y) {
          g = Mul (x, thousand) k = Cast <to = 7> (g)
          row = Gather (table, k) y = MatMul (row, w)
        }""",
        {
            "thousand": np.float32(1000), "table": normal(12, 1001, 16),
            "w": normal(13, 16, 8),
        },
        {"x": on_edges(np.arange(0, 1000, 3), 1000)},
        "--allow-node=g",
    ),
    # Between two rows of a table.
    "sampling": Case(
        """m (float[n] x) => (float[n,8] y) {
          p = Mul (x, steps) f = Floor (p) t = Sub (p, f)
          k = Cast <to = 7> (f) k1 = Add (k, one)
          a = Gather (table, k) b = Gather (table, k1)
          d = Sub (b, a) t1 = Unsqueeze (t, last) e = Mul (d, t1)
          row = Add (a, e) y = MatMul (row, w)
        }""",
        {
            "steps": np.float32(1000), "one": np.int64(1),
            "last": np.array([1], np.int64),
            "table": normal(14, 1002, 16), "w": normal(15, 16, 8),
        },
        {"x": on_edges(np.arange(0, 1000, 3), 1000)},
        "--allow-node=p|f|t",
    ),
    # Eight bits in between.
    "quantized": Case(
        """m (float[n,16] x) => (float[n,8] y) {
          h = MatMul (x, w1) q = QuantizeLinear (h, scale, zero)
          d = DequantizeLinear (q, scale, zero) y = MatMul (d, w2)
        }""",
        {
            "w1": np.eye(16, dtype=np.float32), "w2": normal(16, 16, 8),
            "scale": np.float32(0.1), "zero": np.int8(0),
        },
        {"x": on_edges(np.arange(-120, 136).reshape(16, 16) + 0.5, 10)},
    ),
    # One branch or the other, element by element.
    "choice": Case(
        """m (float[n,16] x) => (float[n,8] y) {
          h = Mul (x, third) c = Greater (h, edge) big = Mul (h, ten)
          z = Where (c, big, h) y = MatMul (z, w)
        }""",
        {
            "third": np.float32(1 / 3), "edge": np.float32(1),
            "ten": np.float32(10), "w": normal(17, 16, 8),
        },
        {"x": np.where(normal(18, 32, 16) > 0, 3, normal(19, 32, 16)).astype("f4")},
    ),
    # The number of rows is the number of elements that pass a test.
    "rows": Case(
        """m (float[n,16] x) => (float[r,8] y) {
          s = MatMul (x, v) c = Greater (s, edge) c1 = Squeeze (c, one)
          z = NonZero (c1) k = Squeeze (z, zero)
          row = Gather (x, k) y = MatMul (row, w)
        }""",
        {
            "v": np.full((16, 1), 0.1, np.float32), "edge": np.float32(1.6),
            "w": normal(20, 16, 8), "zero": np.array([0], np.int64),
            "one": np.array([1], np.int64),
        },
        {"x": np.repeat(np.float32([[1], [2], [0]]), 16, 1).repeat(8, 0)
         + normal(21, 24, 16, scale=1e-7)},
        "--allow-node=s",
    ),
    # Scales that the data give.
    "dynamic": Case(
        """m (float[n,16] x) => (float[n,8] y) {
          q, s, z = DynamicQuantizeLinear (x)
          p = MatMulInteger (q, w, z) pf = Cast <to = 1> (p)
          ps = Mul (pf, s) y = Mul (ps, ws)
        }""",
        {
            "w": np.random.default_rng(22).integers(-99, 99, (16, 8), np.int8),
            "ws": np.float32(0.01),
        },
        {"x": on_edges(np.arange(0, 256).reshape(16, 16), 7)},
    ),
    # A loop that makes a choice, and continues with the chosen row.
    "greedy": Case(
        """m (float[1,16] h0) => (float[1,16] h, float[steps,1,32] s) {
          h, s = Loop (trips, yes, h0) <body = g (int64 i, bool c, float[1,16] hi)
            => (bool c1, float[1,16] h1, float[1,32] s1) {
              s1 = MatMul (hi, w) k = ArgMax <axis = 1, keepdims = 0> (s1)
              row = Gather (table, k) z = MatMul (hi, u) t = Add (row, z)
              h1 = Tanh (t) c1 = Identity (c)
          }>
        }""",
        {
            "trips": np.int64(6), "yes": np.bool_(True),
            "w": normal(23, 16, 32), "table": normal(24, 32, 16),
            "u": normal(25, 16, 16, scale=0.1),
        },
        {"h0": normal(26, 1, 16)},
    ),
    # Numbers of few steps, as codecs have them.
    "steps": Case(
        """m (float[n,16] x) => (float[n,8] y) {
          h = Mul (x, inverse) r = Round (h) d = Mul (r, step)
          y = MatMul (d, w)
        }""",
        {
            "inverse": np.float32(100), "step": np.float32(0.01),
            "w": normal(27, 16, 8),
        },
        {"x": on_edges(np.arange(-300, 340, 2.5).reshape(16, 16), 100)},
    ),
}
