#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Synthetic models for measuring time and memory, seeded and repeatable.

Names: four (four nodes), chain1k, chain20k, chain100k, chain1m (a chain of
that many small nodes), gpt124, gpt1b (decoders of 124 M and 0.9 G parameters,
weights in one external file), encoder12 (12 layers of width 768 over 128
tokens, for training), encoder3n, encoder12n, encoder48n (the same, narrow), encoder6
(6 layers of width 512), resnet18 (for images of 224 pixels), resnet18t (the
same, its BatchNormalization as in training), resnet50, mobilenetv3t
(MobileNetV3-large) and efficientnett (EfficientNet-B0), both as in training
and for images of 128 pixels.
Default: four, chain1k, chain20k, chain100k and gpt124.
"""

import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 22, 10


class Graph:
    """Nodes and initializers as they are added."""

    def __init__(self):
        self.nodes, self.initializers = [], []
        self.random = np.random.default_rng(0)

    def weight(self, name, *shape, scale=0.02):
        values = self.random.standard_normal(shape, dtype=np.float32)
        return self.constant(name, values * np.float32(scale))

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op_type, inputs, output, more_outputs=(), **attributes):
        outputs = [output, *more_outputs]
        self.nodes.append(
            helper.make_node(
                op_type, inputs, outputs, name=f"{output}/node", **attributes
            )
        )
        return output

    def model(self, name, inputs, outputs):
        graph = helper.make_graph(
            self.nodes, name, inputs, outputs, self.initializers
        )
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION
        )


def linear(graph, value, name, inner, outer):
    """A product and a bias."""
    weight = graph.weight(f"{name}_weight", inner, outer)
    bias = graph.weight(f"{name}_bias", outer)
    product = graph.add("MatMul", [value, weight], f"{name}_product")
    return graph.add("Add", [product, bias], name)


def attention(graph, prefix, hidden, width):
    heads = {}
    for part in "qkv":
        weight = graph.weight(f"{prefix}w_{part}", width, width)
        flat = graph.add("MatMul", [hidden, weight], f"{prefix}{part}_flat")
        split = graph.add("Reshape", [flat, "to_heads"], f"{prefix}{part}_4d")
        order = [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]
        heads[part] = graph.add(
            "Transpose", [split], f"{prefix}{part}", perm=order
        )
    scores = graph.add("MatMul", [heads["q"], heads["k"]], f"{prefix}qk")
    scaled = graph.add("Div", [scores, "sqrt_head"], f"{prefix}scaled")
    weights = graph.add("Softmax", [scaled], f"{prefix}probs", axis=-1)
    mixed = graph.add("MatMul", [weights, heads["v"]], f"{prefix}mixed")
    joined = graph.add(
        "Transpose", [mixed], f"{prefix}joined", perm=[0, 2, 1, 3]
    )
    flat = graph.add("Reshape", [joined, "to_width"], f"{prefix}flat")
    weight = graph.weight(f"{prefix}w_o", width, width)
    return graph.add("MatMul", [flat, weight], f"{prefix}out")


def normalize(graph, value, name, width):
    scale = graph.weight(f"{name}_scale", width)
    shift = graph.weight(f"{name}_shift", width)
    return graph.add(
        "LayerNormalization",
        [value, scale, shift],
        name,
        axis=-1,
        epsilon=1e-5,
    )


def feed_forward(graph, prefix, hidden, width):
    weight = graph.weight(f"{prefix}w_up", width, 4 * width)
    up = graph.add("MatMul", [hidden, weight], f"{prefix}up")
    active = graph.add("Gelu", [up], f"{prefix}gelu")
    weight = graph.weight(f"{prefix}w_down", 4 * width, width)
    return graph.add("MatMul", [active, weight], f"{prefix}down")


def decoder(layers, width, vocabulary, head=64):
    graph = Graph()
    graph.constant("to_heads", np.array([0, 0, width // head, head]))
    graph.constant("to_width", np.array([0, 0, width]))
    graph.constant("sqrt_head", np.array(head**0.5, np.float32))
    table = graph.weight("embedding", vocabulary, width)
    value = graph.add("Gather", [table, "ids"], "embedded")
    for layer in range(layers):
        p = f"layer{layer}_"
        hidden = normalize(graph, value, f"{p}norm1", width)
        mixed = attention(graph, p, hidden, width)
        value = graph.add("Add", [value, mixed], f"{p}residual1")
        hidden = normalize(graph, value, f"{p}norm2", width)
        mixed = feed_forward(graph, p, hidden, width)
        value = graph.add("Add", [value, mixed], f"{p}residual2")
    weight = graph.weight("w_head", width, vocabulary)
    graph.add("MatMul", [value, weight], "logits")
    info = helper.make_tensor_value_info
    return graph.model(
        "decoder",
        [info("ids", TensorProto.INT64, ["batch", "sequence"])],
        [info("logits", TensorProto.FLOAT, ["batch", "sequence", vocabulary])],
    )


def attend(graph, p, hidden, width):
    """Attention with biases, as exporters write out that of an encoder."""
    heads = {}
    for part in "qkv":
        flat = linear(graph, hidden, f"{p}{part}_flat", width, width)
        split = graph.add("Reshape", [flat, "to_heads"], f"{p}{part}_4d")
        order = [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]
        heads[part] = graph.add("Transpose", [split], f"{p}{part}", perm=order)
    scores = graph.add("MatMul", [heads["q"], heads["k"]], f"{p}qk")
    scaled = graph.add("Div", [scores, "sqrt_head"], f"{p}scaled")
    masked = graph.add("Add", [scaled, "mask_4d"], f"{p}masked")
    weights = graph.add("Softmax", [masked], f"{p}probs", axis=-1)
    mixed = graph.add("MatMul", [weights, heads["v"]], f"{p}mixed")
    joined = graph.add("Transpose", [mixed], f"{p}joined", perm=[0, 2, 1, 3])
    flat = graph.add("Reshape", [joined, "to_width"], f"{p}flat")
    return linear(graph, flat, f"{p}out", width, width)


def encoder(layers, width, vocabulary, tokens=128, head=64, dropout=0.0):
    """Token numbers and a mask in, scores of two classes out."""
    graph = Graph()
    graph.constant("to_heads", np.array([0, 0, width // head, head]))
    graph.constant("to_width", np.array([0, 0, width]))
    graph.constant("sqrt_head", np.array(head**0.5, np.float32))
    graph.constant("mask_axes", np.array([1, 2]))
    graph.constant("first", np.array(0))
    graph.constant("ratio", np.array(dropout, np.float32))
    graph.constant("training", np.array(True))

    def drop(value):
        if not dropout:
            return value
        return graph.add("Dropout", [value, "ratio", "training"], f"{value}_d")

    graph.add("Unsqueeze", ["mask", "mask_axes"], "mask_4d")
    table = graph.weight("embedding", vocabulary, width)
    words = graph.add("Gather", [table, "ids"], "words")
    places = graph.weight("positions", tokens, width)
    value = graph.add("Add", [words, places], "embedded")
    value = drop(normalize(graph, value, "norm0", width))
    for layer in range(layers):
        p = f"layer{layer}_"
        mixed = drop(attend(graph, p, value, width))
        value = graph.add("Add", [value, mixed], f"{p}residual1")
        value = normalize(graph, value, f"{p}norm1", width)
        up = linear(graph, value, f"{p}up", width, 4 * width)
        active = graph.add("Gelu", [up], f"{p}gelu")
        down = drop(linear(graph, active, f"{p}down", 4 * width, width))
        value = graph.add("Add", [value, down], f"{p}residual2")
        value = normalize(graph, value, f"{p}norm2", width)
    pooled = graph.add("Gather", [value, "first"], "pooled", axis=1)
    linear(graph, pooled, "scores", width, 2)
    info = helper.make_tensor_value_info
    return graph.model(
        "encoder",
        [
            info("ids", TensorProto.INT64, ["batch", tokens]),
            info("mask", TensorProto.FLOAT, ["batch", tokens]),
        ],
        [info("scores", TensorProto.FLOAT, ["batch", 2])],
    )


def convolve(graph, value, name, sizes, stride=1, group=1):
    """Filters of `sizes` (outer, inner, width), around each value."""
    outer, inner, width = sizes
    scale = (2 / (inner * width * width)) ** 0.5
    weight = graph.weight(
        f"{name}.weight", outer, inner, width, width, scale=scale
    )
    return graph.add(
        "Conv", [value, weight], name, pads=[width // 2] * 4,
        strides=[stride] * 2, kernel_shape=[width] * 2, group=group,
    )


def normalize_batch(graph, value, name, width, is_training):
    parts = {"weight": 1, "bias": 0, "running_mean": 0, "running_var": 1}
    operands = [
        graph.constant(f"{name}.{part}", np.full(width, fill, np.float32))
        for part, fill in parts.items()
    ]
    statistics = [f"{name}.mean", f"{name}.var"] if is_training else []
    return graph.add(
        "BatchNormalization", [value, *operands], name, statistics,
        training_mode=int(is_training),
    )


def residual_block(graph, value, name, sizes, stride, is_training):
    """Two convolutions of width 3 beside the value or a projection of it."""
    outer, inner = sizes

    def normalized(source, conv, norm, width, *stride):
        inside = inner if source == value else outer
        made = convolve(graph, source, conv, (outer, inside, width), *stride)
        return normalize_batch(graph, made, norm, outer, is_training)

    inside = normalized(value, f"{name}.c1", f"{name}.b1", 3, stride)
    inside = graph.add("Relu", [inside], f"{name}.r1")
    inside = normalized(inside, f"{name}.c2", f"{name}.b2", 3)
    if stride != 1 or inner != outer:
        value = normalized(value, f"{name}.sc.0", f"{name}.sc.1", 1, stride)
    total = graph.add("Add", [inside, value], f"{name}.sum")
    return graph.add("Relu", [total], f"{name}.r2")


def bottleneck_block(graph, value, name, sizes, stride, is_training):
    """Convolutions of width 1, 3 and 1 beside the value or a projection."""
    outer, inner = sizes
    narrow = outer // 4
    inside, last = value, inner
    shapes = [(narrow, 1, 1), (narrow, 3, stride), (outer, 1, 1)]
    for i, (width, taps, step) in enumerate(shapes, 1):
        inside = convolve(
            graph, inside, f"{name}.c{i}", (width, last, taps), step
        )
        inside = normalize_batch(
            graph, inside, f"{name}.b{i}", width, is_training
        )
        last = width
        if i < 3:
            inside = graph.add("Relu", [inside], f"{name}.r{i}")
    if stride != 1 or inner != outer:
        value = convolve(
            graph, value, f"{name}.sc.0", (outer, inner, 1), stride
        )
        value = normalize_batch(
            graph, value, f"{name}.sc.1", outer, is_training
        )
    total = graph.add("Add", [inside, value], f"{name}.sum")
    return graph.add("Relu", [total], f"{name}.r3")


RESNET18 = {
    "widths": [64, 64, 128, 128, 256, 256, 512, 512],
    "strides": [1, 1, 2, 1, 2, 1, 2, 1],
}
RESNET50 = {
    "widths": [256] * 3 + [512] * 4 + [1024] * 6 + [2048] * 3,
    "strides": [1] * 3 + [2] + [1] * 3 + [2] + [1] * 5 + [2] + [1] * 2,
    "block": bottleneck_block,
    "stem": 64,
}


def resnet(
    widths, strides, classes=1000, pixels=224, is_training=False,
    block=residual_block, stem=None,
):
    """Residual blocks behind the stem for big images: pictures in, scores of
    classes out. Names are those of torch_models.py."""
    graph = Graph()
    stem = stem or widths[0]
    value = convolve(graph, "x", "c", (stem, 3, 7), stride=2)
    value = normalize_batch(graph, value, "b", stem, is_training)
    value = graph.add("Relu", [value], "r")
    value = graph.add(
        "MaxPool", [value], "pool", kernel_shape=[3, 3], strides=[2, 2],
        pads=[1, 1, 1, 1],
    )
    inner = [stem, *widths]
    for i, stride in enumerate(strides):
        sizes = (widths[i], inner[i])
        value = block(graph, value, f"l{i + 1}", sizes, stride, is_training)
    classify(graph, pool(graph, value), "scores", widths[-1], classes)
    return image_model(graph, "resnet", pixels, classes)


def pool(graph, value):
    value = graph.add("GlobalAveragePool", [value], "average")
    return graph.add("Flatten", [value], "flat")


def classify(graph, value, name, inner, outer):
    prefix = "fc" if name == "scores" else name
    weight = graph.weight(f"{prefix}.weight", outer, inner)
    bias = graph.weight(f"{prefix}.bias", outer)
    return graph.add("Gemm", [value, weight, bias], name, transB=1)


def image_model(graph, name, pixels, classes):
    info = helper.make_tensor_value_info
    return graph.model(
        name,
        [info("x", TensorProto.FLOAT, ["batch", 3, pixels, pixels])],
        [info("scores", TensorProto.FLOAT, ["batch", classes])],
    )


def silu(graph, value, name):
    factor = graph.add("Sigmoid", [value], f"{name}.factor")
    return graph.add("Mul", [value, factor], name)


def activate(graph, value, name, kind):
    if kind == "Silu":
        return silu(graph, value, name)
    return graph.add(kind, [value], name)


def unit(graph, value, name, sizes, kind, stride=1, group=1):
    """A convolution, its normalization as in training, an activation."""
    value = convolve(graph, value, f"{name}.c", sizes, stride, group)
    value = normalize_batch(graph, value, f"{name}.b", sizes[0], True)
    return activate(graph, value, f"{name}.a", kind) if kind else value


def squeeze(graph, value, name, sizes, kinds):
    """Channels times a factor that all channels' averages decide."""
    outer, inner = sizes
    factor = graph.add("GlobalAveragePool", [value], f"{name}.average")
    widths = [(inner, outer), (outer, inner)]
    for i, (width, last) in enumerate(widths):
        weight = graph.weight(f"{name}.{i}.weight", width, last, 1, 1)
        bias = graph.weight(f"{name}.{i}.bias", width)
        factor = graph.add("Conv", [factor, weight, bias], f"{name}.{i}")
        factor = activate(graph, factor, f"{name}.{i}.a", kinds[i])
    return graph.add("Mul", [value, factor], f"{name}.scaled")


def inverted_block(graph, value, name, block):
    """A wide depthwise convolution between narrow values."""
    inner, wide, outer = block["sizes"]
    kind, inside = block["kind"], value
    if wide != inner:
        inside = unit(graph, inside, f"{name}.up", (wide, inner, 1), kind)
    inside = unit(
        graph, inside, f"{name}.taps", (wide, 1, block["taps"]), kind,
        block["stride"], wide,
    )
    if block["squeezed"]:
        inside = squeeze(
            graph, inside, f"{name}.se", (wide, block["squeezed"]),
            block["gates"],
        )
    inside = unit(graph, inside, f"{name}.down", (outer, wide, 1), None)
    if block["stride"] != 1 or inner != outer:
        return inside
    return graph.add("Add", [inside, value], f"{name}.sum")


# Taps, width inside, width, whether channels are squeezed, activation, stride.
MOBILENETV3 = [
    (3, 16, 16, False, "Relu", 1), (3, 64, 24, False, "Relu", 2),
    (3, 72, 24, False, "Relu", 1), (5, 72, 40, True, "Relu", 2),
    (5, 120, 40, True, "Relu", 1), (5, 120, 40, True, "Relu", 1),
    (3, 240, 80, False, "HardSwish", 2), (3, 200, 80, False, "HardSwish", 1),
    (3, 184, 80, False, "HardSwish", 1), (3, 184, 80, False, "HardSwish", 1),
    (3, 480, 112, True, "HardSwish", 1), (3, 672, 112, True, "HardSwish", 1),
    (5, 672, 160, True, "HardSwish", 2), (5, 960, 160, True, "HardSwish", 1),
    (5, 960, 160, True, "HardSwish", 1),
]


def mobilenetv3(pixels=128, classes=1000):
    """MobileNetV3-large as in training, after torchvision's."""
    graph = Graph()
    value = unit(graph, "x", "stem", (16, 3, 3), "HardSwish", stride=2)
    inner = 16
    for i, (taps, wide, outer, squeezed, kind, stride) in enumerate(
        MOBILENETV3
    ):
        block = {
            "sizes": (inner, wide, outer), "taps": taps, "kind": kind,
            "stride": stride, "gates": ("Relu", "HardSigmoid"),
            # A quarter, to the nearest multiple of eight.
            "squeezed": (wide // 4 + 4) // 8 * 8 if squeezed else 0,
        }
        value = inverted_block(graph, value, f"l{i}", block)
        inner = outer
    value = unit(graph, value, "top", (960, inner, 1), "HardSwish")
    value = classify(graph, pool(graph, value), "wide", 960, 1280)
    value = graph.add("HardSwish", [value], "wide.a")
    classify(graph, value, "scores", 1280, classes)
    return image_model(graph, "mobilenetv3", pixels, classes)


# Times wider inside, taps, stride, width, blocks.
EFFICIENTNET = [
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1),
]


def efficientnet(pixels=128, classes=1000):
    """EfficientNet-B0 as in training, after torchvision's, no block dropped."""
    graph = Graph()
    value = unit(graph, "x", "stem", (32, 3, 3), "Silu", stride=2)
    inner = 32
    for stage, (times, taps, stride, outer, count) in enumerate(EFFICIENTNET):
        for i in range(count):
            block = {
                "sizes": (inner, times * inner, outer), "taps": taps,
                "kind": "Silu", "stride": 1 if i else stride,
                "gates": ("Silu", "Sigmoid"), "squeezed": inner // 4,
            }
            value = inverted_block(graph, value, f"l{stage}.{i}", block)
            inner = outer
    value = unit(graph, value, "top", (1280, inner, 1), "Silu")
    classify(graph, pool(graph, value), "scores", 1280, classes)
    return image_model(graph, "efficientnet", pixels, classes)


def chain(length, width=16):
    graph = Graph()
    weights = [
        graph.weight(f"w{i}", width, width, scale=0.2) for i in range(8)
    ]
    value = "x"
    for i in range(length // 4):
        product = graph.add("MatMul", [value, weights[i % 8]], f"m{i}")
        active = graph.add("Relu", [product], f"r{i}")
        total = graph.add("Add", [active, value], f"a{i}")
        value = graph.add("Softmax", [total], f"s{i}")
    info = helper.make_tensor_value_info
    return graph.model(
        "chain",
        [info("x", TensorProto.FLOAT, ["batch", width])],
        [info(value, TensorProto.FLOAT, ["batch", width])],
    )


MODELS = {
    "four": lambda: chain(4),
    "chain1k": lambda: chain(1_000),
    "chain20k": lambda: chain(20_000),
    "chain100k": lambda: chain(100_000),
    "chain1m": lambda: chain(1_000_000),
    "gpt124": lambda: decoder(12, 768, 32000),
    "gpt1b": lambda: decoder(24, 1600, 50257),
    "encoder12": lambda: encoder(12, 768, 30522),
    "encoder3n": lambda: encoder(3, 64, 100, head=16),
    "encoder12n": lambda: encoder(12, 64, 100, head=16),
    "encoder48n": lambda: encoder(48, 64, 100, head=16),
    "encoder6": lambda: encoder(6, 512, 1000),
    "resnet18": lambda: resnet(**RESNET18),
    "resnet18t": lambda: resnet(**RESNET18, is_training=True),
    "resnet50": lambda: resnet(**RESNET50),
    "mobilenetv3t": mobilenetv3,
    "efficientnett": efficientnet,
}
DEFAULT = ["four", "chain1k", "chain20k", "chain100k", "gpt124"]
EXTERNAL = {"gpt124", "gpt1b", "encoder12"}


def make(name, folder):
    """Write a model unless it is there; its path."""
    path = os.path.join(folder, f"{name}.onnx")
    if os.path.exists(path):
        return path
    os.makedirs(folder, exist_ok=True)
    model = MODELS[name]()
    # The model file last: its presence says that the data is complete.
    options = {}
    if name in EXTERNAL:
        data = f"{name}.onnx.data"
        if os.path.exists(os.path.join(folder, data)):
            os.remove(os.path.join(folder, data))
        options = {"save_as_external_data": True, "location": data}
    onnx.save_model(model, path + ".part", **options)
    os.replace(path + ".part", path)
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="OUT_DIR")
    parser.add_argument("names", metavar="NAME", nargs="*")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in MODELS:
            parser.error(f"unknown model '{name}': expected {', '.join(MODELS)}")
    for name in arguments.names or DEFAULT:
        print(make(name, arguments.folder))


if __name__ == "__main__":
    main()
