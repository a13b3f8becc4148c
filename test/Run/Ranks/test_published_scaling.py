# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run plan beside what others have measured: docs/scaling.md has their
figures, and what the plan says of the same models and networks."""

import functools
import json
import re

import pytest

from runs import ROOT, mp_run

PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
# The bounds that the page states.
ABOVE, BELOW, REDUCTION = 1.5, 8, 9
FIRST, BUCKET = 1 << 20, 25 << 20


def tables():
    """Rows of each table, as what stands in each column."""
    for text in re.findall(r"^\|.*\n(?:\|.*\n)+", PAGE, re.M):
        lines = [
            [cell.strip().strip("`") for cell in line.strip("|").split("|")]
            for line in text.splitlines()
        ]
        yield [dict(zip(lines[0], line)) for line in lines[2:]]


TRAININGS, REDUCTIONS = tables()


def numbers(cell):
    return [float(number) for number in cell.split(",")]


def write_step(path, batch, batches, sizes, is_hidden):
    """A step as `mp-run plan` keeps it: buckets of gradients of the last batch,
    which are ready evenly over its backward pass, two thirds of its time. Of
    two sizes the first is that of layers whose gradients are ready at once."""
    seconds, backward = batch * batches, batch * 2 / 3
    early, rest = [0, *sizes][-2:]
    buckets, left, done, limit = [], early + rest, 0, FIRST
    while left > 0:
        size = min(left, limit)
        done, left, limit = done + size, left - size, BUCKET
        ready = seconds - backward * (1 - max(0, done - early) / rest)
        buckets.append(
            {"bytes": size, "ready": min(ready, seconds) if is_hidden else seconds}
        )
    path.write_text(json.dumps({"seconds": seconds, "buckets": buckets}))


def plan(path, ranks, network, *flags):
    """The plan of fp32 gradients."""
    done = mp_run("plan", path, f"--ranks={ranks}", f"--network={network}", "--json", *flags)
    (case,) = (
        case
        for case in json.loads(done.stdout)["plans"]
        if (case["wire"], case["accumulate"], case["sharded"]) == ("fp32", 1, False)
    )
    return case


def predict(row, folder, is_hidden):
    """Efficiencies in relation to that of the fewest ranks, in percent."""
    sizes = [float(size) * 1e6 for size in row["MB"].split("+")]

    @functools.cache
    def efficiency(ranks):
        total = re.fullmatch(r"(\d+) / ranks", row["batches"])
        batches = int(total[1]) / ranks if total else int(row["batches"])
        path = folder / "step.json"
        write_step(path, float(row["ms"]) / 1e3, batches, sizes, is_hidden)
        return plan(path, ranks, row["network"])["efficiency"]

    fewest, *more = (int(ranks) for ranks in numbers(row["ranks"]))
    return [100 * efficiency(ranks) / efficiency(fewest) for ranks in more]


@pytest.mark.parametrize("row", TRAININGS, ids=lambda row: row["training"])
def test_training(tmp_path, row):
    """Between a plan that hides what it can and one that hides nothing, or
    within the distance that the page states; what is not, the page marks."""
    hidden, bare = (predict(row, tmp_path, is_hidden) for is_hidden in (True, False))
    assert numbers(row["plan"]) == pytest.approx(hidden, abs=0.1)
    assert numbers(row["nothing hidden"]) == pytest.approx(bare, abs=0.1)
    for cell, most, least in zip(row["published"].split(","), hidden, bare):
        cell = cell.strip()
        published = float(cell.rstrip("*"))
        assert published <= most + ABOVE
        assert (published < least - BELOW) == cell.endswith("*")


def test_counts():
    """What the page says of all of them together."""
    below = [
        least - float(cell.strip().rstrip("*"))
        for row in TRAININGS
        for cell, least in zip(
            row["published"].split(","), numbers(row["nothing hidden"])
        )
    ]
    above = [
        float(cell.strip().rstrip("*")) - most
        for row in TRAININGS
        for cell, most in zip(row["published"].split(","), numbers(row["plan"]))
    ]
    counts = [
        sum(max(pair) <= points for pair in zip(below, above)) for points in (2, 5, 8)
    ]
    said = re.search(
        r"of (\d+), (\d+) are within 2 points .*? (\d+) within 5 and (\d+) within 8",
        " ".join(PAGE.split()),
    )
    assert [int(number) for number in said.groups()] == [len(below), *counts]
    assert len(below) >= 80 and counts[-1] >= len(below) - 3


@pytest.mark.parametrize("row", REDUCTIONS, ids=lambda row: row["all-reduce"])
def test_all_reduce(tmp_path, row):
    """A step of nothing else waits for all of it."""
    size, ranks = float(row["MB"]) * 1e6, int(row["ranks"])
    path = tmp_path / "step.json"
    write_step(path, 1e-3, 1, [size], is_hidden=False)
    step = json.loads(path.read_text())
    step["buckets"] = [{"bytes": size, "ready": step["seconds"]}]
    path.write_text(json.dumps(step))
    seconds = plan(path, ranks, row["network"])["exposed_seconds"]
    # The bus bandwidth as nccl-tests defines it.
    bus = 2 * (ranks - 1) / ranks * size / seconds / 1e9
    assert float(row["plan"]) == pytest.approx(bus, abs=0.1)
    assert float(row["published"]) == pytest.approx(bus, rel=REDUCTION / 100)
