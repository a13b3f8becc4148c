# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a convolutional network for images of 32 x 32, as an ONNX model.

usage: python convnet.py FILE [WIDTH]

Convolutions of 5, 7 and 11 pixels with a stride of 2 and WIDTH, 2 WIDTH and
4 WIDTH channels (32, 64 and 128 if it is not given), each with
BatchNormalization in training mode and a ReLU; then pooling and a dense layer
for 10 classes, called `predictions`. Weights are drawn with a fixed seed.

Needs numpy and onnx: pip install numpy onnx
"""

import sys

import numpy as np
from onnx import helper, numpy_helper, save

KERNELS = (5, 7, 11)


def make_convnet(width=32):
    rng = np.random.default_rng(0)
    nodes, weights, value, channels = [], [], "images", 3

    def add(op, name, inputs, outputs, **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, name, **attributes))

    def weight(name, array):
        weights.append(numpy_helper.from_array(np.float32(array), name))
        return name

    for index, kernel in enumerate(KERNELS):
        name, made = f"conv{index}", width << index
        shape = (made, channels, kernel, kernel)
        filters = rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))
        add("Conv", name, [value, weight(f"{name}.weight", filters)],
            [f"{name}.y"], strides=[2, 2], pads=[kernel // 2] * 4)
        statistics = [
            weight(f"{name}.{part}", np.full(made, start))
            for part, start in
            [("scale", 1), ("bias", 0), ("mean", 0), ("variance", 1)]
        ]
        add("BatchNormalization", f"{name}.norm", [f"{name}.y", *statistics],
            [f"{name}.n", f"{name}.mean_next", f"{name}.variance_next"],
            training_mode=1)
        add("Relu", f"{name}.relu", [f"{name}.n"], [f"{name}.a"])
        value, channels = f"{name}.a", made
    add("GlobalAveragePool", "pool", [value], ["pooled"])
    add("Flatten", "flatten", ["pooled"], ["features"])
    dense = rng.normal(size=(channels, 10)) / np.sqrt(channels)
    add("Gemm", "predictions",
        ["features", weight("predictions.weight", dense),
         weight("predictions.bias", np.zeros(10))], ["scores"])
    graph = helper.make_graph(
        nodes, "convnet",
        [helper.make_tensor_value_info("images", 1, ["batch", 3, 32, 32])],
        [helper.make_tensor_value_info("scores", 1, ["batch", 10])],
        weights,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    )


if __name__ == "__main__":
    save(make_convnet(*map(int, sys.argv[2:3])), sys.argv[1])
