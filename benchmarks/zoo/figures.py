# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of the benchmarks of precision, on plain lists of numbers."""

import math


def is_finite(value):
    return value is not None and math.isfinite(value)


def quantile(values, share):
    """Between the values next to it, as numpy's default."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(values, 0.5)


def share(flags):
    """Of those that are true; NaN if there are none."""
    flags = list(flags)
    return sum(map(bool, flags)) / len(flags) if flags else math.nan


def mean_ranks(values):
    """Ranks from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in range(start, end):
            ranks[order[place]] = (start + end + 1) / 2
        start = end
    return ranks


def correlation(first, second):
    """Pearson's; NaN where one side does not vary."""
    count = len(first)
    if count < 2:
        return math.nan
    means = sum(first) / count, sum(second) / count
    both = sum((a - means[0]) * (b - means[1]) for a, b in zip(first, second))
    squares = [
        sum((value - mean) ** 2 for value in side)
        for side, mean in zip((first, second), means)
    ]
    if not squares[0] or not squares[1]:
        return math.nan
    return both / math.sqrt(squares[0] * squares[1])


def spearman(first, second):
    """Rank correlation, ties included."""
    return correlation(mean_ranks(first), mean_ranks(second))


def ratio(predicted, measured):
    """predicted / measured; NaN where there is no finite one. Two zeros
    agree."""
    if not is_finite(predicted) or not is_finite(measured):
        return math.nan
    if not measured:
        return math.nan if predicted else 1.0
    return predicted / measured


def is_within(value, low, high):
    """False for NaN."""
    return low <= value <= high
