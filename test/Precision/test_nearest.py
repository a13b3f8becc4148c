# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The nearest of some centres, by each way to write a squared distance.

|x - c|^2 of centres that lie close together and far from zero: a product in
16 bit would leave none of their difference.
"""

import numpy as np
import pytest
from graphs import Graph, failures, report, run_mixed
from support import DTYPES

ROWS = 24


def squared_distance(graph, form, x, c):
    """|x - c|^2 of each row of x and each of c: as matrices [ROWS, 6]."""
    last, first = (graph.constant([k], np.int64) for k in (1, 0))
    if form == "difference":
        apart = graph.add("Unsqueeze", x, last) - graph.add("Unsqueeze", c, first)
        two = graph.constant([2], np.int64)
        return graph.add("ReduceSum", apart * apart, two, keepdims=0)
    xx = graph.add("ReduceSum", x * x, last, keepdims=1)
    cc = graph.add("ReduceSum", c * c, last, keepdims=0)
    turned = graph.add("Transpose", c, perm=[1, 0])
    if form == "two products":
        product = graph.add("MatMul", x, turned)
        return xx - (product + product) + cc
    if form == "scaled after":
        both = graph.add("MatMul", x, turned) * 2
        return xx + cc - both
    if form == "scaled before":
        return graph.add("MatMul", x * -2, turned) + xx + cc
    # torch's cdist: [-2x, |x|^2, 1] times [c, 1, |c|^2].
    ones = [np.ones((n, 1)) for n in (ROWS, 6)]
    keep = graph.add("Unsqueeze", cc, last)
    left = graph.add("Concat", x * -2, xx, ones[0], axis=1)
    right = graph.add("Concat", c, ones[1], keep, axis=1)
    return graph.add("MatMul", left, graph.add("Transpose", right, perm=[1, 0]))


FORMS = ["two products", "scaled after", "scaled before", "cdist", "difference"]


def check(form, reader, constant, dtype):
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
    found = failures(check, every)
    assert not found, report(found, every)
