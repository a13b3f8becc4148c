# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ONNX's own tests have: node tests, models of one op that the onnx package
makes, and the models that it ships."""

import functools
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
