# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of long sweeps, and the whole of them in `scripts/test.sh --all`.

usage: sweeps.py       says what --all adds

A test that sweeps over more than each run has time for names its sweep here,
with the number of cases in a sample and in all, and asks `sample` which to
run. A sample is the same in each run. It has a case of every class: what the
test means to hold is what classes are made of, and more cases of a class say
it again.
"""

import os
import sys
import typing

ALL = os.environ.get("MPOPT_TEST_ALL") == "1"


class Sweep(typing.NamedTuple):
    """What is swept over; cases in a sample, and in all."""

    text: str
    sampled: int
    all: int


SWEEPS = {
    "Run/test_branches.py": Sweep(
        "random models whose branches and loops yield shared values", 25, 600
    ),
    "Lowering/test_kernels.py": Sweep(
        "contractions, each in every way to compile it", 1074, 1926
    ),
    "Property/test_properties.py": Sweep(
        "random models under random policies", 1500, 5000
    ),
    "Tools/test_reproducible.py": Sweep(
        "models and pipelines, each run in every environment", 4, 8
    ),
    "Python/test_backend.py": Sweep(
        "ONNX's node tests through mp_opt.backend", 181, 1608
    ),
    "Provider/test_nodes.py": Sweep(
        "ONNX's node tests in onnxruntime with the provider", 181, 1608
    ),
    "Precision/test_elementwise_chains.py": Sweep(
        "chains of elementwise nodes that end in a product", 120, 1000
    ),
    "Precision/test_wheel_models.py": Sweep("models of ONNX's own tests", 51, 149),
}


def sample(name, cases, classes):
    """The cases to run, in their order: all, or those that are the first of a
    class. `classes` tells those of a case."""
    cases, seen, chosen = list(cases), set(), []
    for case in cases:
        new = set(classes(case)) - seen
        if new:
            seen |= new
            chosen.append(case)
    found = (len(chosen), len(cases))
    sweep = SWEEPS[name]
    assert found == sweep[1:], f"{name}: {sweep} should say {found}"
    return cases if ALL else chosen


def count(name):
    """How many cases to run of those that differ in a number alone."""
    return SWEEPS[name].all if ALL else SWEEPS[name].sampled


def main():
    width = max(map(len, SWEEPS))
    for name, sweep in SWEEPS.items():
        print(
            f"  {name:{width}}  {sweep.all - sweep.sampled} more {sweep.text}, "
            f"{sweep.all} in all"
        )


if __name__ == "__main__":
    sys.exit(main())
