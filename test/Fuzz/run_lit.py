# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run all lit tests with a sanitized mp-opt.

usage: run_lit.py LIT MP-OPT TEST-FOLDER

Exits with 77, which ctest counts as skipped, when there is no such mp-opt. A
report of a sanitizer is an abort, which no test expects.
"""

import os
import subprocess
import sys

SKIPPED = 77


def main():
    lit, mp_opt, folder = sys.argv[1:]
    if not os.access(mp_opt, os.X_OK):
        print(
            f"skipped: there is no {mp_opt}; scripts/setup.sh --with-tests "
            "builds it, with clang-22 and libclang-rt-22-dev"
        )
        return SKIPPED
    return subprocess.run([sys.executable, lit, "-sv", folder]).returncode


if __name__ == "__main__":
    sys.exit(main())
