# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measured models as torch modules, with the weights of the ONNX ones.

The parameters of a module are named as the initializers of its model are, so
that the weights (an npz that compiled_models.py writes) can be loaded as they
are; those of make_models.py's encoder are renamed.
"""

import re

import image_networks
import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.count = len(widths) - 1
        for i in range(self.count):
            layer = nn.Linear(widths[i], widths[i + 1])
            self.add_module(f"fc{i + 1}", layer)

    def forward(self, x):
        for i in range(1, self.count):
            x = functional.relu(self.get_submodule(f"fc{i}")(x))
        return self.get_submodule(f"fc{self.count}")(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (
            nn.Linear(width, width) for _ in range(4)
        )

    def forward(self, x, mask):
        def split(value):
            return value.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(
            split(self.q(x)), split(self.k(x)), split(self.v(x)), mask
        )
        return self.o(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width, inner, heads, eps):
        super().__init__()
        self.att = Attention(width, heads)
        self.n1 = nn.LayerNorm(width, eps)
        self.i = nn.Linear(width, inner)
        self.o = nn.Linear(inner, width)
        self.n2 = nn.LayerNorm(width, eps)

    def forward(self, x, mask):
        x = self.n1(x + self.att(x, mask))
        return self.n2(x + self.o(functional.gelu(self.i(x))))


class Transformer(nn.Module):
    """Encoder whose first position is classified. With `kinds`, as BERT: kinds
    of tokens, a mask of ones and zeros, a layer between encoder and scores."""

    def __init__(
        self, vocabulary, tokens, width, inner, heads, layers, classes,
        kinds=0, eps=1e-5,
    ):
        super().__init__()
        self.tok = nn.Embedding(vocabulary, width)
        self.pos = nn.Embedding(tokens, width)
        self.typ = nn.Embedding(kinds, width) if kinds else None
        self.n = nn.LayerNorm(width, eps)
        self.layers = nn.ModuleList(
            Layer(width, inner, heads, eps) for _ in range(layers)
        )
        self.pool = nn.Linear(width, width) if kinds else None
        self.cls = nn.Linear(width, classes)

    def forward(self, ids, mask, kinds=None):
        x = self.tok(ids) + self.pos.weight
        mask = mask[:, None, None, :]
        if self.typ:
            x = x + self.typ(kinds)
            mask = (1 - mask.to(x.dtype)) * torch.finfo(x.dtype).min
        x = self.n(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = x.select(1, 0)
        return self.cls(torch.tanh(self.pool(x)) if self.pool else x)


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.c1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(outer)
        self.c2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(outer)
        self.sc = None
        if stride != 1 or inner != outer:
            conv = nn.Conv2d(inner, outer, 1, stride, bias=False)
            self.sc = nn.Sequential(conv, nn.BatchNorm2d(outer))

    def forward(self, x):
        y = functional.relu(self.b1(self.c1(x)))
        return functional.relu(
            self.b2(self.c2(y)) + (self.sc(x) if self.sc else x)
        )


class ResNet(nn.Module):
    """With `pool`, the stem of models for big images."""

    def __init__(self, widths, strides, classes, pool=False):
        super().__init__()
        kernel, stride, pad = (7, 2, 3) if pool else (3, 1, 1)
        self.c = nn.Conv2d(3, widths[0], kernel, stride, pad, bias=False)
        self.b = nn.BatchNorm2d(widths[0])
        self.pool = nn.MaxPool2d(3, 2, 1) if pool else nn.Identity()
        inner = [widths[0], *widths]
        self.count = len(widths)
        for i in range(self.count):
            block = Block(inner[i], widths[i], strides[i])
            self.add_module(f"l{i + 1}", block)
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = self.pool(functional.relu(self.b(self.c(x))))
        for i in range(self.count):
            x = self.get_submodule(f"l{i + 1}")(x)
        return self.fc(x.mean((2, 3)))


class CausalAttention(nn.Module):
    """Queries, keys and values by one product; a token sees those before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.o = nn.Linear(width, width)

    def forward(self, x):
        def split(value):
            return value.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        query, key, value = map(split, self.qkv(x).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True
        )
        return self.o(mixed.transpose(1, 2).flatten(2))


class DecoderLayer(nn.Module):
    """Normalized before attention and before the inner layer."""

    def __init__(self, width, heads):
        super().__init__()
        self.n1 = nn.LayerNorm(width)
        self.att = CausalAttention(width, heads)
        self.n2 = nn.LayerNorm(width)
        self.i = nn.Linear(width, 4 * width)
        self.o = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.att(self.n1(x))
        gelu = functional.gelu(self.i(self.n2(x)), approximate="tanh")
        return x + self.o(gelu)


class Decoder(nn.Module):
    """As GPT-2: scores of the next token, by the table of embeddings. Scores
    of all tokens of a batch are rows of one matrix."""

    def __init__(self, vocabulary, tokens, width, heads, layers):
        super().__init__()
        self.tok = nn.Embedding(vocabulary, width)
        self.pos = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(
            DecoderLayer(width, heads) for _ in range(layers)
        )
        self.n = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tok.weight
        for part in self.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                nn.init.normal_(part.weight, std=0.02)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight
        for layer in self.layers:
            x = layer(x)
        return self.head(self.n(x)).flatten(0, 1)


CLASSES = {
    "mlp": Mlp, "transformer": Transformer, "decoder": Decoder,
    "resnet": ResNet,
}
ENCODER_NAMES = [
    (r"^embedding$", "tok.weight"),
    (r"^positions$", "pos.weight"),
    (r"^norm0_", "n."),
    (r"^scores_", "cls."),
    (r"^layer(\d+)_", r"layers.\1."),
    (r"\.([qkv])_flat_", r".att.\1."),
    (r"\.out_", ".att.o."),
    (r"\.norm(\d)_", r".n\1."),
    (r"\.up_", ".i."),
    (r"\.down_", ".o."),
    (r"\.scale$", ".weight"),
    (r"\.shift$", ".bias"),
]


def rename(name):
    for pattern, new in ENCODER_NAMES:
        name = re.sub(pattern, new, name)
    return name


def make(kind, options, weights, is_training=False):
    """A module with the weights of the npz file `weights`."""
    if kind == "network":
        return image_networks.make(**options, is_training=is_training)
    module = CLASSES[kind](**options)
    state = module.state_dict()
    left = {n for n in state if not n.endswith("num_batches_tracked")}
    for name, values in np.load(weights).items():
        new = rename(name)
        if new not in state:
            continue
        # The second operand of a MatMul; torch's names have a dot.
        if name.endswith("_weight"):
            values = values.T
        state[new].copy_(torch.from_numpy(np.array(values)))
        left.remove(new)
    if left:
        raise KeyError(f"weights of {', '.join(sorted(left))}")
    return module
