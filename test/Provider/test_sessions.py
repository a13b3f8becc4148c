# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of onnxruntime with the provider: bf16, which its own provider refuses,
sizes, bodies, threads, options, errors."""

import math
import subprocess
import sys
import threading

import ml_dtypes
import mp_opt
import mp_opt.onnxruntime
import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.parser import parse_model

BF16 = ml_dtypes.bfloat16
HEAD = '<ir_version: 10, opset_import: ["" : 22]>\n'


@pytest.fixture(scope="module", autouse=True)
def quiet():
    onnxruntime.set_default_logger_severity(4)


def record(options=None):
    options = options or onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry(
        "session.record_ep_graph_assignment_info", "1"
    )
    return options


def parts(session):
    """The operators that each provider has, in the order of its groups."""
    return [
        (part.ep_name, [node.op_type for node in part.get_nodes()])
        for part in session.get_provider_graph_assignment_info()
    ]


def perceptron(element, dtype, sizes=("N", 64)):
    random = numpy.random.default_rng(0)

    def weight(name, *shape):
        values = random.normal(size=shape, scale=0.2).astype(dtype)
        return helper.make_tensor(name, element, shape, values.tobytes(), raw=True)

    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Add", ["a", "b"], ["c"]),
            helper.make_node("LayerNormalization", ["c", "s"], ["d"]),
            helper.make_node("Gelu", ["d"], ["e"]),
            helper.make_node("MatMul", ["e", "v"], ["f"]),
            helper.make_node("Softmax", ["f"], ["y"]),
        ],
        "perceptron",
        [helper.make_tensor_value_info("x", element, sizes)],
        [helper.make_tensor_value_info("y", element, (sizes[0], 8))],
        [
            weight("w", 64, 32), weight("b", 32), weight("s", 32),
            weight("v", 32, 8),
        ],
    )  # fmt: skip
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10
    )


def reference(x):
    """In fp64, of the weights of fp32."""
    model = perceptron(TensorProto.FLOAT, numpy.float32)
    w, b, s, v = map(onnx.numpy_helper.to_array, model.graph.initializer)
    c = x.astype("float64") @ w + b
    c = (c - c.mean(-1, keepdims=True)) / numpy.sqrt(c.var(-1, keepdims=True) + 1e-5)
    e = c * s
    e = e * 0.5 * (1 + numpy.vectorize(math.erf, [float])(e / numpy.sqrt(2)))
    f = numpy.exp(e @ v)
    return f / f.sum(-1, keepdims=True)


TYPES = [
    (TensorProto.FLOAT, numpy.float32, 2.0**-20),
    (TensorProto.FLOAT16, numpy.float16, 2.0**-8),
    (TensorProto.BFLOAT16, BF16, 2.0**-5),
]


def data(rows, seed=0):
    return numpy.random.default_rng(seed).normal(size=(rows, 64)).astype("float32")


@pytest.mark.parametrize("element, dtype, bound", TYPES)
@pytest.mark.parametrize("sizes", [("N", 64), (5, 64)])
def test_types(element, dtype, bound, sizes):
    session = mp_opt.onnxruntime.session(
        perceptron(element, dtype, sizes), record()
    )
    # onnxruntime may make a Gemm of the first two.
    ((provider, operators),) = parts(session)
    assert provider == "mp-opt" and operators[-3:] == ["Gelu", "MatMul", "Softmax"]
    x = data(5)
    got = mp_opt.onnxruntime.run(session, {"x": x.astype(dtype)})["y"]
    assert got.dtype == dtype
    assert numpy.abs(got.astype("float64") - reference(x)).max() < bound


def test_onnxruntime_alone_refuses_bf16():
    """Otherwise these tests would say nothing."""
    model = perceptron(TensorProto.BFLOAT16, BF16).SerializeToString()
    with pytest.raises(Exception, match="NOT_IMPLEMENTED|not implemented"):
        onnxruntime.InferenceSession(model)


@pytest.mark.parametrize("max_sizes", [0, 1, 4])
def test_any_sizes(max_sizes, tmp_path):
    session = mp_opt.onnxruntime.session(
        perceptron(TensorProto.FLOAT, numpy.float32),
        max_sizes=max_sizes,
        cache=f"{tmp_path}/code",
    )
    for rows in (1, 7, 1, 3, 0, 33, 2, 64, 7):
        x = data(rows, rows)
        got = session.run(None, {"x": x})[0]
        assert got.shape == (rows, 8)
        numpy.testing.assert_allclose(got, reference(x), rtol=1e-4, atol=1e-6)
    # One program a list of sizes, and one for all others.
    kept = [path for path in (tmp_path / "code").rglob("*") if path.is_file()]
    assert len([path for path in kept if path.stat().st_size > 1000]) == max_sizes + 1


def test_threads_and_sessions_at_once():
    sessions = [
        mp_opt.onnxruntime.session(perceptron(element, dtype))
        for element, dtype, _ in TYPES
    ]
    inputs = {rows: data(rows, rows) for rows in (1, 2, 3, 5, 9)}
    alone = {
        (index, rows): mp_opt.onnxruntime.run(
            sessions[index], {"x": x.astype(TYPES[index][1])}
        )["y"]
        for index in range(3)
        for rows, x in inputs.items()
    }
    fresh = [
        mp_opt.onnxruntime.session(perceptron(element, dtype))
        for element, dtype, _ in TYPES
    ]
    wrong = []

    def work(number):
        random = numpy.random.default_rng(number)
        for _ in range(40):
            index, rows = random.integers(3), random.choice(list(inputs))
            x = inputs[rows].astype(TYPES[index][1])
            got = mp_opt.onnxruntime.run(fresh[index], {"x": x})["y"]
            if not numpy.array_equal(
                got.astype("float32"), alone[index, rows].astype("float32")
            ):
                wrong.append((index, rows))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_nodes_of_others_stay_in_between():
    """The provider's groups are convex: what depends on another provider's node
    comes after it."""
    session = mp_opt.onnxruntime.session(
        parse_model(
            '<ir_version: 10, opset_import: ["" : 22, "ai.onnx.ml" : 3]>\n'
            "g (bfloat16[N,4] x) => (bfloat16[N,4] y, bfloat16[N,4] z) {"
            "  a = Relu (x)"
            "  f = Cast <to = 1> (a)"
            "  u = ai.onnx.ml.Binarizer <threshold = 0.5> (f)"
            "  v = Cast <to = 16> (u)"
            "  b = Mul (a, v)"
            "  y = Exp (b)"
            "  z = Neg (a) }"
        ),
        record(),
    )
    taken = [operators for name, operators in parts(session) if name == "mp-opt"]
    assert sorted(map(sorted, taken)) == [
        ["Cast", "Exp", "Mul"], ["Cast", "Neg", "Relu"],
    ]  # fmt: skip
    x = numpy.array([[-1, 0.25, 1, 2]]).astype(BF16)
    got = mp_opt.onnxruntime.run(session, {"x": x})
    numpy.testing.assert_allclose(
        got["y"].astype("float32"),
        numpy.exp(numpy.array([[0, 0, 1, 2]])), rtol=2.0**-7,
    )  # fmt: skip
    assert (got["z"].astype("float32") == [[0, -0.25, -1, -2]]).all()


def test_bodies():
    """onnxruntime runs the loop, and the provider the nodes of its body, which
    read values and constants of the outer graph."""
    random = numpy.random.default_rng(0)
    k = random.normal(size=(4, 4)).astype(BF16)
    model = parse_model(
        HEAD + "g (bfloat16[N,4] x, bfloat16[N,4] w, int64 n, bool c) => (bfloat16[N,4] y)"
        "{ y = Loop (n, c, x) <body = b (int64 i, bool ci, bfloat16[N,4] s)"
        "  => (bool co, bfloat16[N,4] t) {"
        "    co = Identity (ci)  m = MatMul (s, k)  t = Add (m, w) }> }"
    )
    model.graph.initializer.append(
        helper.make_tensor("k", TensorProto.BFLOAT16, (4, 4), k.tobytes(), raw=True)
    )
    session = mp_opt.onnxruntime.session(model, record())
    x, w = (random.normal(size=(2, 4)).astype(BF16) for _ in range(2))
    feeds = {"x": x, "w": w, "n": numpy.array(3), "c": numpy.array(True)}
    got = mp_opt.onnxruntime.run(session, feeds)["y"].astype("float32")
    expected = x.astype("float32")
    for _ in range(3):
        expected = expected @ k.astype("float32") + w.astype("float32")
    numpy.testing.assert_allclose(got, expected, rtol=0.05, atol=0.05)


def test_sizes_that_depend_on_values():
    session = mp_opt.onnxruntime.session(
        parse_model(
            HEAD + "g (bfloat16[N] x) => (int64[1,M] y, bfloat16[K] z) {"
            "  b = Relu (x)  y = NonZero (b)"
            "  zero = Constant <value_ints = [0]> ()"
            "  i = Squeeze (y, zero)  z = Gather (b, i) }"
        )
    )
    for x in ([-1, 2, 0, 3], [0, -1], [5], []):
        x = numpy.array(x, dtype="float32")
        got = mp_opt.onnxruntime.run(session, {"x": x.astype(BF16)})
        assert got["y"].tolist() == [numpy.nonzero(x > 0)[0].tolist()]
        assert (got["z"].astype("float32") == x[x > 0]).all()


@pytest.mark.parametrize("max_sizes", [0, 2])
def test_numbers_of_dimensions_that_are_known_in_a_run(max_sizes):
    """Between two nodes of another provider; each number has a program."""
    session = mp_opt.onnxruntime.session(
        parse_model(
            '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>\n'
            "g (float[N] x, int64[R] n) => (float[] y) {"
            "  a = Reshape (x, n)"
            "  b = ai.onnx.ml.Binarizer <threshold = 0.5> (a)"
            "  c = Exp (b)  y = Neg (c) }"
        ),
        record(),
        max_sizes=max_sizes,
    )
    assert ("mp-opt", ["Exp", "Neg"]) in parts(session)
    x = numpy.array([0, 1, 2, 0.25, 0, 1, 1, 0], "float32")
    expected = -numpy.exp((x > 0.5).astype("float32"))
    for shape in ([8], [2, 4], [2, 2, 2], [4, 2], [1, 8, 1, 1], [8], [1, 1, 1, 2, 4]):
        got = session.run(None, {"x": x, "n": numpy.array(shape)})[0]
        assert list(got.shape) == shape
        numpy.testing.assert_allclose(got.ravel(), expected, rtol=1e-6)


def test_functions_of_a_model():
    session = mp_opt.onnxruntime.session(
        parse_model(
            '<ir_version: 10, opset_import: ["" : 22, "own" : 1]>\n'
            "g (bfloat16[N,4] x) => (bfloat16[N,4] y) { y = own.f (x) }\n"
            '<domain: "own", opset_import: ["" : 22]>\n'
            "f (a) => (b) { c = Softmax (a)  b = Exp (c) }"
        )
    )
    x = numpy.zeros((3, 4), BF16)
    got = mp_opt.onnxruntime.run(session, {"x": x})["y"]
    numpy.testing.assert_allclose(
        got.astype("float32"), numpy.exp(0.25), rtol=2.0**-7
    )


def test_quantized_weights_of_four_bits():
    model = parse_model(
        HEAD + "g (float[N,4] x) => (float[N,4] y) {"
        "  d = DequantizeLinear (w, s)  y = MatMul (x, d) }"
    )
    model.graph.initializer.extend([
        helper.make_tensor("w", TensorProto.INT4, (4, 4), bytes([0x21] * 8), raw=True),
        helper.make_tensor("s", TensorProto.FLOAT, (), [0.5]),
    ])  # fmt: skip
    session = mp_opt.onnxruntime.session(model)
    x = numpy.ones((2, 4), "float32")
    assert (session.run(None, {"x": x})[0] == [[2, 4, 2, 4]] * 2).all()


def test_data_in_other_files(tmp_path):
    """Weights in a file of their own, of an outer graph as well."""
    model = perceptron(TensorProto.BFLOAT16, BF16)
    path = tmp_path / "model.onnx"
    onnx.save(
        model, path, save_as_external_data=True, location="weights.bin",
        size_threshold=0,
    )  # fmt: skip
    assert (tmp_path / "weights.bin").stat().st_size > 4000
    x = data(3)
    results = [
        mp_opt.onnxruntime.run(mp_opt.onnxruntime.session(source), {"x": x.astype(BF16)})
        for source in (str(path), perceptron(TensorProto.BFLOAT16, BF16))
    ]
    assert (results[0]["y"] == results[1]["y"]).all()


def test_defaults_of_inputs():
    """Initializers that may be overridden are inputs of the provider's part."""
    model = parse_model(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}>"
        "{ y = Add (x, b) }"
    )
    session = mp_opt.onnxruntime.session(model)
    x = numpy.ones(2, "float32")
    assert session.run(None, {"x": x})[0].tolist() == [2, 3]
    assert session.run(None, {"x": x, "b": x})[0].tolist() == [2, 2]


def test_precision_is_an_option():
    model = perceptron(TensorProto.FLOAT, numpy.float32)
    x = data(9)
    plain, mixed = (
        mp_opt.onnxruntime.session(model, precision=precision).run(None, {"x": x})[0]
        for precision in (None, "bf16")
    )
    difference = numpy.abs(plain - mixed).max()
    assert mixed.dtype == numpy.float32 and 1e-5 < difference < 2.0**-5


@pytest.mark.parametrize("flags, message", [
    ({"cach": "off"}, "unknown option 'ep.mp-opt.cach': expected cache"),
    ({"precision": "bf61"}, "ep.mp-opt.precision: .*expected bf16 or fp16"),
    ({"threads": "none"}, "ep.mp-opt.threads: .*expected a number"),
    ({"max_sizes": "-1"}, "ep.mp-opt.max-sizes: expected a number, got '-1'"),
    ({"excess_precision": "yes"}, "expected 0 or 1, got 'yes'"),
])  # fmt: skip
def test_options_are_checked(flags, message):
    model = perceptron(TensorProto.FLOAT, numpy.float32)
    with pytest.raises(Exception, match=message):
        mp_opt.onnxruntime.session(model, **flags)


def test_wrong_data_is_an_error_and_the_session_remains():
    model = parse_model(
        HEAD + "g (float[N] x, int64[M] i) => (float[M] y) { y = Gather (x, i) }"
    )
    session = mp_opt.onnxruntime.session(model)
    x = numpy.arange(4, dtype="float32")
    with pytest.raises(Exception, match="mp-opt: .*Gather"):
        session.run(None, {"x": x, "i": numpy.array([1, 9])})
    assert session.run(None, {"x": x, "i": numpy.array([3, 1])})[0].tolist() == [3, 1]


def test_registration_is_done_once():
    first, second = mp_opt.onnxruntime.register(), mp_opt.onnxruntime.register()
    assert len(first) == len(second) == 1
    assert first[0].ep_name == mp_opt.onnxruntime.get_ep_name() == "mp-opt"
    printed = subprocess.run(
        [sys.executable, "-m", "mp_opt.onnxruntime"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    assert printed == mp_opt.onnxruntime.get_library_path()


def test_the_library_stays_after_it_is_unregistered():
    """Threads of its pool are still there, and it can be registered again."""
    code = """
import mp_opt.onnxruntime, numpy, onnx.parser, onnxruntime, gc
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>'
    'g (float[256,256] x) => (float[256,256] y) { y = MatMul (x, x) }')
for _ in range(3):
    session = mp_opt.onnxruntime.session(model)
    y = session.run(None, {"x": numpy.ones((256, 256), "float32")})[0]
    assert (y == 256).all()
    del session
    gc.collect()
    onnxruntime.unregister_execution_provider_library("mp-opt")
print("end")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout.strip() == "end", done.stderr


def test_values_of_every_type():
    for array in (
        numpy.array(1.5, "float32"), numpy.zeros((0, 3), BF16),
        numpy.arange(6, dtype="float32").reshape(2, 3).astype(BF16),
        numpy.array([True, False]), numpy.array(2.0).astype(BF16),
    ):  # fmt: skip
        got = mp_opt.onnxruntime.to_numpy(mp_opt.onnxruntime.to_ort_value(array))
        assert got.dtype == array.dtype and got.shape == array.shape
        assert (got == array).all()


def test_without_onnxruntime(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(mp_opt.NotSupportedError, match="install onnxruntime 1.24"):
        mp_opt.onnxruntime.register()
