# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a recipe's models and data: training by Adam, exports, batches."""

import copy
import pathlib
import sys
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F

from zoo import data, packages

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES / "training"))
import export_torch  # noqa: E402

BATCHES = 4
# Seeds of the batches that networks are trained on, and of those in files.
TRAIN_SEED, FILE_SEED = 1, 1001


def loss_of(recipe, output, labels):
    if recipe.loss == "mse":
        return F.mse_loss(output, labels)
    return F.cross_entropy(output.movedim(recipe.class_axis(), 1), labels)


def norms_of(module):
    kind = torch.nn.modules.batchnorm._BatchNorm
    return [part for part in module.modules() if isinstance(part, kind)]


def measure_statistics(module, recipe):
    """Running statistics as those of a trained network: of some batches."""
    random = data.generator(recipe.seed + TRAIN_SEED)
    norms = norms_of(module)
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = None
    with torch.no_grad():
        for _ in range(BATCHES if norms else 0):
            module(*recipe.source(16, random)[0])
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum


def train(module, recipe):
    """The losses of the steps."""
    random = data.generator(recipe.seed + TRAIN_SEED)
    optimizer = torch.optim.Adam(module.parameters(), lr=recipe.rate)
    losses = []
    for _ in range(recipe.steps):
        inputs, labels = recipe.source(16, random)
        loss = loss_of(recipe, module(*inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def make_module(recipe, weights):
    """The module in training mode, and the losses of its training."""
    module = packages.seeded(recipe.make, recipe.seed).train()
    if weights == "fresh":
        measure_statistics(module, recipe)
        return module, []
    return module, train(module, recipe)


def open_settings(recipe, module, inputs):
    if not recipe.is_open:
        return {}
    return export_torch.open_batch(module, inputs, recipe.exporter)


def export_inference(recipe, module, inputs, path):
    """As users export: constants folded, norms merged into convolutions."""
    settings = open_settings(recipe, module, inputs)
    is_dynamo = recipe.exporter == "dynamo"
    if is_dynamo:
        settings.update(external_data=False, optimize=True, verbose=False)
    names = export_torch.input_names(module, inputs)
    torch.onnx.export(
        copy.deepcopy(module).eval(), inputs, str(path), dynamo=is_dynamo,
        opset_version=recipe.opset, input_names=names,
        output_names=["output"], **settings,
    )  # fmt: skip


def export_training(recipe, module, inputs, path):
    settings = open_settings(recipe, module, inputs)
    how = (module.train(), inputs, path, recipe.exporter, recipe.opset)
    export_torch.export(*how, **settings)
    export_torch.restore_names(*how, **settings)
    export_torch.write_lists(module, path)


def write_batches(recipe, module, folder):
    """Names of files for inference, and for training."""
    random = data.generator(recipe.seed + FILE_SEED)
    files, train_files = [], []
    for index in range(BATCHES):
        inputs, labels = recipe.source(recipe.rows, random)
        names = export_torch.input_names(module, inputs)
        arrays = {n: v.numpy() for n, v in zip(names, inputs)}
        files.append(f"batch{index}.npz")
        np.savez(folder / files[-1], **arrays)
        train_files.append(f"train{index}.npz")
        np.savez(folder / train_files[-1], **arrays, labels=labels.numpy())
    return files, train_files


def write(recipe, weights, folder):
    """Writes into `folder`; what zoo.json says about the models."""
    module, losses = make_module(recipe, weights)
    inputs, _ = recipe.source(recipe.rows, data.generator(FILE_SEED))
    files, train_files = write_batches(recipe, module, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        export_inference(recipe, module, inputs, folder / "model.onnx")
        if recipe.trains:
            export_training(recipe, module, inputs, folder / "train.onnx")
    facts = {
        "family": recipe.family,
        "weights": weights,
        "exporter": recipe.exporter,
        "outputs": {"model": "model.onnx", "data": files},
    }
    if recipe.trains:
        facts["gradients"] = {
            "model": "train.onnx", "data": train_files, "loss": recipe.loss,
        }  # fmt: skip
    if losses:
        facts["loss"] = [losses[0], losses[-1]]
    # A name of torch's own, if the exporter ignores `opset`.
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    asked = {o.domain: o.version for o in model.opset_import}
    facts["opset"] = asked[""]
    return facts
