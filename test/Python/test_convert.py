# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converting by mp_opt gives what mp-opt gives."""

import pickle
import subprocess
import warnings

import ml_dtypes
import mp_opt
import numpy
import onnx
import onnx.numpy_helper
import pytest
from models import CLASSIFIER, parse, write_classifier
from support import MP_OPT


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_classifier(tmp_path_factory.mktemp("model"))


def run_mp_opt(path, output, *flags):
    subprocess.run(
        [MP_OPT, path, "-o", output, *flags], check=True, capture_output=True
    )
    return output.read_bytes()


@pytest.mark.parametrize("arguments, flags", [
    ({}, ["--mixed-bf16"]),
    ({"precision": "fp16"}, ["--mixed-fp16"]),
    ({"policy": "mixed_float16"}, ["--policy=mixed_float16"]),
    ({"deny_node": ["head", "features.0"]},
     ["--mixed-bf16", "--deny-node=head", "--deny-node=features.0"]),
    ({"deny": ["Gemm", "Relu"], "dim": {"batch": 4}},
     ["--mixed-bf16", "--deny=Gemm,Relu", "--dim=batch=4"]),
    ({"raise_opset": False, "opset_limit": 20},
     ["--mixed-bf16", "--raise-opset=false", "--opset-limit=20"]),
    ({"precision": "fp16", "emulate": True}, ["--mixed-fp16", "--emulate"]),
    ({"precision": "fp16", "io": {"x|y.*": "fp16"}},
     ["--mixed-fp16", "--io=x|y.*=fp16"]),
    ({"precision": "fp32", "io": ["bf16", "x=fp32"]}, ["--io=bf16,x=fp32"]),
])  # fmt: skip
def test_bytes_are_those_of_mp_opt(path, tmp_path, arguments, flags):
    expected = run_mp_opt(path, tmp_path / "cli.onnx", *flags)
    output = tmp_path / "api.onnx"
    assert mp_opt.convert(path, output=output, **arguments) == output
    assert output.read_bytes() == expected
    content = path.read_bytes()
    assert mp_opt.convert(content, **arguments) == expected
    model = onnx.load(path)
    made = mp_opt.convert(model, **arguments)
    assert isinstance(made, onnx.ModelProto)
    assert made == onnx.load_model_from_string(expected)
    # The given model is not changed.
    assert model == onnx.load_model_from_string(content)
    assert mp_opt.convert(str(path), **arguments) == made


def test_fp32_changes_nothing(path):
    content = path.read_bytes()
    assert mp_opt.convert(content, "fp32") == content
    assert mp_opt.convert(content, "bf16", deny_node=".*") == content


def test_train_step(path, tmp_path):
    flags = ["--train", "--loss=softmax-cross-entropy", "--optimizer=adamw"]
    flags += ["--lr=0.01", "--freeze=features.0.*", "--mixed-fp16"]
    expected = run_mp_opt(path, tmp_path / "cli.onnx", *flags)
    made = mp_opt.train_step(
        path.read_bytes(), "softmax-cross-entropy", optimizer="adamw", lr=0.01,
        freeze="features.0.*", precision="fp16",
    )  # fmt: skip
    assert made == expected


def test_code_is_written(path, tmp_path):
    output = tmp_path / "libmlp.so"
    mp_opt.convert(path, emit="lib", dim={"batch": 1}, output=output)
    assert output.stat().st_size > 10000
    assert (tmp_path / "libmlp.h").exists() or (tmp_path / "mlp.h").exists()


def test_summary(path):
    told = mp_opt.summary(path, "bf16")
    assert "multiply-adds in bf16             100.0 %" in str(told)
    assert told.data["schema_version"] >= 2
    assert "&gt;" in told._repr_html_() or "<pre>" in told._repr_html_()
    step = mp_opt.train_step(path.read_bytes(), "mse")
    assert "optimizer" in str(mp_opt.summary(step)) or mp_opt.summary(step)


def test_explain(path):
    told = mp_opt.explain(path, "head")
    assert str(told).startswith("node 'head' (Gemm-13) runs in bf16")
    both = mp_opt.explain(path, ["head", "features.0"], "fp16")
    assert "features.0" in str(both) and "fp16" in str(both)
    with pytest.raises(mp_opt.Error, match="did you mean|no node"):
        mp_opt.explain(path, "haed")


def test_report(path, tmp_path):
    report = mp_opt.report(path)
    assert report.html.lstrip().lower().startswith("<!doctype html")
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and "srcdoc=" in shown
    # Nothing of the page gets out of the attribute.
    assert shown.count("<") == 2 and shown.count('"') == 6
    report.save(tmp_path / "page.html")
    expected = tmp_path / "cli.html"
    run_mp_opt(path, tmp_path / "o.onnx", "--mixed-bf16", f"--report={expected}")
    assert len(expected.read_text()) == pytest.approx(len(report.html), rel=0.01)
    assert (tmp_path / "page.html").read_text() == report.html
    with pytest.raises(OSError):
        report.save(tmp_path / "no/such/page.html")
    assert not list(tmp_path.glob("*.new"))
    assert mp_opt.overlay(path)


def test_diff(path):
    made = mp_opt.convert(path.read_bytes(), "bf16")
    told = mp_opt.diff(path, made)
    assert told and told.differs and "cast added" in str(told)
    assert told.data["nodes"]
    assert not mp_opt.diff(path, path.read_bytes())


def test_verify(path, tmp_path):
    told = mp_opt.verify(path)
    assert told and "verified: output 'scores'" in str(told)
    made = mp_opt.convert(path.read_bytes(), "fp16")
    x = numpy.ones((3, 4), "float32")
    assert mp_opt.verify(path, made, data={"x": x})
    numpy.savez(tmp_path / "x.npz", x=x)
    assert mp_opt.verify(path, made, data=tmp_path / "x.npz")
    outside = mp_opt.verify(path, made, rtol=1e-9)
    assert not outside and "NOT verified" in str(outside)
    assert not mp_opt.verify(path, rtol=1e-9)


def test_policy():
    told = subprocess.run(
        [MP_OPT, "--mixed-bf16", "--allow=Gelu", "--print-config"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert mp_opt.policy(allow="Gelu") == told.stdout


def test_errors_say_what_and_where(path):
    with pytest.raises(mp_opt.Error) as caught:
        mp_opt.convert(path, allow="Sofmax")
    error = caught.value
    assert error.status == 1 and "did you mean 'Softmax'?" in str(error)
    assert error.diagnostics[0].severity == "error"
    assert error.diagnostics[0].file == str(path)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.diagnostics == error.diagnostics
    model = parse(
        '<ir_version: 8, opset_import: ["": 17]>\n'
        "g (float[2,3] x) => (float[2,3] y) { [node] y = Softmax<axis=5>(x) }"
    )
    with pytest.raises(mp_opt.Error) as caught:
        mp_opt.convert(model, name="m.onnx")
    told = caught.value.diagnostics[0]
    assert (told.file, told.node, told.op) == ("m.onnx", "node", "Softmax-13")


@pytest.mark.parametrize("arguments, kind, message", [
    ({"precision": "bf61"}, mp_opt.UsageError, "expected 'bf16'"),
    ({"strct": True}, mp_opt.UsageError, "did you mean 'strict'?"),
    ({"mixed_fp16": True, "mixed_bf16": True}, mp_opt.UsageError, "exclude"),
    ({"loss": "mse"}, mp_opt.UsageError, "not an argument of convert"),
    ({"o": "x.onnx"}, mp_opt.UsageError, "not an argument of convert"),
    ({"allow": object()}, TypeError, "allow: expected a text"),
    ({"opset_limit": "new"}, mp_opt.UsageError, "^opset_limit: expected"),
    ({"deny": 5}, TypeError, "deny: expected a text or a list of texts, got 5"),
    ({"deny": "Gem"}, mp_opt.Error, "unknown operator 'Gem' in deny;"),
    ({"deny_node": "q"}, mp_opt.Error, "pattern 'q' in deny_node"),
    ({"precision": numpy.float64}, mp_opt.UsageError, "such as numpy.float16"),
    ({"output": "x.npz"}, mp_opt.UsageError, "^output: expected a name that"),
    ({"output": "/proc/x.onnx"}, mp_opt.Error, "cannot write"),
    ({"output": 5}, TypeError, ""),
])  # fmt: skip
def test_wrong_arguments(path, arguments, kind, message):
    with pytest.raises(kind, match=message):
        mp_opt.convert(path, **arguments)


@pytest.mark.parametrize("precision, expected", [
    (numpy.float16, 10), (numpy.dtype("float16"), 10), ("float16", 10),
    (ml_dtypes.bfloat16, 16), (numpy.dtype(ml_dtypes.bfloat16), 16),
    ("bfloat16", 16), (numpy.float32, 1), ("float32", 1),
])  # fmt: skip
def test_precisions_of_others(path, precision, expected):
    made = mp_opt.convert(path, precision)
    assert expected in {t.data_type for t in made.graph.initializer}
    mp_opt.train_step(path, "softmax-cross-entropy", precision=precision)
    mp_opt.compile(path, precision=precision)


def test_messages_have_names_of_arguments():
    for text, expected in {
        "did you mean '--deny-node'?": "did you mean 'deny_node'?",
        "-o: expected a name": "output: expected a name",
        "--dim=NAME=SIZE gives others": 'dim={"NAME": SIZE} gives others',
        "off (--deny-node=a-b)": "off (deny_node=a-b)",
        "mp-opt --train --class-axis=-1 if": "mp-opt --train --class-axis=-1 if",
        "mp-run train --lr=1; --lr=2": "mp-run train --lr=1; lr=2",
        "a -o- b --no-such-flag": "a -o- b --no-such-flag",
        "--bf16 --mixed-bf16": "bf16 mixed_bf16",
    }.items():
        assert mp_opt._errors.to_python(text) == expected
    with pytest.raises(mp_opt.Error, match=r"train_step\(model, loss\) makes one"):
        mp_opt.TrainingStep(CLASSIFIER)
    with pytest.raises(mp_opt.Error, match="0 bytes"):
        mp_opt.convert(b"")
    with pytest.raises(TypeError, match="GraphProto: onnx.helper.make_model"):
        mp_opt.convert(onnx.GraphProto())


def test_data_of_verify_that_are_not_there(path):
    with pytest.raises(mp_opt.Error, match="'x' is missing"):
        mp_opt.verify(path, data={"z": numpy.ones((2, 4), "float32")})


@pytest.mark.parametrize("model, kind", [
    (None, TypeError), (5, TypeError), ([], TypeError), (b"PK\3\4", mp_opt.Error),
    ("no/such.onnx", mp_opt.Error), ("-", mp_opt.Error), (b"{" * 9, mp_opt.Error),
    ("nul\0.onnx", mp_opt.Error), (object(), TypeError),
])  # fmt: skip
def test_no_models(model, kind):
    with pytest.raises(kind):
        mp_opt.convert(model)


def test_warnings_are_warnings(path):
    # Its loss takes the operand of the Softmax: something to know.
    model = parse(
        '<ir_version: 8, opset_import: ["": 17]>\n'
        "g (float[N,3] x) => (float[N,3] y) <float[3,3] w = {1,2,3,4,5,6,7,8,9}>"
        "{ h = MatMul(x, w) y = Softmax(h) }"
    )
    with pytest.warns(mp_opt.ModelWarning) as caught:
        mp_opt.train_step(model, "softmax-cross-entropy")
    # They point to the caller.
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(mp_opt.ModelWarning):
            mp_opt.train_step(model, "softmax-cross-entropy")


def test_external_data_by_path(path, tmp_path):
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        # Others are never external.
        array = onnx.numpy_helper.to_array(tensor)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    big = tmp_path / "big.onnx"
    onnx.save(model, big, save_as_external_data=True, size_threshold=0)
    output = tmp_path / "out.onnx"
    mp_opt.convert(big, "bf16", output=output)
    made = onnx.load(output)
    assert made.graph.initializer[0].data_type == 16
    # Models as bytes may have a name, in whose folder their external data are.
    # There is no such place for external data of the result.
    with pytest.raises(mp_opt.Error, match="write the model to a file"):
        mp_opt.convert(big.read_bytes(), "bf16", name=str(big))
    mp_opt.convert(big.read_bytes(), "bf16", name=str(big), output=output)
    assert onnx.load(output) == made
    with pytest.raises(mp_opt.Error, match="elsewhere"):
        mp_opt.convert(big.read_bytes(), "bf16", name="elsewhere/big.onnx")


def test_flags_are_those_of_the_programs():
    names = [row["name"] for row in mp_opt.flags()]
    assert "deny_node" in names and "loss_scale" in names
    assert {"threads", "cache"} <= {row["name"] for row in mp_opt.flags("compile")}
    with pytest.raises(mp_opt.UsageError, match="did you mean 'train'"):
        mp_opt.flags("trian")
