# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own node tests, compiled and run, against their expected outputs.

Models of one opset, tolerance and first letter are merged, some twenty at a
time: starting a process costs more than the work. Only the cases of a failing
batch are run one by one. What cannot pass is listed, with a reason, in
node_models_exceptions.txt; a case that is listed there and passes is an error.
"""

import fnmatch
import functools
import itertools
import os
import pathlib

import onnx
import pytest
from onnx import numpy_helper

import node_cases
from node_cases import all_cases, has_subgraphs, listed, merged
from support import ROOT, attempt, scratch_dir

MP_RUN = os.environ.get("MP_RUN", ROOT / "build" / "bin" / "mp-run")
CASES = 1884  # of onnx 1.23.2
BATCH = 20
WORKERS = os.cpu_count()
DEVICE = os.environ.get("MPOPT_TEST_DEVICE", "emulated")
TIMEOUT_SECONDS = 120
EXCEPTIONS = pathlib.Path(__file__).with_name("node_models_exceptions.txt")


@functools.lru_cache(maxsize=None)
def exceptions():
    """Patterns of names, each with the reason."""
    lines = listed(EXCEPTIONS)
    found = dict(lines)
    assert len(found) == len(lines), "a pattern is listed twice"
    return found


@functools.lru_cache(maxsize=None)
def is_exception(name, reason=""):
    """Whether a case is listed, with a reason that begins so."""
    return any(
        fnmatch.fnmatchcase(name, pattern)
        for pattern, why in exceptions().items()
        if why.startswith(reason)
    )


def tolerance(case):
    """As ONNX's runner has it, but for 16-bit results twice the roundoff and
    more: expected ones are rounded at each step of a function's body."""
    rtol = case.rtol
    for output in case.model.graph.output:
        element = output.type.tensor_type.elem_type
        if element == onnx.TensorProto.BFLOAT16:
            rtol = max(rtol, 2.0**-6)
        if element == onnx.TensorProto.FLOAT16:
            rtol = max(rtol, 2.0**-9)
    return rtol, case.atol


def family(case):
    return case.name.removeprefix("test_")[0]


# Batches ---------------------------------------------------------------------


def environment(case):
    opsets = sorted((o.domain, o.version) for o in case.model.opset_import)
    # A batch has one tolerance, and one set of data.
    alone = has_subgraphs(case.model) or len(case.data_sets) != 1
    name = case.name if alone else ""
    return tolerance(case), case.model.ir_version, opsets, name


def write_data(folder, kind, values):
    for index, value in enumerate(values):
        if isinstance(value, list):
            value = numpy_helper.from_list(value)
        elif value is None:
            value = onnx.OptionalProto()
        elif not isinstance(value, onnx.TensorProto):
            value = numpy_helper.from_array(value)
        path = folder / f"{kind}_{index}.pb"
        path.write_bytes(value.SerializeToString())


def check(cases, folder, *flags):
    """Raises where the outputs are not those that are expected."""
    folder.mkdir()
    onnx.save(merged(cases), folder / "model.onnx")
    for number, _ in enumerate(cases[0].data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for index, kind in enumerate(["input", "output"]):
            values = [c.data_sets[number][index] for c in cases]
            write_data(data, kind, itertools.chain.from_iterable(values))
        rtol, atol = tolerance(cases[0])
        done = attempt(
            "run", folder / "model.onnx", data, f"--check={rtol},{atol}",
            *flags, program=MP_RUN, timeout=TIMEOUT_SECONDS,
        )
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise AssertionError(
                f"exit code {done.returncode}: " + " | ".join(lines)[-600:]
            )


def run_cases(cases, *flags):
    """Why cases fail, by name; exceptions are run one by one."""
    good = [c for c in cases if not is_exception(c.name)]
    work = list(node_cases.batches(good, environment, BATCH))
    work += [[c] for c in cases if is_exception(c.name)]
    return node_cases.failures(
        lambda batch, path: check(batch, path, *flags),
        work, scratch_dir("node-models"), WORKERS,
    )  # fmt: skip


# Tests -----------------------------------------------------------------------


def test_all_cases_are_there():
    assert len(all_cases()) == CASES


def test_nine_in_ten_pass():
    """Of the cases whose types are numbers that loops are made for."""
    cases = [c.name for c in all_cases()]
    listed = [name for name in cases if is_exception(name)]
    numbers = len(cases) - len([n for n in listed if is_exception(n, "types:")])
    assert len(cases) - len(listed) >= 0.9 * numbers


@pytest.mark.parametrize("pattern", exceptions())
def test_exceptions_exist(pattern):
    assert any(fnmatch.fnmatchcase(c.name, pattern) for c in all_cases())


@pytest.mark.parametrize("letter", sorted({family(c) for c in all_cases()}))
def test_cases(letter):
    cases = [c for c in all_cases() if family(c) == letter]
    failed = run_cases(cases)
    surprises = [
        f"{name}: {why}"
        for name, why in failed.items()
        # A model that cannot be compiled must give a message, not a crash.
        if not is_exception(name) or why.startswith("exit code 70")
    ]
    surprises += [
        f"{case.name}: is an exception, but passes"
        for case in cases
        if is_exception(case.name) and case.name not in failed
    ]
    assert not surprises, "\n".join([f"{len(surprises)} failures:", *surprises])


def test_cases_on_a_device():
    """What has no code for devices is refused by name."""
    cases = [c for c in all_cases() if not is_exception(c.name)]
    failed = run_cases(cases, f"--device={DEVICE}")
    refused = [
        name
        for name, why in failed.items()
        if why.startswith("exit code 4") and "--device=cpu runs it" in why
    ]
    wrong = {n: why for n, why in failed.items() if n not in refused}
    assert not wrong, f"{len(wrong)} failures:\n" + "\n".join(
        f"{name}: {why}" for name, why in wrong.items()
    )
    assert len(refused) <= 0.1 * len(cases), refused
