# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of torchvision, detectors among them, with random weights.

torchvision is imported when a network is made.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from zoo.data import CLASSES
from zoo.packages import HEADS, WIDTH


def torchvision_model(name, **settings):
    def make():
        import torchvision

        return torchvision.models.get_model(
            name, weights=None, num_classes=CLASSES, **settings
        )

    return make


class Key(nn.Module):
    """One entry of a module's results."""

    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key

    def forward(self, x):
        return self.model(x)[self.key]


def deeplab():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=CLASSES
    )
    return Key(model, "out")


# ---- Optical flow ----------------------------------------------------------


class Flow(nn.Module):
    """Correlation of all pairs of positions, looked up where a flow points."""

    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 7, 4, 3), nn.InstanceNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1),
        )  # fmt: skip
        self.update = nn.Conv2d(width + 11, 2, 3, 1, 1)

    def forward(self, first, second):
        a, b = self.features(first), self.features(second)
        rows, width, height, length = a.shape
        scores = torch.einsum("bcij,bckl->bijkl", a, b) / width**0.5
        scores = scores.reshape(rows * height * length, 1, height, length)
        grid = torch.stack(
            torch.meshgrid(
                torch.linspace(-1, 1, height), torch.linspace(-1, 1, length),
                indexing="ij",
            )[::-1], -1,
        )  # fmt: skip
        flow = torch.zeros_like(a[:, :2])
        offsets = torch.linspace(-0.2, 0.2, 9).reshape(1, 3, 3, 1)
        for _ in range(2):
            points = (grid + flow.permute(0, 2, 3, 1)).reshape(-1, 1, 1, 2)
            found = F.grid_sample(scores, points + offsets, align_corners=True)
            found = found.reshape(rows, height, length, 9).permute(0, 3, 1, 2)
            change = self.update(torch.cat([a, found, flow], 1))
            flow = flow + change.tanh() / 8
        return flow


def flow():
    return Flow()


def image_pair(random):
    first = random.standard_normal((1, 3, 64, 64)).astype(np.float32)
    noise = 0.1 * random.standard_normal(first.shape)
    second = (np.roll(first, 2, 3) + noise).astype(np.float32)
    return {"first": first, "second": second}


# ---- Detectors -------------------------------------------------------------


class Listed(nn.Module):
    """A detector of torchvision for one image."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        found = self.model([image])[0]
        return found["boxes"], found["scores"], found["labels"]


def faster_rcnn():
    import torchvision

    make = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn
    model = make(
        weights=None, weights_backbone=None, num_classes=CLASSES,
        min_size=128, max_size=160, box_score_thresh=0.05,
    )  # fmt: skip
    return Listed(model)


def ssdlite():
    import torchvision

    model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=CLASSES
    )
    return Listed(model)


def block(inputs, outputs, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs), nn.SiLU(),
    )  # fmt: skip


class Split(nn.Module):
    """Half of the channels pass blocks, and all are joined."""

    def __init__(self, width):
        super().__init__()
        self.first = block(width, width)
        self.steps = nn.ModuleList(
            nn.Sequential(block(width // 2, width // 2),
                          block(width // 2, width // 2))
            for _ in range(2)
        )  # fmt: skip
        self.last = nn.Conv2d(2 * width, width, 1)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            parts.append(parts[-1] + step(parts[-1]))
        return self.last(torch.cat(parts, 1))


class YoloHead(nn.Module):
    """A detector without anchors: distances as means of distributions of 16
    bins, boxes in pixels; [rows, 4 + classes, positions]."""

    BINS, STRIDES = 16, (8, 16)

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(block(3, width, 2), block(width, width, 2))
        self.levels = nn.ModuleList(
            nn.Sequential(block(width, width, 2), Split(width))
            for _ in self.STRIDES
        )
        self.join = Split(2 * width)
        outputs = 4 * self.BINS + CLASSES
        self.heads = nn.ModuleList(
            nn.Conv2d(size, outputs, 1) for size in (2 * width, width)
        )

    def maps(self, images):
        fine = self.levels[0](self.stem(images))
        coarse = self.levels[1](fine)
        up = F.interpolate(coarse, scale_factor=2.0, mode="nearest")
        return self.join(torch.cat([fine, up], 1)), coarse

    def boxes_of(self, values, stride):
        rows, _, height, length = values.shape
        bins = values.reshape(rows, 4, self.BINS, height * length).softmax(2)
        steps = torch.arange(self.BINS, dtype=torch.float32)
        sides = (bins * steps.reshape(1, 1, -1, 1)).sum(2)
        y, x = torch.meshgrid(
            torch.arange(height) + 0.5, torch.arange(length) + 0.5,
            indexing="ij",
        )  # fmt: skip
        centers = torch.stack([x, y]).reshape(1, 2, -1)
        low, high = centers - sides[:, :2], centers + sides[:, 2:]
        return torch.cat([low, high], 1) * stride

    def forward(self, images):
        found = []
        for head, stride, values in zip(
            self.heads, self.STRIDES, self.maps(images)
        ):
            sides, scores = head(values).split([4 * self.BINS, CLASSES], 1)
            boxes = self.boxes_of(sides, stride)
            found.append(torch.cat([boxes, scores.flatten(2).sigmoid()], 1))
        return torch.cat(found, 2)


class Yolo(YoloHead):
    """With the suppression of boxes that overlap better ones, by class."""

    def __init__(self):
        import torchvision

        super().__init__()
        self.suppress = torchvision.ops.nms

    def forward(self, images):
        found = super().forward(images)[0].T
        boxes, scores = found[:, :4], found[:, 4:]
        best, labels = scores.max(1)
        # Boxes of different classes do not overlap.
        apart = boxes + (labels.float() * 4096.0)[:, None]
        kept = self.suppress(apart, best, 0.5)[:50]
        return boxes[kept], best[kept], labels[kept]


class Boxes(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        found = self.model(x)
        return found.logits, found.pred_boxes


def yolos():
    import transformers

    config = transformers.YolosConfig(
        hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS,
        intermediate_size=96, image_size=[32, 32], patch_size=8,
        num_detection_tokens=6, num_labels=CLASSES,
        attn_implementation="eager",
    )  # fmt: skip
    return Boxes(transformers.YolosForObjectDetection(config))
