# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs mp-opt and mp-run, which come with the package."""

import os
import sys


def _run(name: str) -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    # The process becomes the program: signals and exit codes are its own.
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {program}: {error.strerror}")


def mp_opt() -> None:
    _run("mp-opt")


def mp_run() -> None:
    _run("mp-run")
