# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of graph inputs and outputs (--io): no casts where none are needed, the
same numbers in onnxruntime as with casts, and data in fp32 for 16-bit inputs."""

import json

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto
from runs import BAD_INPUT, OUTSIDE, USAGE, attempt, mp_run
from support import attempt as try_mp_opt
from support import run_mp_opt

TYPES = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
         "fp32": TensorProto.FLOAT}  # fmt: skip
CACHES = "past.*|present.*"

# One step of attention over a cache: what exporters write for a decoder.
DECODER = """<ir_version: 8, opset_import: ["" : 17]>
decoder (float[b, 1, 8] x, float[b, past, 8] past_key, float[b, past, 8] past_value,
         int64[b] ids)
     => (float[b, 1, 8] y, float[b, total, 8] present_key,
         float[b, total, 8] present_value, int64[b] next)
<float[8, 8] wq, float[8, 8] wk, float[8, 8] wv>
{
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  present_key = Concat<axis = 1>(past_key, k)
  present_value = Concat<axis = 1>(past_value, v)
  turned = Transpose<perm = [0, 2, 1]>(present_key)
  scores = MatMul(q, turned)
  weights = Softmax<axis = -1>(scores)
  attended = MatMul(weights, present_value)
  y = Add(x, attended)
  one = Constant<value_int = 1>()
  next = Add(ids, one)
}"""


def fill(model, seed=0):
    """Weights for what the text only declares."""
    rng = np.random.default_rng(seed)
    graph = model.graph
    for value in list(graph.value_info):
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        weight = rng.normal(size=shape).astype("f") / 3
        graph.initializer.append(onnx.numpy_helper.from_array(weight, value.name))
        graph.value_info.remove(value)
    return model


def save(text, path):
    model = fill(onnx.parser.parse_model(text))
    onnx.save(model, path)
    return path


def convert(source, target, *flags):
    run_mp_opt(source, *flags, "--summary=none", "-o", target)
    model = onnx.load(target)
    onnx.checker.check_model(model)
    onnx.shape_inference.infer_shapes(
        model, check_type=True, strict_mode=True, data_prop=True
    )
    return model


def ports(model):
    graph = model.graph
    return {
        value.name: value.type.tensor_type.elem_type
        for value in [*graph.input, *graph.output]
    }


def casts_at(model, names):
    """Casts that read or make one of these values."""
    return [
        node.name
        for node in model.graph.node
        if node.op_type == "Cast" and {node.input[0], node.output[0]} & set(names)
    ]


def decoder_data(dtype="f4", past=5):
    rng = np.random.default_rng(1)

    def make(*shape):
        # Numbers that fp16 and bf16 hold, so that all models read the same.
        values = rng.normal(size=shape).astype(ml_dtypes.bfloat16)
        return values.astype(dtype)

    return {
        "x": make(2, 1, 8), "past_key": make(2, past, 8),
        "past_value": make(2, past, 8), "ids": np.arange(2),
    }  # fmt: skip


def run_in_onnxruntime(path, data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    feeds = {
        i.name: np.asarray(
            data[i.name],
            np.float16 if i.type == "tensor(float16)" else data[i.name].dtype,
        )
        for i in session.get_inputs()
    }
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds)))


@pytest.fixture
def decoder(tmp_path):
    return save(DECODER, tmp_path / "decoder.onnx")


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_caches_without_casts(tmp_path, decoder, precision):
    plain = convert(decoder, tmp_path / "plain.onnx", f"--{precision}")
    made = convert(
        decoder, tmp_path / "kv.onnx", f"--{precision}",
        f"--io={CACHES}={precision}",
    )
    caches = ["past_key", "past_value", "present_key", "present_value"]
    assert casts_at(plain, caches)
    assert not casts_at(made, caches)
    types = ports(made)
    assert {types[name] for name in caches} == {TYPES[precision]}
    assert types["x"] == types["y"] == TensorProto.FLOAT
    # Names, order and sizes stay.
    before = onnx.load(decoder)
    for kind in ("input", "output"):
        for old, new in zip(getattr(before.graph, kind), getattr(made.graph, kind)):
            assert old.name == new.name
            assert (
                old.type.tensor_type.shape == new.type.tensor_type.shape
            ), old.name


def test_onnxruntime_gives_the_same(tmp_path, decoder):
    """With the same rounded data, a model with fp16 inputs gives what one with
    casts gives, but for roundings that onnxruntime drops in one of them: it
    removes pairs of casts. What is only moved is the same to the last bit."""
    data = decoder_data()
    convert(decoder, tmp_path / "plain.onnx", "--fp16")
    convert(decoder, tmp_path / "io.onnx", "--fp16", f"--io={CACHES}=fp16")
    expected = run_in_onnxruntime(tmp_path / "plain.onnx", data)
    found = run_in_onnxruntime(tmp_path / "io.onnx", data)
    assert found["present_key"].dtype == np.float16
    for name, value in expected.items():
        assert value.shape == found[name].shape
        assert np.abs(value - found[name].astype("f")).max() <= 2.0**-11 * np.abs(
            value
        ).max(), name
    past = data["past_key"].astype("f2")
    assert np.array_equal(found["present_key"][:, :5], past)


def test_a_sum_with_a_16_bit_input_is_16_bit(tmp_path, decoder):
    """Arithmetic on fp32 inputs stays fp32; on fp16 inputs it need not."""
    made = convert(decoder, tmp_path / "io.onnx", "--fp16", "--io=fp16")
    assert not casts_at(made, ["x", "y"])
    assert ports(made)["y"] == TensorProto.FLOAT16
    assert ports(made)["ids"] == TensorProto.INT64


@pytest.mark.parametrize(
    "precision, io", [("bf16", "fp16"), ("fp16", "bf16"), (None, "fp16"),
                      (None, "bf16")]
)  # fmt: skip
def test_other_types_than_those_of_the_nodes(tmp_path, decoder, precision, io):
    flags = [f"--{precision}"] if precision else []
    path = tmp_path / "io.onnx"
    made = convert(decoder, path, *flags, f"--io={io}")
    floats = {name: t for name, t in ports(made).items() if t != TensorProto.INT64}
    assert set(floats.values()) == {TYPES[io]}
    # One cast for each, never two in a row.
    makers = {o: n for n in made.graph.node for o in n.output}
    for node in made.graph.node:
        source = makers.get(node.input[0]) if node.op_type == "Cast" else None
        assert source is None or source.op_type != "Cast", node.name
    np.savez(tmp_path / "data.npz", **decoder_data())
    reference = mp_run("run", decoder, tmp_path / "data.npz", "-o", tmp_path / "a.npz")
    mp_run("run", path, tmp_path / "data.npz", "-o", tmp_path / "b.npz")
    assert reference.returncode == 0
    expected, found = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    unit = 2.0**-8 if "bf16" in (precision, io) else 2.0**-11
    for name in expected.files:
        # numpy has no bfloat16: files hold its bits.
        value = found[name]
        if value.dtype.kind in "Vu":
            value = value.view(np.uint16).view(ml_dtypes.bfloat16)
        wanted = expected[name].astype("f8")
        error = np.abs(value.astype("f8") - wanted).max()
        # Three rounded products of eight terms in a row.
        assert error <= 8 * unit * np.abs(wanted).max(), name


def test_back_to_fp32(tmp_path, decoder):
    half = tmp_path / "half.onnx"
    convert(decoder, half, "--fp16", "--io=fp16")
    made = convert(half, tmp_path / "back.onnx", "--io=fp32")
    assert set(ports(made).values()) == {TensorProto.FLOAT, TensorProto.INT64}
    data = decoder_data()
    expected = run_in_onnxruntime(half, data)
    found = run_in_onnxruntime(tmp_path / "back.onnx", data)
    for name, value in expected.items():
        error = np.abs(value.astype("f") - found[name].astype("f")).max()
        assert error <= 2.0**-11 * np.abs(found[name]).max(), name


GROUPED = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[1, 1, 32] q, float[1, 1, 16] k, float[1, 1, 16] v,
   float[1, 1, 8, 16] past_key, float[1, 1, 8, 16] past_value,
   int32[1, 1] lengths, int32[1] total)
  => (float[1, 1, 32] y, float[1, 1, 8, 16] present_key,
      float[1, 1, 8, 16] present_value)
{
  y, present_key, present_value = com.microsoft.GroupQueryAttention
    <num_heads = 2, kv_num_heads = 1>
    (q, k, v, past_key, past_value, lengths, total)
}"""


def test_queries_and_caches_agree(tmp_path):
    source = tmp_path / "gqa.onnx"
    onnx.save(onnx.parser.parse_model(GROUPED), source)
    target = tmp_path / "out.onnx"
    run_mp_opt(source, "--fp16", f"--io={CACHES}=fp16", "--summary=none", "-o", target)
    made = onnx.load(target)
    types = ports(made)
    assert types["past_key"] == types["present_value"] == TensorProto.FLOAT16
    assert types["q"] == TensorProto.FLOAT
    caches = ["past_key", "past_value", "present_key", "present_value"]
    assert not casts_at(made, caches)
    # q, k and v are cast for the node, y after it.
    assert len(casts_at(made, ["q", "k", "v", "y"])) == 4
    rng = np.random.default_rng(0)
    data = {
        "q": rng.normal(size=(1, 1, 32)), "k": rng.normal(size=(1, 1, 16)),
        "v": rng.normal(size=(1, 1, 16)),
        "past_key": rng.normal(size=(1, 1, 8, 16)),
        "past_value": rng.normal(size=(1, 1, 8, 16)),
    }  # fmt: skip
    data = {name: value.astype("f") for name, value in data.items()}
    data |= {"lengths": np.array([[4]], "i4"), "total": np.array([5], "i4")}
    expected = run_in_onnxruntime(source, data)
    found = run_in_onnxruntime(target, data)
    for name, value in expected.items():
        assert np.abs(found[name].astype("f") - value).max() < 2.0**-7, name


CALLS = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
g (float[4, 4] x, bool c) => (float[4, 4] y, float[4, 4] z, float[4, 4] same)
<float[4, 4] w>
{
  y = own.Layer(x, w)
  z = If (c) <
    then_branch = a () => (float[4, 4] t) { t = MatMul(x, w) },
    else_branch = b () => (float[4, 4] e) { e = Relu(y) }
  >
  same = Identity(x)
}
<domain: "own", opset_import: ["" : 17]>
Layer (a, b) => (c) { d = MatMul(a, b) c = Softmax(d) }"""


def test_functions_branches_and_passed_values(tmp_path):
    source = save(CALLS, tmp_path / "calls.onnx")
    made = convert(source, tmp_path / "out.onnx", "--fp16", "--io=fp16")
    types = ports(made)
    assert {types[n] for n in ("x", "y", "z", "same")} == {TensorProto.FLOAT16}
    assert not casts_at(made, ["same"])
    data = {
        "x": np.random.default_rng(0).normal(size=(4, 4)).astype("f2").astype("f"),
        "c": np.array(True),
    }
    expected = run_in_onnxruntime(source, data)
    found = run_in_onnxruntime(tmp_path / "out.onnx", data)
    for name, value in expected.items():
        assert np.abs(found[name].astype("f") - value).max() < 2.0**-7, name


def test_old_opsets_are_raised_for_casts(tmp_path):
    text = DECODER.replace("17", "11").replace("value_int = 1", 
        "value = int64[1] {1}")  # fmt: skip
    source = save(text, tmp_path / "old.onnx")
    made = convert(source, tmp_path / "out.onnx", "--io=bf16")
    assert made.opset_import[0].version == 13
    done = try_mp_opt(
        source, "--io=bf16", "--bf16", "--raise-opset=false", "-o",
        tmp_path / "no.onnx", code=BAD_INPUT,
    )
    assert "opset 13 or later" in done.stderr
    assert not (tmp_path / "no.onnx").exists()


ANGLES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[b, 1] timestep, float[b, 8] sample) => (float[b, 8] y)
<float[1, 8] frequencies, float[8, 8] w>
{
  phase = Mul(timestep, frequencies)
  s = Sin(phase)
  h = MatMul(sample, w)
  y = Add(h, s)
}"""


def test_inputs_whose_last_digits_count(tmp_path):
    source = save(ANGLES, tmp_path / "angles.onnx")
    out = tmp_path / "out.onnx"
    done = try_mp_opt(source, "--bf16", "--io=bf16", "-o", out, code=0)
    assert "input 'timestep' stays fp32: makes the angle of" in done.stderr
    assert "--io='timestep=bf16' converts it" in done.stderr
    assert ports(onnx.load(out))["timestep"] == TensorProto.FLOAT
    assert ports(onnx.load(out))["sample"] == TensorProto.BFLOAT16
    done = try_mp_opt(source, "--bf16", "--io=bf16,timestep=bf16", "-o", out, code=0)
    assert "input 'timestep' is rounded to bf16" in done.stderr
    assert ports(onnx.load(out))["timestep"] == TensorProto.BFLOAT16
    # Without a precision, too.
    done = try_mp_opt(source, "--io=bf16", "-o", out, code=0)
    assert "input 'timestep' stays fp32" in done.stderr


@pytest.mark.parametrize(
    "flags", [("--io=fp16",), ("--io=bf16",), ("--io=hidden=fp16",),
              ("--io=out=bf16",), ("--fp16", "--io=fp16"), ("--bf16", "--io=fp16")],
    ids=" ".join,
)  # fmt: skip
def test_verify_counts_rounded_inputs_and_outputs(tmp_path, flags):
    """Inputs and outputs are rounded where no node is."""
    source = save(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[4, 64] hidden, float[4, 64] past)
          => (float[4, 64] out, float[8, 64] present)
        <float[64, 64] w>
        { h = MatMul(hidden, w) s = Softmax(h) present = Concat<axis = 0>(past, s)
          r = Relu(h) out = Identity(r) }""",
        tmp_path / "m.onnx",
    )
    rng = np.random.default_rng(5)
    data = tmp_path / "data.npz"
    np.savez(
        data, **{n: rng.normal(size=(4, 64)).astype("f") for n in ("hidden", "past")}
    )
    done = try_mp_opt(
        source, *flags, f"--verify={data}", "-o", tmp_path / "o.onnx", code=0
    )
    assert ": verified: " in done.stderr
    # Something that is wrong is still refused.
    wrong = onnx.load(tmp_path / "o.onnx")
    graph = wrong.graph
    relu = next(n for n in graph.node if n.op_type == "Relu")
    relu.op_type = "Elu"
    onnx.save(wrong, tmp_path / "w.onnx")
    done = attempt("compare", source, tmp_path / "w.onnx", data)
    assert "outside" in done.stdout


def test_verify_and_calibrate(tmp_path, decoder):
    """The result gets the data in its own types."""
    data = tmp_path / "data.npz"
    np.savez(data, **decoder_data())
    done = try_mp_opt(
        decoder, "--fp16", "--io=fp16", f"--verify={data}", "-o",
        tmp_path / "v.onnx", code=0,
    )
    assert ": verified: " in done.stderr
    big = decoder_data() | {"past_value": np.full((2, 5, 8), 1e5, "f")}
    np.savez(data, **big)
    done = try_mp_opt(
        decoder, "--bf16", f"--io={CACHES}=fp16", f"--verify={data}", "-o",
        tmp_path / "w.onnx",
    )
    assert done.returncode in (BAD_INPUT, OUTSIDE)
    assert "'past_value'" in done.stderr and "beyond the range of float16" in done.stderr
    assert not (tmp_path / "w.onnx").exists()
    # Data tell which inputs and outputs fp16 does not hold.
    done = try_mp_opt(
        decoder, "--fp16", "--io=fp16", f"--calibrate={data}", "-o",
        tmp_path / "c.onnx", code=0,
    )
    assert "input 'past_value' stays fp32: its elements reach 100000" in done.stderr
    assert ports(onnx.load(tmp_path / "c.onnx"))["past_value"] == TensorProto.FLOAT


def test_data_in_fp32(tmp_path, decoder):
    model = tmp_path / "io.onnx"
    convert(decoder, model, "--fp16", "--io=fp16")
    data = tmp_path / "data.npz"
    np.savez(data, **decoder_data())
    done = mp_run("run", model, data, "-o", tmp_path / "a.npz")
    assert "'past_key': float32 becomes float16" in done.stderr
    np.savez(data, **decoder_data("f2"))
    mp_run("run", model, data, "-o", tmp_path / "b.npz")
    a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    for name in a.files:
        assert a[name].dtype == b[name].dtype
        assert np.array_equal(a[name], b[name])
    assert a["present_key"].dtype == np.float16
    np.savez(data, **decoder_data() | {"x": np.full((2, 1, 8), -7e4, "f")})
    done = attempt("run", model, data, code=BAD_INPUT)
    assert (
        "input 'x': expected float16[b,1,8], found float32[2,1,8] with -70000"
        in done.stderr
    )
    assert "beyond the range of float16" in done.stderr
    # Infinities and NaN are numbers of fp16, too.
    np.savez(data, **decoder_data() | {"x": np.full((2, 1, 8), -np.inf, "f")})
    mp_run("run", model, data, "-o", tmp_path / "b.npz")
    mp_run("bench", model, data, "--repeat=2")
    np.savez(data, **decoder_data())
    # Expected outputs may be those of the fp32 model.
    mp_run("run", decoder, data, "-o", tmp_path / "e.npz")
    expected = f"--expected={tmp_path / 'e.npz'}"
    mp_run("run", model, data, expected, "--check=1e-2,1e-2")
    attempt("run", model, data, expected, "--check=0,1e-9", code=OUTSIDE)
    done = mp_run("compare", decoder, model, data)
    assert "present_key" in done.stdout


def test_searches(tmp_path, decoder):
    """Candidates of a search have the types that are asked for."""
    np.savez(tmp_path / "data.npz", **decoder_data())
    done = try_mp_opt(
        "bisect", decoder, "--fp16", "--io=fp16", "--tolerance=1e-5",
        f"--data={tmp_path / 'data.npz'}", "-o", tmp_path / "p.yaml",
    )
    # The outputs alone are off by more.
    assert done.returncode == OUTSIDE, done.stderr
    done = try_mp_opt(
        "bisect", decoder, "--fp16", "--io=fp16", "--tolerance=0.1",
        f"--data={tmp_path / 'data.npz'}", code=0,
    )
    assert "float16" not in done.stderr


def test_reports(tmp_path, decoder):
    done = try_mp_opt(
        decoder, "--fp16", f"--io={CACHES}=fp16", "--summary=json", "-o",
        tmp_path / "o.onnx", code=0,
    )
    summary = json.loads(done.stdout)
    assert summary["graph_inputs"][:2] == [
        {"name": "x", "type": "fp32", "before": "fp32"},
        {"name": "past_key", "type": "fp16", "before": "fp32"},
    ]
    assert summary["graph_inputs"][-1]["type"] == "int64"
    assert summary["graph_outputs"][1]["type"] == "fp16"
    done = try_mp_opt(
        decoder, "--fp16", f"--io={CACHES}=fp16", "-o", tmp_path / "o.onnx", code=0
    )
    text = " ".join(done.stderr.split())
    assert "fp16 (was fp32): past_key, past_value" in text
    done = try_mp_opt(decoder, "--fp16", "-o", tmp_path / "o.onnx", code=0)
    assert "inputs in" not in done.stderr


def test_policies(tmp_path, decoder):
    policy = tmp_path / "p.yaml"
    policy.write_text(
        "precision: fp16\nio:\n  - 'past.*|present.*=fp16'\n  - 'x{1,2}=fp16'\n"
    )
    made = convert(decoder, tmp_path / "o.onnx", f"--policy={policy}")
    types = ports(made)
    assert types["past_key"] == types["x"] == TensorProto.FLOAT16
    assert types["y"] == TensorProto.FLOAT
    done = try_mp_opt(f"--policy={policy}", "--print-config", code=0)
    assert f"  - 'past.*|present.*=fp16'  # {policy}:3" in done.stdout
    policy.write_text(done.stdout)
    again = convert(decoder, tmp_path / "o.onnx", f"--policy={policy}")
    assert ports(again) == types
    policy.write_text("precision: fp16\nio: bf16\n")
    assert "contradict each other" in try_mp_opt(
        decoder, f"--policy={policy}", "--io=fp16", "-o", tmp_path / "o.onnx",
        code=BAD_INPUT,
    ).stderr
    policy.write_text("io: {past: fp16}\n")
    assert ":1: 'io': expected a type, or a list of PATTERN=TYPE" in try_mp_opt(
        decoder, f"--policy={policy}", "-o", tmp_path / "o.onnx", code=BAD_INPUT
    ).stderr


@pytest.mark.parametrize(
    "flags, code, text",
    [
        (["--io=fp17"], USAGE, "did you mean 'fp16'?"),
        (["--io=past.*=int8"], USAGE, "expected fp32, fp16 or bf16"),
        (["--io=(=fp16"], USAGE, "is not a regular expression"),
        (["--io=pasta_key=fp16"], BAD_INPUT, "did you mean 'past_key'?"),
        (["--io=ids=fp16"], BAD_INPUT, "expected a float tensor"),
        (["--io=fp16", "--io=bf16"], BAD_INPUT, "contradict each other"),
        (["--io=x=fp16,.*=bf16"], BAD_INPUT, "contradict each other"),
        (["--io=fp16", "--train", "--loss=mse"], USAGE, "not for training steps"),
        (
            ["--fp16", "--io=x=fp16", "--input-range=x:0..1e6"], BAD_INPUT,
            "asks for fp16",
        ),
    ],
)  # fmt: skip
def test_mistakes(tmp_path, decoder, flags, code, text):
    out = tmp_path / "out.onnx"
    out.write_text("mine")
    done = try_mp_opt(decoder, *flags, "-o", out, code=code)
    assert text in done.stderr
    assert out.read_text() == "mine"


def test_steps_are_left_alone(tmp_path):
    source = save(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[4, 4] x) => (float[4, 4] y) <float[4, 4] w> { y = MatMul(x, w) }""",
        tmp_path / "m.onnx",
    )
    policy = tmp_path / "p.yaml"
    policy.write_text("precision: fp16\nio: fp16\n")
    done = try_mp_opt(
        source, "--train", "--loss=mse", f"--policy={policy}", "-o",
        tmp_path / "step.onnx", code=BAD_INPUT,
    )
    assert "a training step's inputs and outputs stay" in done.stderr


def test_header_of_a_library(tmp_path, decoder):
    run_mp_opt(
        decoder, "--fp16", f"--io={CACHES}=fp16", "--emit=obj", "--dim=b=1,past=4",
        "-o", tmp_path / "net.o",
    )
    header = (tmp_path / "net.h").read_text()
    line = next(l for l in header.splitlines() if "past_key" in l)
    assert "float16" in line


NEAR_QUANTIZED = {
    # An output between a pair and its reader.
    "result": """q = QuantizeLinear(x, s, zp) y = DequantizeLinear(q, s, zp)
                 z = Softmax(y)""",
    # A weight, and a bias, that are outputs as well.
    "weight": """y = DequantizeLinear(wq, s, zp) z = MatMul(x, y)""",
    "bias": """y = DequantizeLinear(bq, s, bz) m = MatMul(x, x) z = Add(m, y)""",
    # Casts of the model next to inputs and outputs.
    "casts": """h = Cast<to = 10>(x) y = Cast<to = 1>(h) i = Cast<to = 11>(x)
                z = Cast<to = 1>(i)""",
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR_QUANTIZED)
@pytest.mark.parametrize(
    "flags", [("--fp16", "--io=fp16"), ("--bf16", "--io=bf16"),
              ("--bf16", "--io=fp16"), ("--io=fp16",), ("--fp16", "--io=y=fp16"),
              ("--fp16", "--io=x=fp16")], ids=" ".join,
)  # fmt: skip
def test_next_to_pairs_and_casts(tmp_path, case, flags):
    numbers = ", ".join(str(n) for n in range(1, 17))
    source = tmp_path / "m.onnx"
    onnx.save(
        onnx.parser.parse_model(
            f"""<ir_version: 9, opset_import: ["" : 19]>
            g (float[4, 4] x) => (float[4, 4] y, float[4, 4] z)
            <float s = {{0.0625}}, int8 zp = {{0}}, int32 bz = {{0}},
             int8[4, 4] wq = {{{numbers}}}, int32[4, 4] bq = {{{numbers}}}>
            {{ {NEAR_QUANTIZED[case]} }}"""
        ),
        source,
    )
    target = tmp_path / "o.onnx"
    made = convert(source, target, *flags)
    rule = flags[-1].removeprefix("--io=")
    for name, kind in ports(made).items():
        asked, _, word = rule.rpartition("=")
        wanted = TYPES[word] if asked in ("", name) else TensorProto.FLOAT
        assert kind == wanted, name
    x = np.random.default_rng(0).integers(-8, 8, size=(4, 4)).astype("f") / 4
    np.savez(tmp_path / "x.npz", x=x)
    mp_run("run", source, tmp_path / "x.npz", "-o", tmp_path / "a.npz")
    mp_run("run", target, tmp_path / "x.npz", "-o", tmp_path / "b.npz")
    expected, found = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    for name in expected.files:
        value = found[name]
        if value.dtype.kind in "Vu":
            value = value.view(np.uint16).view(ml_dtypes.bfloat16)
        error = np.abs(value.astype("f8") - expected[name]).max()
        assert error <= 2.0**-6 * max(1, np.abs(expected[name]).max()), name


def test_outputs_without_nodes(tmp_path):
    """Outputs that are constants or inputs, empty tensors, scalars."""
    source = tmp_path / "m.onnx"
    onnx.save(
        onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["" : 17]>
            g (float[0, 4] none, float s, float[2] both)
              => (float[0, 4] made, float[2] both, float k, float[2] c)
            <float k = {1.5}> {
              made = Relu(none)
              c = Constant<value_floats = [0.5, 3.0]>()
            }"""
        ),
        source,
    )
    made = convert(source, tmp_path / "o.onnx", "--fp16", "--io=fp16")
    assert set(ports(made).values()) == {TensorProto.FLOAT16}
    assert not [n for n in made.graph.node if n.op_type == "Cast"]
    only = convert(source, tmp_path / "o.onnx", "--io=fp16")
    assert set(ports(only).values()) == {TensorProto.FLOAT16}
    found = run_in_onnxruntime(
        tmp_path / "o.onnx",
        {
            "none": np.zeros((0, 4), "f"), "s": np.array(1, "f"),
            "both": np.ones(2, "f"),
        },
    )
    assert found["k"] == 1.5 and list(found["c"]) == [0.5, 3.0]
