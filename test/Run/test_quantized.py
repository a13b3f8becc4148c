# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of com.microsoft that onnxruntime's quantizer writes, and weights
of 4 and 2 bits, beside onnxruntime."""


import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_models import describe, inputs_of, make_model, run_ort
import support
from runs import compute, NOT_COMPILED, fail

onnxruntime = pytest.importorskip("onnxruntime")
F, U, S = np.float32, np.uint8, np.int8
RNG = np.random.default_rng(7)


def u8(*shape):
    return RNG.integers(0, 256, shape).astype(U)


def s8(*shape):
    return RNG.integers(-128, 128, shape).astype(S)


def s7(*shape):
    """Weights of products with uint8. onnxruntime adds two of these up in 16
    bits, with saturation, where the processor has no dot products of bytes
    (its quantizer's reduce_range): with 8 bits it would be wrong there."""
    return RNG.integers(-64, 64, shape).astype(S)


def scale(value):
    return np.array(value, F)


def zero(value, dtype=U):
    return np.array(value, dtype)


# Scales for which no result is midway between two integers.
X = (u8(2, 3, 6, 5), scale(0.0213), zero(120))
Y = (u8(2, 3, 6, 5), scale(0.0507), zero(131))
TO = (scale(0.0411), zero(100))
LAST = (u8(2, 6, 5, 3), scale(0.0213), zero(120))
A = RNG.standard_normal((3, 40)).astype(F)

# Operator, operands (None is left out; the first is an input), attributes.
CASES = {
    "add": ("QLinearAdd", [*X, *Y, *TO], {}),
    "add_signed": ("QLinearAdd", [
        s8(4, 5), scale(0.03), zero(-3, S), s8(5), scale(0.1), zero(9, S),
        scale(0.1), zero(2, S)], {}),
    "mul": ("QLinearMul", [*X, *Y, scale(0.03), zero(128)], {}),
    "sigmoid": ("QLinearSigmoid", [*X, scale(1 / 256), zero(0)], {}),
    "leaky": ("QLinearLeakyRelu", [*X, *TO], dict(alpha=0.2)),
    "average": ("QLinearAveragePool", [*X, *TO], dict(
        kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])),
    "average_last": ("QLinearAveragePool", [*LAST, *TO], dict(
        kernel_shape=[3, 2], channels_last=1)),
    "global": ("QLinearGlobalAveragePool", [*X, *TO], dict(channels_last=0)),
    "global_last": ("QLinearGlobalAveragePool", [*LAST, *TO],
                    dict(channels_last=1)),
    "softmax": ("QLinearSoftmax", [*X, scale(1 / 256), zero(0)],
                dict(axis=-1, opset=13)),
    "concat": ("QLinearConcat", [X[0], *X[1:], *Y, *TO], dict(axis=1)),
    "where": ("QLinearWhere", [X[0] > 99, *X, *Y, *TO], {}),
    "gemm": ("QGemm", [
        u8(4, 6), scale(0.02), zero(3), s7(6, 5), scale(0.1), zero(1, S),
        np.arange(5, dtype=np.int32) * 99, scale(0.5), zero(128)],
        dict(alpha=1.5)),
    "gemm_float": ("QGemm", [
        u8(6, 4), scale(0.02), zero(3), s7(5, 6),
        np.array([0.1, 0.2, 0.3, 0.1, 0.4], F), zero([0] * 5, S)],
        dict(transA=1, transB=1)),
    "conv": ("QLinearConv", [
        *X, s7(4, 3, 3, 3), scale(0.1), zero(0, S), scale(1.0), zero(128),
        np.arange(4, dtype=np.int32) * 50], dict(pads=[1, 1, 1, 1])),
    "conv_last": ("QLinearConv", [
        *LAST, s7(4, 3, 3, 3), scale(0.1), zero(0, S), scale(1.0),
        zero(128)], dict(channels_last=1)),
    "quantize": ("QuantizeLinear", [A, scale(0.01), zero(7)], {}),
    "dequantize": ("DequantizeLinear", [s8(3, 4),
                                        np.array([0.1, 0.2, 0.3, 1], F),
                                        zero([1, 2, 3, 4], S)],
                   dict(axis=1)),
    "to_float": ("MatMulIntegerToFloat", [
        u8(3, 40), s7(40, 5), scale(0.02), np.full(5, 0.3, F), zero(9),
        zero([2] * 5, S), np.arange(5, dtype=F)], {}),
    "dynamic": ("DynamicQuantizeMatMul", [
        A, s7(40, 5), scale(0.3), zero(2, S), np.arange(5, dtype=F)], {}),
    "bits": ("MatMulNBits", [A, u8(5, 3, 8), RNG.random(15).astype(F)],
             dict(K=40, N=5, bits=4, block_size=16)),
    "bits_zero": ("MatMulNBits", [
        A, u8(5, 3, 8), RNG.random(15).astype(F), u8(10), None,
        np.arange(5, dtype=F)], dict(K=40, N=5, bits=4, block_size=16)),
}


def build(op, operands, attributes, domain="com.microsoft"):
    """The model, and what its input is."""
    first = next(i for i, o in enumerate(operands) if o is not None)
    if op == "QLinearConcat":
        # The result's scale and zero point come before the parts.
        operands = [*operands[-2:], *operands[:-2]]
        first = 2
    names = ["" if o is None else f"o{i}" for i, o in enumerate(operands)]
    constants = {
        f"o{i}": o
        for i, o in enumerate(operands)
        if o is not None and i != first
    }
    value = operands[first]
    result = TensorProto.FLOAT
    if "QLinear" in op or op == "QuantizeLinear" or len(operands) == 9:
        zero_point = operands[1 if op == "QLinearConcat" else -1]
        if op == "QLinearConv" and zero_point.ndim:
            zero_point = operands[7]
        result = TensorProto.UINT8
        if zero_point is not None:
            result = helper.np_dtype_to_tensor_dtype(zero_point.dtype)
    made = helper.make_node(
        op, names, ["y"], "node", domain=domain, **attributes
    )
    feeds = {f"o{first}": value}
    model = make_model(
        [made], inputs_of(feeds), [describe("y", result)], constants, ir=9,
        domains=[domain],
    )  # fmt: skip
    return model, feeds


def run_both(model, feeds):
    expected = run_ort(model, feeds)[0]
    stated = describe("y", expected.dtype, expected.shape)
    model.graph.output[0].CopyFrom(stated)
    found = compute(model, feeds)["y"]
    assert found.dtype == expected.dtype and found.shape == expected.shape
    return found, expected


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name):
    found, expected = run_both(*build(*CASES[name]))
    if np.issubdtype(found.dtype, np.integer):
        # Averages and softmaxes of onnxruntime round on their way.
        apart = np.abs(found.astype(int) - expected.astype(int))
        assert apart.max() <= 1 and (apart > 0).mean() <= 0.02, apart
        assert len(np.unique(expected)) > 3
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_mean():
    """onnxruntime has no kernel for it, nor zero points that are left out."""
    model, feeds = build("QLinearReduceMean", [X[0], X[1], None, *TO],
                         dict(axes=[1, 3], keepdims=0))
    mean = (X[0] * X[1].astype(float)).mean(axis=(1, 3))
    expected = np.clip(np.rint(mean / TO[0]) + TO[1], 0, 255)
    np.testing.assert_array_equal(compute(model, feeds)["y"], expected)


def test_softmax_of_old_opsets(tmp_path):
    model, _ = build("QLinearSoftmax", [*X, *TO], dict(axis=1, opset=12))
    onnx.save(model, tmp_path / "model.onnx")
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnx", "--random")
    assert "(com.microsoft.QLinearSoftmax-1): its axis is 1, expected " \
        "the last one before opset 13" in message


def test_parts_without_scales(tmp_path):
    model, _ = build("QLinearConcat", [*X, *Y[:2], *TO], dict(axis=1))
    onnx.save(model, tmp_path / "model.onnx")
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnx", "--random")
    assert "found 7 operands, expected three for each part" in message


@pytest.mark.parametrize("attributes, complaint", [
    (dict(K=40, N=0, bits=4, block_size=16), "N = 0 and blocks of 16"),
    (dict(K=40, N=5, bits=2, block_size=16), "only weights of 4 bits"),
])
def test_bits_that_cannot_be(tmp_path, attributes, complaint):
    op, operands, _ = CASES["bits"]
    onnx.save(build(op, operands, attributes)[0], tmp_path / "model.onnx")
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnx", "--random")
    assert complaint in message


# Weights of 4 and 2 bits -----------------------------------------------------

NARROW = {
    TensorProto.INT4: (-8, 7),
    TensorProto.UINT4: (0, 15),
    TensorProto.INT2: (-2, 1),
    TensorProto.UINT2: (0, 3),
}


def narrow_model(kind, raw, shape, as_node=False):
    """x * dequantized weight, in blocks of 2 along axis 0."""
    low, high = NARROW[kind]
    count = int(np.prod(shape))
    values = (np.arange(count) * 7) % (high - low + 1) + low
    weight = helper.make_tensor("w", kind, shape, values.tolist())
    zeros = (np.arange(count // 2) % 2) + max(low, 0)
    half = [shape[0] // 2, *shape[1:]]
    zero_point = helper.make_tensor("z", kind, half, zeros.tolist())
    if raw:
        for tensor in (weight, zero_point):
            data = bytes(b & 255 for b in tensor.int32_data)
            tensor.ClearField("int32_data")
            tensor.raw_data = data
    scales = (np.arange(count // 2).reshape(half) + 1).astype(F) / 8
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0,
                         block_size=2),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    if as_node:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], value=weight))
    model = make_model(
        nodes, {"x": [3, shape[0]]}, {"y": [3, shape[1]]},
        [
            zero_point, numpy_helper.from_array(scales, "s")
        ] + ([] if as_node else [weight]),
        opset=25, ir=11
    )
    wide = values.reshape(shape) - np.repeat(zeros.reshape(half), 2, axis=0)
    return model, wide * np.repeat(scales, 2, axis=0)


@pytest.mark.parametrize("as_node", [False, True])
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("shape", [(4, 3), (64, 33)])
def test_narrow_weights(kind, raw, shape, as_node):
    model, weight = narrow_model(kind, raw, shape, as_node)
    x = np.random.default_rng(0).standard_normal((3, shape[0])).astype(F)
    found = compute(model, {"x": x})["y"]
    expected = x.astype(float) @ weight
    worst = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * worst)


def test_known_narrow_integers():
    """Quantized to 4 bits and back; numbers that a Cast knows."""
    four = TensorProto.INT4
    model = make_model(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "k"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "k"], ["y"]),
            helper.make_node("Cast", ["n"], ["z"], to=TensorProto.FLOAT),
        ],
        {"x": [6]}, {"y": [6], "z": [3]},
        [
            numpy_helper.from_array(scale(0.5), "s"),
            helper.make_tensor("k", four, [], [1]),
            helper.make_tensor("n", four, [3], [-3, 5, -8]),
        ],
        opset=21, ir=10
    )
    x = np.array([-9, -1.3, 0.2, 0.74, 2.9, 9], F)
    out = compute(model, {"x": x})
    expected = (np.clip(np.rint(x / 0.5) + 1, -8, 7) - 1) * 0.5
    np.testing.assert_array_equal(out["y"], expected)
    np.testing.assert_array_equal(out["z"], [-3, 5, -8])


def test_too_few_bytes(tmp_path):
    model, _ = narrow_model(TensorProto.INT4, True, (4, 3))
    weight = next(w for w in model.graph.initializer if w.name == "w")
    weight.raw_data = weight.raw_data[:-1]
    onnx.save(model, tmp_path / "model.onnx")
    message = fail(1, "run", tmp_path / "model.onnx", "--random")
    assert "'w': expected 6 bytes of data for 12 elements of int4, found 5" in (
        message)


def test_narrow_weights_in_another_file(tmp_path):
    model, _ = narrow_model(TensorProto.UINT4, True, (64, 33))
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True,
              location="data", size_threshold=1000)
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnx", "--random")
    assert "'w': integers of 4 bits in another file cannot be compiled: " \
        "expected them in the model" in message


@pytest.mark.parametrize("where", ["input", "output"])
def test_narrow_values_of_callers(tmp_path, where):
    model, _ = narrow_model(TensorProto.INT4, True, (4, 3))
    if where == "input":
        model.graph.input.append(
            helper.make_tensor_value_info("i", TensorProto.INT4, [2])
        )
        complaint = "input 'i' has the type"
    else:
        model.graph.output.append(
            helper.make_tensor_value_info("w", TensorProto.INT4, [4, 3])
        )
        complaint = "output 1 is not a tensor of numbers"
    onnx.save(model, tmp_path / "model.onnx")
    done = support.attempt(
        tmp_path / "model.onnx", "--emit=obj", "-o", tmp_path / "model.o",
        timeout=120
    )
    assert done.returncode != 0 and complaint in done.stderr
