# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States that many iterations update: sums, averages, maxima.

All nodes between a state and its next value are fp32, whoever reads the state:
after 1,000 steps its error, against float64 and relative to the greatest
result, is that of a rounding of the elements and of the results.
"""

import numpy as np
import pytest
from graphs import Graph, failures, is_rounded, report, run_mixed
from support import DTYPES, UNIT_ROUNDOFF

STEPS, WIDTH = 1000, 2
LOOPS = ["Scan", "Loop"]
READERS = ["output", "product", "both"]
# One rounding each of elements, of results, of an operand of a product and of
# the product's result.
GROWTH = 4

F = np.float64


def single(number):
    """A number as nodes have it."""
    return F(np.float32(number))


def kahan(s, c, e):
    y = e - c
    t = s + y
    return [t, t - s - y]


def coupled(s, v, e):
    """A place and a velocity, each made of the other."""
    velocity = v + single(1e-3) * (e - s)
    return [s + single(1e-3) * velocity, velocity]


# Bodies: from the states and an element to the next states, of numbers and of
# values of a graph. The first state is the result.
BODIES = {
    "total": lambda s, e: [s + e],
    "countdown": lambda s, e: [s - e],
    "decayed .99": lambda s, e: [s * single(0.99) + e],
    "decayed .999": lambda s, e: [s * single(0.999) + e],
    "peak": lambda s, e: [np.maximum(s * single(0.99), e)],
    "average": lambda s, e: [s + single(0.01) * (e - s)],
    "kahan": kahan,
    "moved": lambda s, e: [s + e],
    "branched": lambda s, e: [s + e],
    "coupled": coupled,
    # Two sums that take turns.
    "swapped": lambda s, r, e: [r + e, s],
}


def moved(b, s, e):
    """Through nodes that move elements or pass them on."""
    zero = b.constant([0], np.int64)
    flat = b.add("Reshape", b.add("Identity", s), b.constant([-1], np.int64))
    new = flat + b.add("Squeeze", b.add("Unsqueeze", e, zero), zero)
    return [b.add("Reshape", new, b.constant([WIDTH], np.int64))]


def branched(b, s, e):
    """The sum is that of a branch; the other one is never taken."""
    large = b.add("ReduceMax", e, keepdims=0)
    branches = []
    for op in ("Add", "Sub"):
        branch = Graph(prefix=op)
        branch.output(branch.add(op, s, e))
        branches.append(branch.body())
    condition = b.add("Greater", large, -1.0)
    return [
        b.add("If", condition, then_branch=branches[0], else_branch=branches[1])
    ]


# Nodes of bodies that have more than arithmetic.
NODES = {
    "peak": lambda b, s, e: [b.add("Max", s * 0.99, e)],
    "moved": moved,
    "branched": branched,
    "swapped": lambda b, s, r, e: [r + e, b.add("Identity", s)],
}


def elements(name, rng):
    """Numbers that bf16 holds, but for a few of their last digits."""
    data = 1 + 0.25 * rng.random((STEPS, WIDTH))
    if name == "peak":
        data[rng.random(STEPS) < 0.95] = 0
    return data.astype(np.float32)


def scan(graph, step, states, source):
    """The last states and the results of all steps, of a Scan."""
    b = Graph(prefix="body")
    names = [b.parameter(f"s{k}", np.float32, [WIDTH]) for k in range(len(states))]
    new = step(b, *names, b.parameter("e", np.float32, [WIDTH]))
    for name in [*new, new[0]]:
        b.output(b.add("Identity", name), shape=[WIDTH])
    return graph.add_all(
        "Scan", [*states, source], len(b.outputs), body=b.body(), num_scan_inputs=1
    )


def loop(graph, step, states, source):
    """The same of a Loop, which picks its element."""
    b = Graph(prefix="body")
    index, on = b.parameter("i", np.int64, []), b.parameter("on", bool, [])
    names = [b.parameter(f"s{k}", np.float32, [WIDTH]) for k in range(len(states))]
    new = step(b, *names, b.add("Gather", source, index, axis=0))
    b.output(b.add("Identity", on), bool, [])
    for name in [*new, new[0]]:
        b.output(b.add("Identity", name), shape=[WIDTH])
    count = graph.constant(STEPS, np.int64)
    return graph.add_all(
        "Loop", [count, "", *states], len(new) + 1, body=b.body()
    )


def expected_results(compute, count, data):
    states, results = [np.zeros(WIDTH)] * count, []
    for e in data.astype(np.float64):
        states = compute(*states, e)
        results.append(states[0])
    return np.array(results)


def check(kind, name, reader, dtype):
    compute = BODIES[name]
    step = NODES.get(name, lambda _, *values: compute(*values))
    graph = Graph()
    data = elements(name, np.random.default_rng(5))
    x, w = graph.input("x", data), graph.constant(np.eye(WIDTH))
    count = compute.__code__.co_argcount - 1
    zeros = np.zeros(WIDTH, np.float32)
    states = [graph.input(f"zero{k}", zeros) for k in range(count)]
    source = graph.add("MatMul", x, w)
    make = scan if kind == "Scan" else loop
    results = make(graph, step, states, source)
    wanted = []
    exact = expected_results(compute, count, data)
    if reader != "product":
        graph.output(results[0])
        graph.output(results[-1])
        wanted += [exact[-1], exact]
    if reader != "output":
        graph.output(graph.add("MatMul", results[-1], w))
        wanted.append(exact)
    bound = GROWTH * UNIT_ROUNDOFF[dtype] * np.abs(exact).max()
    outputs = run_mixed(graph, dtype)
    for got, want in zip(outputs, wanted, strict=True):
        wrong = np.abs(got - want).max() / bound
        assert wrong <= 1, f"{wrong:.1f} times the bound"
    if reader != "output":
        assert is_rounded(outputs[-1], dtype), "the product is to be in 16 bit"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", LOOPS)
def test_states(kind, dtype):
    cases = [(kind, n, r, dtype) for n in BODIES for r in READERS]
    found = failures(check, cases)
    assert not found, report(found, cases)


# Within 16 u of 1, and not 1.
FACTORS = {"bf16": [0.95, 0.99, 0.999, 1.01], "fp16": [0.993, 0.999, 1.005]}


def check_unrolled(factor, where, dtype):
    """64 steps as nodes of the graph itself."""
    graph = Graph()
    rng = np.random.default_rng(11)
    data = (1 + rng.random((64, WIDTH))).astype(np.float32)
    x, w = graph.input("x", data), graph.constant(np.eye(WIDTH))
    rows = graph.add("MatMul", x, w) if where == "product" else x
    parts = graph.add_all("Split", [rows], 64, axis=0)
    s, exact = parts[0], data[0].astype(np.float64)
    for k in range(1, 64):
        s = s * factor + parts[k]
        exact = exact * single(factor) + data[k]
    graph.output(graph.add("MatMul", s, w))
    (got,) = run_mixed(graph, dtype)
    bound = GROWTH * UNIT_ROUNDOFF[dtype] * np.abs(exact).max()
    wrong = np.abs(got - exact).max() / bound
    assert wrong <= 1, f"{wrong:.1f} times the bound"


@pytest.mark.parametrize("dtype", DTYPES)
def test_unrolled(dtype):
    cases = [(f, w, dtype) for f in FACTORS[dtype] for w in ("input", "product")]
    found = failures(check_unrolled, cases)
    assert not found, report(found, cases)
