# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random chains of elementwise nodes that end in a product.

The rules of autocast are the measure: a product rounds its operands and its
result to 16 bit, everything before it runs in fp32. The error of the mixed
model, against float64, is at most three times theirs. Inputs lie at a level
that is 1 to 1e6 times their spread, and chains take it away by constants, by
BatchNormalization, by the last element, by means or by another input.
"""

import functools
import typing
import warnings

import ml_dtypes  # noqa: F401  (numpy's bfloat16)
import numpy as np
import pytest
import sweeps
from graphs import Graph, failures, is_rounded, report, run_mixed
from support import DTYPES, UNIT_ROUNDOFF, rms

RATIOS = [1.0, 1e2, 1e4, 1e6]
SHAPE = (4, 4, 8)
NUMPY_TYPE = {"bf16": "bfloat16", "fp16": "float16"}
EPSILON = 1e-5


class Value(typing.NamedTuple):
    """A value of the graph: its name, in float64, and as fp32 nodes give it."""

    name: str
    exact: np.ndarray
    single: np.ndarray


class Chain:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.graph = Graph()
        self.inputs = 0
        self.ratio = RATIOS[seed % len(RATIOS)]
        self.spread = float(self.rng.choice([0.01, 1, 40]))
        self.dynamic = seed % 3 == 0

    # Values.

    def input(self, data):
        shape = ["n", *data.shape[1:]] if self.dynamic else data.shape
        data = data.astype(np.float32)
        name = self.graph.input(f"x{self.inputs}", data, shape)
        self.inputs += 1
        return Value(name, data.astype(np.float64), data)

    def raw(self):
        """An input at a level above its spread."""
        noise = self.rng.standard_normal(SHAPE)
        return self.input(self.spread * (self.ratio + noise))

    def narrow(self):
        """A value of one column, spread to the others by a difference."""
        noise = self.rng.standard_normal((*SHAPE[:-1], 1))
        one = self.input(self.spread * (self.ratio + noise))
        columns = self.spread * (self.ratio + self.rng.standard_normal(SHAPE[-1]))
        return self.node("Sub", [one, self.constant(columns)], np.subtract)

    def ticks(self):
        """Integers, as timestamps are."""
        noise = self.rng.standard_normal(SHAPE)
        data = np.round(8 * (self.ratio + noise)).astype(np.int64)
        name = self.graph.input(f"x{self.inputs}", data)
        self.inputs += 1
        name = self.graph.add("Cast", name, to=1)
        return Value(name, data.astype(np.float64), data.astype(np.float32))

    def probability(self):
        """An input near 1."""
        distance = self.rng.uniform(0.1, 1, SHAPE) / max(self.ratio, 2)
        return self.input(1 - distance)

    def constant(self, data):
        name = self.graph.constant(data)
        data = np.asarray(data, np.float32)
        return Value(name, data.astype(np.float64), data)

    def node(self, op, operands, compute, **attributes):
        names = [v.name for v in operands]
        constants = attributes.pop("more", [])
        name = self.graph.add(op, *names, *constants, **attributes)
        exact = compute(*(v.exact for v in operands))
        single = compute(*(v.single for v in operands))
        assert single.dtype == np.float32
        return Value(name, exact, single)

    def integers(self, *numbers):
        return self.graph.constant(numbers, np.int64)

    # Steps of a chain.

    def add(self, v):
        return self.node("Add", [v, self.constant(self.near(v))], np.add)

    def subtract(self, v):
        return self.node("Sub", [v, self.constant(self.near(v))], np.subtract)

    def subtract_mean_constant(self, v):
        level = v.exact.mean() * (1 + 1e-7 * self.rng.standard_normal())
        return self.node("Sub", [v, self.constant(level)], np.subtract)

    def near(self, v):
        """A constant of the size of a value."""
        return rms(v.exact) * self.rng.uniform(-1, 1)

    def multiply(self, v):
        factor = self.rng.uniform(0.2, 3, self.rng.choice([1, SHAPE[-1]]))
        return self.node("Mul", [v, self.constant(factor)], np.multiply)

    def divide(self, v):
        divisor = np.maximum(v.exact.std(), 1e-3) * self.rng.uniform(0.5, 2)
        return self.node("Div", [v, self.constant(divisor)], np.divide)

    def with_input(self, v):
        """A sum, difference, product or quotient with another input."""
        op, compute = [
            ("Add", np.add), ("Sub", np.subtract), ("Sub", np.subtract),
            ("Mul", np.multiply), ("Div", np.divide),
        ][self.rng.integers(5)]
        if op == "Div" or op == "Mul":
            other = self.input(self.rng.uniform(0.5, 2, SHAPE))
        else:
            noise = v.exact.std() * self.rng.standard_normal(SHAPE)
            other = self.input(v.exact.mean() + noise)
        return self.node(op, [v, other], compute)

    def normalize(self, v):
        mean = v.exact.mean((0, 2))
        variance = v.exact.var((0, 2)) + 1e-6
        scale, bias = self.rng.uniform(0.5, 2, 4), self.rng.uniform(-1, 1, 4)
        constants = [self.constant(c) for c in (scale, bias, mean, variance)]

        def compute(x, scale, bias, mean, variance):
            factor = scale / np.sqrt(variance + x.dtype.type(EPSILON))
            shift = bias - mean * factor
            return x * factor[:, None] + shift[:, None]

        return self.node(
            "BatchNormalization", [v, *constants], compute, epsilon=EPSILON
        )

    def minus_last(self, v):
        bounds = [self.integers(n) for n in (-1, 2**31, 2)]
        last = self.node("Slice", [v], lambda x: x[..., -1:], more=bounds)
        return self.node("Sub", [v, last], np.subtract)

    def minus_mean(self, v):
        axis = int(self.rng.integers(1, 3))
        mean = self.node(
            "ReduceMean", [v], lambda x: x.mean(axis, keepdims=True), axes=[axis]
        )
        return self.node("Sub", [v, mean], np.subtract)

    def minus_trend(self, v):
        """x - AveragePool(x), as models of time series take a trend away."""

        def compute(x):
            padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
            count = np.pad(np.ones_like(x), ((0, 0), (0, 0), (1, 1)))
            three = [a[..., :-2] + a[..., 1:-1] + a[..., 2:] for a in (padded, count)]
            return three[0] / three[1]

        pool = dict(kernel_shape=[3], pads=[1, 1])
        trend = self.node("AveragePool", [v], compute, **pool)
        return self.node("Sub", [v, trend], np.subtract)

    def clip(self, v):
        mean, std = v.exact.mean(), v.exact.std()
        low, high = (self.constant(mean + k * std) for k in (-1.5, 1.5))
        return self.node("Clip", [v, low, high], np.clip)

    def root(self, v):
        return self.node("Sqrt", [self.node("Abs", [v], np.abs)], np.sqrt)

    def relu(self, v):
        return self.node("Relu", [v], lambda x: np.maximum(x, 0))

    def join(self, v):
        """Half of another value, half of this one."""
        other = self.input(v.exact.mean() + v.exact.std() * self.rng.random(SHAPE))
        both = self.node(
            "Concat", [v, other], lambda a, b: np.concatenate([a, b], 2), axis=2
        )
        bounds = [self.integers(n) for n in (4, 12, 2)]
        return self.node("Slice", [both], lambda x: x[..., 4:12], more=bounds)

    def choose(self, v):
        mask = self.rng.random(SHAPE) < 0.5
        name = self.graph.constant(mask, bool)
        other = self.constant(self.near(v))
        result = self.graph.add("Where", name, v.name, other.name)
        exact, single = (
            np.where(mask, a, b)
            for a, b in ((v.exact, other.exact), (v.single, other.single))
        )
        return Value(result, exact, single)

    def turn(self, v):
        shape = self.integers(*SHAPE)
        turned = self.node(
            "Transpose", [v], lambda x: x.transpose(0, 2, 1), perm=[0, 2, 1]
        )
        return self.node(
            "Reshape", [turned], lambda x: x.reshape(SHAPE), more=[shape]
        )

    def log_of_rest(self, v):
        """Log(1 - p), alone or added to the value so far."""
        one, p = self.constant(1.0), self.probability()
        rest = self.node("Sub", [one, p], np.subtract)
        log = self.node("Log", [rest], np.log)
        return log if self.rng.random() < 0.5 else self.node("Add", [v, log], np.add)

    STEPS = [
        add, subtract, subtract_mean_constant, subtract_mean_constant, multiply,
        divide, with_input, with_input, normalize, minus_last, minus_mean,
        minus_trend, clip, root, relu, join, choose, turn, log_of_rest,
    ]

    # The product.

    def product(self, v):
        """Operands, their product of any types, and the name of the result."""
        kind = self.rng.choice(["MatMul", "Gemm", "Einsum", "Conv"])
        if kind == "Conv":
            w = self.constant(self.rng.standard_normal((5, 4, 3)))

            def compute(x, w):
                windows = np.lib.stride_tricks.sliding_window_view(x, 3, 2)
                return np.einsum("nclk,dck->ndl", windows, w)

            return compute, v, w, self.graph.add("Conv", v.name, w.name)
        w = self.constant(self.rng.standard_normal((8, 6)))
        if kind == "Gemm":
            rows = self.integers(16, 8)
            v = self.node("Reshape", [v], lambda x: x.reshape(16, 8), more=[rows])
        equation = {"equation": "ncl,lk->nck"} if kind == "Einsum" else {}
        result = self.graph.add(kind, v.name, w.name, **equation)
        return np.matmul, v, w, result


def make(seed):
    """A chain whose value before the product is finite and not constant."""
    chain = Chain(seed)
    v = [chain.raw, chain.raw, chain.narrow, chain.ticks][chain.rng.integers(4)]()
    for _ in range(chain.rng.integers(1, 6)):
        new = chain.rng.choice(Chain.STEPS)(chain, v)
        if np.isfinite(new.exact).all() and new.exact.std() > 0:
            v = new
    if chain.rng.random() < 0.6:
        v = chain.divide(chain.subtract_mean_constant(v))
    return chain, chain.product(v)


def check(rounded, seed, dtype):
    """Notes in `rounded` whether the product is in 16 bit."""
    chain, (compute, v, w, name) = make(seed)
    chain.graph.output(name)
    u, narrow = UNIT_ROUNDOFF[dtype], np.dtype(NUMPY_TYPE[dtype])
    exact = compute(v.exact, w.exact)
    a, b = (x.single.astype(narrow).astype(np.float64) for x in (v, w))
    autocast = compute(a, b).astype(narrow).astype(np.float64)
    if not np.isfinite(autocast).all():
        return
    (mixed,) = run_mixed(chain.graph, dtype)
    assert np.isfinite(mixed).all(), "not finite"
    rounded.append(is_rounded(mixed, dtype))
    size = rms(compute(abs(v.exact), abs(w.exact)))
    error, bound = rms(mixed - exact), 3 * rms(autocast - exact) + 2 * u * size
    ops = " ".join(node.op_type for node in chain.graph.nodes)
    assert error <= bound, f"{error / bound:.1f} times the bound: {ops}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_chains(dtype):
    count = sweeps.count("Precision/test_elementwise_chains.py")
    cases, rounded = [(seed, dtype) for seed in range(count)], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = failures(functools.partial(check, rounded), cases)
    assert not found, report(found, cases)
    assert np.mean(rounded) > 0.7, "most products are to be in 16 bit"
