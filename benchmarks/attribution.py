#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted errors of 16 bit by measured ones, over the models of a zoo.

    benchmarks/precision_zoo.py zoo
    benchmarks/attribution.py zoo
    benchmarks/attribution.py zoo --only 'gpt.*bf16' --limit 4
    benchmarks/attribution.py zoo --tables --json figures.json

Runs `mp-opt attribute --json` for outputs and gradients in bf16 and fp16. Each
answer is kept in a file: a second call goes on where the first one ended.

Totals are of all nodes in 16 bit together; single nodes of one node at a time.
A node that is less than a ten-thousandth of the total by prediction and by
measurement is not judged, nor is a total of which both are below 1e-6. A case
is wrong if its total is off by more than a factor of 2, or if one of both is
not finite. Exit code 1: a goal is missed, or a command has failed.
"""

import argparse
import json
import sys

import turns
from zoo import figures, judging

NARROW, WIDE = (0.8, 1.25), (0.5, 2)
# Fewer nodes nearly tie: ranks say nothing about them.
RANKED_NODES = 30
# Flips from which the term of kinks changes ranks.
SURE_FLIPS = 5
# Errors below this share of the total, or of fp32's own roundoff, are noise;
# a total below NOTHING is that of a model in which no node is 16 bit.
NEGLIGIBLE, FLOOR, NOTHING = 1e-4, 1e-7, 1e-6
# The size of ResNet-18: costs are judged from here on.
LARGE_MEGABYTES = 40


class Judged:
    """A case with its answer's figures."""

    def __init__(self, case, result):
        self.case, self.result = case, result
        self.predicted = result.get("predicted")
        self.measured = result.get("measured")
        self.ratio = figures.ratio(self.predicted, self.measured)
        first = result.get("predicted_first_order")
        self.first_order = figures.ratio(first, self.measured)
        self.is_finite = figures.is_finite(self.measured)
        both = self.predicted, self.measured
        self.rounds = not all(
            figures.is_finite(error) and error < NOTHING for error in both
        )
        self.is_wrong = not figures.is_within(self.ratio, *WIDE)
        self.is_reliable = bool(result.get("reliable"))
        self.pairs = self.read_nodes()

    def read_nodes(self):
        """(predicted, measured) of single nodes, raised to what is noise."""
        total = self.measured if self.is_finite else 0.0
        floor = max(FLOOR, NEGLIGIBLE * total)
        found = []
        for node in self.result.get("nodes", []):
            pair = node.get("predicted"), node.get("measured")
            if not all(map(figures.is_finite, pair)) or max(pair) < floor:
                continue
            found.append(tuple(max(value, floor) for value in pair))
        return found

    @property
    def rank(self):
        """NaN for few nodes."""
        if len(self.pairs) < RANKED_NODES:
            return float("nan")
        return figures.spearman(*zip(*self.pairs))

    @property
    def has_sure_ranks(self):
        flips = self.result.get("flips") or 0
        return not self.case.is_kinked or flips == 0 or flips >= SURE_FLIPS

    @property
    def cost(self):
        """Attribution by a plain fp32 run."""
        seconds = self.result.get("seconds", {})
        return figures.ratio(
            seconds.get("attribution"), seconds.get("plain_run")
        )


# ---- Figures ---------------------------------------------------------------


def totals(judged):
    """Over the cases whose measured error is a number."""
    judged = [j for j in judged if j.is_finite and j.rounds]
    ratios = [j.ratio for j in judged]
    numbers = [r for r in ratios if figures.is_finite(r)]
    first = [j.first_order for j in judged]
    return {
        "cases": len(ratios),
        "narrow": figures.share(figures.is_within(r, *NARROW) for r in ratios),
        "wide": figures.share(figures.is_within(r, *WIDE) for r in ratios),
        "least": min(numbers, default=None),
        "median": figures.median(numbers),
        "greatest": max(numbers, default=None),
        "first_order_wide": figures.share(
            figures.is_within(r, *WIDE) for r in first
        ),
    }


def ranks(judged):
    found = [(j.rank, j.case.label) for j in judged]
    found = sorted(pair for pair in found if figures.is_finite(pair[0]))
    values = [rank for rank, _ in found]
    return {
        "cases": len(found),
        "median": figures.median(values),
        "p10": figures.quantile(values, 0.1),
        "worst": found[0][0] if found else None,
        "worst_case": found[0][1] if found else None,
    }


def single_nodes(judged):
    pairs = [pair for j in judged for pair in j.pairs]
    return {
        "nodes": len(pairs),
        "within_2": figures.share(
            figures.is_within(figures.ratio(*pair), *WIDE) for pair in pairs
        ),
    }


def reliability(judged):
    judged = [j for j in judged if j.rounds]
    wrong = [j for j in judged if j.is_wrong]
    right = [j for j in judged if not j.is_wrong]
    missed = [j.case.label for j in wrong if j.is_reliable]
    alarms = [j.case.label for j in right if not j.is_reliable]
    return {
        "wrong": len(wrong),
        "found": len(wrong) - len(missed),
        "missed": missed,
        "right": len(right),
        "false_alarms": alarms,
        "found_share": 1 - len(missed) / len(wrong) if wrong else 1.0,
        "false_share": len(alarms) / len(right) if right else 0.0,
    }


def costs(judged):
    found = [j.cost for j in judged if figures.is_finite(j.cost)]
    large = [
        j.cost
        for j in judged
        if figures.is_finite(j.cost) and j.case.megabytes >= LARGE_MEGABYTES
    ]
    return {
        "cases": len(found),
        "median": figures.median(found),
        "greatest": max(found, default=None),
        "large_cases": len(large),
        "large_greatest": max(large, default=None),
    }


def groups(judged):
    """Titles and cases: all, smooth, kinked, and each precision."""
    yield "all", judged
    yield "smooth", [j for j in judged if not j.case.is_kinked]
    yield "kinked", [j for j in judged if j.case.is_kinked]
    for precision in judging.PRECISIONS:
        yield precision, [j for j in judged if j.case.precision == precision]
    yield "reliable", [j for j in judged if j.is_reliable]


def all_figures(judged, failed):
    made = {"failed": failed}
    for kind in judging.KINDS:
        of_kind = [j for j in judged if j.case.kind == kind]
        sure = [j for j in of_kind if j.has_sure_ranks]
        made[kind] = {
            "totals": {n: totals(group) for n, group in groups(of_kind)},
            "ranks": {"all": ranks(of_kind), "sure": ranks(sure)},
            "single_nodes": single_nodes(of_kind),
            "reliability": reliability(of_kind),
            "costs": costs(of_kind),
        }
    made["goals"] = goals(made)
    return made


# Name, kind, place of the figure, whether it is a least value, and the goal.
GOALS = [
    ("totals within [0.8, 1.25]", "outputs", "totals all narrow", True, 0.9),
    ("totals within [0.5, 2]", "gradients", "totals all wide", True, 0.9),
    ("smooth totals within [0.8, 1.25]", "gradients", "totals smooth narrow",
     True, 0.9),
    ("median rank correlation", "outputs", "ranks all median", True, 0.95),
    ("median rank correlation", "gradients", "ranks all median", True, 0.95),
    ("worst rank correlation", "outputs", "ranks sure worst", True, 0.85),
    ("worst rank correlation", "gradients", "ranks sure worst", True, 0.85),
    ("single nodes within 2", "outputs", "single_nodes within_2", True, 0.97),
    ("single nodes within 2", "gradients", "single_nodes within_2", True, 0.9),
    ("wrong ones found", "outputs", "reliability found_share", True, 1.0),
    ("wrong ones found", "gradients", "reliability found_share", True, 0.95),
    ("false alarms", "outputs", "reliability false_share", False, 0.05),
    ("false alarms", "gradients", "reliability false_share", False, 0.15),
    ("cost of large models", "outputs", "costs large_greatest", False, 6.0),
    ("cost of large models", "gradients", "costs large_greatest", False, 6.0),
]  # fmt: skip


def goals(made):
    """Each goal with its figure; None where nothing was measured."""
    found = []
    for name, kind, place, is_least, goal in GOALS:
        value = made[kind]
        for key in place.split():
            value = value[key]
        reached = None
        if figures.is_finite(value):
            reached = value >= goal if is_least else value <= goal
        found.append(
            {"goal": name, "of": kind, "bound": goal, "least": is_least,
             "found": value, "reached": reached}
        )  # fmt: skip
    return found


# ---- Tables ----------------------------------------------------------------


def percent(value):
    return f"{100 * value:.1f} %" if figures.is_finite(value) else "-"


def number(value, digits=2):
    return f"{value:.{digits}f}" if figures.is_finite(value) else "-"


def print_totals(made):
    turns.head(
        "of", "cases that are", ">cases", ">within [0.8, 1.25]",
        ">within [0.5, 2]", ">least", ">median", ">greatest",
        ">first order within [0.5, 2]",
    )  # fmt: skip
    for kind in judging.KINDS:
        for title, row in made[kind]["totals"].items():
            turns.row(
                kind, title, row["cases"], percent(row["narrow"]),
                percent(row["wide"]), number(row["least"]),
                number(row["median"]), number(row["greatest"]),
                percent(row["first_order_wide"]),
            )  # fmt: skip


def print_nodes(made):
    print()
    turns.head(
        "of", ">ranked cases", ">rank correlation, median", ">p10", ">worst",
        "worst case", ">worst, flips sure", ">nodes", ">within a factor 2",
    )  # fmt: skip
    for kind in judging.KINDS:
        part = made[kind]
        every, sure = part["ranks"]["all"], part["ranks"]["sure"]
        turns.row(
            kind, every["cases"], number(every["median"], 3),
            number(every["p10"], 3), number(every["worst"], 3),
            every["worst_case"] or "-", number(sure["worst"], 3),
            part["single_nodes"]["nodes"],
            percent(part["single_nodes"]["within_2"]),
        )  # fmt: skip


def print_reliability(made):
    print()
    turns.head(
        "of", ">wrong", ">found", "missed", ">right", ">false alarms",
        "false alarms at", ">cost, median", ">greatest", ">of large models",
    )  # fmt: skip
    for kind in judging.KINDS:
        row, cost = made[kind]["reliability"], made[kind]["costs"]
        turns.row(
            kind, row["wrong"], row["found"], ", ".join(row["missed"]) or "-",
            row["right"], percent(row["false_share"]),
            ", ".join(row["false_alarms"]) or "-", number(cost["median"], 1),
            number(cost["greatest"], 1), number(cost["large_greatest"], 1),
        )  # fmt: skip


def print_goals(made):
    print()
    turns.head("goal", "of", ">bound", ">found", "reached")
    for row in made["goals"]:
        sign = "at least" if row["least"] else "at most"
        words = {None: "not measured", True: "yes", False: "NO"}
        turns.row(
            row["goal"], row["of"], f"{sign} {row['bound']:g}",
            number(row["found"], 3), words[row["reached"]],
        )  # fmt: skip
    for label, text in made["failed"].items():
        print(f"failed: {label}: {text}")


def print_case(case, answer):
    """Says what has been found, as it is found."""
    if "error" in answer:
        print(f"{case.label:44} {answer['error']}", flush=True)
        return
    judged = Judged(case, answer["result"])
    doubts = answer["result"].get("doubts", [])
    print(
        f"{case.label:44} {number(judged.ratio):>6}"
        f"  first order {number(judged.first_order):>6}"
        f"  rank {number(judged.rank):>5}"
        f"  cost {number(judged.cost, 1):>5}"
        f"  {'' if judged.is_reliable else 'not reliable: '}"
        f"{'; '.join(doubts)}",
        flush=True,
    )


# ---- Command line ----------------------------------------------------------


def command_of(options, case):
    measure = "all" if case.nodes <= options.all_nodes else options.some_nodes
    return [
        options.mp_opt, "attribute", *case.arguments(options.fp16_training),
        f"--measure={measure}", "--json", *options.flag,
    ]  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    judging.add_options(parser)
    parser.add_argument(
        "--all-nodes", type=int, default=150, metavar="N",
        help="models of at most N nodes get a run for each node (150)",
    )  # fmt: skip
    parser.add_argument(
        "--some-nodes", type=int, default=60, metavar="N",
        help="of larger models, N nodes get one (60)",
    )  # fmt: skip
    return parser.parse_args()


def main():
    options = parse()
    folder = judging.results_folder(options, "attribution")
    judged, failed = [], {}

    def make(case):
        return judging.ask(command_of(options, case), options.timeout)

    cases = judging.chosen_cases(options)
    for case, answer in judging.answers(options, cases, folder, make):
        print_case(case, answer)
        if "error" in answer:
            failed[case.label] = answer["error"]
        else:
            judged.append(Judged(case, answer["result"]))
    made = all_figures(judged, failed)
    print()
    print_totals(made)
    print_nodes(made)
    print_reliability(made)
    print_goals(made)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1), encoding="utf-8")
    missed = any(row["reached"] is False for row in made["goals"])
    return 1 if missed or failed or not judged else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except judging.Failure as failure:
        sys.exit(f"attribution.py: error: {failure}")
