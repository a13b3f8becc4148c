# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roundings of products that only fp32 nodes read, dropped by a flag."""

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import support
from onnx_models import make_model
from runs import DEVICE, USAGE, compute, curve, make_step, mp_run
from runs import read_log, run_mp_opt, scratch_dir, train_folder

FLAG = "--excess-precision"
TYPES = {
    "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
    "fp16": (TensorProto.FLOAT16, np.float16),
}


def rounded(array, precision):
    """The nearest numbers of 16 bit, as fp32."""
    return np.asarray(array).astype(TYPES[precision][1]).astype(np.float32)


def is_16_bit(array, precision):
    return np.array_equal(array, rounded(array, precision))


def error(found, expected):
    """The root mean square of the differences, relative to the values."""
    difference = found.astype(np.float64) - expected
    return np.sqrt(np.mean(difference**2) / np.mean(expected**2))


#
# A head
#


def train_head(x, labels, widths, rng):
    """Weights and biases of an MLP after 150 steps of Adam on the scores of
    classes: errors of operands average out in trained weights."""
    layers = [
        [rng.standard_normal((rows, columns)) * np.sqrt(2 / rows),
         np.zeros(columns)]
        for rows, columns in zip(widths, widths[1:])
    ]  # fmt: skip
    states = [[[np.zeros_like(a)] * 2 for a in layer] for layer in layers]
    for step in range(1, 151):
        values = [x]
        for w, b in layers:
            values.append(np.maximum(values[-1] @ w + b, 0))
        scores = values[-2] @ layers[-1][0] + layers[-1][1]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        grad = scores / scores.sum(axis=1, keepdims=True)
        grad[np.arange(len(x)), labels] -= 1
        grad /= len(x)
        for number in reversed(range(len(layers))):
            w = layers[number][0]
            grads = [values[number].T @ grad, grad.sum(axis=0)]
            grad = (grad @ w.T) * (values[number] > 0)
            for index, g in enumerate(grads):
                m, v = states[number][index]
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                states[number][index] = [m, v]
                rate = 2e-3 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                layers[number][index] = layers[number][index] - rate * m / (
                    np.sqrt(v) + 1e-8
                )
    return [[a.astype(np.float32) for a in layer] for layer in layers]


@pytest.fixture(scope="module")
def head():
    """A trained MLP whose last layer is a product and a bias, its data, and its
    logits in float64."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 10, 256)
    x = rng.standard_normal((10, 96))[labels] + rng.standard_normal((256, 96))
    x = x.astype(np.float32)
    layers = train_head(x.astype(np.float64), labels, [96, 128, 128, 10], rng)
    weights, nodes, previous = {}, [], "x"
    value = x.astype(np.float64)
    for layer, (w, b) in enumerate(layers):
        weights |= {f"w{layer}": w, f"b{layer}": b}
        value = value @ w + b
        is_last = layer + 1 == len(layers)
        total = "logits" if is_last else f"s{layer}"
        nodes += [
            helper.make_node("MatMul", [previous, f"w{layer}"], [f"p{layer}"],
                             name=f"mm{layer}"),
            helper.make_node("Add", [f"p{layer}", f"b{layer}"], [total],
                             name=f"bias{layer}"),
        ]  # fmt: skip
        if not is_last:
            previous = f"r{layer}"
            nodes.append(helper.make_node("Relu", [total], [previous]))
            value = np.maximum(value, 0)
    model = make_model(
        nodes, {"x": x.shape}, {"logits": [256, 10]}, weights, opset=20
    )
    folder = scratch_dir("head")
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "x.npz", x=x)
    return folder / "model.onnx", {"x": x}, value


@pytest.mark.parametrize("precision", TYPES)
def test_the_error_of_logits_falls(head, precision):
    model, data, expected = head
    convert = f"--mixed-{precision}"
    plain = compute(onnx.load(model), data, convert)["logits"]
    excess = compute(onnx.load(model), data, convert, FLAG)["logits"]
    # The graph rounds the logits, and so does code that is not told otherwise.
    assert is_16_bit(plain, precision) and not is_16_bit(excess, precision)
    ratio = error(excess, expected) / error(plain, expected)
    assert 0.3 < ratio < 0.8, ratio


@pytest.mark.parametrize("precision", TYPES)
def test_the_same_bits_for_any_number_of_threads(head, precision):
    model, data, _ = head
    flags = (f"--mixed-{precision}", FLAG)
    one = compute(onnx.load(model), data, *flags, "--threads=1")["logits"]
    two = compute(onnx.load(model), data, *flags, "--threads=2")["logits"]
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("precision", TYPES)
def test_devices_drop_the_same_roundings(head, precision):
    model, data, expected = head
    flags = (f"--mixed-{precision}", DEVICE)
    plain = compute(onnx.load(model), data, *flags)["logits"]
    excess = compute(onnx.load(model), data, *flags, FLAG)["logits"]
    assert is_16_bit(plain, precision) and not is_16_bit(excess, precision)
    assert error(excess, expected) < 0.8 * error(plain, expected)
    lists = [
        bench(model, f"--mixed-{precision}", FLAG, *more)["dropped_roundings"]
        for more in ((), (DEVICE,))
    ]
    assert lists[0] == lists[1] != []


def bench(model, *flags):
    done = mp_run("bench", model, "--random", "--json", "--repeat=1", *flags)
    return json.loads(done.stdout)


def test_users_see_what_was_dropped(head, tmp_path):
    model, _, _ = head
    flags = ("--mixed-bf16", f"--cache={tmp_path}/c/")
    assert bench(model, *flags)["dropped_roundings"] == []
    kept = [bench(model, *flags, FLAG) for _ in range(2)]
    # Code with the flag is kept apart from code without, with its list.
    assert [entry["from_cache"] for entry in kept] == [False, True]
    for entry in kept:
        assert [row["node"] for row in entry["dropped_roundings"]] == [
            "node 'mm2' (MatMul-13)", "node 'bias2' (Add-14)"
        ]  # fmt: skip
        assert {row["precision"] for row in entry["dropped_roundings"]} == {
            "bf16"
        }
    done = mp_run("run", model, "--random", *flags, FLAG)
    assert "remark: excess precision: 2 roundings are dropped: " in done.stderr
    done = mp_run("bench", model, "--random", "--repeat=1", *flags, FLAG)
    assert "dropped roundings         2\n" in done.stdout
    assert "excess" not in mp_run("run", model, "--random", *flags).stderr
    # An fp32 model has nothing to drop, which is no reason for a note.
    assert "excess" not in mp_run("run", model, "--random", FLAG).stderr


def test_comparisons_run_the_code_that_users_run(head, tmp_path):
    model, data, _ = head
    run_mp_opt(model, "--mixed-bf16", "--summary=none",
               "-o", tmp_path / "m.onnx")  # fmt: skip
    np.savez(tmp_path / "x.npz", **data)

    def compare(*flags):
        done = mp_run("compare", model, tmp_path / "m.onnx",
                      tmp_path / "x.npz", "--json", *flags)  # fmt: skip
        (found,) = json.loads(done.stdout)["models"][-1]["outputs"]
        return found

    plain, excess = compare(), compare(FLAG)
    assert excess["error"] < 0.8 * plain["error"]
    assert not plain["error"] > 0.1


def test_conversions(head, tmp_path):
    model, _, _ = head
    to = ("--mixed-bf16", "--summary=none")
    done = run_mp_opt(model, *to, "--verify", FLAG, "-o", tmp_path / "a.onnx")
    assert "2 roundings are dropped" in done.stderr
    # Models are not changed: they say what they said.
    run_mp_opt(model, *to, "-o", tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (
        tmp_path / "b.onnx"
    ).read_bytes()
    texts = []
    for flags in ((), (FLAG,)):
        path = tmp_path / f"{len(texts)}.ll"
        done = run_mp_opt(model, *to, "--emit=llvm", "--cpu=x86-64-v4", *flags,
                          "-o", path)  # fmt: skip
        assert ("2 roundings are dropped" in done.stderr) == bool(flags)
        texts.append(path.read_text())
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    "flags, text",
    [
        ((), "--excess-precision needs --verify, or --emit=llvm, obj or lib"),
        (("--emulate", "--verify"), "--emulate exclude each other"),
    ],
)
def test_contradictions(head, flags, text):
    done = support.attempt(
        head[0], "--mixed-bf16", FLAG, *flags, "-o", "x.onnx", code=USAGE
    )
    assert text in done.stderr


#
# Operators
#


def product(*shapes):
    """A product of operands of these shapes, as the first node of a chain."""
    return lambda op, **attributes: (op, shapes, attributes)


MATRIX = product((6, 40), (40, 8))
PRODUCTS = {
    "MatMul": MATRIX("MatMul"),
    "batches": product((3, 6, 40), (40, 8))("MatMul"),
    "vector": product((40,), (40, 8))("MatMul"),
    "Gemm": product((40, 6), (8, 40), (8,))(
        "Gemm", transA=1, transB=1, alpha=0.5, beta=2.0
    ),
    "Einsum": product((3, 6, 40), (3, 8, 40))("Einsum", equation="bik,bjk->bij"),
    "Einsum of three": product((6, 12), (12, 10), (10, 8))(
        "Einsum", equation="ij,jk,kl->il"
    ),
    "Conv": product((2, 12, 9, 9), (8, 12, 3, 3), (8,))(
        "Conv", pads=[1, 1, 1, 1]
    ),
    "a Conv of few channels": product((2, 3, 12, 12), (4, 3, 5, 5))("Conv"),
    # Its products are those of transformed tiles.
    "a Conv of many channels": product((1, 40, 28, 28), (48, 40, 3, 3))(
        "Conv", pads=[1, 1, 1, 1]
    ),
    "a strided Conv": product((2, 12, 9, 9), (8, 12, 3, 3))(
        "Conv", strides=[2, 2]
    ),
    "groups": product((2, 12, 9, 9), (8, 6, 3, 3))("Conv", group=2),
    "depthwise": product((2, 8, 9, 9), (8, 1, 3, 3))("Conv", group=8),
    "ConvTranspose": product((2, 12, 5, 5), (12, 8, 3, 3), (8,))(
        "ConvTranspose", strides=[2, 2]
    ),
    "a dense ConvTranspose": product((2, 12, 5, 5), (12, 8, 3, 3))(
        "ConvTranspose"
    ),
    "a wide ConvTranspose": product((1, 12, 5), (12, 8, 3))(
        "ConvTranspose", strides=[20]
    ),
    "DeformConv": product((1, 4, 6, 6), (3, 4, 2, 2), (1, 8, 5, 5))("DeformConv"),
    "the gradient of an image": product(
        (2, 8, 7, 7), (2, 12, 9, 9), (8, 12, 3, 3)
    )("com.microsoft.ConvGrad"),
    "FusedMatMul": product((6, 40), (8, 40))(
        "com.microsoft.FusedMatMul", transB=1, alpha=0.25
    ),
    "Attention": product((1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8))("Attention"),
}  # fmt: skip
FP16_ONLY = ("Einsum", "Einsum of three", "the gradient of an image")
# Nodes after a product p of 6 x 8: a name, the operands after p (or all of
# them), attributes.
READERS = {
    "Reshape": ("Reshape", [np.array([8, 6])], {}),
    "Transpose": ("Transpose", [], {"perm": [1, 0]}),
    "Flatten": ("Flatten", [], {"axis": 0}),
    "Unsqueeze": ("Unsqueeze", [np.array([0])], {}),
    "Identity": ("Identity", [], {}),
    "Slice": ("Slice", [np.array([1]), np.array([5]), np.array([1])], {}),
    "Gather": ("Gather", [np.array([4, 0, 4])], {"axis": 1}),
    "GatherElements": ("GatherElements", [np.array([[1] * 8])], {}),
    "Expand": ("Expand", [np.array([2, 6, 8])], {}),
    "Tile": ("Tile", [np.array([2, 1])], {}),
    "Pad": ("Pad", [np.array([1, 0, 0, 2])], {}),
    "Concat": ("Concat", ["again"], {"axis": 1}),
    "Split": ("Split", [], {"axis": 1, "num_outputs": 2}),
    "Trilu": ("Trilu", [], {"upper": 0}),
    "Relu": ("Relu", [], {}),
    "Neg": ("Neg", [], {}),
    "Abs": ("Abs", [], {}),
    "Clip": ("Clip", ["least", "greatest"], {}),
    "Max": ("Max", ["again", "bias"], {}),
    "Where": ("Where", [np.eye(6, 8) > 0, "p", "least"], {}),
    "Add": ("Add", ["bias"], {}),
    "Sub": ("Sub", ["bias"], {}),
    "Mul": ("Mul", ["greatest"], {}),
    "Div": ("Div", ["greatest"], {}),
    "Sum": ("Sum", ["bias", "again"], {}),
}


def has(reader, name):
    return any(isinstance(other, str) and other == name for other in reader[1])


def chain(kind, made, reader=None):
    """The model of a product whose type is `kind`, a reader, and a cast."""
    op, shapes, attributes = made
    domain, _, name = op.rpartition(".")
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape)
              for i, shape in enumerate(shapes)]  # fmt: skip
    names = [f"n{i}" for i in range(len(shapes))]
    nodes = [helper.make_node("Cast", [f"x{i}"], [name], to=kind)
             for i, name in enumerate(names)]  # fmt: skip
    nodes.append(helper.make_node(name, names, ["p"], name="product",
                                  domain=domain, **attributes))  # fmt: skip
    weights, last = {}, "p"
    if reader:
        name, others, attributes = reader
        operands = [] if has(reader, "p") else ["p"]
        if has(reader, "again"):
            nodes.insert(-1, helper.make_node("Cast", ["x2"], ["factor"], to=kind))
            nodes.append(helper.make_node("MatMul", ["n0", "factor"], ["again"]))
            inputs.append(helper.make_tensor_value_info(
                "x2", TensorProto.FLOAT, [40, 8]))  # fmt: skip
        small = {"bias": np.linspace(-8.75, 8.75, 8), "least": -1.375, "greatest": 1.625}
        for number, other in enumerate(others):
            if isinstance(other, str) and other in small:
                weights[f"{other}32"] = np.asarray(small[other], np.float32)
                nodes.insert(0, helper.make_node("Cast", [f"{other}32"], [other],
                                                 to=kind))  # fmt: skip
            elif not isinstance(other, str):
                weights[f"o{number}"] = other
                other = f"o{number}"
            operands.append(other)
        last = "r"
        results = ["r"] + ["r2"] * attributes.get("num_outputs", 1)
        nodes.append(helper.make_node(
            name, operands, results[:attributes.get("num_outputs", 1)],
            **attributes))  # fmt: skip
    nodes.append(helper.make_node("Cast", [last], ["y"], to=TensorProto.FLOAT))
    return make_model(nodes, inputs, {"y": None}, weights, opset=23, ir=10,
                      domains=["com.microsoft"])  # fmt: skip


def check_chain(made, precision, reader=None):
    """Without roundings, code gives what fp32 gives of the same operands."""
    rng = np.random.default_rng(3)
    shapes = list(made[1])
    if reader and has(reader, "again"):
        shapes.append((40, 8))
    data = {f"x{i}": rounded(rng.standard_normal(shape), precision)
            for i, shape in enumerate(shapes)}  # fmt: skip
    kind = TYPES[precision][0]
    plain = compute(chain(kind, made, reader), data)["y"]
    excess = compute(chain(kind, made, reader), data, FLAG)["y"]
    wide = compute(chain(TensorProto.FLOAT, made, reader), data)["y"]
    assert is_16_bit(plain, precision)
    assert excess.shape == wide.shape
    assert excess.dtype == np.float32
    return plain, excess, wide


@pytest.mark.parametrize("precision", TYPES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, precision):
    if precision == "bf16" and name in FP16_ONLY:
        pytest.skip("its schema has no bf16")
    plain, excess, wide = check_chain(PRODUCTS[name], precision)
    if name in ("Attention", "DeformConv"):
        # Values inside are rounded, such as weights and pixels; the result is
        # not.
        assert not is_16_bit(excess, precision)
        assert error(excess, wide) <= error(plain, wide)
        return
    # Sums of up to 400 terms in any order.
    assert error(excess, wide) < 2e-6
    assert error(plain, wide) > 1e-4


@pytest.mark.parametrize("name", READERS)
def test_readers_before_the_cast(name):
    plain, excess, wide = check_chain(PRODUCTS["MatMul"], "bf16", READERS[name])
    assert error(excess, wide) < 2e-6
    assert error(plain, wide) > 1e-4


KEPT = {
    "a function": ("Tanh", [], {}),
    "a sum over an axis": ("ReduceSum", [np.array([1])], {}),
    "a softmax": ("Softmax", [], {}),
    "sums at indices": (
        "ScatterElements", [np.zeros((6, 8), np.int64), "again"],
        {"reduction": "add"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_16_bit_readers_that_need_the_rounded_value(name):
    plain, excess, _ = check_chain(PRODUCTS["MatMul"], "bf16", KEPT[name])
    np.testing.assert_array_equal(plain, excess)


def test_bodies_of_control_flow():
    """A product outside of a branch whose readers are inside, and one inside."""
    kind = TensorProto.BFLOAT16

    def branch(name, scale):
        nodes = [
            helper.make_node("Cast", ["p"], [f"{name}_a"], to=TensorProto.FLOAT),
            helper.make_node("MatMul", ["n0", "n1"], [f"{name}_q"]),
            helper.make_node("Cast", [f"{name}_q"], [f"{name}_b"],
                             to=TensorProto.FLOAT),
            helper.make_node(scale, [f"{name}_a", f"{name}_b"], [f"{name}_y"]),
        ]  # fmt: skip
        output = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT,
                                               None)  # fmt: skip
        return helper.make_graph(nodes, name, [], [output])

    def make(kind):
        nodes = [
            helper.make_node("Cast", ["x0"], ["n0"], to=kind),
            helper.make_node("Cast", ["x1"], ["n1"], to=kind),
            helper.make_node("MatMul", ["n0", "n1"], ["p"]),
            helper.make_node("Cast", ["flag"], ["isTrue"], to=TensorProto.BOOL),
            helper.make_node("If", ["isTrue"], ["y"],
                             then_branch=branch("then", "Add"),
                             else_branch=branch("else", "Mul")),
        ]  # fmt: skip
        return make_model(nodes, {"x0": [6, 40], "x1": [40, 8], "flag": []},
                          {"y": None}, opset=20, ir=9)  # fmt: skip

    rng = np.random.default_rng(2)
    data = {name: rounded(rng.standard_normal(shape), "bf16")
            for name, shape in (("x0", (6, 40)), ("x1", (40, 8)))}  # fmt: skip
    for flag in (0, 1):
        data["flag"] = np.float32(flag)
        wide = compute(make(TensorProto.FLOAT), data)["y"]
        assert error(compute(make(kind), data, FLAG)["y"], wide) < 2e-6
        assert error(compute(make(kind), data)["y"], wide) > 1e-4


#
# Training
#


@pytest.mark.parametrize("device", [(), (DEVICE,)])
def test_a_training_step(tmp_path, device):
    step = make_step("mlp784", "sgd", "--mixed-bf16")
    losses = {}
    for name, flags in {"plain": (), "excess": (FLAG,)}.items():
        log = tmp_path / f"{name}.jsonl"
        done = mp_run(
            "train", step, f"--data={train_folder('mlp784') / 'data.npz'}",
            "--steps=4", f"--log={log}", *flags, *device,
        )  # fmt: skip
        assert ("roundings are dropped" in done.stderr) == bool(flags)
        losses[name] = np.array([row["loss"] for row in read_log(log)
                                 if "loss" in row])  # fmt: skip
    wide = np.array(curve("mlp784")["sgd"]["loss"][:4])
    assert not np.array_equal(losses["plain"], losses["excess"])
    np.testing.assert_allclose(losses["excess"], wide, rtol=0.02)
