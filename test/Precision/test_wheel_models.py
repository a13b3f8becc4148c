# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that ONNX's own tests ship: old opsets, real topologies.

Each comes back from text as it was, and converts to a valid model that a
second conversion leaves alone.
"""

import concurrent.futures
import functools

import onnx
import pytest
import sweeps
import node_cases
from node_cases import DATA
from support import DTYPES, run_mp_opt, scratch_dir

MODELS = sorted(DATA.glob("**/*.onnx"))


def is_valid(path):
    return node_cases.is_valid(onnx.load(path))


def canonical(path):
    return onnx.load(path).SerializeToString(deterministic=True)


def round_trip(source, folder):
    run_mp_opt(source, "-o", folder / "text.mlir")
    run_mp_opt(folder / "text.mlir", "-o", folder / "back.onnx")
    assert canonical(folder / "back.onnx") == canonical(source)


def convert(source, folder, dtype):
    once, twice = folder / "once.onnx", folder / "twice.onnx"
    run_mp_opt(source, f"--mixed-{dtype}", "-o", once)
    assert is_valid(once) or not is_valid(source)
    run_mp_opt(once, f"--mixed-{dtype}", "-o", twice)
    assert once.read_bytes() == twice.read_bytes()


def classes(path):
    """A sample has every operator, in each opset and by itself."""
    model = onnx.load(path, load_external_data=False)
    version = max(o.version for o in model.opset_import)
    return {(node.op_type, version) for node in model.graph.node}


def on_models(models, check, *arguments):
    def outcome(source):
        try:
            check(source, scratch_dir("wheel"), *arguments)
        except AssertionError as error:
            return f"{source.relative_to(DATA)}: {error}"
        return None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = list(filter(None, pool.map(outcome, models)))
    assert not failed, "\n".join(failed)


def test_there_are_models():
    assert len(MODELS) > 100


@functools.lru_cache(maxsize=None)
def sampled():
    return sweeps.sample("Precision/test_wheel_models.py", MODELS, classes)


def test_round_trip():
    on_models(sampled(), round_trip)


@pytest.mark.parametrize("dtype", DTYPES)
def test_convert(dtype):
    on_models(sampled(), convert, dtype)
