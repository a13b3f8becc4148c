# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands in front of ONNX's shape inference lets honest models pass.

test/Unit/InferenceGuard.cpp shows what it stops. Here it sees every node of
ONNX's node tests and of the model collection.
"""

import pathlib
import re

import onnx
import pytest
from node_cases import CASES, all_cases
from support import MODELS, MP_OPT, attempt, scratch_dir

GUARD = pathlib.Path(MP_OPT).with_name("inference-guard")


def count(models):
    done = attempt(*models, program=GUARD, timeout=None, check=True)
    print(done.stdout)
    names = ("models", "nodes", "refused", "constant operands", "hidden")
    last = done.stdout.splitlines()[-1]
    return {n: int(re.search(rf"\b{n} (\d+)", last).group(1)) for n in names}


@pytest.fixture(scope="module", autouse=True)
def needs_guard():
    if not GUARD.exists():
        pytest.skip("inference-guard is not built")


def test_node_tests_pass():
    folder = scratch_dir("nodes")
    for case in all_cases():
        onnx.save(case.model, folder / f"{case.name}.onnx")
    counts = count(sorted(folder.glob("*.onnx")))
    assert counts["models"] >= CASES
    assert counts["refused"] == 0


def test_models_pass():
    counts = count(sorted(MODELS.glob("*/*/*.onnx")))
    assert counts["nodes"] > 1000 and counts["constant operands"] > 900
    assert counts["refused"] == 0
