#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cheapest assignments within an error that is named, over models of a zoo.

    benchmarks/precision_zoo.py zoo
    benchmarks/targets.py zoo
    benchmarks/targets.py zoo --only 'gpt.*bf16' --limit 4
    benchmarks/targets.py zoo --tables --json figures.json

Asks `mp-opt attribute` for the error of all nodes in 16 bit, and `mp-opt tune`
for assignments within 0.7, 0.5, 0.25, 0.1 and 0.03 of it. With its baselines:
bisection (a run of nodes is taken if the check holds, else split) and a list (a
run for each node, then the longest prefix that holds). Each answer is kept in a
file: a second call goes on where the first one ended.

A search fails if it claims an error within the target that is not, or moves
more bytes than fp32. "not met" is exit code 3: fp32 itself, or what no
assignment removes, misses the target. Exit code 1: a goal is missed, or a
command has failed.
"""

import argparse
import json
import sys

import turns
from zoo import figures, judging

SHARES = (0.7, 0.5, 0.25, 0.1, 0.03)
# Exit code of mp-opt: no assignment meets the target.
NOT_MET = 3
# Nodes from which fewer runs are asked for.
MANY_NODES = 90
# Rounding of printed numbers.
SLACK = 1e-3


class Search:
    """The answer for one case and one share of its error."""

    def __init__(self, case, share, target, answer):
        self.case, self.share, self.target = case, share, target
        result = answer["result"]
        self.result = result
        self.exit = answer["exit"]
        self.met = bool(result.get("met")) and self.exit == 0
        self.error = result.get("error")
        self.runs = result.get("runs")
        self.all_fp32 = self.met and result.get("nodes_16bit") == 0
        self.bytes_share = figures.ratio(
            result.get("bytes"), result.get("bytes_fp32")
        )
        self.is_false = self.met and not (
            figures.is_finite(self.error)
            and self.error <= self.target * (1 + SLACK)
        )
        self.exceeds_fp32 = self.met and not self.bytes_share <= 1 + SLACK

    @property
    def is_close(self):
        """Uses at least half of what is allowed."""
        return self.met and not self.is_false and (
            self.error >= self.target / 2
        )

    @property
    def is_settled(self):
        """Close, or as close as is possible."""
        return self.is_close or self.all_fp32 or not self.met

    def baseline(self, name, key):
        return self.result.get("baselines", {}).get(name, {}).get(key)

    def times_fewer(self, name):
        """Runs of a baseline for each run of the search."""
        return figures.ratio(self.baseline(name, "runs"), self.runs)

    def bytes_by(self, name):
        return figures.ratio(
            self.result.get("bytes"), self.baseline(name, "bytes")
        )

    @property
    def seconds(self):
        return self.result.get("seconds", {}).get("search")


# ---- Figures ---------------------------------------------------------------


def finite(values):
    return [value for value in values if figures.is_finite(value)]


def mean(values):
    values = finite(values)
    return sum(values) / len(values) if values else float("nan")


def row_of(searches):
    """Figures of some searches."""
    met = [s for s in searches if s.met]
    runs = finite(s.runs for s in searches)
    made = {
        "cases": len(searches),
        "met": len(met),
        "close": sum(s.is_close for s in searches),
        "all_fp32": sum(s.all_fp32 for s in searches),
        "not_met": sum(not s.met for s in searches),
        "settled": figures.share(s.is_settled for s in searches),
        "false": [s.case.label for s in searches if s.is_false],
        "over_fp32": [s.case.label for s in searches if s.exceeds_fp32],
        "runs_median": figures.median(runs),
        "runs_greatest": max(runs, default=None),
        "bytes": mean(s.bytes_share for s in met),
        "seconds_greatest": max(
            finite(s.seconds for s in searches), default=None
        ),
    }
    for name in ("bisection", "list"):
        of_fp32 = [
            figures.ratio(s.baseline(name, "bytes"), s.result.get("bytes_fp32"))
            for s in met
        ]
        made[name] = {
            "bytes": mean(of_fp32),
            "bytes_ratio": mean(s.bytes_by(name) for s in met),
            "runs_ratio": figures.median(
                finite(s.times_fewer(name) for s in searches)
            ),
        }
    return made


def all_figures(searches, failed):
    many = [s for s in searches if s.case.nodes >= MANY_NODES]
    made = {
        "failed": failed,
        "all": row_of(searches),
        "many_nodes": row_of(many),
        "shares": {
            str(share): {
                kind: row_of(
                    [s for s in searches
                     if s.share == share and s.case.kind == kind]
                )
                for kind in judging.KINDS
            }
            for share in SHARES
        },
    }  # fmt: skip
    made["goals"] = goals(made)
    return made


def goals(made):
    every, many = made["all"], made["many_nodes"]
    wanted = [
        ("within [X/2, X], all fp32, or not possible", every["settled"], 1.0,
         True),
        ("claims that are not true", len(every["false"]), 0, False),
        ("more bytes than fp32", len(every["over_fp32"]), 0, False),
        ("runs, median", every["runs_median"], 2, False),
        ("runs, greatest", every["runs_greatest"], 6, False),
        (f"times fewer runs than bisection, {MANY_NODES} nodes and more",
         many["bisection"]["runs_ratio"], 20, True),
        (f"times fewer runs than a list, {MANY_NODES} nodes and more",
         many["list"]["runs_ratio"], 20, True),
        ("bytes by bisection's", every["bisection"]["bytes_ratio"], 1.0,
         False),
        ("seconds beside the runs", every["seconds_greatest"], 30, False),
    ]  # fmt: skip
    found = []
    for name, value, bound, is_least in wanted:
        reached = None
        if every["cases"] and figures.is_finite(value):
            reached = value >= bound if is_least else value <= bound
        found.append(
            {"goal": name, "bound": bound, "least": is_least, "found": value,
             "reached": reached}
        )  # fmt: skip
    return found


# ---- Tables ----------------------------------------------------------------


def number(value, digits=2):
    return f"{value:.{digits}f}" if figures.is_finite(value) else "-"


def print_shares(made):
    turns.head(
        "X / error of all in 16 bit", "of", ">cases", ">met",
        ">within [X/2, X]", ">all fp32", ">not met", ">runs, median",
        ">greatest", ">bytes / fp32", ">bisection", ">list",
    )  # fmt: skip
    parts = [
        (share, kind, row)
        for share, kinds in made["shares"].items()
        for kind, row in kinds.items()
    ]
    for share, kind, row in [*parts, ("all", "both", made["all"])]:
        turns.row(
            share, kind, row["cases"], row["met"], row["close"],
            row["all_fp32"], row["not_met"], number(row["runs_median"], 1),
            row["runs_greatest"] or "-", number(row["bytes"]),
            number(row["bisection"]["bytes"]), number(row["list"]["bytes"]),
        )  # fmt: skip


def print_baselines(made):
    print()
    turns.head(
        "nodes", "baseline", ">cases", ">times fewer runs, median",
        ">bytes by its bytes, mean",
    )  # fmt: skip
    groups = ("all", "all"), (f"{MANY_NODES} and more", "many_nodes")
    for title, key in groups:
        for name in ("bisection", "list"):
            part = made[key][name]
            turns.row(
                title, name, made[key]["cases"],
                number(part["runs_ratio"], 1), number(part["bytes_ratio"]),
            )  # fmt: skip


def print_goals(made):
    print()
    turns.head("goal", ">bound", ">found", "reached")
    for row in made["goals"]:
        sign = "at least" if row["least"] else "at most"
        words = {None: "not measured", True: "yes", False: "NO"}
        turns.row(
            row["goal"], f"{sign} {row['bound']:g}", number(row["found"], 3),
            words[row["reached"]],
        )  # fmt: skip
    for title in ("false", "over_fp32"):
        for label in made["all"][title]:
            print(f"{title.replace('_', ' ')}: {label}")
    for label, text in made["failed"].items():
        print(f"failed: {label}: {text}")


def print_search(search):
    state = "met" if search.met else "not met"
    if search.is_false:
        state = "FALSE"
    elif search.all_fp32:
        state = "all fp32"
    print(
        f"{search.case.label:44} {search.share:<5} {state:8}"
        f" error / X {number(figures.ratio(search.error, search.target))}"
        f"  runs {search.runs}  bytes {number(search.bytes_share)}",
        flush=True,
    )


# ---- Command line ----------------------------------------------------------


def ask_error(options, case):
    """The answer that says what all nodes in 16 bit lose."""
    command = [
        options.mp_opt, "attribute", *case.arguments(options.fp16_training),
        "--json", *options.flag,
    ]  # fmt: skip
    return judging.ask(command, options.timeout)


def ask_search(options, case, target):
    more = [] if options.no_baselines else ["--baselines"]
    command = [
        options.mp_opt, "tune", *case.arguments(options.fp16_training),
        f"--target-error={target!r}", "--json", *more, *options.flag,
    ]  # fmt: skip
    return judging.ask(command, options.timeout, accepted=(0, NOT_MET))


def searches_of(options, case, answer, folder, failed):
    """A search for each share of the error that is in `answer`."""
    total = answer["result"].get("measured")
    if not figures.is_finite(total) or total <= 0:
        print(f"{case.label:44} left out: all in 16 bit gives {total}")
        return
    for share in options.share or SHARES:
        path = folder / f"{case.label}.{share}.json"
        if options.tables and not path.exists():
            continue
        again = options.retry and path.exists() and (
            "error" in judging.read_entry(path)
        )
        found = judging.kept(
            path, lambda x=share * total: ask_search(options, case, x), again
        )
        if "error" in found:
            failed[f"{case.label} {share}"] = found["error"]
            print(f"{case.label:44} {share:<5} {found['error']}", flush=True)
            continue
        search = Search(case, share, share * total, found)
        print_search(search)
        yield search


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    judging.add_options(parser)
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument(
        "--share", type=float, action="append", choices=SHARES,
        help="of the error of all nodes in 16 bit (repeatable; all five)",
    )  # fmt: skip
    return parser.parse_args()


def main():
    options = parse()
    folder = judging.results_folder(options, "targets")
    searches, failed = [], {}
    cases = judging.chosen_cases(options)
    for case, answer in judging.answers(
        options, cases, folder, lambda case: ask_error(options, case)
    ):
        if "error" in answer:
            failed[case.label] = answer["error"]
            print(f"{case.label:44} {answer['error']}", flush=True)
            continue
        searches += searches_of(options, case, answer, folder, failed)
    made = all_figures(searches, failed)
    print()
    print_shares(made)
    print_baselines(made)
    print_goals(made)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1), encoding="utf-8")
    missed = any(row["reached"] is False for row in made["goals"])
    return 1 if missed or failed or not searches else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except judging.Failure as failure:
        sys.exit(f"targets.py: error: {failure}")
