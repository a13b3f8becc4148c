# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a fixed number of fixed programs of calls of the C API.

usage: run_calls.py FUZZ-CALLS RUNS
       run_calls.py --seeds=FOLDER

Each input is made from its number alone: one of some calls that do well, and
bytes behind them. --seeds writes the former into a folder. Exits with 77, which ctest counts as
skipped, when there is no such program. An input that ends the process is left
in the folder `crashes` beside the program.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

SKIPPED = 77

# As FuzzCalls.cpp reads them. Options are made, flags are set, a model is read,
# compiled and run, or becomes a training step.
NULL = 3
PARSE = bytes([2, 0, 0, 0, 1, 1, NULL])
COMPILE = bytes([4, 0, 0, 0, NULL])
RUN = bytes([4, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1])
CONVERT = bytes([0, 0, 0, 0])
TRAIN = bytes([0, 0, 1, 0, 3, 27, 1])
LOSS = bytes([0, 0, 1, 0, 4, 1, 1])
MIXED = bytes([0, 0, 1, 0, 0, 27, 1])
CONVERTED = bytes([2, 0, 4, 0, 0, 1])
STEP = bytes([5, 0, 0, 0, NULL])
SAVE = bytes([5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 1])
LOAD = bytes([5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3])
STARTS = (
    b"",
    PARSE,
    PARSE + COMPILE + RUN,
    PARSE + CONVERT + MIXED + CONVERTED,
    PARSE + CONVERT + TRAIN + LOSS + CONVERTED + STEP,
    PARSE + CONVERT + TRAIN + LOSS + CONVERTED + STEP + SAVE + LOAD,
)


def write_seeds(folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(STARTS):
        pathlib.Path(folder, f"{number}").write_bytes(start)


def main():
    if sys.argv[1].startswith("--seeds="):
        write_seeds(sys.argv[1].partition("=")[2])
        return 0
    program, runs = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    if not os.access(program, os.X_OK):
        print(
            f"skipped: there is no {program}; scripts/setup.sh --with-tests "
            "builds it, with clang-22 and libclang-rt-22-dev"
        )
        return SKIPPED
    crashes = pathlib.Path(program).resolve().parents[1] / "crashes"
    crashes.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            rng = random.Random(number)
            content = rng.choice(STARTS) + rng.randbytes(rng.randrange(16, 512))
            pathlib.Path(folder, f"{number:06}").write_bytes(content)
        done = subprocess.run(
            [program, folder, "-runs=0", "-timeout=60", "-rss_limit_mb=4096",
             "-malloc_limit_mb=1024", f"-artifact_prefix={crashes}/calls-"],
            capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode or f"{runs} files found" not in done.stderr:
        print(done.stderr[-6000:])
        return 1
    print(f"{runs} programs of calls kept what the C API promises")
    return 0


if __name__ == "__main__":
    sys.exit(main())
