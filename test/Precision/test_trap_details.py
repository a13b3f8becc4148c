# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a result must look like, beyond being valid and right.

test_traps.py asks every trap for validity and numbers; here stand the promises
that such a test would not miss: types of single operands, names, casts counted,
masks drawn alike, weights stored once, time and memory.
"""

import pathlib
import re
import resource
import shutil
import time

import ml_dtypes  # noqa: F401  (numpy's bfloat16)
import numpy as np
import onnx
import onnxruntime as ort
import pytest
import schema_types
from onnx import TensorProto, helper, numpy_helper
from onnx_models import make_model, refused, run_ort
from support import (
    DTYPES, ELEMENT_TYPE, attempt, processor_seconds, run_mp_opt
)

TRAPS = pathlib.Path(__file__).parents[1] / "models" / "traps"
NAMES = sorted(p.stem for p in TRAPS.glob("*.onnxtxt"))
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
FLOAT = TensorProto.FLOAT
HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def nodes_of(model, *op_types):
    return [
        node
        for graph in graphs_of(model.graph)
        for node in graph.node
        if not op_types or node.op_type in op_types
    ]


def trap(name):
    return onnx.parser.parse_model((TRAPS / f"{name}.onnxtxt").read_text())


def convert(model, dtype, folder, *flags):
    source, target = folder / "source.onnx", folder / "target.onnx"
    onnx.save(model, source)
    done = run_mp_opt(source, f"--mixed-{dtype}", *flags, "-o", target)
    return onnx.load(target), done.stderr


def weights(model):
    return {
        weight.name: weight
        for graph in graphs_of(model.graph)
        for weight in graph.initializer
    }


def added_casts(source, result):
    return len(nodes_of(result, "Cast")) - len(nodes_of(source, "Cast"))


# Single operands -------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize(
    "name, operand",
    [
        ("conv_resize11", 2),
        ("conv_resize13", 2),
        ("shared_scales", 2),
    ],
)
def test_scales_stay_fp32(name, operand, dtype, tmp_path):
    result, _ = convert(trap(name), dtype, tmp_path)
    (resize,) = nodes_of(result, "Resize")
    assert weights(result)[resize.input[operand]].data_type == FLOAT


@each_dtype
def test_scales_of_opset_10_stay_fp32(dtype, tmp_path):
    """bf16 raises the opset, and the scales become another operand."""
    result, _ = convert(trap("conv_resize10"), dtype, tmp_path)
    (resize,) = nodes_of(result, "Resize")
    operand = 2 if len(resize.input) > 2 else 1
    assert weights(result)[resize.input[operand]].data_type == FLOAT


def test_resize_in_a_body_keeps_its_sizes(tmp_path):
    result, _ = convert(trap("resize_loop"), "fp16", tmp_path)
    for resize in nodes_of(result, "Resize"):
        assert list(resize.input[1:3]) == ["", ""]
        assert weights(result)[resize.input[3]].data_type == TensorProto.INT64


@each_dtype
def test_dropout_ratio_stays_fp32(dtype, tmp_path):
    result, _ = convert(trap("dropout"), dtype, tmp_path)
    (dropout,) = nodes_of(result, "Dropout")
    assert weights(result)[dropout.input[1]].data_type == FLOAT


@each_dtype
def test_float64_stays(dtype, tmp_path):
    """And the 1e9 that only float64 can take away again."""
    source = trap("f64_island")
    result, _ = convert(source, dtype, tmp_path)
    assert weights(result)["big"] == weights(source)["big"]
    casts = {n.output[0]: n for n in nodes_of(result, "Cast")}
    assert casts["d"].attribute[0].i == TensorProto.DOUBLE


@each_dtype
def test_the_users_rounding_stays(dtype, tmp_path):
    result, _ = convert(trap("user_cast_multi"), dtype, tmp_path)
    (cast,) = [n for n in nodes_of(result, "Cast") if n.output[0] == "f"]
    assert cast.attribute[0].i == TensorProto.FLOAT16
    readers = [n.op_type for n in nodes_of(result) if "f" in n.input]
    # In fp16, the product reads what the model has rounded.
    other = "MatMul" if dtype == "fp16" else "Cast"
    assert sorted(readers) == sorted(["Add", other])


@each_dtype
def test_denied_ops_of_other_types_get_no_cast(dtype, tmp_path):
    result, _ = convert(trap("denied_other_types"), dtype, tmp_path)
    reads = {n.output[0]: n.input[0] for n in nodes_of(result)}
    assert (reads["hs"], reads["dm"], reads["im"]) == ("h", "d", "i")
    casts = {n.output[0]: n for n in nodes_of(result, "Cast")}
    assert casts[reads["y"]].attribute[0].i == FLOAT


@each_dtype
def test_absent_inputs_stay_absent(dtype, tmp_path):
    source = trap("clip_optional")
    result, _ = convert(source, dtype, tmp_path)
    for op_type in ("LSTM", "Clip"):
        for before, after in zip(
            nodes_of(source, op_type), nodes_of(result, op_type), strict=True
        ):
            assert [n == "" for n in before.input] == [
                n == "" for n in after.input
            ]


# Names -----------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize("name", NAMES)
def test_names_survive(name, dtype, tmp_path):
    """Nodes keep theirs; a new cast has one of its own, with its value's."""
    source = trap(name)
    result, _ = convert(source, dtype, tmp_path)
    before = sorted(n.name for n in nodes_of(source) if n.name)
    after = [n.name for n in nodes_of(result) if n.name]
    new = list(after)
    for node_name in before:
        new.remove(node_name)
    assert len(set(new)) == len(new) and not set(new) & set(before)
    old = {tuple(n.output) for n in nodes_of(source, "Cast")}
    for cast in nodes_of(result, "Cast"):
        if tuple(cast.output) not in old:
            owner = re.sub(r"_(bf16|fp16)(_\d+)?$", "", cast.input[0])
            assert cast.name.startswith(owner), cast.name


@each_dtype
def test_utf8_names_and_paths(dtype, tmp_path):
    folder = tmp_path / "größe 模型 a"
    folder.mkdir()
    source = trap("output_consumed")
    for index, node in enumerate(source.graph.node):
        node.name = f"schicht/größe é {index}"
    flags = ["--deny-node=schicht/größe é 1"]
    result, _ = convert(source, dtype, folder, *flags)
    reads = {n.name: n.input[0] for n in nodes_of(result)}
    assert reads["schicht/größe é 1"] == "y"
    assert reads["schicht/größe é 0"] != "x"


# Lists -----------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize("text", ["MatMul|Softmax", "MatMul;Softmax", "MatMull"])
def test_a_list_with_a_wrong_separator(text, dtype, tmp_path):
    """It is one name that nobody knows, never an empty list."""
    said = refused(trap("tied"), f"--mixed-{dtype}", f"--deny={text}")
    assert f"'{text}'" in said and "MatMul" in said


# Opsets ----------------------------------------------------------------------


def test_old_opset_is_raised(tmp_path):
    """Or a remark says what stands against it."""
    for name in ("raise_opset9", "raise_axes"):
        result, _ = convert(trap(name), "bf16", tmp_path)
        (conv,) = nodes_of(result, "Conv")
        types = {w.name: w.data_type for w in result.graph.initializer}
        assert types[conv.input[1]] == TensorProto.BFLOAT16
        assert result.opset_import[0].version >= 22


def test_what_cannot_be_raised_is_named(tmp_path):
    flag = "--remarks-filter=mp-precision"
    source = trap("conv_resize10")
    result, remarks = convert(source, "bf16", tmp_path, flag)
    raised = result.opset_import[0].version >= 22
    missed = [line for line in remarks.splitlines() if "[Missed]" in line]
    assert raised or any("Conv" in m and "opset" in m for m in missed)


@each_dtype
def test_einsum(dtype, tmp_path):
    """bf16 only from opset 28: fp32 before, and said so; fp16 as it is."""
    flag = "--remarks-filter=mp-precision"
    result, remarks = convert(trap("einsum"), dtype, tmp_path, flag)
    (einsum,) = nodes_of(result, "Einsum")
    casts = {n.output[0]: n.attribute[0].i for n in nodes_of(result, "Cast")}
    producer = {n.output[0]: n.op_type for n in nodes_of(result)}
    if dtype == "bf16":
        assert casts[einsum.input[0]] == FLOAT
        assert re.search(r"Missed.*Einsum.*does not admit bf16", remarks)
    else:
        assert producer[einsum.input[0]] == "MatMul"


# Casts counted ---------------------------------------------------------------


@each_dtype
def test_no_needless_casts(dtype, tmp_path):
    """Into 16 bit, once up for all fp32 readers, down, and up at the end."""
    source = trap("detection")
    result, _ = convert(source, dtype, tmp_path)
    assert 0 < added_casts(source, result) <= 4


def chain(count):
    """MatMul and Max in turn, with weights of their own."""
    nodes, last = [], "x"
    for index in range(count // 2):
        for op_type in ("MatMul", "Max"):
            out = f"{op_type}{index}"
            inputs = [last, "w" if op_type == "MatMul" else "low"]
            nodes.append(helper.make_node(op_type, inputs, [out], name=out))
            last = out
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    data = {"w": np.eye(4, dtype=np.float32), "low": np.float32(-1)}
    return make_model(nodes, {"x": [2, 4]}, {"y": [2, 4]}, data)


@each_dtype
def test_long_chain(dtype, tmp_path):
    """20,000 nodes: two casts, seconds, and no worse than in proportion."""
    seconds = {}
    for count in (5000, 20000):
        model = chain(count)
        start = time.perf_counter()
        result, _ = convert(model, dtype, tmp_path)
        assert time.perf_counter() - start < 10
        assert added_casts(model, result) == 2
        source, target = tmp_path / "source.onnx", tmp_path / "target.onnx"
        seconds[count] = processor_seconds(
            source, f"--mixed-{dtype}", "-o", target, runs=3
        )
    assert seconds[20000] < 8 * max(seconds[5000], 0.2)


# Weights ---------------------------------------------------------------------


@each_dtype
def test_tied_weights_are_stored_once(dtype, tmp_path):
    """As it is, transposed, and in fp32: at most one tensor a type."""
    source = trap("tied")
    result, _ = convert(source, dtype, tmp_path)
    types = [w.data_type for w in result.graph.initializer]
    assert len(types) == len(set(types)) <= 2
    constants = nodes_of(result, "Constant")
    assert not constants


@each_dtype
def test_weights_have_the_type_and_the_rounding(dtype, tmp_path):
    """BFLOAT16 is BFLOAT16, not UINT16; to the nearest, ties to even."""
    source = trap("output_consumed")
    result, _ = convert(source, dtype, tmp_path)
    before, after = weights(source)["w"], weights(result)["w"]
    assert after.data_type == ELEMENT_TYPE[dtype]
    rounded = numpy_helper.to_array(before).astype(
        helper.tensor_dtype_to_np_dtype(after.data_type)
    )
    assert rounded.tobytes() == numpy_helper.to_array(after).tobytes()


def folded(path, target):
    """onnxruntime's constant folding, and its other basic clean-ups."""
    options = ort.SessionOptions()
    level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return target


def test_folding_before_or_after(tmp_path):
    """Constants folded first, or last: the same numbers, in fp16."""
    text = HEAD + """
    g (float[2,4] x) => (float[2,4] y)
      <float[4,4] w = {0.5,1,-1,2,0.25,1.5,-0.5,1,1,-2,0.75,1,0.5,0.5,1,-1}>
    {
      k = Constant <value_floats: floats = [1, 2, 3, 4]> ()
      two = Constant <value_float: float = 2.0> ()
      s = Mul (k, two)
      v = Mul (w, s)
      t = Transpose (v)
      a = MatMul (x, t)
      y = Softmax (a)
    }"""
    first, last = tmp_path / "first", tmp_path / "last"
    first.mkdir()
    last.mkdir()
    source = onnx.parser.parse_model(text)
    onnx.save(source, first / "in.onnx")
    folded(first / "in.onnx", first / "folded.onnx")
    assert len(onnx.load(first / "folded.onnx").graph.node) < 5
    convert(onnx.load(first / "folded.onnx"), "fp16", first)
    convert(source, "fp16", last)
    folded(last / "target.onnx", last / "folded.onnx")
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    results = [
        run_ort(path, {"x": x})[0]
        for path in (first / "target.onnx", last / "folded.onnx")
    ]
    np.testing.assert_allclose(results[0], results[1], atol=4 * 2.0**-11)


GIGABYTES = 3


def sparse_model(folder):
    """A weight of 3 GB that takes no room on the disk."""
    rows, columns = 1024 * 256, 1024 * GIGABYTES
    weight = TensorProto(
        name="w", data_type=FLOAT, dims=[rows, columns],
        data_location=TensorProto.EXTERNAL,
    )  # fmt: skip
    weight.external_data.add(key="location", value="w.bin")
    product = helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")
    inputs, outputs = {"x": ["n", rows]}, {"y": ["n", columns]}
    model = make_model([product], inputs, outputs, [weight])
    onnx.save(model, folder / "in.onnx")
    with open(folder / "w.bin", "wb") as data:
        data.truncate(rows * columns * 4)
    return rows * columns


@each_dtype
def test_three_gigabytes(dtype, tmp_path):
    """One pass, and far less memory of its own than the weights have."""
    if shutil.disk_usage(tmp_path).free < 8 << 30:
        pytest.skip("less than 8 GB free")
    elements = sparse_model(tmp_path)
    limit = 512 << 20

    def limit_memory():
        # Mapped files do not count against it.
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    target = tmp_path / "out.onnx"
    done = attempt(
        tmp_path / "in.onnx", f"--mixed-{dtype}", "-o", target,
        preexec_fn=limit_memory, timeout=240
    )
    try:
        assert done.returncode == 0, done.stderr[-1000:]
        [data] = tmp_path.glob("out.onnx-*.data")
        assert data.stat().st_size == elements * 2
        assert target.stat().st_size < 1000
        model = onnx.load(target, load_external_data=False)
        where = {e.key: e.value for e in model.graph.initializer[0].external_data}
        assert where["location"] == data.name
    finally:
        for data in tmp_path.glob("*.data"):
            data.unlink()


# Training --------------------------------------------------------------------


TRAINING = {
    # The loss, its mask, and a bias with dropout.
    "loss": HEAD + """
    g (float[4,4] x, int64[4] labels, bool[4,4] keep) => (float loss, float[4,4] prob, bool[4,4] mask)
      <float[4,4] w = {0.5,1,-1,2,0.25,1.5,-0.5,1,1,-2,0.75,1,0.5,0.5,1,-1},
       float[4] b = {1,2,3,4}, float ratio = {0.25}, bool training = {1}, float zero = {0}>
    {
      a = MatMul (x, w)
      d, mask = com.microsoft.BiasDropout (a, b, "", ratio, training)
      m = Where (keep, d, zero)
      c = MatMul (m, w)
      loss, prob = SoftmaxCrossEntropyLoss (c, labels)
    }""",
    # The gradients of a convolutional net; the optimizer takes sequences.
    "gradients": HEAD + """
    g (float[1,1,4,4] x, float[1,1,2,2] dy, float[1,1,3,3] w, float[1,1,3,3] m1, float[1,1,3,3] v1, float lr, int64 step) => (bool[1] flag, float[1,1,3,3] dw, float[1,1,4,4] dc)
    {
      c = Conv <pads = [1, 1, 1, 1]> (x, w)
      p, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
      dp = Mul (dy, p)
      dc = DOMAINMaxPoolGrad <kernel_shape = [2, 2], strides = [2, 2]> (dp, i)
      dx, dw, db = DOMAINConvGrad <pads = [1, 1, 1, 1]> (dc, x, w)
      ws = SequenceConstruct (w)
      gs = SequenceConstruct (dw)
      ms = SequenceConstruct (m1)
      vs = SequenceConstruct (v1)
      flag, wo, mo, vo = com.microsoft.AdamWOptimizer (lr, step, ws, gs, ms, vs)
    }""",
}
TRAINING["gradients in the default domain"] = TRAINING["gradients"].replace(
    "DOMAIN", ""
)
TRAINING["gradients"] = TRAINING["gradients"].replace(
    "DOMAIN", "com.microsoft."
)


@each_dtype
@pytest.mark.parametrize("name", sorted(TRAINING))
def test_training_types(name, dtype, tmp_path):
    """No schema is broken, the optimizer's sequences stay fp32."""
    source = onnx.parser.parse_model(TRAINING[name])
    assert not schema_types.infer(source)[1]
    result, _ = convert(source, dtype, tmp_path)
    types, problems = schema_types.infer(result)
    assert not problems
    low = ELEMENT_TYPE[dtype]
    assert low in types.values() or dtype == "bf16" and "gradients" in name
    for node in nodes_of(result, "SequenceConstruct"):
        assert types[node.input[0]] == FLOAT
    for node in nodes_of(result, "ConvGrad"):
        expected = FLOAT if dtype == "bf16" else low
        assert {types[v] for v in node.input if v} == {expected}


@each_dtype
def test_dropout_masks_are_the_same(dtype, tmp_path):
    """One seed draws one mask, with and without mixed precision."""
    text = HEAD + """
    g (float[64,4] x) => (float[64,4] y, bool[64,4] mask)
      <float[4,4] w = {0.5,1,-1,2,0.25,1.5,-0.5,1,1,-2,0.75,1,0.5,0.5,1,-1},
       float ratio = {0.5}, bool training = {1}>
    {
      a = MatMul (x, w)
      d, mask = Dropout <seed: int = 11> (a, ratio, training)
      y = MatMul (d, w)
    }"""
    x = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
    source = onnx.parser.parse_model(text)
    flags = [] if dtype == "fp16" else ["--emulate"]
    convert(source, dtype, tmp_path, *flags)
    masks = [
        run_ort(tmp_path / f"{name}.onnx", {"x": x}, ["mask"])[0]
        for name in ("source", "target")
    ]
    assert 0.3 < masks[0].mean() < 0.7
    assert (masks[0] == masks[1]).all()
