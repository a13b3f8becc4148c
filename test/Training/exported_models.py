# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models in the forms that exporters write, and what torch trains in them.

Each function gives a Maker, which knows the model, a batch, the parameters
that torch's module has (names and first values) and the constants that are
none. Weights are drawn by seed; ones and zeros are as modules begin.
"""

import functools

import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx_models import inputs_of, make_model

DYNAMO, SCRIPT = "dynamo", "script"
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


class Maker:
    """Writes nodes as an exporter names them.

    With `merge` there is one initializer for all parameters that are equal, as
    torch's exporters keep one when they optimize.
    """

    def __init__(self, exporter=DYNAMO, merge=False, seed=0):
        self.exporter, self.merge = exporter, merge
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers, self.inputs = [], {}, {}
        self.parameters, self.constants = {}, {}
        self.count, self.output = 0, None

    # ---- values

    def normal(self, *shape, scale=0.5):
        return (self.rng.normal(size=shape) * scale).astype(np.float32)

    def input(self, name, array):
        self.inputs[name] = np.asarray(array)
        return name

    def parameter(self, name, array):
        """A parameter of torch's; what its value is called in the model."""
        array = np.asarray(array)
        self.parameters[name] = array
        if self.merge:
            for other, value in self.initializers.items():
                same = value.shape == array.shape and value.dtype == array.dtype
                if other in self.parameters and same and (value == array).all():
                    return other
        self.initializers[name] = array
        return name

    def constant(self, name, array):
        """A buffer, or what the exporter has folded."""
        self.initializers[name] = self.constants[name] = np.asarray(array)
        return name

    def number(self, value, module=""):
        """One that the program spells out: exporters name it themselves."""
        self.count += 1
        if self.exporter == SCRIPT:
            name = "/".join(["", *([module] if module else []), "Constant"])
            return self.constant(f"{name}_{self.count}_output_0", value)
        return self.constant(f"val_{self.count}", value)

    def integers(self, *values):
        self.count += 1
        name = f"val_{self.count}"
        self.initializers[name] = np.array(values, np.int64)
        return name

    # ---- nodes

    def name_node(self, op, module):
        self.count += 1
        if self.exporter == SCRIPT:
            name = "/".join(["", *([module] if module else []), op])
            return f"{name}_{self.count}", f"{name}_{self.count}_output_0"
        return f"node_{op}_{self.count}", f"{op.lower()}_{self.count}"

    def node(self, op, operands, module="", outputs=1, **attributes):
        """`module` is as in "encoder/layer.0/norm"."""
        name, result = self.name_node(op, module)
        results = [result, *[f"{result}_{i}" for i in range(1, outputs)]]
        node = helper.make_node(op, operands, results, name, **attributes)
        if self.exporter == DYNAMO:
            scopes, path = [""], ""
            for part in module.split("/") if module else []:
                path = f"{path}.{part}" if path else part
                scopes.append(path)
            scopes.append(name)
            node.metadata_props.add(
                key="pkg.torch.onnx.name_scopes", value=repr(scopes)
            )
        self.nodes.append(node)
        return result if outputs == 1 else results

    def linear(self, x, module, inner, outer, bias=True, weight=None):
        """As nn.Linear of a sequence: MatMul and Add."""
        scope = module.replace("/", ".")
        if weight is None:
            weight = self.normal(outer, inner)
        if self.exporter == SCRIPT:
            # Transposed when it was folded, and named for its use.
            self.count += 1
            weight = self.parameter(f"onnx::MatMul_{self.count}", weight.T.copy())
        else:
            weight = self.parameter(f"{scope}.weight", weight)
            weight = self.node("Transpose", [weight], module, perm=[1, 0])
        y = self.node("MatMul", [x, weight], module)
        if not bias:
            return y
        bias = self.parameter(f"{scope}.bias", np.zeros(outer, np.float32))
        return self.node("Add", [bias, y], module)

    def layer_norm(self, x, module, size):
        scope = module.replace("/", ".")
        scale = self.parameter(f"{scope}.weight", np.ones(size, np.float32))
        bias = self.parameter(f"{scope}.bias", np.zeros(size, np.float32))
        return self.node("LayerNormalization", [x, scale, bias], module, axis=-1)

    def finish(self, y):
        self.output = y
        return self

    def build(self, opset=20):
        made = make_model(
            self.nodes, inputs_of(self.inputs), self.output, self.initializers,
            opset, 10, name="main_graph",
        )  # fmt: skip
        made.producer_name = "pytorch"
        # Exporters write all shapes.
        return shape_inference.infer_shapes(made, strict_mode=True)


# ---- Transformers ----------------------------------------------------------


def sampled_angles(length, size):
    angles = np.outer(np.arange(length), 10000.0 ** -np.linspace(0, 1, size // 2))
    return np.concatenate([angles, angles], -1)[None]


def encoder(make):
    """BERT's: learned positions, fresh LayerNorms and biases, a padding mask."""
    ids = make.input("ids", make.rng.integers(0, 16, (2, 5)))
    mask = make.input("mask", np.array([[1] * 5, [1] * 3 + [0] * 2], np.float32))
    words = make.parameter("embeddings.words.weight", make.normal(16, 8))
    places = make.parameter("embeddings.places.weight", make.normal(6, 8))
    x = make.node("Gather", [words, ids], "embeddings/words")
    where = make.integers(0, 1, 2, 3, 4)
    where = make.node("Gather", [places, where], "embeddings/places")
    x = make.node("Add", [x, where], "embeddings")
    x = make.layer_norm(x, "embeddings/norm", 8)
    one = make.number(np.float32(1))
    lowest = make.number(np.finfo(np.float32).min)
    hidden = make.node("Sub", [one, mask])
    hidden = make.node("Mul", [hidden, lowest])
    hidden = make.node("Unsqueeze", [hidden, make.integers(1)])
    for index in range(2):
        layer = f"encoder/layer.{index}"
        parts = [
            make.linear(x, f"{layer}/attention/{part}", 8, 8)
            for part in ("query", "key", "value")
        ]
        y = attend(make, *parts, hidden, f"{layer}/attention")
        y = make.linear(y, f"{layer}/attention/out", 8, 8)
        y = make.node("Add", [y, x], layer)
        x = make.layer_norm(y, f"{layer}/norm", 8)
    return make.finish(x)


def attend(make, query, key, value, mask, module, size=8):
    key = make.node("Transpose", [key], module, perm=[0, 2, 1])
    scores = make.node("MatMul", [query, key], module)
    # Exporters write one element, of rank one.
    scale = make.number(np.array([size**-0.5], np.float32), module)
    scores = make.node("Mul", [scores, scale], module)
    scores = make.node("Add", [scores, mask], module)
    weights = make.node("Softmax", [scores], module, axis=-1)
    return make.node("MatMul", [weights, value], module)


def add_forms(function, *forms):
    """One model for each exporter, or EXPORTER_merged."""
    for form in forms:
        exporter, _, merge = form.partition("_")
        made = functools.partial(Maker, exporter, bool(merge))
        MODELS[f"{function.__name__}_{form}"] = lambda m=made: function(m())


add_forms(encoder, "dynamo", "dynamo_merged", "script", "script_merged")


def rms_norm(make, x, module):
    two = make.number(np.float32(2), module)
    small = make.number(np.float32(1e-6), module)
    y = make.node("Pow", [x, two], module)
    y = make.node("ReduceMean", [y, make.integers(-1)], module)
    y = make.node("Sqrt", [make.node("Add", [y, small], module)], module)
    y = make.node("Div", [x, y], module)
    name = module.replace("/", ".") + ".weight"
    weight = make.parameter(name, np.ones(8, np.float32))
    return make.node("Mul", [weight, y], module)


def rotate(make, x, module):
    first = make.node(
        "Slice", [x, *map(make.integers, (0, 4, 2))], module
    )
    second = make.node(
        "Slice", [x, *map(make.integers, (4, 8, 2))], module
    )
    second = make.node("Neg", [second], module)
    return make.node("Concat", [second, first], module, axis=-1)


def decoder(make, length=10):
    """Llama's: RoPE by folded tables, a causal mask, a tied head."""
    ids = make.input("ids", make.rng.integers(0, 16, (2, length)))
    table = make.parameter("model.embed_tokens.weight", make.normal(16, 8))
    x = make.node("Gather", [table, ids], "model/embed_tokens")
    angles = sampled_angles(length, 8)
    cos = make.constant("cos", np.cos(angles).astype(np.float32))
    sin = make.constant("sin", np.sin(angles).astype(np.float32))
    lowest = np.finfo(np.float32).min
    mask = np.triu(np.full((length, length), lowest), 1).astype(np.float32)[None]
    mask = make.constant("causal_mask", mask)
    for index in range(2):
        layer = f"model/layers.{index}"
        y = rms_norm(make, x, f"{layer}/input_layernorm")
        parts = []
        for part in ("q_proj", "k_proj", "v_proj"):
            made = make.linear(y, f"{layer}/self_attn/{part}", 8, 8, bias=False)
            if part != "v_proj":
                turned = rotate(make, made, f"{layer}/self_attn")
                made = make.node(
                    "Add",
                    [
                        make.node("Mul", [made, cos], f"{layer}/self_attn"),
                        make.node("Mul", [turned, sin], f"{layer}/self_attn"),
                    ],
                    f"{layer}/self_attn",
                )
            parts.append(made)
        y = attend(make, *parts, mask, f"{layer}/self_attn")
        x = make.node("Add", [x, y], layer)
    x = rms_norm(make, x, "model/norm")
    head = make.node("Transpose", [table], "lm_head", perm=[1, 0])
    return make.finish(make.node("MatMul", [x, head], "lm_head"))


add_forms(decoder, "dynamo", "script", "script_merged")


@model
def decoder_of_few_positions():
    """Tables too short to look like waves: their squares make up 1."""
    return decoder(Maker(DYNAMO), length=5)


@model
def rope_of_frequencies():
    """The tables are computed in the graph, from inv_freq and positions."""
    make = Maker()
    x = make.input("x", make.normal(2, 5, 8))
    inverse = (10000.0 ** -np.linspace(0, 1, 4)).astype(np.float32)
    inverse = make.constant("rotary_emb.inv_freq", inverse[None])
    places = make.node("Shape", [x])
    length = make.node("Gather", [places, make.integers(1)])
    length = make.node("Squeeze", [length])
    make.initializers["zero"] = np.array(0, np.int64)
    make.initializers["delta"] = np.array(1, np.int64)
    places = make.node("Range", ["zero", length, "delta"], "rotary_emb")
    places = make.node("Cast", [places], "rotary_emb", to=1)
    places = make.node("Unsqueeze", [places, make.integers(1)], "rotary_emb")
    angles = make.node("MatMul", [places, inverse], "rotary_emb")
    angles = make.node("Concat", [angles, angles], "rotary_emb", axis=-1)
    cos = make.node("Cos", [angles], "rotary_emb")
    sin = make.node("Sin", [angles], "rotary_emb")
    query = make.linear(x, "q_proj", 8, 8)
    y = make.node("Mul", [query, cos])
    z = make.node("Mul", [rotate(make, query, ""), sin])
    return make.finish(make.node("Add", [y, z]))


@model
def relative_bias():
    """Swin's: a learned table, read by a constant index; shifted masks."""
    make = Maker()
    x = make.input("x", make.normal(2, 4, 8))
    table = make.parameter("attn.relative_position_bias_table", make.normal(9, 1))
    index = np.array([4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4])
    bias = make.node("Gather", [table, make.integers(*index)], "attn")
    bias = make.node("Reshape", [bias, make.integers(1, 4, 4)], "attn")
    mask = np.zeros((2, 4, 4), np.float32)
    mask[1, :2, 2:] = mask[1, 2:, :2] = -100
    mask = make.constant("attn_mask", mask)
    parts = [make.linear(x, f"attn/{p}", 8, 8) for p in ("q", "k", "v")]
    both = make.node("Add", [bias, mask], "attn")
    y = attend(make, *parts, both, "attn")
    return make.finish(make.linear(y, "head", 8, 3))


@model
def alibi():
    """Bloom's slopes, times positions."""
    make = Maker()
    x = make.input("x", make.normal(2, 10, 8))
    slopes = make.constant("slopes", np.array([[[0.25]], [[0.0625]]], np.float32))
    places = make.constant(
        "arange", np.arange(10, dtype=np.float32).reshape(1, 1, 10)
    )
    bias = make.node("Mul", [slopes, places], "attention")
    parts = [make.linear(x, f"attention/{p}", 8, 8) for p in ("q", "k", "v")]
    y = attend(make, *parts, bias, "attention")
    return make.finish(make.linear(y, "head", 8, 3))


# ---- Images ----------------------------------------------------------------


@model
def vision_transformer():
    """A class token and positions from zeros, LayerScale from 1e-5, GELU."""
    make = Maker()
    image = make.input("image", make.normal(2, 3, 4, 4, scale=1.0))
    kernel = make.parameter("patch_embed.proj.weight", make.normal(8, 3, 2, 2))
    bias = make.parameter("patch_embed.proj.bias", make.normal(8))
    x = make.node(
        "Conv", [image, kernel, bias], "patch_embed/proj", strides=[2, 2]
    )
    x = make.node("Reshape", [x, make.integers(2, 8, 4)], "patch_embed")
    x = make.node("Transpose", [x], "patch_embed", perm=[0, 2, 1])
    token = make.parameter("cls_token", np.zeros((1, 1, 8), np.float32))
    token = make.node("Expand", [token, make.integers(2, 1, 8)])
    x = make.node("Concat", [token, x], axis=1)
    places = make.parameter("pos_embed", np.zeros((1, 5, 8), np.float32))
    x = make.node("Add", [x, places])
    y = make.layer_norm(x, "blocks.0/norm1", 8)
    y = gelu(make, make.linear(y, "blocks.0/mlp/fc1", 8, 16), "blocks.0/mlp/act")
    y = make.linear(y, "blocks.0/mlp/fc2", 16, 8)
    gamma = np.full(8, 1e-5, np.float32)
    gamma = make.parameter("blocks.0.ls1.gamma", gamma)
    y = make.node("Mul", [y, gamma], "blocks.0/ls1")
    return make.finish(make.node("Add", [x, y], "blocks.0"))


def gelu(make, x, module):
    root = make.number(np.array([2**0.5], np.float32), module)
    one = make.number(np.array([1], np.float32), module)
    half = make.number(np.array([0.5], np.float32), module)
    y = make.node("Erf", [make.node("Div", [x, root], module)], module)
    y = make.node("Mul", [x, make.node("Add", [y, one], module)], module)
    return make.node("Mul", [y, half], module)


@model
def batch_norms():
    """In training mode; running statistics begin as ones and zeros, too."""
    make = Maker(SCRIPT, merge=True)
    x = make.input("x", make.normal(3, 4, 6, 6, scale=1.0))
    for index in range(2):
        name = f"layers.{index}"
        kernel = make.parameter(f"{name}.conv.weight", make.normal(4, 4, 3, 3))
        x = make.node("Conv", [x, kernel], f"{name}/conv", pads=[1] * 4)
        scale = make.parameter(f"{name}.norm.weight", np.ones(4, np.float32))
        bias = make.parameter(f"{name}.norm.bias", np.zeros(4, np.float32))
        mean = f"{name}.norm.running_mean"
        make.initializers[mean] = np.zeros(4, np.float32)
        variance = f"{name}.norm.running_var"
        make.initializers[variance] = np.ones(4, np.float32)
        x, _, _ = make.node(
            "BatchNormalization", [x, scale, bias, mean, variance],
            f"{name}/norm", outputs=3, training_mode=1,
        )  # fmt: skip
        x = make.node("Relu", [x], f"{name}/act")
    return make.finish(x)


@model
def upsampling():
    """Scales of Resize, and an empty roi."""
    make = Maker()
    x = make.input("x", make.normal(2, 3, 4, 4))
    first = make.parameter("first.weight", make.normal(4, 3, 3, 3))
    x = make.node("Conv", [x, first], "first", pads=[1] * 4)
    roi = make.constant("roi", np.zeros(0, np.float32))
    scales = make.constant("scales", np.array([1, 1, 2, 2], np.float32))
    x = make.node("Resize", [x, roi, scales], "up", mode="nearest")
    last = make.parameter("last.weight", make.normal(3, 4, 3, 3))
    return make.finish(make.node("Conv", [x, last], "last", pads=[1] * 4))


@model
def group_norm():
    """As dynamo writes it below opset 21: CastLike in front of the scale."""
    make = Maker()
    x = make.input("x", make.normal(2, 3, 4, 4))
    kernel = make.parameter("conv.weight", make.normal(4, 3, 3, 3))
    x = make.node("Conv", [x, kernel], "conv", pads=[1] * 4)
    ones = make.number(np.ones(2, np.float32))
    zeros = make.number(np.zeros(2, np.float32))
    y = make.node("Reshape", [x, make.integers(0, 2, -1)], "norm")
    y = make.node("InstanceNormalization", [y, ones, zeros], "norm")
    y = make.node("Reshape", [y, make.integers(2, 4, 4, 4)], "norm")
    scale = make.parameter("norm.weight", np.ones(4, np.float32))
    bias = make.parameter("norm.bias", np.zeros(4, np.float32))
    axes = make.integers(1, 2)
    scale = make.node("Unsqueeze", [scale, axes], "norm")
    bias = make.node("Unsqueeze", [bias, axes], "norm")
    scale = make.node("CastLike", [scale, y], "norm")
    y = make.node("Mul", [y, scale], "norm")
    bias = make.node("CastLike", [bias, y], "norm")
    return make.finish(make.node("Add", [y, bias], "norm"))


@model
def mask_token():
    """A learned token in the place of what is hidden; fixed sines."""
    make = Maker()
    x = make.input("x", make.normal(2, 10, 8))
    mask = make.input("mask", np.arange(20).reshape(2, 10, 1) % 3 == 0)
    token = make.parameter("mask_token", np.zeros((1, 1, 8), np.float32))
    x = make.linear(x, "embed", 8, 8)
    x = make.node("Where", [mask, token, x])
    table = np.sin(sampled_angles(10, 8)).astype(np.float32)
    x = make.node("Add", [x, make.constant("positions.table", table)])
    return make.finish(make.linear(x, "head", 8, 8))


# ---- Sound, fields, graphs -------------------------------------------------


@model
def spectrogram():
    """The basis of a Fourier transform is the weight of a convolution."""
    make = Maker()
    x = make.input("x", make.normal(2, 1, 64))
    angles = 2 * np.pi * np.outer(np.arange(9), np.arange(16)) / 16
    basis = np.concatenate([np.cos(angles), -np.sin(angles)]) * np.hanning(16)
    basis = make.constant("stft.basis", basis[:, None].astype(np.float32))
    parts = make.node("Conv", [x, basis], "stft", strides=[8])
    power = make.node("Mul", [parts, parts], "stft")
    small = make.number(np.float32(1e-3))
    power = make.node("Log", [make.node("Add", [power, small], "stft")], "stft")
    kernel = make.parameter("mix.weight", make.normal(4, 18, 3))
    bias = make.parameter("mix.bias", make.normal(4))
    return make.finish(make.node("Conv", [power, kernel, bias], "mix"))


@model
def radiance_field():
    """2^k pi of the encoding, 1e10 as the last distance, ones and zeros."""
    make = Maker()
    points = make.input("points", make.normal(3, 4, 1))
    bands = make.constant(
        "bands", (2.0 ** np.arange(4) * np.pi).astype(np.float32)
    )
    angles = make.node("Mul", [points, bands])
    x = make.node(
        "Concat", [make.node("Sin", [angles]), make.node("Cos", [angles])], axis=-1
    )
    x = make.node("Relu", [make.linear(x, "first", 8, 8)])
    density = make.node("Relu", [make.linear(x, "density", 8, 1)])
    steps = np.full((1, 4, 1), 0.1, np.float32)
    steps[:, -1] = 1e10
    density = make.node("Mul", [density, make.constant("distances", steps)])
    clear = make.node("Exp", [make.node("Neg", [density])])
    alpha = make.node("Sub", [make.number(np.float32(1)), clear])
    color = make.node("Sigmoid", [make.linear(x, "color", 8, 3)])
    color = make.node("Mul", [alpha, color])
    return make.finish(
        make.node("ReduceSum", [color, make.integers(1)], keepdims=0)
    )


@model
def message_passing():
    """index_add into zeros, ones that count, -1e9 for what is hidden."""
    make = Maker()
    x = make.input("x", make.normal(4, 8))
    edges = make.input("edges", np.array([[0, 1], [1, 2], [2, 0], [3, 0]]))
    source = make.node("Gather", [edges, "first"], axis=1)
    target = make.node("Gather", [edges, "second"], axis=1)
    make.initializers["first"] = np.array(0, np.int64)
    make.initializers["second"] = np.array(1, np.int64)
    index = make.node("Unsqueeze", [target, make.integers(1)])
    messages = make.linear(make.node("Gather", [x, source]), "message", 8, 8)
    zeros = make.constant("zeros", np.zeros((4, 8), np.float32))
    total = make.node("ScatterND", [zeros, index, messages], reduction="add")
    none = make.constant("zeros_like", np.zeros((4, 1), np.float32))
    ones = make.constant("ones", np.ones((4, 1), np.float32))
    count = make.node("ScatterND", [none, index, ones], reduction="add")
    scores = make.linear(make.node("Add", [x, total]), "head", 8, 4)
    hidden = make.constant("masked", np.full((4, 4), -1e9, np.float32))
    is_there = make.node("Greater", [count, make.number(np.float32(0))])
    scores = make.node("Where", [is_there, scores, hidden])
    return make.finish(make.node("Softmax", [scores], axis=-1))


@model
def recurrent():
    """First states of zeros are no parameters."""
    make = Maker()
    words = make.input("words", make.rng.integers(0, 16, (5, 2)))
    table = make.parameter("words.weight", make.normal(16, 4))
    x = make.node("Gather", [table, words], "words")
    weight = make.parameter("lstm.weight_ih", make.normal(1, 12, 4))
    inner = make.parameter("lstm.weight_hh", make.normal(1, 12, 3))
    bias = make.parameter("lstm.bias", np.zeros((1, 24), np.float32))
    first = make.constant("h0", np.zeros((1, 2, 3), np.float32))
    cell = make.constant("c0", np.zeros((1, 2, 3), np.float32))
    x, _, _ = make.node(
        "LSTM", [x, weight, inner, bias, "", first, cell], "lstm", outputs=3,
        hidden_size=3,
    )  # fmt: skip
    x = make.node("Squeeze", [x, make.integers(1)], "lstm")
    return make.finish(make.linear(x, "head", 3, 4))


# ---- Gates and forms of weights --------------------------------------------


@model
def gates():
    """ReZero, PReLU, a scalar, LoRA from zeros, weight_norm."""
    make = Maker()
    x = make.input("x", make.normal(3, 8))
    alpha = make.parameter("alpha", np.zeros(1, np.float32))
    y = make.node("Tanh", [make.linear(x, "inner", 8, 8)])
    x = make.node("Add", [x, make.node("Mul", [alpha, y])])
    slope = make.parameter("prelu.weight", np.full(8, 0.25, np.float32))
    x = make.node("PRelu", [x, slope], "prelu")
    low = make.linear(x, "lora_A", 8, 2, bias=False)
    zeros = np.zeros((8, 2), np.float32)
    low = make.linear(low, "lora_B", 2, 8, bias=False, weight=zeros)
    low = make.node("Mul", [low, make.number(np.float32(2))])
    x = make.node("Add", [make.linear(x, "base", 8, 8), low])
    direction = make.parameter("normed.weight_v", make.normal(8, 8))
    length = make.parameter("normed.weight_g", np.full((8, 1), 2, np.float32))
    norm = make.node("ReduceL2", [direction, make.integers(1)], "normed")
    weight = make.node("Div", [direction, norm], "normed")
    weight = make.node("Mul", [length, weight], "normed")
    weight = make.node("Transpose", [weight], "normed", perm=[1, 0])
    x = make.node("MatMul", [x, weight], "normed")
    scale = make.parameter("logit_scale", np.float32(np.log(1 / 0.07)))
    return make.finish(make.node("Mul", [x, make.node("Exp", [scale])]))


@model
def constant_nodes():
    """Weights in Constant nodes, and behind Identity, Transpose and Cast."""
    make = Maker(SCRIPT)
    x = make.input("x", make.normal(3, 4))
    first = make.normal(4, 4)
    make.nodes.append(
        helper.make_node("Constant", [], ["fc1.weight"], "Constant_0",
                         value=numpy_helper.from_array(first, "v"))
    )  # fmt: skip
    make.parameters["fc1.weight"] = first
    x = make.node("MatMul", [x, "fc1.weight"], "fc1")
    bias = make.parameter("fc1.bias", make.normal(4))
    bias = make.node("Identity", [bias], "fc1")
    x = make.node("Relu", [make.node("Add", [x, bias], "fc1")])
    second = make.normal(4, 4).astype(np.float16)
    second = make.parameter("fc2.weight", second)
    second = make.node("Cast", [second], "fc2", to=1)
    second = make.node("Transpose", [second], "fc2", perm=[1, 0])
    return make.finish(make.node("MatMul", [x, second], "fc2"))


def cast_model(dtype, to):
    make = Maker()
    x = make.input("x", make.normal(3, 4))
    x = make.node("Cast", [x], to=to)
    weight = make.parameter("fc.weight", make.normal(4, 4).astype(dtype))
    bias = make.parameter("fc.bias", make.normal(4).astype(dtype))
    x = make.node("Gemm", [x, weight, bias], "fc", transB=1)
    return make.finish(make.node("Cast", [x], to=1))


@model
def half_weights():
    return cast_model(np.float16, TensorProto.FLOAT16)


@model
def double_weights():
    return cast_model(np.float64, TensorProto.DOUBLE)
