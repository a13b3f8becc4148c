# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as exporters wrote them, in fp32 and bf16, in onnxruntime with the
provider: against its own provider, and no worse than mp-run's own code."""

import collections
import time

import mp_opt
import mp_opt.onnxruntime
import numpy
import onnx.parser
import onnxruntime
import pytest
from support import ROOT

MODELS = sorted((ROOT / "test/models/fwd").glob("*/model.onnx"))
ROUNDOFF = 2.0**-8  # of bf16


def read_data(path, session):
    with numpy.load(path.with_name("io0.npz")) as arrays:
        return {v.name: arrays["in:" + v.name] for v in session.get_inputs()}


def record():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry(
        "session.record_ep_graph_assignment_info", "1"
    )
    return options


def providers(session):
    counted = collections.Counter()
    for part in session.get_provider_graph_assignment_info():
        counted[part.ep_name] += len(part.get_nodes())
    return set(counted)


def error(got, expected):
    """The root mean square of the difference, relative to that of a result."""
    got, expected = got.astype("float64"), expected.astype("float64")
    return numpy.sqrt(((got - expected) ** 2).mean() / (expected**2).mean())


@pytest.mark.parametrize("path", MODELS, ids=[path.parent.name for path in MODELS])
def test_model(path):
    alone = onnxruntime.InferenceSession(str(path))
    feeds = read_data(path, alone)
    expected = alone.run(None, feeds)
    plain = mp_opt.onnxruntime.session(str(path), record())
    assert providers(plain) == {"mp-opt"}
    for got, wanted in zip(plain.run(None, feeds), expected):
        assert error(got, wanted) < 1e-5
    model = mp_opt.convert(onnx.load(str(path)), "bf16")
    session = mp_opt.onnxruntime.session(model, record())
    assert providers(session) == {"mp-opt"}
    own = mp_opt.compile(model).run(None, feeds)
    for got, code, wanted in zip(session.run(None, feeds), own, expected):
        # onnxruntime joins nodes before the provider sees them.
        assert error(got, wanted) <= 1.5 * error(code, wanted) + ROUNDOFF / 8


def test_calls_take_little_longer_than_those_of_a_program():
    """The least of many times: 20 us in addition, on a busy machine as well."""
    model = (
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "g (float[1,16] x) => (float[1,16] y) { y = Add (x, x) }"
    )
    model = onnx.parser.parse_model(model)
    session, program = mp_opt.onnxruntime.session(model), mp_opt.compile(model)
    x = numpy.ones((1, 16), "float32")
    calls = (lambda: session.run(None, {"x": x}), lambda: program(x))
    least = [1.0, 1.0]
    for _ in range(3000):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            least[index] = min(least[index], time.perf_counter() - start)
    assert least[0] - least[1] < 20e-6
