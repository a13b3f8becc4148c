# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of the zoo that torch exports: network, data, exporter.

Names end on the kind of weights: fresh ones, or those after some steps of Adam.
HELD_OUT are for judging finished code: nothing was chosen by them.
"""

import dataclasses
import functools
from collections.abc import Callable

from torch import nn

from zoo import blocks, data, networks, packages

SCORES = "softmax-cross-entropy"
# Scores of language models are [rows, length, symbols].
SYMBOLS = "softmax-cross-entropy:class-axis=2"
BOTH = ("fresh", "trained")


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    family: str
    make: Callable
    source: Callable
    loss: str = SCORES
    # "script" is torch's older exporter.
    exporter: str = "dynamo"
    opset: int = 20
    weights: tuple = BOTH
    rows: int = 8
    steps: int = 150
    rate: float = 2e-3
    seed: int = 0
    # Leaves the number of rows open.
    is_open: bool = False
    # Makes a training step as well.
    trains: bool = True

    def class_axis(self):
        _, _, axis = self.loss.partition("class-axis=")
        return int(axis or 1)


def with_settings(make, **settings):
    return functools.partial(make, **settings)


# With noise that leaves some mistakes: gradients do not vanish.
GREY = data.Images(channels=1, edge=12, noise=2.5)
COLOR = data.Images(noise=3.0)
MEDIUM = data.Images(edge=32, noise=4.0)
LARGE = data.Images(edge=64, noise=2.0)
TEXT = data.Texts()


def plain_recipes():
    """One of each class of networks."""
    gpt, image, text = blocks.GPT, dict(source=COLOR), dict(loss=SYMBOLS)
    script = dict(exporter="script", opset=17)
    yield Recipe("mlp", "mlp", networks.MLP, GREY, is_open=True, **script)
    yield Recipe("convnet", "conv", networks.ConvNet, **image, opset=18)
    yield Recipe("resnet", "conv", networks.ResNet, **image, **script)
    yield Recipe("convnext", "conv", networks.ConvNeXt, **image, opset=21)
    yield Recipe("unet", "conv", networks.UNet, data.Maps(), opset=19,
                 exporter="script")  # fmt: skip
    yield Recipe("vit", "transformer", blocks.ViT, **image, opset=20)
    yield Recipe("bert", "transformer", blocks.BERT, data.MaskedTexts(),
                 **text, **script, is_open=True)  # fmt: skip
    yield Recipe("gpt", "transformer", gpt, TEXT, **text, opset=22)
    yield Recipe("llama", "transformer", with_settings(gpt, llama=True), TEXT,
                 **text, opset=18)  # fmt: skip
    yield Recipe("lstm", "recurrent", networks.LSTM, TEXT, **text, **script)
    yield Recipe("lstm-unrolled", "recurrent", networks.UnrolledLSTM, TEXT,
                 **text, opset=18)  # fmt: skip
    yield Recipe("gru-unrolled", "recurrent", networks.UnrolledGRU, TEXT,
                 **text, exporter="script", opset=18)  # fmt: skip


def planted_recipes():
    """Networks with a place that 16 bit does not hold."""
    gpt, text = blocks.GPT, dict(loss=SYMBOLS)
    script = dict(exporter="script", opset=17)
    yield Recipe("gpt-logits", "planted",
                 with_settings(gpt, sharpness=12.0, gain=20.0), TEXT, **text)
    yield Recipe("gpt-outlier", "planted", with_settings(gpt, outlier=60.0),
                 TEXT, **text, exporter="script", opset=20)  # fmt: skip
    yield Recipe("mlp-outlier", "planted",
                 with_settings(networks.MLP, first=1000.0), GREY, opset=18)
    yield Recipe("variance", "planted", networks.Variance, GREY, **script)
    yield Recipe("large", "planted", networks.Large, GREY, opset=22)
    yield Recipe("long-sum", "planted", networks.LongSum, GREY, **script,
                 rate=2e-2)  # fmt: skip
    yield Recipe("small-divisor", "planted", networks.SmallDivisor,
                 data.WithEpsilon(GREY, 1e-9), opset=18)  # fmt: skip
    yield Recipe("siren", "planted", networks.Siren, data.Points(),
                 loss="mse", opset=20, rows=64, rate=1e-3)  # fmt: skip
    yield Recipe("euler", "planted", networks.Euler, data.States(),
                 loss="mse", opset=21, rows=32)  # fmt: skip


def transformers_recipes():
    text = dict(loss=SYMBOLS, source=data.MaskedTexts())
    script = dict(exporter="script", opset=17)
    yield Recipe("hf-bert", "transformers", packages.bert, **text, opset=20)
    yield Recipe("hf-bert-12", "transformers", packages.bert_deep, **text,
                 **script, weights=("trained",), steps=80)  # fmt: skip
    yield Recipe("hf-distilbert", "transformers", packages.distilbert, **text,
                 opset=22, weights=("fresh",))  # fmt: skip
    # A size that costs are judged by.
    yield Recipe("hf-bert-wide", "transformers", packages.bert_wide, **text,
                 **script, weights=("fresh",))  # fmt: skip
    padded = dict(loss=SYMBOLS, source=data.PaddedTexts())
    yield Recipe("hf-gpt2", "transformers", packages.gpt2, **padded, **script,
                 is_open=True)  # fmt: skip
    # A thousand nodes.
    yield Recipe("hf-gpt2-8", "transformers",
                 with_settings(packages.gpt2, layers=8), **padded, **script,
                 weights=("fresh",), is_open=True)  # fmt: skip
    yield Recipe("hf-llama", "transformers", packages.llama, **padded,
                 opset=21, weights=("trained",))  # fmt: skip
    yield Recipe("hf-whisper", "transformers", packages.whisper,
                 data.Sounds(40, 64), exporter="script", opset=18,
                 weights=("trained",))  # fmt: skip
    yield Recipe("hf-vit", "transformers", packages.vit, MEDIUM, opset=18,
                 weights=("trained",))  # fmt: skip


def timm_recipes():
    image = dict(
        source=LARGE, family="timm", rows=4, steps=60, rate=1e-3,
    )  # fmt: skip
    small = dict(image, source=MEDIUM, rows=8, steps=100)
    # Networks that begin to learn late.
    slow = dict(image, steps=150, rate=3e-3)
    timm = packages.timm_model
    script = dict(exporter="script", opset=17)
    yield Recipe("timm-resnet10t", make=timm("resnet10t"), **image, opset=20,
                 weights=("trained",))  # fmt: skip
    # Another one: convolutions.
    yield Recipe("timm-resnet18", make=timm("resnet18"), **image, **script,
                 is_open=True, weights=("fresh",))  # fmt: skip
    yield Recipe("timm-mobilenetv3", make=timm("mobilenetv3_small_050"),
                 **slow, opset=18, weights=("trained",))  # fmt: skip
    yield Recipe("timm-efficientnet-lite", make=timm("efficientnet_lite0"),
                 **slow, **script, weights=("trained",))  # fmt: skip
    yield Recipe("timm-convnext-atto", make=timm("convnext_atto"), **image,
                 opset=21, weights=("fresh",))  # fmt: skip
    yield Recipe("timm-test-efficientnet", make=timm("test_efficientnet"),
                 **image, exporter="script", opset=20)  # fmt: skip
    yield Recipe("timm-vit", make=packages.timm_vit, **small, opset=18,
                 weights=("trained",))  # fmt: skip
    yield Recipe("timm-swin", make=packages.timm_swin, **small, opset=20,
                 weights=("trained",))  # fmt: skip


def held_out_recipes():
    gpt, trained = blocks.GPT, dict(weights=("trained",), seed=7)
    fresh = dict(weights=("fresh",), seed=7)
    text, script = dict(loss=SYMBOLS), dict(exporter="script", opset=17)
    narrow = with_settings(networks.ResNet, width=10)
    yield Recipe("vgg", "conv", networks.VGG, COLOR, **trained, opset=18)
    yield Recipe("mixer", "transformer", blocks.Mixer, COLOR, **trained)
    yield Recipe("gpt-relu", "transformer",
                 with_settings(gpt, activation=nn.ReLU), TEXT, **text,
                 **trained, **script)  # fmt: skip
    yield Recipe("dense", "conv", networks.Dense, COLOR, **fresh, opset=21)
    yield Recipe("mlp-6", "mlp", with_settings(networks.MLP, depth=6), GREY,
                 **fresh, **script)  # fmt: skip
    yield Recipe("gpt-3", "transformer",
                 with_settings(gpt, layers=3, width=48), TEXT, **text,
                 **trained, opset=22)  # fmt: skip
    yield Recipe("resnet-narrow", "conv", narrow, COLOR, **trained, **script)
    yield Recipe("hf-t5", "transformers", packages.t5, data.Translations(),
                 **text, **trained, opset=18)  # fmt: skip
    yield Recipe("hf-qwen2", "transformers", packages.qwen2,
                 data.PaddedTexts(), **text, **fresh, opset=20)  # fmt: skip
    yield Recipe("hf-segformer", "transformers", packages.segformer,
                 data.Maps(64), **trained, **script)  # fmt: skip
    yield Recipe("timm-regnet", "timm", packages.timm_model("regnetx_002"),
                 LARGE, **trained, rows=4, steps=60, rate=1e-3)  # fmt: skip


def seen():
    yield from plain_recipes()
    yield from planted_recipes()
    yield from transformers_recipes()
    yield from timm_recipes()
