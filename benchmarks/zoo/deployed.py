# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in the forms that are deployed: detectors with non-maximum
suppression, decoders with caches of keys and values, parts of diffusion
pipelines.

Weights are random, from a seed; sizes are those of the packages' smallest
networks, or less. Inputs are given by name.
"""

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import torch

from zoo import detectors, generators, packages

BATCHES = 4
EDGE = 64


@dataclasses.dataclass(frozen=True)
class Deployed:
    name: str
    family: str
    make: Callable
    # Inputs by name, from a generator of numpy.
    draw: Callable
    exporter: str = "dynamo"
    opset: int = 18
    outputs: tuple = ()
    # Open sizes: the number of the axis and its name, by input.
    axes: dict = dataclasses.field(default_factory=dict)
    seed: int = 0
    # Measures the statistics of normalizations: values of deep networks with
    # fresh ones vanish.
    measures: bool = False


def pixels(edge=EDGE, rows=1, name="x"):
    def draw(random):
        coarse = random.standard_normal((rows, 3, 8, 8))
        image = np.kron(coarse, np.ones((edge // 8, edge // 8)))
        image += 0.3 * random.standard_normal(image.shape)
        return {name: image.astype(np.float32)}

    return draw


def picture(edge):
    """One image without an axis for a batch, from 0 to 1."""

    def draw(random):
        image = pixels(edge)(random)["x"][0]
        return {"image": (1 / (1 + np.exp(-image))).astype(np.float32)}

    return draw


def tokens(*names, rows=2, length=16):
    def draw(random):
        shape = (rows, length)
        made = {names[0]: random.integers(2, packages.VOCABULARY, shape)}
        for name in names[1:]:
            made[name] = np.ones(shape, np.int64)
            made[name][-1, length // 2 :] = 0
        return made

    return draw


# ---- Entries ---------------------------------------------------------------


def vision():
    """Networks of torchvision and timm in the sizes that users have."""
    script = dict(exporter="script", opset=17)
    made, timm = detectors.torchvision_model, packages.timm_model
    image = dict(family="torchvision", draw=pixels())
    yield Deployed("tv-mobilenet-v2", make=made("mobilenet_v2"), **image,
                   **script, measures=True)  # fmt: skip
    yield Deployed("tv-shufflenet", make=made("shufflenet_v2_x0_5"), **image)
    yield Deployed("tv-densenet", make=made("densenet121"), **image, **script)
    yield Deployed("tv-squeezenet", make=made("squeezenet1_1"), **image)
    yield Deployed("tv-resnet50", make=made("resnet50"), **image, **script)
    yield Deployed("tv-googlenet", family="torchvision",
                   make=made("googlenet", aux_logits=False, init_weights=False),
                   draw=pixels(128), opset=20)  # fmt: skip
    yield Deployed("tv-deeplab", make=detectors.deeplab, **image)
    yield Deployed("tv-raft-like", make=detectors.flow,
                   family="torchvision", draw=detectors.image_pair,
                   exporter="script", opset=20)  # fmt: skip
    image = dict(family="timm", draw=pixels())
    yield Deployed("timm-ghostnet", make=timm("ghostnet_050"), **image)
    yield Deployed("timm-mobilevit", make=timm("mobilevit_xxs"), **image)
    yield Deployed("timm-edgenext", make=timm("edgenext_xx_small"), **image,
                   **script)  # fmt: skip
    yield Deployed("timm-coatnet", family="timm",
                   make=timm("coatnet_nano_rw_224", img_size=EDGE),
                   draw=pixels(), opset=20)  # fmt: skip
    yield Deployed("timm-hrnet", make=timm("hrnet_w18_small"), **image)


def detection():
    script = dict(exporter="script", opset=17)
    boxes = dict(outputs=("boxes", "scores", "labels"), family="detector")
    yield Deployed("tv-fasterrcnn", make=detectors.faster_rcnn,
                   draw=picture(EDGE * 2), **boxes, **script,
                   measures=True)  # fmt: skip
    yield Deployed("tv-ssdlite", make=detectors.ssdlite, draw=picture(EDGE * 2),
                   **boxes, **script)  # fmt: skip
    yield Deployed("yolo-nms", make=detectors.Yolo, draw=pixels(name="images"),
                   **boxes, **script)  # fmt: skip
    yield Deployed("yolo-raw", make=detectors.YoloHead, family="detector",
                   draw=pixels(name="images"), opset=19)  # fmt: skip
    yield Deployed("hf-yolos", make=detectors.yolos, family="detector",
                   draw=pixels(32), outputs=("logits", "boxes"))  # fmt: skip


def generation():
    yield from generators.entries(Deployed)


def text():
    family, script = "transformers", dict(exporter="script", opset=17)
    masked = dict(family=family, draw=tokens("ids", "mask"))
    for name, opset in (("Albert", 18), ("Electra", 20), ("Roberta", 18),
                        ("DebertaV2", 18)):  # fmt: skip
        yield Deployed(f"hf-{name.lower()}", opset=opset, **masked,
                       make=lambda n=name: generators.encoder(n))  # fmt: skip
    yield Deployed("hf-embedding", make=generators.Embedding, **masked,
                   **script)  # fmt: skip
    yield Deployed("hf-clip", make=generators.clip, family=family,
                   draw=lambda r: {**tokens("ids", "mask")(r), **pixels(32)(r)},
                   outputs=("scores", "text", "image"))  # fmt: skip


def entries():
    yield from vision()
    yield from detection()
    yield from generation()
    yield from text()


# ---- Writing ---------------------------------------------------------------


def tensors(arrays):
    return {name: torch.from_numpy(value) for name, value in arrays.items()}


def export(entry, module, arrays, path):
    is_dynamo = entry.exporter == "dynamo"
    settings = {"output_names": list(entry.outputs) or ["output"]}
    if is_dynamo:
        settings.update(external_data=False, optimize=True, verbose=False)
        if entry.axes:
            settings["dynamic_shapes"] = {
                name: {axis: torch.export.Dim.DYNAMIC
                       for axis in entry.axes.get(name, {})}
                for name in arrays
            }  # fmt: skip
    elif entry.axes:
        settings["dynamic_axes"] = entry.axes
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, tuple(tensors(arrays).values()), str(path),
            dynamo=is_dynamo, opset_version=entry.opset,
            input_names=list(arrays), **settings,
        )  # fmt: skip


def measure_statistics(entry, module):
    kind = torch.nn.modules.batchnorm._BatchNorm
    norms = [part for part in module.modules() if isinstance(part, kind)]
    for norm in norms:
        norm.train()
        norm.momentum = None
    random = np.random.default_rng(entry.seed + 1)
    with torch.no_grad():
        for _ in range(BATCHES):
            module(*tensors(entry.draw(random)).values())
    for norm in norms:
        norm.eval()


def write(entry, folder):
    """Writes into `folder`; what zoo.json says about the model."""
    module = packages.seeded(entry.make, entry.seed).eval()
    if entry.measures:
        measure_statistics(entry, module)
    random, files = np.random.default_rng(entry.seed), []
    for index in range(BATCHES):
        arrays = entry.draw(random)
        files.append(f"batch{index}.npz")
        np.savez(folder / files[-1], **arrays)
    export(entry, module, arrays, folder / "model.onnx")
    return {
        "family": entry.family, "weights": "fresh",
        "exporter": entry.exporter,
        "outputs": {"model": "model.onnx", "data": files},
    }  # fmt: skip
