# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt reduce makes a model that fails a command small."""

import json
import os

import numpy as np
import onnx
import pytest
import searches
from onnx import TensorProto, helper, numpy_helper
from searches import run

# Fails if there is a LeakyRelu with an unusual attribute. Both are searched for
# in the bytes, since onnx takes long to start.
FINDS_LEAKY = r"""
import struct
content = open(sys.argv[1], "rb").read()
sys.exit(b"\x22\x09LeakyRelu" in content and struct.pack("<f", 0.3) in content)
"""


@pytest.fixture
def deep(tmp_path):
    """100 nodes with residual connections; the 63rd is a LeakyRelu."""
    rng = np.random.default_rng(0)
    nodes, weights, current = [], [], "x"
    for block in range(33):
        matrix = rng.normal(size=(16, 16)).astype(np.float32) / 3
        weights.append(numpy_helper.from_array(matrix, f"w{block}"))
        steps = [("MatMul", [current, f"w{block}"], {}), ("Relu", [], {}),
                 ("LeakyRelu", [], {"alpha": 0.3}) if block == 20
                 else ("Add", [current], {})]
        for place, (op, others, attributes) in enumerate(steps):
            last = others if op == "MatMul" else [nodes[-1].output[0], *others]
            nodes.append(helper.make_node(op, last, [f"v{block}_{place}"],
                                          name=f"block{block}/{op}", **attributes))
        current = nodes[-1].output[0]
    nodes.append(helper.make_node("Softmax", [current], ["p"], name="softmax"))
    path = tmp_path / "deep.onnx"
    searches.save(nodes, weights, "p", 16, path, producer_name="someone",
                  doc_string="many words")
    return path


def reduce(model, check, *flags, code=0, **options):
    return run("reduce", model, f"--check={check}", *flags, code=code, **options)


def load(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    return model


def test_one_node_is_left(deep, tmp_path):
    check = searches.write_check(tmp_path, FINDS_LEAKY)
    small = tmp_path / "small.onnx"
    before = deep.read_bytes()
    done = json.loads(reduce(deep, check, "-o", small, "--json").stdout)
    assert deep.read_bytes() == before
    model = load(small)
    assert [node.op_type for node in model.graph.node] == ["LeakyRelu"]
    assert len(model.graph.input) == len(model.graph.output) == 1
    assert not model.graph.initializer and not model.producer_name
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    assert [size.dim_value for size in sizes] == [1, 1]
    assert done["before"].startswith("100 nodes")
    assert done["after"].startswith("1 node,") and done["minimal"]
    runs = searches.count_runs(tmp_path)
    assert runs == done["runs"] <= 40
    assert not small.with_suffix(".npz").exists()


def test_data_follow_the_cut(deep, tmp_path):
    """An inner value that becomes an input has its elements."""
    ort = pytest.importorskip("onnxruntime")
    check = searches.write_check(tmp_path, FINDS_LEAKY)
    data, small = tmp_path / "data.npz", tmp_path / "small.onnx"
    fed = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
    np.savez(data, x=fed)
    reduce(deep, check + " {} {data}", "-o", small, f"--data={data}")
    (name, taken), = np.load(small.with_suffix(".npz")).items()
    model = load(small)
    assert name == "in:" + model.graph.input[0].name
    whole = onnx.load(deep)
    inner = next(n for n in whole.graph.node if n.op_type == "LeakyRelu").input[0]
    whole.graph.output.append(
        helper.make_tensor_value_info(inner, TensorProto.FLOAT, None))
    session = ort.InferenceSession(whole.SerializeToString())
    expected = session.run([inner], {"x": fed})[0]
    # Sizes are 1: the first element is left.
    np.testing.assert_allclose(taken, expected[:1, :1], rtol=1e-4)


# Fails if weights in fp16 change an output by more than 1 %.
FP16_WEIGHTS = """
import numpy as np, onnx, onnxruntime as ort
from onnx import numpy_helper
def run(change):
    model = onnx.load(sys.argv[1])
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32:
            tensor.CopyFrom(numpy_helper.from_array(change(values), tensor.name))
    ort.set_default_logger_severity(4)
    session = ort.InferenceSession(model.SerializeToString())
    return session.run(None, {k[3:]: v for k, v in np.load(sys.argv[2]).items()})
pairs = zip(run(lambda v: v),
            run(lambda v: v.astype(np.float16).astype(np.float32)))
sys.exit(any(np.sqrt(np.mean((a - b)**2)) > 0.01 * np.sqrt(np.mean(a**2))
             for a, b in pairs))
"""


def test_onnxruntime_as_the_command(tmp_path):
    pytest.importorskip("onnxruntime")
    model = tmp_path / "m.onnx"
    searches.make_chain(30, model)
    changed = onnx.load(model)
    tiny = numpy_helper.to_array(changed.graph.initializer[11]) * 1e-9
    changed.graph.initializer[11].CopyFrom(numpy_helper.from_array(tiny, "w11"))
    onnx.save(changed, model)
    check = searches.write_check(tmp_path, FP16_WEIGHTS)
    small = tmp_path / "small.onnx"
    reduce(model, check + " {} {data}", "-o", small)
    found = load(small)
    assert [node.op_type for node in found.graph.node] == ["MatMul"]
    weight, = found.graph.initializer
    values = numpy_helper.to_array(weight)
    assert values.size <= 4 and 0 < abs(values).max() < 1e-8


def test_control_flow_functions_and_several_outputs(tmp_path):
    """A branch that captures a value, in a model with a function."""
    text = """<ir_version: 10, opset_import: ["": 18, "own": 1]>
m (float[batch, 4] x, bool c) => (float[batch, 4] y, float[batch, 4] z, float[batch, 4] u)
{
  a = Relu (x)
  b = own.Twice (a)
  d = Abs (b)
  e = If (c) <then_branch = g1 () => (float[batch, 4] t) { t = Sin (d) },
              else_branch = g2 () => (float[batch, 4] f) { f = Cos (a) }>
  y = Neg (e)
  z = Exp (b)
  u = Sqrt (d)
}
<domain: "own", opset_import: ["": 18]>
Twice (v) => (w) { w = Add (v, v) }
"""
    (tmp_path / "m.onnxtxt").write_text(text)
    for op, left in (("Sin", {"If"}), ("Exp", {"Exp"}), ("Add", {"Add"})):
        check = searches.write_check(tmp_path, f"""
import onnx
def walk(nodes):
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from walk(attribute.g.node)
model = onnx.load(sys.argv[1])
nodes = [*model.graph.node, *(n for f in model.functions for n in f.node)]
sys.exit(any(node.op_type == {op!r} for node in walk(nodes)))
""")
        reduce(tmp_path / "m.onnxtxt", check, "-o", tmp_path / "s.onnx")
        model = load(tmp_path / "s.onnx")
        assert {node.op_type for node in model.graph.node} == left
        assert not model.functions


def test_external_data(tmp_path):
    model = tmp_path / "m.onnx"
    searches.make_chain(6, model, size=64)
    whole = onnx.load(model)
    onnx.save(whole, model, save_as_external_data=True, location="m.data")
    check = searches.write_check(tmp_path, """
import onnx
model = onnx.load(sys.argv[1])
sys.exit(len(model.graph.node) > 1)
""")
    out = tmp_path / "out"
    out.mkdir()
    before = (tmp_path / "m.data").read_bytes()
    reduce(model, check, "-o", out / "small.onnx")
    assert len(load(out / "small.onnx").graph.node) == 2
    assert (tmp_path / "m.data").read_bytes() == before


def test_answers_are_kept(deep, tmp_path):
    check = searches.write_check(tmp_path, FINDS_LEAKY)
    state, small = tmp_path / "state", tmp_path / "small.onnx"
    done = reduce(deep, check, "-o", small, f"--state={state}", "--max-runs=5")
    assert "the model may get smaller" in done.stderr
    assert 1 < len(load(small).graph.node) < 100
    assert searches.count_runs(tmp_path) == 5
    reduce(deep, check, "-o", small, f"--state={state}")
    assert len(load(small).graph.node) == 1
    searches.count_runs(tmp_path)
    first = small.read_bytes()
    reduce(deep, check, "-o", small, f"--state={state}")
    # The run that confirms the result.
    assert searches.count_runs(tmp_path) == 1
    assert small.read_bytes() == first


def test_mistakes(deep, tmp_path):
    small = tmp_path / "small.onnx"
    small.write_text("old")
    for flags, code, words in (
        (["--check=true", "-o", small], 3, "nothing to reduce"),
        (["--check=no-such-program", "-o", small], 1, "cannot be started"),
        (["-o", small], 2, "expected --check=COMMAND"),
        (["--check=false"], 2, "expected -o FILE.onnx"),
        (["--check=false", "-o", tmp_path / "small.txt"], 2, "ends with .onnx"),
        (["--check=false", "-o", deep], 2, "is read by this run"),
        (["--check=false", "-o", small, "--data=d.npz"], 2, "'{data}' in it"),
        (["--check=cat {data} {}", "-o", small, "--data=none.npz"], 1, "none.npz"),
    ):
        done = run("reduce", deep, *flags, code=code, cwd=tmp_path)
        assert words in done.stderr, flags
        assert small.read_text() == "old"


def test_data_that_do_not_fit(deep, tmp_path):
    np.savez(tmp_path / "d.npz", x=np.zeros((2, 5), np.float32))
    done = run("reduce", deep, "--check=cat {} {data}", "-o", "s.onnx",
               "--data=d.npz", code=1, cwd=tmp_path)
    assert "'x'" in done.stderr


def test_nothing_is_left(deep, tmp_path):
    folder = tmp_path / "tmp"
    folder.mkdir()
    check = searches.write_check(tmp_path, FINDS_LEAKY)
    reduce(deep, check, "-o", tmp_path / "s.onnx",
           env={**os.environ, "TMPDIR": str(folder)})
    assert not list(folder.iterdir())
