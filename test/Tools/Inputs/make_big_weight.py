# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A MatMul with a weight of 64 KiB; with a second argument, kept outside."""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = numpy.arange(128 * 128, dtype=numpy.float32).reshape(128, 128) / 1000
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
    "big",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 128])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 128])],
    [numpy_helper.from_array(weight, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
if len(sys.argv) > 2:
    onnx.save_model(
        model, sys.argv[1], save_as_external_data=True, location=sys.argv[2]
    )
else:
    onnx.save_model(model, sys.argv[1])
