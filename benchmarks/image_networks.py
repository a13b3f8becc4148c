#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional networks of timm and torchvision as ONNX models.

    image_networks.py OUT_DIR NAME...            for inference
    image_networks.py OUT_DIR NAME... --train    with what training needs

compiled_models.py calls it in torch's environment, and makes the same modules
for torch. Weights are those of a new network from a fixed seed; statistics of
its batch normalizations are those of random images.
"""

import argparse
import pathlib
import sys

# The package of each, and the edge of its images.
NETWORKS = {
    "efficientnet_b0": ("timm", 224),
    "mobilenetv3_large_100": ("timm", 224),
    "mobilenetv2_100": ("timm", 224),
    "mnasnet_100": ("timm", 224),
    "densenet121": ("timm", 224),
    "convnext_tiny": ("timm", 224),
    "resnet50": ("timm", 224),
    "resnext50_32x4d": ("timm", 224),
    "regnety_008": ("timm", 224),
    "ghostnet_100": ("timm", 224),
    "mobilevit_s": ("timm", 256),
    "edgenext_small": ("timm", 256),
    "squeezenet1_1": ("torchvision", 224),
    "shufflenet_v2_x1_0": ("torchvision", 224),
    "inception_v3": ("torchvision", 299),
    "deeplabv3_mobilenet_v3_large": ("torchvision", 224),
}
# Networks whose training steps are measured, on images of TRAIN_PIXELS.
TRAINED = [
    "mobilenetv3_large_100", "efficientnet_b0", "resnet50", "convnext_tiny",
    "densenet121",
]
TRAIN_PIXELS = 128


def pixels_of(name, is_training):
    return TRAIN_PIXELS if is_training else NETWORKS[name][1]


def create(name):
    package, _ = NETWORKS[name]
    if package == "timm":
        import timm

        return timm.create_model(name)
    import torchvision

    options = {"init_weights": True} if name.startswith("inception") else {}
    if "deeplab" in name:
        found = torchvision.models.segmentation.__dict__[name]
        return found(weights=None, weights_backbone=None)
    return torchvision.models.__dict__[name](weights=None, **options)


def first_output(value):
    """Of networks that give several: what inference is after."""
    if isinstance(value, dict):
        return value["out"]
    return value[0] if isinstance(value, tuple) else value


def make(name, is_training):
    """The module; the same one in every process."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = create(name)

        def forward(self, x):
            return first_output(self.network(x))

    torch.manual_seed(0)
    module = Network()
    if is_training:
        return module.train()
    # Statistics such as a trained network has: values neither grow nor vanish.
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.momentum = None
    pixels = pixels_of(name, is_training)
    with torch.no_grad():
        module(torch.randn(4, 3, pixels, pixels))
    return module.eval()


def path_of(folder, name, is_training):
    return pathlib.Path(folder) / f"{name}{'-train' if is_training else ''}.onnx"


def write(folder, name, is_training):
    """Writes the model unless it is there. Any number of images."""
    import torch

    path = path_of(folder, name, is_training)
    if path.exists():
        return
    module = make(name, is_training)
    pixels = pixels_of(name, is_training)
    images = torch.randn(2, 3, pixels, pixels)
    part = path.with_suffix(".part.onnx")
    settings = {"dynamic_shapes": {"x": {0: torch.export.Dim("batch")}}}
    if is_training:
        examples = pathlib.Path(__file__).resolve().parent.parent / "examples"
        sys.path.insert(0, str(examples / "training"))
        import export_torch

        export_torch.export(module, (images,), part, **settings)
        export_torch.write_lists(module, part)
    else:
        torch.onnx.export(
            module, (images,), str(part), dynamo=True, verbose=False,
            external_data=False, input_names=["x"], output_names=["output"],
            **settings,
        )
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="OUT_DIR", type=pathlib.Path)
    parser.add_argument("names", metavar="NAME", nargs="+", choices=NETWORKS)
    parser.add_argument("--train", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        write(arguments.folder, name, arguments.train)


if __name__ == "__main__":
    main()
