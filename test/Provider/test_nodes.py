# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's node tests in onnxruntime, with the provider.

All nodes of a model must be the provider's, but for those that are listed here,
and results must be the expected ones. Cases that this onnxruntime cannot read
are left out. Without --all, one of each operator.
"""

import fnmatch
import functools

import ml_dtypes
import mp_opt.onnxruntime
import node_cases
import numpy
import onnx
import onnxruntime
import pytest
import sweeps
from onnx import numpy_helper
from support import ROOT

NEWEST_IR = 13
# onnxruntime runs these, and the provider the nodes of their bodies.
BODIES = ("If", "Loop", "Scan")
# Sizes of branches are known when one is taken.
SHARED = ("test_affine_grid_3d_expanded",)


def exceptions():
    path = ROOT / "test/Conversion/node_models_exceptions.txt"
    return [line[0] for line in node_cases.listed(path)]


@functools.lru_cache(maxsize=None)
def newest_opset():
    onnxruntime.set_default_logger_severity(4)
    for version in range(onnx.defs.onnx_opset_version(), 17, -1):
        model = onnx.parser.parse_model(
            f'<ir_version: 10, opset_import: ["" : {version}]>'
            "g (float[1] x) => (float[1] y) { y = Relu (x) }"
        )
        try:
            onnxruntime.InferenceSession(model.SerializeToString())
            return version
        except Exception:
            pass
    return 17


def fit(model):
    """The model in versions that this onnxruntime reads, or None."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    result.ir_version = min(result.ir_version, NEWEST_IR)
    newest = newest_opset()
    for opset in result.opset_import:
        if opset.domain not in ("", "ai.onnx") or opset.version <= newest:
            continue
        for node in result.graph.node:
            schema = onnx.defs.get_schema(node.op_type, opset.version, "")
            if node.domain in ("", "ai.onnx") and schema.since_version > newest:
                return None
        opset.version = newest
    return result


def make_session(model):
    """A session; skips the test where attributes are newer than onnxruntime."""
    if model is None:
        pytest.skip(f"opset {newest_opset()} has no such operator")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry(
        "session.record_ep_graph_assignment_info", "1"
    )
    try:
        return mp_opt.onnxruntime.session(model, options)
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph as error:
        if "Unrecognized attribute" not in str(error):
            raise
        pytest.skip(f"onnxruntime {onnxruntime.__version__}: {error}")


def cases():
    excluded = exceptions()
    return [
        case
        for case in node_cases.all_cases()
        if not any(fnmatch.fnmatchcase(case.name, name) for name in excluded)
    ]


CHOSEN = sweeps.sample(
    "Provider/test_nodes.py", cases(), lambda case: [case.name.split("_")[1]]
)


def to_array(value):
    return (
        numpy_helper.to_array(value)
        if isinstance(value, onnx.TensorProto)
        else numpy.asarray(value)
    )


def tolerance(case, dtype):
    """As in test/Python/test_backend.py."""
    if dtype == numpy.float16:
        return max(case.rtol, 2.0**-9)
    return max(case.rtol, 2.0**-6) if dtype == ml_dtypes.bfloat16 else case.rtol


def check(case, got, expected):
    expected = to_array(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if expected.dtype.kind in "fV":
        numpy.testing.assert_allclose(
            got.astype("float64"), expected.astype("float64"),
            rtol=tolerance(case, expected.dtype), atol=max(case.atol, 1e-7),
        )  # fmt: skip
    else:
        numpy.testing.assert_array_equal(got, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CHOSEN, ids=[case.name for case in CHOSEN])
def test_node(case):
    model = fit(case.model)
    session = make_session(model)
    if not any(fnmatch.fnmatchcase(case.name, name) for name in SHARED):
        parts = session.get_provider_graph_assignment_info()
        others = [
            node.op_type
            for part in parts
            for node in part.get_nodes()
            if part.ep_name != "mp-opt" and node.op_type not in BODIES
        ]
        assert not others, "nodes of another provider"
    for inputs, outputs in case.data_sets:
        names = [value.name for value in model.graph.input]
        feeds = dict(zip(names, map(to_array, inputs)))
        results = mp_opt.onnxruntime.run(session, feeds)
        for got, expected in zip(results.values(), outputs):
            check(case, got, expected)
