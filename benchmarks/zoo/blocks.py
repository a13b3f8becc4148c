# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers of the zoo: encoders, decoders, and what goes wrong in them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from zoo.data import CLASSES, VOCABULARY


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight


class Attention(nn.Module):
    """`sharpness` multiplies the scores before softmax."""

    def __init__(self, width, heads, causal, sharpness=1.0, rotary=False):
        super().__init__()
        self.heads, self.causal, self.rotary = heads, causal, rotary
        self.scale = sharpness / math.sqrt(width // heads)
        self.inner = nn.Linear(width, 3 * width)
        self.outer = nn.Linear(width, width)

    def rotate(self, x):
        length, half = x.shape[-2], x.shape[-1] // 2
        speeds = 1e4 ** (-torch.arange(half) / half)
        angles = torch.arange(length)[:, None] * speeds
        first, second = x.chunk(2, -1)
        cosine, sine = angles.cos(), angles.sin()
        parts = first * cosine - second * sine, second * cosine + first * sine
        return torch.cat(parts, -1)

    def forward(self, x, mask=None):
        rows, length, width = x.shape
        shape = (rows, length, self.heads, width // self.heads)
        query, key, value = (
            part.reshape(shape).transpose(1, 2)
            for part in self.inner(x).chunk(3, -1)
        )
        if self.rotary:
            query, key = self.rotate(query), self.rotate(key)
        scores = query @ key.transpose(-1, -2) * self.scale
        if self.causal:
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -1e9)
        if mask is not None:
            scores = scores + mask
        mixed = (scores.softmax(-1) @ value).transpose(1, 2)
        return self.outer(mixed.reshape(rows, length, width))


class SwiGLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def perceptron(width, activation=nn.GELU):
    return nn.Sequential(
        nn.Linear(width, 4 * width), activation(), nn.Linear(4 * width, width)
    )


class Block(nn.Module):
    """Norms come first, or after the sums (`post`), as in BERT."""

    def __init__(self, attention, inner, norm, width, post=False):
        super().__init__()
        self.attention, self.inner, self.post = attention, inner, post
        self.first, self.second = norm(width), norm(width)

    def forward(self, x, mask=None):
        if self.post:
            x = self.first(x + self.attention(x, mask))
            return self.second(x + self.inner(x))
        x = x + self.attention(self.first(x), mask)
        return x + self.inner(self.second(x))


class GPT(nn.Module):
    """A decoder. `outlier` plants a channel that is that many times as large as
    the others into the residual stream; `gain` multiplies the logits."""

    def __init__(
        self, width=64, heads=4, layers=2, length=16, sharpness=1.0, gain=1.0,
        activation=nn.GELU, outlier=0.0, llama=False,
    ):  # fmt: skip
        super().__init__()
        norm = RMSNorm if llama else nn.LayerNorm
        self.gain, self.llama = gain, llama
        self.symbols = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.1)
        self.blocks = nn.ModuleList(
            Block(
                Attention(width, heads, True, sharpness, rotary=llama),
                SwiGLU(width) if llama else perceptron(width, activation),
                norm, width,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.norm = norm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        if llama:
            del self.positions
        if outlier:
            self.plant(outlier)

    @torch.no_grad()
    def plant(self, outlier):
        for block in self.blocks:
            block.first.weight[3] *= outlier
            block.inner[2].bias[5] += outlier

    def forward(self, ids):
        x = self.symbols(ids)
        if not self.llama:
            x = x + self.positions
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return logits * self.gain if self.gain != 1 else logits


class BERT(nn.Module):
    """An encoder with an additive mask of -10000."""

    def __init__(self, width=64, layers=2, length=16):
        super().__init__()
        self.symbols = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.1)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(
            Block(
                Attention(width, 4, False), perceptron(width), nn.LayerNorm,
                width, post=True,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids, mask):
        added = (1.0 - mask[:, None, None].float()) * -10000.0
        x = self.norm(self.symbols(ids) + self.positions)
        for block in self.blocks:
            x = block(x, added)
        return self.head(x)


class ViT(nn.Module):
    def __init__(self, width=64, layers=2, edge=16, patch=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        count = (edge // patch) ** 2
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.positions = nn.Parameter(torch.randn(count + 1, width) * 0.1)
        self.blocks = nn.ModuleList(
            Block(
                Attention(width, 4, False), perceptron(width), nn.LayerNorm,
                width,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        token = self.token.expand(x.shape[0], -1, -1)
        x = torch.cat([token, x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Mixer(nn.Module):
    """Perceptrons over patches and over channels in turns."""

    def __init__(self, width=48, layers=3, edge=16, patch=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        count = (edge // patch) ** 2
        self.over_patches = nn.ModuleList(
            perceptron(count) for _ in range(layers)
        )
        self.over_channels = nn.ModuleList(
            perceptron(width) for _ in range(layers)
        )
        self.norms = nn.ModuleList(
            nn.LayerNorm(width) for _ in range(2 * layers + 1)
        )
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        norms = iter(self.norms)
        for patches, channels in zip(self.over_patches, self.over_channels):
            turned = next(norms)(x).transpose(1, 2)
            x = x + patches(turned).transpose(1, 2)
            x = x + channels(next(norms)(x))
        return self.head(next(norms)(x).mean(1))
