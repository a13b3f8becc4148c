# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of the zoo that are not transformers: convolutions, recurrences, and
models with one place each that 16 bit does not hold."""

import torch
import torch.nn.functional as F
from torch import nn

from zoo.data import CLASSES, VOCABULARY


class MLP(nn.Module):
    """`first` multiplies one input."""

    def __init__(self, inputs=144, width=128, depth=4, first=1.0):
        super().__init__()
        self.first = first
        sizes = [inputs, *[width] * (depth - 1), CLASSES]
        self.layers = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])
        )

    def forward(self, x):
        x = x.flatten(1)
        if self.first != 1:
            x = torch.cat([x[:, :1] * self.first, x[:, 1:]], 1)
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)


def convolution(inputs, outputs, size=3, stride=1):
    return nn.Conv2d(
        inputs, outputs, size, stride, padding=size // 2, bias=False
    )


class ConvNet(nn.Module):
    """BatchNorm and max pooling."""

    def __init__(self, widths=(16, 32, 32)):
        super().__init__()
        sizes = [3, *widths]
        self.layers = nn.ModuleList(map(convolution, sizes, sizes[1:]))
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, widths))
        self.head = nn.Linear(widths[-1], CLASSES)

    def forward(self, x):
        for index, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            x = norm(layer(x)).relu()
            if index < 2:
                x = F.max_pool2d(x, 2)
        return self.head(x.mean((2, 3)))


class VGG(nn.Module):
    """Biases in place of norms, three poolings, two large layers at the end."""

    def __init__(self):
        super().__init__()
        sizes = [3, 16, 16, 32, 32, 48, 48]
        self.layers = nn.ModuleList(
            nn.Conv2d(a, b, 3, padding=1) for a, b in zip(sizes, sizes[1:])
        )
        self.first, self.second = nn.Linear(192, 96), nn.Linear(96, CLASSES)

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x).relu()
            if index % 2:
                x = F.max_pool2d(x, 2)
        return self.second(self.first(x.flatten(1)).relu())


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = convolution(inputs, outputs, 3, stride)
        self.second = convolution(outputs, outputs)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(2))
        self.skip = nn.Identity()
        if stride > 1:
            self.skip = convolution(inputs, outputs, 1, stride)

    def forward(self, x):
        inner = self.norms[0](self.first(x)).relu()
        return (self.norms[1](self.second(inner)) + self.skip(x)).relu()


class ResNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem, self.norm = convolution(3, width), nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(
            Residual(width, width, 1), Residual(width, 2 * width, 2),
            Residual(2 * width, 4 * width, 2),
        )  # fmt: skip
        self.head = nn.Linear(4 * width, CLASSES)

    def forward(self, x):
        x = self.blocks(self.norm(self.stem(x)).relu())
        return self.head(x.mean((2, 3)))


class Dense(nn.Module):
    """Each layer reads all layers before it."""

    def __init__(self, growth=12, layers=5):
        super().__init__()
        self.stem = convolution(3, growth)
        widths = [growth * (k + 1) for k in range(layers)]
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, widths))
        self.layers = nn.ModuleList(convolution(w, growth) for w in widths)
        self.head = nn.Linear(growth * (layers + 1), CLASSES)

    def forward(self, x):
        x = self.stem(x)
        for index, (norm, layer) in enumerate(zip(self.norms, self.layers)):
            x = torch.cat([x, layer(norm(x).relu())], 1)
            if index == 2:
                x = F.avg_pool2d(x, 2)
        return self.head(x.mean((2, 3)))


class ConvNeXt(nn.Module):
    """Depthwise convolutions, LayerNorm over channels, scales of layers."""

    def __init__(self, width=32, layers=3):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        self.depthwise = nn.ModuleList(
            nn.Conv2d(width, width, 7, padding=3, groups=width)
            for _ in range(layers)
        )
        self.inner = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(layers)
        )  # fmt: skip
        self.scales = nn.ParameterList(
            nn.Parameter(torch.full((width,), 0.1)) for _ in range(layers)
        )
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.norm(self.stem(x).permute(0, 2, 3, 1))
        for depthwise, inner, scale in zip(
            self.depthwise, self.inner, self.scales
        ):
            mixed = depthwise(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
            x = x + scale * inner(mixed)
        return self.head(self.last(x.mean((1, 2))))


class UNet(nn.Module):
    """GroupNorm, SiLU, a resize, and a skip connection; a class per cell."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, stride=2)
        self.down = nn.Conv2d(width, 2 * width, 3, padding=1, stride=2)
        self.middle = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up = nn.Conv2d(3 * width, width, 3, padding=1)
        self.norms = nn.ModuleList(
            nn.GroupNorm(4, w) for w in (width, 2 * width, 2 * width, width)
        )
        self.head = nn.Conv2d(width, CLASSES, 2, 2)

    def forward(self, x):
        norms = self.norms
        fine = F.silu(norms[0](self.stem(x)))
        coarse = F.silu(norms[1](self.down(fine)))
        coarse = F.silu(norms[2](self.middle(coarse))) + coarse
        larger = F.interpolate(coarse, scale_factor=2.0, mode="nearest")
        joined = torch.cat([larger, fine], 1)
        return self.head(F.silu(norms[3](self.up(joined))))


class LSTM(nn.Module):
    """The operator LSTM of ONNX."""

    def __init__(self, width=48):
        super().__init__()
        self.symbols = nn.Embedding(VOCABULARY, width)
        self.cells = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        return self.head(self.cells(self.symbols(ids))[0])


class UnrolledLSTM(nn.Module):
    """Gates written out, step after step."""

    def __init__(self, width=48):
        super().__init__()
        self.width = width
        self.symbols = nn.Embedding(VOCABULARY, width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(width, 4 * width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        x = self.inner(self.symbols(ids))
        hidden = cell = torch.zeros(ids.shape[0], self.width)
        states = []
        for step in range(ids.shape[1]):
            gates = x[:, step] + self.outer(hidden)
            admit, keep, new, show = gates.chunk(4, -1)
            cell = keep.sigmoid() * cell + admit.sigmoid() * new.tanh()
            hidden = show.sigmoid() * cell.tanh()
            states.append(hidden)
        return self.head(torch.stack(states, 1))


class UnrolledGRU(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.width = width
        self.symbols = nn.Embedding(VOCABULARY, width)
        self.inner = nn.Linear(width, 3 * width)
        self.outer = nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        x = self.inner(self.symbols(ids))
        hidden = torch.zeros(ids.shape[0], self.width)
        states = []
        for step in range(ids.shape[1]):
            reset, update, new = x[:, step].chunk(3, -1)
            by = self.outer(hidden).chunk(3, -1)
            mixed = (new + (reset + by[0]).sigmoid() * by[2]).tanh()
            share = (update + by[1]).sigmoid()
            hidden = (1 - share) * mixed + share * hidden
            states.append(hidden)
        return self.head(torch.stack(states, 1))


class Siren(nn.Module):
    """Sines of 30 times a sum: values that 16 bit takes to other phases."""

    def __init__(self, width=64, speed=30.0):
        super().__init__()
        self.speed = speed
        sizes = [2, width, width, 3]
        self.layers = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])
        )

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.sin(self.speed * layer(x))
        return self.layers[-1](x)


# ---- One place that 16 bit does not hold -----------------------------------


class Variance(nn.Module):
    """Normalizes by E[x^2] - E[x]^2 of values with a large mean."""

    def __init__(self, mean=30.0):
        super().__init__()
        self.mean = mean
        self.first, self.second = nn.Linear(144, 128), nn.Linear(128, 64)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = self.first(x.flatten(1)) + self.mean
        mean = x.mean(1, keepdim=True)
        variance = (x * x).mean(1, keepdim=True) - mean * mean
        normal = (x - mean) / torch.sqrt(variance + 1e-5)
        return self.head(self.second(normal).tanh())


class Large(nn.Module):
    """Activations of one layer reach 1e5; the next layer divides them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(144, 128), nn.Linear(128, 64)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = self.first(x.flatten(1)) * 5e4
        return self.head(self.second(x.relu() * 2e-5).tanh())


class LongSum(nn.Module):
    """Sums 36,864 terms, and divides by their number afterwards."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = F.interpolate(x, scale_factor=16.0, mode="nearest")
        return self.head(self.first(x).relu().sum((2, 3)) / 36864.0)


class SmallDivisor(nn.Module):
    """Divides by a norm that is zero for a dead unit, plus an input of 1e-9."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(144, 96), nn.Linear(96, 64)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, x, epsilon):
        x = self.first(x.flatten(1)) * 1e-4
        size = x.square().mean(1, keepdim=True)
        normal = x / torch.sqrt(size + epsilon)
        return self.head(self.second(normal).tanh())


class Euler(nn.Module):
    """24 small updates of one value: each is rounded to the same side."""

    def __init__(self, size=16, steps=24):
        super().__init__()
        self.steps = steps
        self.first, self.second = nn.Linear(size, 32), nn.Linear(32, size)

    def forward(self, x):
        for _ in range(self.steps):
            x = x + self.second(self.first(x).tanh()) / self.steps
        return x
