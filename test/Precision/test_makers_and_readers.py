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
# The graph does not show that "float" is a whole number.
OPERANDS = ["int", "float", "rounded float", "Range", "CumSum", "constant"]


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
    return graph.add("ReduceSum", a * b, shape(1), keepdims=0)


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
        steps = graph.add("Cast", count, to=1) * 9
        shape = graph.constant([ROWS, TERMS], np.int64)
        numbers = 9.0 * np.arange(ROWS * TERMS).reshape(ROWS, TERMS)
        return graph.add("Reshape", steps, shape), numbers
    if kind == "CumSum":
        steps = rng.integers(0, 60, whole.shape)
        name = graph.input("x", steps.astype(np.int32))
        total = graph.add("CumSum", name, graph.constant(0, np.int64))
        return graph.add("Cast", total, to=1), steps.cumsum(0).astype(np.float64)
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


# Nodes between a product and its reader, and the same in numpy.
MOVES = {
    "Transpose": (lambda g, p: g.add("Transpose", p, perm=[1, 0]), np.transpose),
    "Reshape": (
        lambda g, p: g.add("Reshape", p, g.constant([-1], np.int64)), np.ravel,
    ),
    "Concat": (
        lambda g, p: g.add("Concat", p, p, axis=1), lambda x: np.hstack([x, x]),
    ),
    "Neg": (lambda g, p: g.add("Neg", p), np.negative),
    "Mul": (lambda g, p: p * 2, lambda x: x * 2),
    "Add": (lambda g, p: p + 3, lambda x: x + 3),
    "Clip": (
        lambda g, p: g.add("Clip", p, 5, 6000), lambda x: np.clip(x, 5, 6000)
    ),
    "Floor": (lambda g, p: g.add("Floor", p), np.floor),
    "Round": (lambda g, p: g.add("Round", p), np.round),
    "Ceil": (lambda g, p: g.add("Ceil", p), np.ceil),
}


def read(graph, reader, p, exact):
    """Adds the reader and its outputs; says what is wrong with these."""
    if reader in ("Sin", "Cos"):
        graph.output(graph.add(reader, p))
        expected = getattr(np, reader.lower())(exact)
        return lambda got, u: off(got, expected, u, 1.0)
    if reader == "Cast":
        graph.output(graph.add("Cast", p, to=7), np.int64)
        return lambda got, u: off(got, np.trunc(exact), u)
    if reader == "Gather":
        index = graph.add("Cast", graph.add("Floor", p), to=7)
        table = graph.constant(np.arange(exact.max() + 50), np.int64)
        graph.output(graph.add("Gather", table, index), np.int64)
        return lambda got, u: off(got, np.floor(exact), u)
    if reader == "Equal":
        graph.output(graph.add("Equal", p, exact), bool)
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


def build(maker, reader, kind, move=None):
    """The graph, and a function that says how wrong its outputs are."""
    rng = np.random.default_rng(7)
    graph = Graph()
    x, a = operand(graph, kind, rng)
    phase = reader in ("Sin", "Cos")
    whole = not phase and kind != "float"
    w, b = weight(graph, kind, whole, rng)
    p, exact = multiply(graph, maker, x, w), a @ b
    if move:
        nodes, numbers = MOVES[move]
        p, exact = nodes(graph, p), numbers(exact)
    judge = read(graph, reader, p, exact)
    if not whole or reader in ("ArgMin", "TopK"):
        return graph, judge
    # Any error of an index is one too many.
    return graph, lambda got, u: np.inf if judge(got, u) > 0 else 0.0


def check(maker, reader, kind, dtype, move=None):
    graph, judge = build(maker, reader, kind, move)
    results = run_mixed(graph, dtype)
    assert all(np.isfinite(r).all() for r in results), "not finite"
    wrong = judge(*results, UNIT_ROUNDOFF[dtype])
    assert wrong <= 1, f"{wrong:.1f} times what is allowed"


def cases(dtype):
    # Equality of fractions is not promised.
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
def test_moved(dtype):
    """Phases of any number, and indices made of whole ones."""
    moved = [
        (maker, reader, kind, dtype, move)
        for maker in ("MatMul", "Conv")
        for reader, kind in (("Sin", "float"), ("Cos", "int"), ("Cast", "int"))
        for move in MOVES
        if reader == "Cast" or move not in ("Floor", "Round", "Ceil")
    ]
    found = failures(check, moved)
    assert not found, report(found, moved)
