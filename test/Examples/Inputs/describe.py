# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check a model; print each node with the type of its first result."""

import sys

import onnx


def main():
    model = onnx.load(sys.argv[1])
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    type_name = onnx.TensorProto.DataType.Name
    types = {
        value.name: type_name(value.type.tensor_type.elem_type)
        for value in [*inferred.value_info, *inferred.output]
    }
    for node in model.graph.node:
        print(node.name, node.op_type, types[node.output[0]])
    for output in model.graph.output:
        print("output", output.name, types[output.name])


if __name__ == "__main__":
    main()
