# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own node tests, compiled and run, against their expected outputs.

Models of one opset, tolerance and first letter are merged, some twenty at a
time: starting a process costs more than the work. Only the cases of a failing
batch are run one by one. What cannot pass is listed, with a reason, in
node_models_exceptions.txt; a case that is listed there and passes is an error.
"""

import concurrent.futures
import fnmatch
import functools
import itertools
import os
import pathlib
import subprocess
import sys
import warnings

import onnx
import pytest
from onnx import AttributeProto, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "Support"))

from support import scratch_dir  # noqa: E402

MP_RUN = os.environ.get("MP_RUN", ROOT / "build" / "bin" / "mp-run")
CASES = 1884  # of onnx 1.23.2
BATCH = 20
WORKERS = os.cpu_count()
DEVICE = os.environ.get("MPOPT_TEST_DEVICE", "emulated")
TIMEOUT_SECONDS = 120
EXCEPTIONS = pathlib.Path(__file__).with_name("node_models_exceptions.txt")


@functools.lru_cache(maxsize=None)
def all_cases():
    with warnings.catch_warnings():
        # The generators overflow and divide by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases()
    return sorted(cases, key=lambda case: case.name)


@functools.lru_cache(maxsize=None)
def exceptions():
    """Patterns of names, each with the reason."""
    listed = {}
    for line in EXCEPTIONS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, reason = line.split(maxsplit=1)
            assert pattern not in listed, f"{pattern} is listed twice"
            listed[pattern] = reason
    return listed


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


def has_subgraphs(model):
    return any(
        attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS)
        for node in model.graph.node
        for attribute in node.attribute
    )


def environment(case):
    opsets = sorted((o.domain, o.version) for o in case.model.opset_import)
    # A batch has one tolerance, and one set of data.
    alone = has_subgraphs(case.model) or len(case.data_sets) != 1
    name = case.name if alone else ""
    return tolerance(case), case.model.ir_version, opsets, name


def batches(cases):
    ordered = sorted(cases, key=environment)
    for _, group in itertools.groupby(ordered, key=environment):
        group = list(group)
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def merged(cases):
    """One model with the graphs of all cases side by side."""
    result = onnx.ModelProto()
    result.CopyFrom(cases[0].model)
    if len(cases) == 1:
        return result
    del result.graph.node[:], result.graph.input[:], result.graph.output[:]
    del result.graph.initializer[:]
    for index, case in enumerate(cases):
        part = onnx.compose.add_prefix(
            case.model, f"case{index}/", rename_nodes=False
        ).graph
        result.graph.node.extend(part.node)
        result.graph.input.extend(part.input)
        result.graph.output.extend(part.output)
        result.graph.initializer.extend(part.initializer)
    return result


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
        done = subprocess.run(
            [MP_RUN, "run", folder / "model.onnx", data,
             f"--check={rtol},{atol}", *flags],
            capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
        )
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise AssertionError(
                f"exit code {done.returncode}: " + " | ".join(lines)[-600:]
            )


def failure(cases, folder, *flags):
    try:
        check(cases, folder, *flags)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return " | ".join(lines)[:700]
    return None


def failures_of_batch(cases, folder, *flags):
    together = failure(cases, folder / cases[0].name, *flags)
    if together is None or len(cases) == 1:
        return {cases[0].name: together} if together else {}
    alone = {
        c.name: failure([c], folder / f"{c.name}_alone", *flags) for c in cases
    }
    alone = {name: why for name, why in alone.items() if why}
    first, last = cases[0].name, cases[-1].name
    return alone or {f"{first} to {last}, only together": together}


def run_cases(cases, *flags):
    """Why cases fail, by name; exceptions are run one by one."""
    folder = scratch_dir("node-models")
    work = list(batches([c for c in cases if not is_exception(c.name)]))
    work += [[c] for c in cases if is_exception(c.name)]
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        runs = pool.map(lambda c: failures_of_batch(c, folder, *flags), work)
        for found in runs:
            failed.update(found)
    return failed


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
    assert not surprises, f"{len(surprises)} failures:\n" + "\n".join(
        surprises
    )


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
