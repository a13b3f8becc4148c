#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that users measure first, exported from torch with fixed sizes.

    large_models.py OUT_DIR [NAME...]

gpt2: 12 layers of width 768 with biases, a causal mask and a head that is the
table of its 50257 tokens; 8 x 1024 tokens. bert-large: 24 layers of width 1024,
16 x 512 tokens, two classes. resnet50: 256 images of 224 pixels. small-gpt and
small-bert have the same operators in the sizes of a test.

device_kit.py and device_steps.py call it in torch's environment. Models are for
`mp-opt --train`; weights are those of a new model from a fixed seed.
"""

import argparse
import pathlib
import subprocess
import sys

import turns

# The class of torch_models.py and its arguments, and the sizes of a batch.
MODELS = {
    "gpt2": (
        "decoder",
        {
            "vocabulary": 50257, "tokens": 1024, "width": 768, "heads": 12,
            "layers": 12,
        },
        8,
    ),
    "bert-large": (
        "transformer",
        {
            "vocabulary": 30522, "tokens": 512, "width": 1024, "inner": 4096,
            "heads": 16, "layers": 24, "classes": 2, "kinds": 2, "eps": 1e-12,
        },
        16,
    ),
    "resnet50": ("network", {"name": "resnet50"}, 256),
    "small-gpt": (
        "decoder",
        {"vocabulary": 101, "tokens": 16, "width": 32, "heads": 2, "layers": 2},
        2,
    ),
    "small-bert": (
        "transformer",
        {
            "vocabulary": 64, "tokens": 12, "width": 32, "inner": 64,
            "heads": 2, "layers": 2, "classes": 2, "kinds": 2, "eps": 1e-12,
        },
        3,
    ),
}
LARGE = ("gpt2", "bert-large", "resnet50")
PIXELS = 224


def make_batch(name):
    """Inputs and labels by name, as arrays of NumPy."""
    import numpy as np

    kind, options, count = MODELS[name]
    random = np.random.default_rng(0)
    if kind == "network":
        shape = (count, 3, PIXELS, PIXELS)
        batch = {"x": random.standard_normal(shape, np.float32)}
        return {**batch, "labels": random.integers(0, 1000, count)}
    shape = (count, options["tokens"])
    batch = {"ids": random.integers(0, options["vocabulary"], shape)}
    if kind == "decoder":
        labels = random.integers(0, options["vocabulary"], shape[0] * shape[1])
        return {**batch, "labels": labels}
    batch["mask"] = np.ones(shape, np.int64)
    batch["kinds"] = random.integers(0, options["kinds"], shape)
    return {**batch, "labels": random.integers(0, options["classes"], count)}


def find(name, folder):
    """The exported model in `folder`; torch's environment exports it if it is
    not there."""
    path = pathlib.Path(folder) / f"{name}.onnx"
    if not path.exists():
        command = [turns.venv_python("venv-torch"), __file__, folder, name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def make_module(name):
    import image_networks
    import torch
    import torch_models

    torch.manual_seed(0)
    kind, options, _ = MODELS[name]
    if kind == "network":
        return image_networks.make(**options, is_training=True)
    return torch_models.CLASSES[kind](**options).train()


def write(name, folder):
    import torch

    # The folder of examples has modules of the same names as this one.
    module = make_module(name)
    examples = pathlib.Path(__file__).resolve().parent.parent / "examples"
    sys.path.insert(0, str(examples / "training"))
    import export_torch

    path = folder / f"{name}.onnx"
    batch = make_batch(name)
    del batch["labels"]
    # Export runs the module: with two examples it needs little memory.
    inputs = tuple(torch.from_numpy(value[:2]) for value in batch.values())
    open_size = {0: torch.export.Dim("batch")}
    part = path.with_suffix(".part.onnx")
    export_torch.export(
        module, inputs, part, dynamic_shapes=tuple(open_size for _ in inputs)
    )
    export_torch.write_lists(module, part)
    fix_sizes(part, batch)
    part.replace(path)
    pathlib.Path(f"{part}.data").unlink(missing_ok=True)


def fix_sizes(path, batch):
    """The sizes of the batch take the place of symbolic ones."""
    import onnx

    model = onnx.load(path)
    for value in model.graph.input:
        sizes = batch[value.name].shape
        for dim, size in zip(value.type.tensor_type.shape.dim, sizes):
            dim.dim_value = size
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="OUT_DIR", type=pathlib.Path)
    parser.add_argument("names", metavar="NAME", nargs="*")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    unknown = set(arguments.names) - set(MODELS)
    if unknown:
        parser.error(f"{sorted(unknown)}: expected {', '.join(MODELS)}")
    for name in arguments.names or LARGE:
        write(name, arguments.folder)


if __name__ == "__main__":
    main()
