# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keras' models, by its backend torch: training steps that are exported as they
are meant, parameters under the paths of their variables.

For inference, ``model.export("model.onnx", format="onnx")`` gives what
``mp_opt.convert`` takes.
"""

from __future__ import annotations

import re

import keras
import onnx
import torch

import mp_opt
from mp_opt.torch import explain, write


class _Training(torch.nn.Module):
    """Calls of the model as it trains."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(inputs[0] if len(inputs) == 1 else inputs, training=True)


def _check(model) -> None:
    if keras.backend.backend() != "torch":
        raise mp_opt.NotSupportedError(
            f"Keras' backend is {keras.backend.backend()}, expected torch: "
            "KERAS_BACKEND=torch before keras is imported",
            4,
        )
    kept = [
        layer.name
        for layer in model._flatten_layers()
        if isinstance(layer, keras.layers.BatchNormalization)
    ]
    if kept:
        raise mp_opt.NotSupportedError(
            f"layers {', '.join(kept)}: the running statistics of "
            "BatchNormalization are no part of what is exported for training: "
            "expected a model without it",
            4,
        )


def export(model, inputs, *, batch="batch") -> bytes:
    """A model as it trains: Dropout drops, nothing is folded, parameters have
    the paths of their variables. ``inputs`` are examples, as arrays. The first
    dimension of each input is named ``batch``; None keeps the sizes of
    ``inputs``."""
    _check(model)
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    tensors = tuple(torch.as_tensor(value, device="cpu") for value in inputs)
    names = [value.name for value in model.inputs]
    module = _Training(model)
    try:
        proto = onnx.load_from_string(write(module, tensors, names, batch))
    except torch.onnx.errors.OnnxExporterError as error:
        raise mp_opt.NotSupportedError(
            f"torch's exporter: {explain(error)}", 4
        ) from error
    paths = {id(variable.value): variable.path for variable in model.variables}
    own = {
        name: paths[id(parameter)]
        for name, parameter in module.named_parameters()
        if id(parameter) in paths
    }
    for tensor in proto.graph.initializer:
        tensor.name = own.get(tensor.name, tensor.name)
    for node in proto.graph.node:
        node.input[:] = [own.get(name, name) for name in node.input]
    return proto.SerializeToString()


class TrainingStep(mp_opt.TrainingStep):
    """A step of a model of Keras', the variables of which ``update`` sets."""

    def update(self, model: keras.Model) -> keras.Model:
        """Gives the model the parameters as they are now."""
        states = self.state_dict()
        known = [v for v in model.variables if v.path in states]
        if not known:
            raise mp_opt.Error("the model has none of the step's parameters")
        for variable in known:
            variable.assign(states[variable.path])
        return model


def train_step(model, loss, inputs, *, dim=None, step=None, **flags) -> TrainingStep:
    """A compiled training step of a model: forward, backward, optimizer and loss
    scaling.

    ``inputs`` are examples of what the model takes. ``loss`` and ``flags`` are
    those of ``mp_opt.train_step``, ``step`` those of ``TrainingStep``. The sizes
    of the examples are those of the step, unless ``dim`` says otherwise.

        step = mp_opt.keras.train_step(
            model, "softmax-cross-entropy", x, optimizer="adamw", lr=1e-3,
            precision="bf16")
        for x, labels in batches:
            loss = step.step(x=x, labels=labels)["loss"]
        step.update(model)
    """
    content = export(model, inputs)
    first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
    sizes = {"batch": first.shape[0]} if dim is None else dim
    # Weights that Keras does not train stay frozen. Random states of Keras are
    # not part of the model.
    known = {t.name for t in onnx.load_from_string(content).graph.initializer}
    frozen = [v.path for v in model.non_trainable_variables if v.path in known]
    if frozen and "freeze" not in flags:
        flags["freeze"] = [re.escape(path) for path in frozen]
    made = mp_opt.train_step(content, loss, **flags)
    return TrainingStep(made, dim=sizes, **(step or {}))
