# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fail early, and clearly, when there is no binary to test."""

import os

import pytest


def pytest_sessionstart(session):
    tool = os.environ.get("MP_OPT")
    if tool and not os.access(tool, os.X_OK):
        pytest.exit(
            f"no mp-opt at {tool}: build it, or set MP_OPT", returncode=2
        )
