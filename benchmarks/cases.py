# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that compiled_models.py and training_steps.py measure.

A case is a model, a batch, and, where torch can run it, the module of
torch_models.py that is the same.
"""

import dataclasses
import os
import pathlib
import subprocess

import image_networks
import make_models
import numpy as np
import onnx
import turns
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = ROOT / "test" / "models"
LOSS = "softmax-cross-entropy"
RATE, DECAY = 1e-4, 0.01
BATCH = 16

TRANSFORMER6 = {
    "vocabulary": 1000, "tokens": 128, "width": 512, "inner": 2048,
    "heads": 8, "layers": 6, "classes": 2,
}
BERT2 = {
    "vocabulary": 128, "tokens": 24, "width": 64, "inner": 128, "heads": 4,
    "layers": 2, "classes": 4, "kinds": 2, "eps": 1e-12,
}
RESNET8 = {"widths": [8, 16, 32], "strides": [1, 2, 2], "classes": 10}
RESNET18 = {**make_models.RESNET18, "classes": 1000, "pool": True}


@dataclasses.dataclass
class Case:
    name: str
    model: pathlib.Path
    batch: dict
    # The class of torch_models.py and its arguments.
    module: tuple = None
    # The folder of onnxruntime-training's artifacts.
    artifacts: pathlib.Path = None

    @property
    def is_training(self):
        return "labels" in self.batch

    def dims(self):
        """Sizes of the symbolic dimensions, by their names."""
        sizes = {}
        for value in onnx.load(self.model, load_external_data=False).graph.input:
            shape = value.type.tensor_type.shape.dim
            given = self.batch.get(value.name, np.zeros(0)).shape
            names = (dim.dim_param for dim in shape)
            sizes |= {n: s for n, s in zip(names, given) if n}
        return sizes

    def write_weights(self, folder):
        """None where the module makes the same ones itself."""
        if self.module[0] == "network":
            return None
        path = folder / "weights.npz"
        graph = onnx.load(self.model).graph
        arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        np.savez(path, **arrays)
        return path

    def write_fixed(self, folder):
        """The model with the batch's sizes in place of symbolic ones."""
        path = folder / "fixed.onnx"
        model = onnx.load(self.model)
        sizes = self.dims()
        for value in [*model.graph.input, *model.graph.output]:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in sizes:
                    dim.dim_value = sizes[dim.dim_param]
        del model.graph.value_info[:]
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return path


def make_step(mp_opt, model, path, *flags, rate=RATE, optimizer="adamw"):
    """Write the training step that mp-opt makes of a forward model."""
    loss = "mse" if model.parent.name == "mlp_mse" else LOSS
    command = [
        mp_opt, model, "--train", f"--loss={loss}",
        f"--optimizer={optimizer}", f"--lr={rate}",
        f"--weight-decay={DECAY}", *flags, "-o", path, "--summary=none",
    ]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return path


def load_inputs(path):
    """The inputs among the references of a forward model."""
    data = np.load(path)
    return {n[3:]: data[n] for n in data.files if n.startswith("in:")}


def pictures(random, pixels, count=BATCH):
    return {"x": random.standard_normal((count, 3, pixels, pixels), np.float32)}


def network_case(name, folder, count, is_training):
    """One of image_networks.py, which torch's environment exports."""
    random = np.random.default_rng(0)
    path = image_networks.path_of(folder, name, is_training)
    if not path.exists():
        script = HERE / "image_networks.py"
        command = [turns.venv_python("venv-torch"), script, folder, name]
        more = ["--train"] if is_training else []
        subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
    pixels = image_networks.pixels_of(name, is_training)
    batch = pictures(random, pixels, count)
    if is_training:
        batch["labels"] = random.integers(0, 1000, count)
    return Case(name, path, batch, ("network", {"name": name}))


def sentences(random):
    tokens, words = TRANSFORMER6["tokens"], TRANSFORMER6["vocabulary"]
    return {
        "ids": random.integers(0, words, (BATCH, tokens)),
        "mask": np.zeros((BATCH, tokens), np.float32),
    }


def forward_cases(names, folder, images):
    """Models by name, made in `folder` if they have to be."""
    for name in names:
        random = np.random.default_rng(0)
        if name in image_networks.NETWORKS:
            yield network_case(name, folder, images, is_training=False)
            continue
        if name == "resnet18":
            model = make_models.make(name, folder)
            batch, module = pictures(random, 224), ("resnet", RESNET18)
        elif name == "encoder6":
            model = make_models.make(name, folder)
            batch, module = sentences(random), ("transformer", TRANSFORMER6)
        else:
            model = MODELS / "fwd" / name / "model.onnx"
            batch, module = load_inputs(model.parent / "io0.npz"), None
        yield Case(name, pathlib.Path(model), batch, module)


FORWARD = [
    *sorted(path.parent.name for path in MODELS.glob("fwd/*/model.onnx")),
    "resnet18", "encoder6", *image_networks.NETWORKS,
]
SMALL_MODULES = {
    "mlp784": ("mlp", {"widths": [784, 64, 32, 10]}),
    "bert2_op17": ("transformer", BERT2),
    "resnet8": ("resnet", RESNET8),
}
TRAIN = [*SMALL_MODULES, "resnet18", "encoder6", *image_networks.TRAINED]


def train_cases(names, folder):
    for name in names:
        random = np.random.default_rng(0)
        if name in image_networks.TRAINED:
            yield network_case(name, folder, BATCH, is_training=True)
        elif name == "resnet18":
            model = make_models.make("resnet18t", folder)
            batch = pictures(random, 224)
            batch["labels"] = random.integers(0, 1000, BATCH)
            yield Case(name, pathlib.Path(model), batch, ("resnet", RESNET18))
        elif name == "encoder6":
            model = make_models.make(name, folder)
            batch = sentences(random)
            batch["labels"] = random.integers(0, 2, BATCH)
            module = ("transformer", TRANSFORMER6)
            yield Case(name, pathlib.Path(model), batch, module)
        else:
            artifacts = MODELS / "train" / name
            data = np.load(artifacts / "data.npz")
            yield Case(
                name, artifacts / "forward.onnx",
                {n: data[n][0] for n in data.files}, SMALL_MODULES[name],
                artifacts,
            )


def artifacts_job(folder):
    """What a worker needs for the artifacts of onnxruntime-training."""
    return {
        "kind": "onnxruntime-training",
        "model": folder / "training_model.onnx",
        "eval_model": folder / "eval_model.onnx",
        "optimizer": folder / "optimizer_adamw.onnx",
        "checkpoint": folder / "checkpoint",
    }


def tool(name):
    """A tool of this project: $MP_OPT, $MP_RUN, or the one in build/bin."""
    variable = name.upper().replace("-", "_")
    path = os.environ.get(variable, ROOT / "build" / "bin" / name)
    return pathlib.Path(path).resolve()
