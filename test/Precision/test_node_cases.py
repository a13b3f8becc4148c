# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own node tests: each op, many opsets, each type, through mp-opt.

The onnx package makes them: small models of one op and, for ops defined by a
function, a second one with the body expanded. They are made at test time and
merged, a hundred of one opset at a time, since starting a process costs
more than the work. Only the cases of a failing batch are run one by one.
"""

import functools
import pathlib

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import node_cases
from node_cases import (
    CASES, EXPANDED_CASES, all_cases, environment, has_subgraphs, is_valid,
    listed, merged,
)  # fmt: skip
from support import DTYPES, run_mp_opt, scratch_dir

BATCH = 100
CHUNKS = 6
WORKERS = 2
LIST = pathlib.Path(__file__).with_name("node_cases_known_failures.txt")


@functools.lru_cache(maxsize=None)
def known_failures(test):
    lines = [(name, *line.split(maxsplit=1)) for name, line in listed(LIST)]
    return {case: reason for name, case, reason in lines if name == test}


# Batches ---------------------------------------------------------------------


def batches(cases):
    """Lists of cases that can share a model.

    onnx.compose loses track of names in subgraphs: these cases stay alone.
    """
    apart = [case for case in cases if has_subgraphs(case.model)]
    rest = [case for case in cases if not has_subgraphs(case.model)]
    yield from node_cases.batches(rest, lambda c: environment(c.model), BATCH)
    yield from ([case] for case in apart)


def run_chunk(test, chunk, check):
    """Run a check on a share of the cases; compare with the known failures."""
    folder = scratch_dir(test)
    known = known_failures(test)
    good = [case for case in all_cases() if case.name not in known]
    mine = list(batches(good))[chunk::CHUNKS]
    bad = [case for case in all_cases() if case.name in known]
    mine += [[case] for case in bad[chunk::CHUNKS]]
    failed = node_cases.failures(
        lambda cases, path: check(merged(cases), path), mine, folder, WORKERS
    )
    surprises = [f"{n}: {why}" for n, why in failed.items() if n not in known]
    surprises += [
        f"{case.name}: listed as a known failure, but passes"
        for case in bad[chunk::CHUNKS]
        if case.name not in failed
    ]
    assert not surprises, "\n".join([f"{len(surprises)} failures:", *surprises])


# Checks ----------------------------------------------------------------------


def canonical(model):
    return model.SerializeToString(deterministic=True)


def same(expected, actual):
    """Equal to the bit, NaN payloads and sequences included."""
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(actual) and all(
            map(same, expected, actual)
        )
    expected, actual = np.asarray(expected), np.asarray(actual)
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return False
    if expected.dtype.hasobject:
        return bool(np.all(expected == actual))
    return expected.tobytes() == actual.tobytes()


def compare_outputs(source, actual):
    """Whether two unequal models at least compute the same."""
    for case in all_cases():
        if canonical(case.model) == canonical(source):
            break
    else:
        return "several cases together"
    try:
        inputs, _ = case.data_sets[0]
        names = [value.name for value in source.graph.input]
        feeds = dict(zip(names, inputs))
        expected = ReferenceEvaluator(source).run(None, feeds)
    except Exception as error:
        return f"the reference evaluator cannot run it: {error}"
    result = ReferenceEvaluator(actual).run(None, feeds)
    return f"outputs are {'' if same(expected, result) else 'not '}bit-equal"


def check_round_trip(model, stem):
    """ONNX -> text -> bytecode -> ONNX gives the same model.

    One chain costs three processes where two round trips cost four. It loses
    nothing: what either form drops is missing at the end. An equal model
    needs no evaluation to have equal outputs.
    """
    source, text, bytecode, back = (
        f"{stem}.{ending}"
        for ending in ("onnx", "mlir", "mlirbc", "back.onnx")
    )
    onnx.save(model, source)
    run_mp_opt(source, "--emit=mlir", "-o", text)
    run_mp_opt(text, "--emit=bytecode", "-o", bytecode)
    run_mp_opt(bytecode, "--emit=onnx", "-o", back)
    actual = onnx.load(back)
    if canonical(actual) != canonical(model):
        raise AssertionError(
            f"the model changed; {compare_outputs(model, actual)}"
        )


def check_mixed(model, stem):
    """A mixed model of any op is valid where the source is."""
    onnx.save(model, f"{stem}.onnx")
    was_valid = is_valid(model)
    for dtype in DTYPES:
        output = f"{stem}.{dtype}.onnx"
        run_mp_opt(f"{stem}.onnx", f"--mixed-{dtype}", "-o", output)
        result = onnx.load(output)
        for side in ("input", "output"):
            before, after = (
                list(getattr(m.graph, side)) for m in (model, result)
            )
            if before != after:
                raise AssertionError(f"{dtype}: graph {side}s changed")
        if was_valid:
            onnx.checker.check_model(result, full_check=True)


# Tests -----------------------------------------------------------------------


def test_all_cases_are_there():
    expanded = [c for c in all_cases() if "_expanded" in c.name]
    assert len(expanded) == EXPANDED_CASES
    assert len(all_cases()) == CASES + EXPANDED_CASES
    assert sum(map(len, batches(all_cases()))) == len(all_cases())


def test_merging_keeps_models_valid():
    """A batch is as good as its cases only if it says the same."""
    for cases in batches(all_cases()):
        nodes = sum(len(case.model.graph.node) for case in cases)
        assert len(merged(cases).graph.node) == nodes
        if all(is_valid(case.model) for case in cases):
            assert is_valid(merged(cases)), cases[0].name


@pytest.mark.parametrize("test", ["round_trip", "mixed"])
def test_known_failures_exist(test):
    names = {case.name for case in all_cases()}
    assert not set(known_failures(test)) - names


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_round_trip(chunk):
    run_chunk("round_trip", chunk, check_round_trip)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_mixed(chunk):
    run_chunk("mixed", chunk, check_mixed)
