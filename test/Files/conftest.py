# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what tests have counted, and at once if there is nothing to test."""

import os

import files
import pytest


def pytest_sessionstart(session):
    for path in (files.MP_OPT, files.FAULTS):
        if not os.access(path, os.X_OK):
            pytest.exit(
                f"no {path}: build it, or set MP_OPT and MP_OPT_FAULTS",
                returncode=2,
            )


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        for line in report.capstdout.splitlines():
            terminalreporter.write_line(f"{report.head_line}: {line}")
