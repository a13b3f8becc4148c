# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts next to QuantizeLinear and DequantizeLinear, which keep runtimes from
forming integer kernels."""

import collections

import onnx

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
MOVEMENT = {
    "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Reshape",
    "Slice", "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze",
}  # fmt: skip


def subgraphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from subgraphs(attribute.g)


def casts_in(graph):
    producers = {name: node for node in graph.node for name in node.output}
    inputs = {value.name for value in graph.input}
    outputs = {value.name for value in graph.output}

    def source(name):
        """The node that makes a value, movement left out."""
        node = producers.get(name)
        while node is not None and node.op_type in MOVEMENT:
            node = producers.get(node.input[0])
        return node

    for node in graph.node:
        if node.op_type == "Cast" and node.output[0] not in outputs:
            before = source(node.input[0])
            if before is not None and before.op_type == DEQUANTIZE:
                yield f"'{node.name}' after '{before.name}'"
        if node.op_type not in (QUANTIZE, DEQUANTIZE):
            continue
        for index, name in enumerate(node.input):
            before = source(name)
            if (
                before is not None
                and before.op_type == "Cast"
                and before.input[0] not in inputs
            ):
                place = "before" if index == 0 else "on the scale of"
                yield f"'{before.name}' {place} '{node.name}'"


def casts_in_pairs(model):
    """Descriptions of casts between DequantizeLinear and a user, between a node
    and the QuantizeLinear that reads it, and on scales. Casts of the model's
    inputs and to its outputs are left out."""
    return [
        text for graph in subgraphs(model.graph) for text in casts_in(graph)
    ]


def scale_types(model):
    """How many pair nodes have a scale of each type."""
    counts = collections.Counter()
    for graph in subgraphs(model.graph):
        types = {i.name: i.data_type for i in graph.initializer}
        for node in graph.node:
            if node.op_type in (QUANTIZE, DEQUANTIZE):
                kind = types.get(node.input[1], 0)
                counts[onnx.TensorProto.DataType.Name(kind)] += 1
    return counts
