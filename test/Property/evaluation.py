# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What 16 bit may do to a model's outputs, by the reference evaluator.

A bound from the number of nodes alone would be far too wide for most random
models and too narrow for some, as errors grow by what is behind them. So the
fp32 model is run again with every float result of every node disturbed by up
to a unit roundoff, which is what 16-bit storage of every value would do; the
largest change of a few such runs, times a factor, bounds the converted one.
"""

import numpy as np
from onnx.reference import ReferenceEvaluator

UNIT_ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11}
RUNS = 12
# A factor for chance, for rounded operands besides the result, and for weights.
FACTOR = 8
# Beyond it, a model says nothing about precision.
MAX_CHANGE = 0.1


def disturb(array, unit, rng):
    if not isinstance(array, np.ndarray) or array.dtype != np.float32:
        return array
    # No pass may round sizes and indices, nor the values that they are computed
    # from.
    if array.size <= 4 and (2 * array == np.round(2 * array)).all():
        return array
    noise = rng.uniform(-unit, unit, array.shape)
    with np.errstate(all="ignore"):
        return (array * (1 + noise)).astype(np.float32)


def add_noise(evaluator, unit, rng):
    """Make every node of the graph, of bodies and of functions noisy."""
    for node in evaluator.rt_nodes_:
        run = node.run

        def noisy(*args, run=run, **kwargs):
            return tuple(disturb(a, unit, rng) for a in run(*args, **kwargs))

        node.run = noisy
        inner = [getattr(node, n, None) for n in node.attributes_names_]
        for value in [*inner, getattr(node, "impl_", None)]:
            if isinstance(value, ReferenceEvaluator):
                add_noise(value, unit, rng)


def evaluate(proto, feed, unit=0.0, seed=0):
    evaluator = ReferenceEvaluator(proto)
    if unit:
        rng = np.random.default_rng(seed)
        add_noise(evaluator, unit, rng)
        feed = {k: disturb(v, unit, rng) for k, v in feed.items()}
    with np.errstate(all="ignore"):
        return evaluator.run(None, feed)


def differences(expected, actual):
    """Per output the largest difference, relative to the largest value."""
    result = []
    for want, got in zip(expected, actual, strict=True):
        want, got = np.asarray(want), np.asarray(got)
        if (want.dtype, want.shape) != (got.dtype, got.shape):
            return None
        if want.dtype.kind in "biu":
            result.append(float((want != got).any()))
            continue
        want, got = want.astype(np.float64), got.astype(np.float64)
        if not np.array_equal(np.isfinite(want), np.isfinite(got)):
            return None
        finite = np.isfinite(want)
        if not finite.any():
            result.append(0.0)
            continue
        want, got = want[finite], got[finite]
        size = max(float(np.abs(want).max()), 1e-3)
        result.append(float(np.abs(want - got).max()) / size)
    return result


def compare(source, actual, feed, low):
    """What is wrong with the outputs `actual` of a converted `source`.

    None if they are near enough, False if nothing can be said.
    """
    unit = UNIT_ROUNDOFF[low]
    expected = evaluate(source, feed)
    changes = [
        differences(expected, evaluate(source, feed, unit, seed))
        for seed in range(RUNS)
    ]
    if None in changes:
        return False
    got = differences(expected, actual)
    if got is None:
        return "other types, shapes, or new infinities"
    for index, error in enumerate(got):
        worst = max(change[index] for change in changes)
        if worst > MAX_CHANGE:
            return False
        bound = FACTOR * worst + 4 * unit
        if error > bound:
            return f"output {index} errs by {error:.3g}, expected {bound:.3g}"
    return None
