# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models compute after onnx-raise-opset what they computed before.

onnxruntime runs both: it knows every opset from 7 on. What its kernels do not
cover runs in ONNX's reference evaluator. Outputs are equal to the bit, or at
most one unit in the last place away.
"""

import collections
import concurrent.futures
import functools
import os
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_models
import node_cases
from node_cases import DATA, all_cases, environment, has_subgraphs, is_valid
from opset_cases import old_cases
from support import MP_OPT, ROOT, attempt, scratch_dir

MP_RUN = os.environ.get("MP_RUN", ROOT / "build" / "bin" / "mp-run")
# The newest opset that onnxruntime 1.31 loads.
NEWEST = 26
BATCH = 200
onnxruntime.set_default_logger_severity(4)


# Running ---------------------------------------------------------------------


def raised(model, opset):
    return onnx_models.rewritten(model, f"--onnx-raise-opset=to={opset}")


def opset_of(model):
    return next(o.version for o in model.opset_import if o.domain == "")


def run_ort(model, feeds):
    return onnx_models.run_ort(model, feeds, optimize=False)


def run_reference(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def outputs_or_none(run, model, feeds):
    try:
        return run(model, feeds)
    except Exception:
        return None


# AveragePool-19 has another kernel in onnxruntime, with another order of sums.
ULPS = {"AveragePool": 8}


def differs(expected, actual, ulps=1):
    """How two outputs differ; None if they are equal or neighbours."""
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return f"{len(actual)} elements, expected {len(expected)}"
        return next(filter(None, map(differs, expected, actual)), None)
    expected, actual = np.asarray(expected), np.asarray(actual)
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return (
            f"{actual.dtype}{actual.shape}, "
            f"expected {expected.dtype}{expected.shape}"
        )
    if expected.dtype.hasobject or expected.dtype.kind not in "fc":
        equal = np.array_equal(expected, actual)
    else:
        # Sums that cancel are as accurate as their terms.
        finite = np.abs(expected[np.isfinite(expected)])
        step = ulps * np.finfo(expected.dtype).eps
        least = step / 8 * np.max(finite, initial=0)
        equal = np.allclose(actual, expected, step, least, equal_nan=True)
    if equal:
        return None
    return f"{actual.ravel()[:9]}, expected {expected.ravel()[:9]}"


# The old opsets --------------------------------------------------------------


def merged(cases):
    """One model with the graphs of all cases side by side."""
    result = onnx.ModelProto()
    result.CopyFrom(cases[0].model)
    for part in (
        result.graph.node, result.graph.input, result.graph.output,
        result.graph.initializer,
    ):
        del part[:]
    feeds = {}
    for index, case in enumerate(cases):
        prefix = f"case{index}/"
        graph = case.model.graph
        if not case.has_subgraph:
            graph = onnx.compose.add_prefix(case.model, prefix).graph
            feeds.update({prefix + k: v for k, v in case.feeds.items()})
        else:
            feeds.update(case.feeds)
        result.graph.node.extend(graph.node)
        result.graph.input.extend(graph.input)
        result.graph.output.extend(graph.output)
        result.graph.initializer.extend(graph.initializer)
    return result, feeds


def batches(cases):
    apart = [case for case in cases if case.has_subgraph]
    rest = [case for case in cases if not case.has_subgraph]
    yield from node_cases.batches(rest, lambda c: environment(c.model), BATCH)
    yield from ([case] for case in apart)


class Batch:
    """Cases side by side in one model, and what it computes."""

    def __init__(self, run, cases):
        self.run, self.cases = run, cases

    @functools.cached_property
    def merged(self):
        return merged(self.cases)

    @functools.cached_property
    def expected(self):
        return self.run(*self.merged)

    @functools.cached_property
    def is_valid(self):
        return is_valid(self.merged[0])

    def halves(self):
        middle = len(self.cases) // 2
        parts = self.cases[:middle], self.cases[middle:]
        return [Batch(self.run, part) for part in parts]


def check_together(batch, opset):
    """Problems of cases that `run` can run, by case."""
    run, cases, (model, feeds) = batch.run, batch.cases, batch.merged
    expected = batch.expected
    after = raised(model, opset)
    assert opset_of(after) == opset
    if batch.is_valid:
        onnx.checker.check_model(after, full_check=True)
    assert raised(after, opset) == after
    try:
        actual = run(after, feeds)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        # No kernel at the new opset (RoiAlign-22); lower ones are compared.
        if len(cases) > 1:
            raise
        return {}
    names = [(c, n) for c in cases for n in c.outputs]
    problems = {}
    for (case, name), old, new in zip(names, expected, actual):
        if name in case.ignored:
            old = new = old.shape == new.shape and old.dtype == new.dtype
        problem = differs(old, new, ULPS.get(case.op, 1))
        if problem:
            problems[case] = f"{case.name} to {opset}: {name}: {problem}"
    return problems


def check_batch(batch, opset):
    try:
        return check_together(batch, opset)
    except Exception as error:
        if len(batch.cases) == 1:
            (case,) = batch.cases
            return {case: f"{case.name} to {opset}: {error}"[:900]}
    found = {}
    for half in batch.halves():
        found.update(check_batch(half, opset))
    return found


def runnable_of(cases):
    """The cases that onnxruntime, or else the reference evaluator, runs."""
    by_engine = {run_ort: [], run_reference: []}
    for case in cases:
        for run, known in by_engine.items():
            outputs = outputs_or_none(run, case.model, case.feeds)
            if outputs is not None:
                case.set_output_types(outputs)
                known.append(case)
                break
    return by_engine


@functools.lru_cache(maxsize=None)
def runnable():
    return runnable_of(old_cases())


def batches_of(by_engine):
    return [
        Batch(run, cases)
        for run, known in by_engine.items()
        for cases in batches(known)
    ]


@functools.lru_cache(maxsize=None)
def old_batches():
    return batches_of(runnable())


def all_problems(given, opset):
    older = [batch for batch in given if batch.cases[0].opset < opset]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda batch: check_batch(batch, opset), older)
        return [text for problems in found for text in problems.values()]


def test_old_cases_run():
    """A case that nothing can run tests nothing."""
    ran = {case for cases in runnable().values() for case in cases}
    lost = collections.Counter(c.op for c in old_cases() if c not in ran)
    assert not lost, lost
    assert len(runnable()[run_ort]) >= 1000


def test_every_step_that_rewrites_has_cases():
    """opset-steps lists them; a case before a step goes over it."""
    program = pathlib.Path(MP_OPT).with_name("opset-steps")
    if not program.exists():
        pytest.skip(f"{program} is not built")
    lines = attempt(program=program).stdout
    oldest = {}
    for case in old_cases():
        oldest.setdefault(case.op, set()).add(case.opset)
    for line in lines.splitlines()[:-1]:
        op, before, after, kind = line.split(",")[0].split()
        if kind not in ("adapter", "inputs"):
            continue
        opsets = oldest.get(op, set())
        assert any(max(int(before), 7) <= o < int(after) for o in opsets), line


@pytest.mark.parametrize("opset", [11, 13, 18, 21, NEWEST])
def test_old_opsets(opset):
    problems = all_problems(old_batches(), opset)
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems)


# The opsets that onnxruntime does not load -------------------------------------


def operators_after(opset):
    """Those with a newer version, among those that earlier opsets have."""
    versions = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions[schema.name].add(schema.since_version)
    return {
        name for name, known in versions.items()
        if max(known) > opset and min(known) <= opset
    }  # fmt: skip


def run_compiled(model, feeds):
    folder = scratch_dir("raised")
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "data.npz", **feeds)
    attempt(
        "run", folder / "model.onnx", folder / "data.npz", "-o",
        folder / "results.npz", program=MP_RUN, code=0,
    )  # fmt: skip
    results = np.load(folder / "results.npz")
    return [results[output.name] for output in model.graph.output]


@pytest.mark.parametrize("opset", [27, 28])
def test_newer_opsets(opset):
    """mp-run computes what onnxruntime has computed at the old opset."""
    changed = operators_after(NEWEST)
    # Optional values are no inputs of a single node.
    tested = {case.op for case in runnable()[run_ort]}
    left_out = {"Optional", "OptionalGetElement", "OptionalHasElement"}
    assert changed - tested == left_out
    for batch in old_batches():
        cases = [case for case in batch.cases if case.op in changed]
        if not cases or batch.run is not run_ort:
            continue
        model, feeds = merged(cases)
        after = raised(model, opset)
        assert opset_of(after) == opset
        onnx.checker.check_model(after, full_check=True)
        expected, actual = run_ort(model, feeds), run_compiled(after, feeds)
        for output, old, new in zip(model.graph.output, expected, actual):
            problem = differs(old, new, ulps=8)
            assert not problem, f"{output.name}: {problem}"


# ONNX's own tests -------------------------------------------------------------


def fill_in(value_info):
    """An input for a graph that comes without data."""
    tensor = value_info.type.tensor_type
    shape = [d.dim_value or 1 for d in tensor.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    rng = np.random.default_rng(len(value_info.name))
    return rng.uniform(-1, 1, shape).astype(dtype)


class NodeCase:
    """A node test in the form of the cases above."""

    def __init__(self, case):
        self.name, self.model, self.ignored = case.name, case.model, ()
        self.op = case.model.graph.node[0].op_type
        self.opset = dict(environment(case.model)[1]).get("", 0)
        self.has_subgraph = has_subgraphs(case.model)
        self.outputs = [info.name for info in case.model.graph.output]
        self.feeds = {
            info.name: value
            for info, value in zip(case.model.graph.input, case.data_sets[0][0])
            if value is not None
        }

    def set_output_types(self, arrays):
        pass


RANDOM = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
    "RandomUniform", "RandomUniformLike",
}


def test_node_tests():
    """Tests of nodes from before opset 7 are out of scope."""
    cases = [NodeCase(case) for case in all_cases() if case.data_sets]
    cases = [case for case in cases if 7 <= case.opset < NEWEST]
    assert len(cases) > 1500
    by_engine = runnable_of([c for c in cases if c.op not in RANDOM])
    assert sum(map(len, by_engine.values())) > 1400
    problems = all_problems(batches_of(by_engine), NEWEST)
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems)


@pytest.mark.parametrize("opset", [22, NEWEST])
def test_whole_models(opset):
    """The onnx package's models of whole nets, of opset 9."""
    paths = sorted(DATA.glob("light/*.onnx"))
    assert len(paths) >= 9
    for path in paths:
        before = onnx.load(path)
        after = raised(before, opset)
        assert opset_of(after) == opset
        onnx.checker.check_model(after, full_check=True)
        stored = {t.name for t in before.graph.initializer}
        feeds = {
            info.name: fill_in(info)
            for info in before.graph.input
            if info.name not in stored
        }
        expected, actual = run_ort(before, feeds), run_ort(after, feeds)
        # Averages over whole maps, in another order of sums.
        problem = differs(expected, actual, ulps=64)
        assert not problem, f"{path.name}: {problem}"


def test_training_statistics():
    """More than one output meant training, which no engine runs as it was.

    ONNX's text says what the outputs are, for both versions the same.
    """
    x = np.random.default_rng(0).standard_normal((4, 3, 5)).astype(np.float32)
    s, b, m, v = np.random.default_rng(1).uniform(0.5, 2, (4, 3)).astype(
        np.float32
    )
    names, feeds = "xsbmv", dict(zip("xsbmv", (x, s, b, m, v)))
    node = helper.make_node(
        "BatchNormalization", list(names), ["y", "m2", "v2", "sm", "sv"],
        momentum=0.75,
    )
    results = {"y": x.shape, "m2": (3,), "v2": (3,)}
    inputs = onnx_models.inputs_of(feeds)
    model = onnx_models.make_model([node], inputs, results, opset=9)
    after = raised(model, 15)
    onnx.checker.check_model(after, full_check=True)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    column = np.s_[:, None]
    y = (x - mean[column]) / np.sqrt(var[column] + 1e-5)
    expected = [
        y * s[column] + b[column], m * 0.75 + mean * 0.25, v * 0.75 + var * 0.25
    ]
    for actual, wanted in zip(run_ort(after, feeds), expected):
        np.testing.assert_allclose(actual, wanted, 1e-5, 1e-5)
