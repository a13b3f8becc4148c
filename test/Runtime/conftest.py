# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fail early, and clearly, when there is no binary to test."""

import os

import pytest

import support


def pytest_sessionstart(session):
    if not os.access(support.MP_OPT, os.X_OK):
        pytest.exit(
            f"no mp-opt at {support.MP_OPT}: build it, or set MP_OPT",
            returncode=2,
        )
