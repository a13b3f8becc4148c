# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data that small networks can learn from, made from a fixed seed.

A source is called with a number of rows and a generator of torch, and returns
the tuple of a model's inputs and the labels of its loss.
"""

import torch
import torch.nn.functional as F

CLASSES = 10
VOCABULARY = 128
MASK_TOKEN, PADDING = 1, 0
# The seed of what all batches have in common: prototypes, a language.
COMMON_SEED = 3


def generator(seed):
    return torch.Generator().manual_seed(seed)


class Images:
    """A smooth prototype for each class, and noise: x [rows, channels, edge,
    edge], labels [rows]."""

    def __init__(self, channels=3, edge=16, classes=CLASSES, noise=0.7):
        self.noise, self.classes = noise, classes
        coarse = torch.randn(
            classes, channels, 5, 5, generator=generator(COMMON_SEED)
        )
        self.prototypes = F.interpolate(coarse, (edge, edge), mode="bilinear")

    def __call__(self, rows, random):
        labels = torch.randint(self.classes, (rows,), generator=random)
        clean = self.prototypes[labels]
        noise = torch.randn(clean.shape, generator=random)
        return (clean + self.noise * noise,), labels


class Maps:
    """Images made of two halves of different classes; a label for each cell of
    `cell` pixels: labels [rows, edge / cell, edge / cell]."""

    def __init__(self, edge=32, cell=4):
        self.images, self.cells = Images(3, edge), edge // cell

    def __call__(self, rows, random):
        (left,), first = self.images(rows, random)
        (right,), second = self.images(rows, random)
        half = left.shape[-1] // 2
        x = torch.cat([left[..., :half], right[..., half:]], -1)
        sides = [
            labels[:, None, None].expand(-1, self.cells, self.cells // 2)
            for labels in (first, second)
        ]
        return (x,), torch.cat(sides, -1).contiguous()


class Texts:
    """Chains of symbols, a few of which are likely after each: ids and labels,
    the symbols that follow, [rows, length]."""

    def __init__(self, length=16, vocabulary=VOCABULARY):
        self.length = length
        random = generator(COMMON_SEED)
        scores = 3 * torch.randn(vocabulary, vocabulary, generator=random)
        # Common and rare symbols, as in a language.
        scores -= torch.arange(1, vocabulary + 1).log()
        # Special symbols do not occur in the chains.
        scores[:, :2] = -1e9
        self.chances = scores.softmax(-1)

    def chain(self, rows, random):
        first = torch.randint(2, len(self.chances), (rows,), generator=random)
        symbols = [first]
        for _ in range(self.length):
            chances = self.chances[symbols[-1]]
            drawn = torch.multinomial(chances, 1, generator=random)[:, 0]
            symbols.append(drawn)
        return torch.stack(symbols, 1)

    def __call__(self, rows, random):
        symbols = self.chain(rows, random)
        return (symbols[:, :-1].contiguous(),), symbols[:, 1:].contiguous()


class MaskedTexts(Texts):
    """Chains of different lengths with hidden symbols: ids and mask [rows,
    length], int64; labels are the chains without hidden symbols."""

    def __call__(self, rows, random):
        labels = self.chain(rows, random)[:, :-1].contiguous()
        hidden = torch.rand(labels.shape, generator=random) < 0.15
        lengths = torch.randint(
            self.length // 2, self.length + 1, (rows, 1), generator=random
        )
        mask = (torch.arange(self.length) < lengths).long()
        ids = labels.masked_fill(hidden, MASK_TOKEN)
        labels = labels.masked_fill(mask == 0, PADDING)
        return (ids.masked_fill(mask == 0, PADDING), mask), labels


class PaddedTexts(Texts):
    """Chains of different lengths: ids and mask [rows, length], int64; labels
    are the symbols that follow."""

    def __call__(self, rows, random):
        symbols = self.chain(rows, random)
        lengths = torch.randint(
            self.length // 2, self.length + 1, (rows, 1), generator=random
        )
        mask = (torch.arange(self.length) < lengths).long()
        ids = symbols[:, :-1].masked_fill(mask == 0, PADDING)
        labels = symbols[:, 1:].masked_fill(mask == 0, PADDING)
        return (ids, mask), labels


class Translations(Texts):
    """Two sequences: ids, and the symbols that have been written so far. The
    translation of a symbol is its neighbour."""

    def __call__(self, rows, random):
        ids = self.chain(rows, random)[:, :-1].contiguous()
        labels = ids ^ 1
        first = torch.full((rows, 1), PADDING)
        return (ids, torch.cat([first, labels[:, :-1]], 1)), labels


class Sounds:
    """Spectra of tones in noise, as logarithms: x [rows, bands, times], labels
    [rows]: which tone."""

    def __init__(self, bands=80, times=64, classes=CLASSES):
        self.bands, self.times, self.classes = bands, times, classes

    def __call__(self, rows, random):
        labels = torch.randint(self.classes, (rows,), generator=random)
        centre = (labels + 0.5) * self.bands / self.classes
        band = torch.arange(self.bands)[None, :, None]
        time = torch.arange(self.times)[None, None]
        drift = 2 * torch.sin(time / 9 + labels[:, None, None])
        distance = band - centre[:, None, None] - drift
        noise = torch.randn((rows, self.bands, self.times), generator=random)
        return (2 * torch.exp(-(distance**2) / 8) - 1 + 0.3 * noise,), labels


class Points:
    """A function of `inputs` numbers: x [rows, inputs], labels [rows, 3]."""

    def __init__(self, inputs=2):
        self.inputs = inputs

    def __call__(self, rows, random):
        x = 2 * torch.rand((rows, self.inputs), generator=random) - 1
        phase = x.sum(-1, keepdim=True) * torch.tensor([3.0, 5.0, 7.0])
        return (x,), torch.sin(phase) * (1 - x[:, :1] ** 2)


class States:
    """States of a linear system with damping, and those after some time: x and
    labels [rows, size]."""

    def __init__(self, size=16):
        random = generator(COMMON_SEED)
        turn = torch.randn(size, size, generator=random) / size**0.5
        self.size = size
        damping = 0.1 * torch.eye(size)
        self.system = torch.matrix_exp((turn - turn.T) / 2 - damping)

    def __call__(self, rows, random):
        x = torch.randn((rows, self.size), generator=random)
        return (x,), x @ self.system


class WithEpsilon:
    """The inputs of another source, and a small number that the model adds to a
    divisor."""

    def __init__(self, source, epsilon):
        self.source, self.epsilon = source, epsilon

    def __call__(self, rows, random):
        inputs, labels = self.source(rows, random)
        return (*inputs, torch.tensor([self.epsilon])), labels
