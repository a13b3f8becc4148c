# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are phases, indices or distances, whatever computes them.

Every way to write a product (makers), every node that needs more digits of it
than 16 bit has (readers), and every kind of operand. Products of whole numbers
give exact indices; others are within 4 u of float64, relative to the greatest
result. One maker gives what another gives.
"""

import numpy as np
import pytest
from graphs import Graph, failures, report, run_mixed
from support import DTYPES, UNIT_ROUNDOFF

ROWS, TERMS, COLUMNS = 24, 3, 4
MAKERS = ["MatMul", "Gemm", "Einsum", "Conv", "Mul and ReduceSum"]
READERS = ["Sin", "Cos", "Cast", "Gather", "ArgMin", "TopK", "Equal"]
# Of "float" nothing tells that it is whole.
OPERANDS = ["int", "float", "rounded float", "Range", "constant"]
BETWEEN = ["", "Transpose", "Reshape", "Scale"]


def multiply(graph, maker, x, w):
    """The product of x [ROWS, TERMS] and w [TERMS, COLUMNS]."""
    if maker in ("MatMul", "Gemm"):
        return graph.add(maker, x, w)
    if maker == "Einsum":
        return graph.add("Einsum", x, w, equation="rt,tc->rc")

    def shape(*sizes):
        return graph.constant(sizes, np.int64)

    if maker == "Conv":
        image = graph.add("Reshape", x, shape(ROWS, TERMS, 1))
        turned = graph.add("Transpose", w, perm=[1, 0])
        kernel = graph.add("Reshape", turned, shape(COLUMNS, TERMS, 1))
        product = graph.add("Conv", image, kernel)
        return graph.add("Reshape", product, shape(ROWS, COLUMNS))
    a = graph.add("Reshape", x, shape(ROWS, TERMS, 1))
    b = graph.add("Reshape", w, shape(1, TERMS, COLUMNS))
    terms = graph.add("Mul", a, b)
    return graph.add("ReduceSum", terms, shape(1), keepdims=0)


def operand(graph, kind, rng):
    """The left factor: its name, and its numbers in float64."""
    whole = rng.integers(0, 700, (ROWS, TERMS))
    if kind == "int":
        name = graph.input("x", whole.astype(np.int64))
        return graph.add("Cast", name, to=1), whole.astype(np.float64)
    if kind == "float":
        data = rng.uniform(0, 700, (ROWS, TERMS)).astype(np.float32)
        return graph.input("x", data), data.astype(np.float64)
    if kind == "rounded float":
        noise = rng.uniform(-0.4, 0.4, whole.shape)
        name = graph.input("x", (whole + noise).astype(np.float32))
        return graph.add("Round", name), whole.astype(np.float64)
    if kind == "Range":
        size = graph.input("size", np.array(ROWS * TERMS, np.int64))
        zero, one = (graph.constant(k, np.int64) for k in (0, 1))
        count = graph.add("Range", zero, size, one)
        steps = graph.add("Mul", graph.add("Cast", count, to=1), graph.constant(9))
        shape = graph.constant([ROWS, TERMS], np.int64)
        numbers = 9.0 * np.arange(ROWS * TERMS).reshape(ROWS, TERMS)
        return graph.add("Reshape", steps, shape), numbers
    return graph.constant(whole), whole.astype(np.float64)


def weight(graph, kind, whole, rng):
    """The right factor; where the left one is a constant, an input."""
    if whole:
        data = np.array([[1, 2, 3, 5], [7, 1, 8, 11], [40, 13, 1, 17]])
    else:
        data = 10.0 ** -rng.uniform(0, 3, (TERMS, COLUMNS))
    data = data.astype(np.float32)
    if kind != "constant":
        return graph.constant(data), data.astype(np.float64)
    if not whole:
        return graph.input("w", data), data.astype(np.float64)
    name = graph.input("w", data.astype(np.int64))
    return graph.add("Cast", name, to=1), data.astype(np.float64)


def phases(graph, reader, between, p, exact):
    """Sine or cosine, behind what moves or scales a phase."""
    if between == "Transpose":
        p, exact = graph.add("Transpose", p, perm=[1, 0]), exact.T
    elif between == "Reshape":
        shape = graph.constant([-1], np.int64)
        p, exact = graph.add("Reshape", p, shape), exact.ravel()
    elif between == "Scale":
        half = graph.constant(0.5)
        p, exact = graph.add("Mul", p, half), exact * 0.5
    graph.output(graph.add(reader, p))
    return getattr(np, reader.lower())(exact)


def read(graph, reader, p, exact):
    """Adds the reader and its outputs; says what is wrong with these."""
    if reader == "Cast":
        graph.output(graph.add("Cast", p, to=7), np.int64)
        return lambda got, u: off(got, np.trunc(exact), u)
    if reader == "Gather":
        index = graph.add("Cast", graph.add("Floor", p), to=7)
        table = graph.constant(np.arange(exact.max() + 50), np.int64)
        graph.output(graph.add("Gather", table, index), np.int64)
        return lambda got, u: off(got, np.floor(exact), u)
    if reader == "Equal":
        graph.output(graph.add("Equal", p, graph.constant(exact)), bool)
        return lambda got, u: np.mean(~got)
    if reader == "ArgMin":
        graph.output(graph.add("ArgMin", p, axis=0, keepdims=0), np.int64)
        return lambda got, u: off(
            np.take_along_axis(exact, got[None], 0)[0], exact.min(0), u,
            np.abs(exact).max(),
        )
    three = graph.constant([3], np.int64)
    values, indices = graph.add_all("TopK", [p, three], 2, axis=0)
    graph.output(values)
    graph.output(indices, np.int64)
    best = -np.sort(-exact, 0)[:3]

    def judge(values, indices, u):
        chosen = np.take_along_axis(exact, indices, 0)
        return max(off(values, best, u), off(chosen, best, u))

    return judge


def off(got, exact, u, size=None):
    """The greatest error in multiples of what is allowed."""
    size = size or np.abs(exact).max()
    return np.abs(got.astype(np.float64) - exact).max() / (4 * u * size)


def build(maker, reader, kind, between=""):
    """The graph, and a function that says how wrong its outputs are."""
    rng = np.random.default_rng(7)
    graph = Graph()
    x, a = operand(graph, kind, rng)
    whole = reader not in ("Sin", "Cos") and kind != "float"
    w, b = weight(graph, kind, whole, rng)
    exact = a @ b
    p = multiply(graph, maker, x, w)
    if reader in ("Sin", "Cos"):
        expected = phases(graph, reader, between, p, exact)
        return graph, lambda got, u: off(got, expected, u, 1.0)
    judge = read(graph, reader, p, exact)
    if not whole or reader in ("ArgMin", "TopK"):
        return graph, judge
    # Any error of an index is one too many.
    return graph, lambda got, u: np.inf if judge(got, u) > 0 else 0.0


def check(maker, reader, kind, dtype, between=""):
    graph, judge = build(maker, reader, kind, between)
    results = run_mixed(graph, dtype)
    assert all(np.isfinite(r).all() for r in results), "not finite"
    wrong = judge(*results, UNIT_ROUNDOFF[dtype])
    assert wrong <= 1, f"{wrong:.1f} times what is allowed"


def cases(dtype):
    # Equality of what is not whole is nothing to rely on.
    return [
        (maker, reader, kind, dtype)
        for maker in MAKERS
        for reader in READERS
        for kind in OPERANDS
        if (reader, kind) != ("Equal", "float")
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrix(dtype):
    found = failures(check, cases(dtype))
    assert not found, report(found, cases(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_phases_that_are_moved(dtype):
    moved = [
        (maker, reader, "float", dtype, between)
        for maker in MAKERS
        for reader in ("Sin", "Cos")
        for between in BETWEEN[1:]
    ]
    found = failures(check, moved)
    assert not found, report(found, moved)


def squared_distance(graph, form, x, c):
    """|x - c|^2 of each row of x and each of c: as matrices [ROWS, 6]."""
    last, first = (graph.constant([k], np.int64) for k in (1, 0))
    if form == "difference":
        apart = graph.add(
            "Sub", graph.add("Unsqueeze", x, last), graph.add("Unsqueeze", c, first)
        )
        two = graph.constant([2], np.int64)
        return graph.add("ReduceSum", graph.add("Mul", apart, apart), two, keepdims=0)
    xx = graph.add("ReduceSum", graph.add("Mul", x, x), last, keepdims=1)
    cc = graph.add("ReduceSum", graph.add("Mul", c, c), last, keepdims=0)
    turned = graph.add("Transpose", c, perm=[1, 0])
    if form == "two products":
        product = graph.add("MatMul", x, turned)
        both = graph.add("Add", product, product)
        return graph.add("Add", graph.add("Sub", xx, both), cc)
    if form == "scaled after":
        both = graph.add("Mul", graph.add("MatMul", x, turned), graph.constant(2))
        return graph.add("Sub", graph.add("Add", xx, cc), both)
    if form == "scaled before":
        minus = graph.add("Mul", x, graph.constant(-2))
        both = graph.add("MatMul", minus, turned)
        return graph.add("Add", graph.add("Add", both, xx), cc)
    # torch's cdist: [-2x, |x|^2, 1] times [c, 1, |c|^2].
    ones = [graph.constant(np.ones((n, 1))) for n in (ROWS, 6)]
    keep = graph.add("Unsqueeze", cc, last)
    minus = graph.add("Mul", x, graph.constant(-2))
    left = graph.add("Concat", minus, xx, ones[0], axis=1)
    right = graph.add("Concat", c, ones[1], keep, axis=1)
    return graph.add("MatMul", left, graph.add("Transpose", right, perm=[1, 0]))


FORMS = ["two products", "scaled after", "scaled before", "cdist", "difference"]


def check_nearest(form, reader, constant, dtype):
    rng = np.random.default_rng(3)
    c = (20 + 0.5 * np.arange(6)[:, None] + 0.1 * rng.random((6, 2)))
    choice = rng.integers(0, 6, ROWS)
    x = (c[choice] + rng.uniform(-0.1, 0.1, (ROWS, 2))).astype(np.float32)
    graph = Graph()
    centres = graph.constant(c) if constant else graph.input("c", c.astype("f"))
    d = squared_distance(graph, form, graph.input("x", x), centres)
    if reader == "TopK":
        one = graph.constant([1], np.int64)
        _, d = graph.add_all("TopK", [d, one], 2, axis=1, largest=0)
    else:
        if reader == "ArgMax":
            d = graph.add("Neg", d)
        elif reader == "Sqrt":
            d = graph.add("Sqrt", graph.add("Relu", d))
        name = "ArgMax" if reader == "ArgMax" else "ArgMin"
        d = graph.add(name, d, axis=1, keepdims=1)
    graph.output(d, np.int64)
    (got,) = run_mixed(graph, dtype)
    wrong = np.sum(got[:, 0] != choice)
    assert wrong == 0, f"{wrong} of {ROWS} are not the nearest"


@pytest.mark.parametrize("dtype", DTYPES)
def test_nearest(dtype):
    every = [
        (form, reader, constant, dtype)
        for form in FORMS
        for reader in ("ArgMin", "ArgMax", "TopK", "Sqrt")
        for constant in (True, False)
    ]
    found = failures(check_nearest, every)
    assert not found, report(found, every)
