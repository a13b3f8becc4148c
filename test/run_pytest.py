# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a test file with the pytest of a virtual environment.

usage: run_pytest.py VENV FILE

Exits with 77, which ctest counts as skipped, when there is no such
environment or when every test of the file was skipped.
"""

import os
import re
import subprocess
import sys

SKIPPED = 77


def main():
    venv, file = sys.argv[1:]
    python = os.path.join(venv, "bin", "python")
    if not os.access(python, os.X_OK):
        print(
            f"skipped: no virtual environment at {venv}; "
            "scripts/setup.sh --with-tests makes it"
        )
        return SKIPPED
    command = [python, "-B", "-m", "pytest", "-q", "-rs", "--color=no"]
    command += ["-p", "no:cacheprovider", file]
    # Kept code is the tests' own, and shared by them.
    tool = os.environ.get("MP_RUN") or os.environ.get("MP_OPT")
    if tool:
        build = os.path.dirname(os.path.dirname(os.path.abspath(tool)))
        folder = os.path.join(build, "test-code")
        os.environ.setdefault("MPOPT_CACHE_DIR", folder)
    # Output is passed on line by line: it is visible if a test hangs.
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pytest:
        for line in pytest.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    if pytest.returncode == 0 and re.match(r"\d+ skipped in ", last):
        return SKIPPED
    if pytest.returncode < 0:
        print(f"pytest was ended by signal {-pytest.returncode}")
        return 1
    return pytest.returncode


if __name__ == "__main__":
    sys.exit(main())
