# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a fixed number of mutants of the seeds, on all cores.

usage: run_mutants.py FUZZ-MUTANTS RUNS SEEDS...

Exits with 77, which ctest counts as skipped, when there is no such program.
Inputs that end a process are left in the folder `mutants` beside the program.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

SKIPPED = 77


def main():
    program, runs, *seeds = sys.argv[1:]
    program = os.path.abspath(program)
    seeds = [os.path.abspath(path) for path in seeds]
    if not os.access(program, os.X_OK):
        print(
            f"skipped: there is no {program}; scripts/setup.sh --with-tests "
            "builds it, with clang-22 and libclang-rt-22-dev"
        )
        return SKIPPED
    folder = pathlib.Path(program).resolve().parents[1] / "mutants"
    folder.mkdir(exist_ok=True)
    shards = max(2, os.cpu_count() or 1)
    start = time.monotonic()
    processes = [
        subprocess.Popen(
            [program, *seeds, f"--runs={runs}", f"--shard={shard}/{shards}"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        for shard in range(shards)
    ]
    totals, reports = {}, 0
    for process in processes:
        output, errors = process.communicate()
        if process.returncode:
            reports += 1
            print(errors[-6000:])
        for name, number in re.findall(r"([a-z ]+) (\d+)(?=,)", output):
            totals[name.strip()] = totals.get(name.strip(), 0) + int(number)
    counts = ", ".join(f"{name} {number}" for name, number in totals.items())
    print(f"{counts}; {time.monotonic() - start:.0f} s, {reports} reports")
    if reports:
        print(f"the inputs are in {folder}; fuzz/README.md says what to do")
        return 1
    mutants = totals["structured mutants"] + totals["byte mutants"]
    if mutants + totals["too big"] != int(runs):
        print(f"expected {runs} mutants")
        return 1
    if totals["converted or accepted"] < mutants / 20:
        print("nearly no mutant is a model: the fuzzer tests the parser only")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
