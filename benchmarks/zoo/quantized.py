# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models, made of the forward models in test/models: what exporters,
onnxruntime's quantizer and hand-written converters leave.

Static models have QuantizeLinear and DequantizeLinear pairs (QDQ) or integer
operators (QOperator); scales come from the data that the models carry.
"""

import dataclasses
import pathlib
import tempfile
from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODELS = pathlib.Path(__file__).resolve().parents[2] / "test" / "models" / "fwd"
# Samples for calibration, next to the stored one.
SAMPLES = 4


@dataclasses.dataclass
class Recipe:
    name: str
    """The folder of the fp32 model."""
    source: str
    """Takes the fp32 model and samples, gives the quantized model."""
    make: Callable


def stored_inputs(source):
    held = np.load(MODELS / source / "io0.npz")
    return {n[3:]: held[n] for n in held.files if n.startswith("in:")}


def samples(source):
    """The stored inputs, and others of their kind."""
    first = stored_inputs(source)
    rng = np.random.default_rng(5)
    yield first
    for _ in range(SAMPLES - 1):
        yield {
            name: rng.standard_normal(value.shape).astype(value.dtype)
            * np.std(value)
            if value.dtype.kind == "f"
            else value
            for name, value in first.items()
        }


def reader(source):
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = samples(source)

        def get_next(self):
            return next(self.left, None)

    return Reader()


# ----- onnxruntime's quantizer -------------------------------------------


def static(model, source, **options):
    """quantize_static, by the names of its options and types."""
    import onnxruntime.quantization as ort

    types = ort.QuantType
    chosen = {
        "quant_format": ort.QuantFormat[options.pop("form", "QDQ")],
        "activation_type": types[options.pop("activations", "QInt8")],
        "weight_type": types[options.pop("weights", "QInt8")],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "quantized.onnx"
        ort.quantize_static(model, path, reader(source), **chosen, **options)
        return onnx.load(path)


def dynamic(model, _source):
    import onnxruntime.quantization as ort

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "quantized.onnx"
        ort.quantize_dynamic(model, path, weight_type=ort.QuantType.QInt8)
        return onnx.load(path)


# ----- Written by hand ----------------------------------------------------


def add(graph, values, name):
    graph.initializer.append(numpy_helper.from_array(values, name))


def float_constants(graph):
    return {
        i.name: i for i in graph.initializer if i.data_type == TensorProto.FLOAT
    }


def matrices(graph, least):
    """MatMul nodes with a constant right operand of two dimensions."""
    held = float_constants(graph)
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in held:
            values = numpy_helper.to_array(held[node.input[1]])
            if values.ndim == 2 and values.shape[0] >= least:
                yield node, values


def drop_unused(graph):
    used = {name for node in graph.node for name in node.input}
    used |= {output.name for output in graph.output}
    kept = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def quantize_blocks(values, block):
    """int4 numbers, and a scale for each block along axis 0."""
    rows, columns = values.shape
    parts = -(-rows // block)
    padded = np.zeros((parts * block, columns), np.float32)
    padded[:rows] = values
    padded = padded.reshape(parts, block, columns)
    scale = np.maximum(np.abs(padded).max(axis=1) / 7, 1e-4)
    whole = np.clip(np.round(padded / scale[:, None]), -8, 7)
    whole = whole.reshape(-1, columns)[:rows]
    return whole.astype(np.int8), scale.astype(np.float32)


def int4_blocks(model, _source, block=32):
    """Weights of products are int4 in blocks, which a node dequantizes."""
    graph = model.graph
    before = {}
    for node, values in matrices(graph, block):
        name = node.input[1]
        whole, scale = quantize_blocks(values, block)
        add(graph, scale, name + "_scale")
        held = helper.make_tensor(
            name + "_q", TensorProto.INT4, whole.shape, whole.ravel().tolist()
        )
        graph.initializer.append(held)
        before[node.name or node.output[0]] = helper.make_node(
            "DequantizeLinear", [name + "_q", name + "_scale"], [name + "_f"],
            name + "_dq", axis=0, block_size=block,
        )  # fmt: skip
        node.input[1] = name + "_f"
    insert_before(graph, before)
    set_opset(model, 21)
    return model


def insert_before(graph, before):
    nodes = []
    for node in graph.node:
        made = before.get(node.name or node.output[0])
        nodes.extend(made if isinstance(made, list) else [made] if made else [])
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    drop_unused(graph)


def set_opset(model, opset):
    """Nodes of the stored models mean the same at these opsets."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            assert entry.version >= 17, entry.version
            entry.version = max(entry.version, opset)
    model.ir_version = max(model.ir_version, 10)


def nbits(model, _source, block=32):
    """Products with int4 weights as com.microsoft's MatMulNBits."""
    graph = model.graph
    for node, values in matrices(graph, block):
        rows, columns = values.shape
        if rows % block:
            continue
        whole, scale = quantize_blocks(values, block)
        stored = (whole + 8).astype(np.uint8).T
        stored = stored.reshape(columns, -1, block // 2, 2)
        name = node.input[1]
        add(graph, stored[..., 0] | stored[..., 1] << 4, name + "_q")
        add(graph, np.ascontiguousarray(scale.T), name + "_scale")
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        del node.input[1:]
        node.input.extend([name + "_q", name + "_scale"])
        for key, value in (
            ("K", rows), ("N", columns), ("bits", 4), ("block_size", block),
        ):  # fmt: skip
            node.attribute.append(helper.make_attribute(key, value))
    drop_unused(graph)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def fake_weights(model, source):
    """As after quantization-aware training: weights are floats, which nodes
    quantize."""
    made = static(model, source, per_channel=False)
    graph = made.graph
    held = {i.name: i for i in graph.initializer}
    before = {}
    for node in graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in held:
            continue
        stored = held[node.input[0]]
        if stored.data_type != TensorProto.INT8:
            continue
        scale = numpy_helper.to_array(held[node.input[1]])
        values = numpy_helper.to_array(stored).astype(np.float32) * scale
        name = stored.name + "_float"
        graph.initializer.append(numpy_helper.from_array(values, name))
        before[node.name] = helper.make_node(
            "QuantizeLinear", [name, *node.input[1:]], [name + "_q"],
            name + "_quantize",
        )  # fmt: skip
        node.input[0] = name + "_q"
    insert_before(graph, before)
    return made


def at_opset(opset, **options):
    def make(model, source):
        set_opset(model, opset)
        made = static(model, source, **options)
        set_opset(made, opset)
        return made

    return make


def fp8(model, source):
    """The integers of a static model become fp8 (E4M3) over the same range."""
    made = at_opset(19)(model, source)
    graph = made.graph
    kind, greatest = TensorProto.FLOAT8E4M3FN, 448
    held = {i.name: i for i in graph.initializer}
    scales, zeros = set(), set()
    for node in graph.node:
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            continue
        stored = held.get(node.input[0])
        if stored is not None and stored.data_type == TensorProto.INT32:
            continue
        scales.add(node.input[1])
        zeros.add(node.input[2])
        if stored is not None:
            values = numpy_helper.to_array(stored).astype(np.float32)
            values *= greatest / 127
            stored.CopyFrom(as_fp8(values, stored.name, kind))
    for name in scales:
        values = numpy_helper.to_array(held[name]) * np.float32(127 / greatest)
        held[name].CopyFrom(numpy_helper.from_array(values, name))
    for name in zeros:
        shape = list(held[name].dims)
        held[name].CopyFrom(as_fp8(np.zeros(shape, np.float32), name, kind))
    return made


def as_fp8(values, name, kind):
    return helper.make_tensor(name, kind, values.shape, values.ravel().tolist())


def half_scales(model, source):
    """Floats are fp16 already, scales too: the form that travels best."""
    return to_half(at_opset(19)(model, source), "DequantizeLinear")


def half_with_casts(model, source):
    """As torch exports it: fp16 around pairs with fp32 scales, and casts."""
    made = at_opset(19)(model, source)
    half = to_half(made, "")
    graph = half.graph
    before, after = {}, {}
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            name = node.input[0] + "_to_32_" + node.name
            before[node.name] = helper.make_node(
                "Cast", [node.input[0]], [name], name, to=TensorProto.FLOAT
            )
            node.input[0] = name
        elif node.op_type == "DequantizeLinear":
            kept, node.output[0] = node.output[0], node.output[0] + "_32"
            after[node.name] = helper.make_node(
                "Cast", [node.output[0]], [kept], kept + "_cast",
                to=TensorProto.FLOAT16,
            )  # fmt: skip
    nodes = []
    for node in graph.node:
        around = before.get(node.name), node, after.get(node.name)
        nodes += [each for each in around if each is not None]
    del graph.node[:]
    graph.node.extend(nodes)
    return half


def to_half(model, with_scales):
    """Float constants become fp16, scales only if `with_scales` is an operator;
    inputs and outputs get casts."""
    graph = model.graph
    scales = {
        name
        for node in graph.node
        if node.op_type in ("QuantizeLinear", "DequantizeLinear")
        for name in node.input[1:2]
    }
    for i in graph.initializer:
        is_kept = i.name in scales and not with_scales
        if i.data_type != TensorProto.FLOAT or is_kept:
            continue
        values = numpy_helper.to_array(i).astype(np.float16)
        i.CopyFrom(numpy_helper.from_array(values, i.name))
    fix_small_biases(graph)
    del graph.value_info[:]
    first, last = [], []
    for value, before in ((v, True) for v in graph.input):
        rename(graph, value.name, value.name + "_16")
        first.append(cast(value.name, value.name + "_16", TensorProto.FLOAT16))
    for value in graph.output:
        rename(graph, value.name, value.name + "_16")
        last.append(cast(value.name + "_16", value.name, TensorProto.FLOAT))
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def fix_small_biases(graph):
    """Makes fp16 constants of int32 biases, whose scales fp16 would lose."""
    held = {i.name: i for i in graph.initializer}
    kept = []
    for node in graph.node:
        stored = held.get(node.input[0]) if node.input else None
        is_bias = (
            node.op_type == "DequantizeLinear"
            and stored is not None
            and stored.data_type == TensorProto.INT32
        )
        if not is_bias:
            kept.append(node)
            continue
        scale = numpy_helper.to_array(held[node.input[1]]).astype(np.float32)
        values = numpy_helper.to_array(stored) * scale
        graph.initializer.append(
            numpy_helper.from_array(values.astype(np.float16), node.output[0])
        )
    del graph.node[:]
    graph.node.extend(kept)
    drop_unused(graph)


def rename(graph, old, new):
    for node in graph.node:
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                if name == old:
                    names[index] = new


def cast(source, result, to):
    return helper.make_node("Cast", [source], [result], result + "_cast", to=to)


def with_options(**options):
    return lambda model, source: static(model, source, **options)


RESNET, BERT, VIT = "resnet18_w8_op17", "bert_hf_op20", "vit_test_op20"
RECIPES = [
    Recipe("resnet-int8", RESNET, with_options()),
    Recipe("resnet-uint8-channels", RESNET,
           with_options(activations="QUInt8", per_channel=True)),
    Recipe("resnet-qoperator", RESNET,
           with_options(form="QOperator", activations="QUInt8")),
    Recipe("resnet-fake-weights", RESNET, fake_weights),
    Recipe("resnet-microsoft", RESNET,
           with_options(extra_options={"UseQDQContribOps": True})),
    Recipe("resnet-opset23", RESNET, at_opset(23)),
    Recipe("resnet-half-scales", RESNET, half_scales),
    Recipe("resnet-half-casts", RESNET, half_with_casts),
    Recipe("bert-int8", BERT, with_options(per_channel=True)),
    Recipe("bert-dynamic", BERT, dynamic),
    Recipe("vit-nbits", VIT, nbits),
    Recipe("vit-int16", VIT, at_opset(21, activations="QInt16")),
    Recipe("vit-int4-blocks", VIT, int4_blocks),
    Recipe("vit-fp8", VIT, fp8),
]  # fmt: skip


def make(recipe):
    """The quantized model, valid, and the inputs to run it on."""
    model = onnx.load(MODELS / recipe.source / "model.onnx")
    made = recipe.make(model, recipe.source)
    onnx.checker.check_model(made, full_check=True)
    return made, stored_inputs(recipe.source)
