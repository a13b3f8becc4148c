# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ONNX's own tests have: node tests, models of one op that the onnx package
makes, and the models that it ships."""

import concurrent.futures
import functools
import itertools
import pathlib
import warnings

import onnx
from onnx import AttributeProto

DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
CASES, EXPANDED_CASES = 1404, 480  # of onnx 1.23.2


@functools.lru_cache(maxsize=None)
def all_cases():
    with warnings.catch_warnings():
        # The generators overflow and divide by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases()
    return sorted(cases, key=lambda case: case.name)


def environment(model):
    opsets = sorted((o.domain, o.version) for o in model.opset_import)
    return model.ir_version, opsets


def has_subgraphs(model):
    return any(
        attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS)
        for node in model.graph.node
        for attribute in node.attribute
    )


def is_valid(model):
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return False
    return True


def listed(path):
    """The lines of a list, without comments, split at the first blank."""
    lines = path.read_text().splitlines()
    lines = [n for n in lines if n.strip() and not n.startswith("#")]
    return [line.split(maxsplit=1) for line in lines]


# Batches ---------------------------------------------------------------------


def batches(cases, key, size):
    """Lists of up to `size` cases with the same key."""
    for _, group in itertools.groupby(sorted(cases, key=key), key=key):
        group = list(group)
        for start in range(0, len(group), size):
            yield group[start : start + size]


def merged(cases):
    """One model with the graphs of all cases side by side."""
    result = onnx.ModelProto()
    result.CopyFrom(cases[0].model)
    if len(cases) == 1:
        return result
    kinds = ("node", "input", "output", "initializer")
    for kind in kinds:
        del getattr(result.graph, kind)[:]
    for index, case in enumerate(cases):
        part = onnx.compose.add_prefix(
            case.model, f"case{index}/", rename_nodes=False
        ).graph
        for kind in kinds:
            getattr(result.graph, kind).extend(getattr(part, kind))
    return result


def failure(check, cases, path):
    """Why a check fails on cases; None when it does not."""
    try:
        check(cases, path)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return " | ".join(lines)[:700]
    return None


def failures_of_batch(check, cases, folder):
    together = failure(check, cases, folder / cases[0].name)
    if together is None or len(cases) == 1:
        return {cases[0].name: together} if together else {}
    alone = {
        c.name: failure(check, [c], folder / f"{c.name}_alone") for c in cases
    }
    alone = {name: why for name, why in alone.items() if why}
    first, last = cases[0].name, cases[-1].name
    return alone or {f"{first} to {last}, only together": together}


def failures(check, work, folder, workers):
    """Why cases fail, by name. `check` takes a batch and a path of its own;
    the cases of a batch that fails are run one by one."""
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for found in pool.map(
            lambda cases: failures_of_batch(check, cases, folder), work
        ):
            failed.update(found)
    return failed
