# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models under random policies; properties.py says what must hold."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "Support")]

import sweeps
from properties import RUNNER, check_many, describe

# Each is a model and a policy made of everything; the first ones are a sample.
SEEDS = sweeps.count("Property/test_properties.py")


@pytest.mark.skipif(not os.access(RUNNER, os.X_OK), reason="no runner built")
def test_properties():
    found, counts = check_many(first=0, count=SEEDS)
    print(dict(counts))
    for violation in found:
        print(describe(violation))
    assert not found, f"{len(found)} violations"
    # A test that looks at nothing finds nothing.
    assert counts["models"] == SEEDS
    assert counts["changed"] > SEEDS / 2
    assert counts["emulated"] > SEEDS / 50
    assert counts["onnxruntime"] > SEEDS / 50
    assert counts["missed remarks"] > SEEDS / 20
