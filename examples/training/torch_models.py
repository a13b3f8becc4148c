# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of other packages, for export_torch.py: one function each.

Small, with weights by seed; for a pretrained one, take from_pretrained(...) or
pretrained=True instead.
"""

import os

import torch
from torch import nn


class Logits(nn.Module):
    """The output that the loss is of, of a model that gives several."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids, attention_mask).logits


def transformers_bert():
    # "eager" attention, and a mask among the inputs: both exporters take them.
    import transformers

    config = transformers.BertConfig(
        vocab_size=256, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=64, num_labels=3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        attn_implementation="eager",
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    words = torch.randint(256, (4, 12))
    return Logits(model), (words, torch.ones_like(words))


def timm_resnet():
    import timm

    model = timm.create_model("resnet18", num_classes=10, pretrained=False)
    return model, (torch.randn(8, 3, 64, 64),)


class Training(nn.Module):
    """Keras takes the mode with each call."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x, training=self.training)


def keras_convnet():
    """--inference: no exporter knows the statistics of Keras in training."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Conv2D(8, 3, name="convolution"),
            layers.BatchNormalization(name="normalization"),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, name="head"),
        ]
    )
    return Training(model), (torch.randn(8, 16, 16, 3),)


def keras_dense():
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16,)),
            layers.Dense(32, activation="relu", name="hidden"),
            layers.LayerNormalization(name="norm"),
            layers.Dense(4, name="head"),
        ]
    )
    return Training(model), (torch.randn(8, 16),)
