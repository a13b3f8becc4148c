# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model's graph says about it: its size, and where derivatives jump."""

import onnx

# Operators whose derivative jumps where a sign or an order changes.
JUMPS = {
    "Relu", "LeakyRelu", "PRelu", "ThresholdedRelu", "Clip", "HardSigmoid",
    "HardSwish", "Abs", "Sign", "Max", "Min", "MaxPool", "GlobalMaxPool",
    "ReduceMax", "ReduceMin", "ReduceL1", "TopK", "Shrink", "Floor", "Ceil",
    "Round", "Selu",
}  # fmt: skip
COMPARISONS = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"}
FLOATS = {
    onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE,
}  # fmt: skip


def subgraphs(node):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def all_nodes(graph):
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from all_nodes(inner)


def nodes_of(model):
    """Those of functions as well, each once."""
    yield from all_nodes(model.graph)
    for function in model.functions:
        yield from function.node


def value_types(graph):
    """Element types by name, of this graph and the graphs in it."""
    values = [*graph.input, *graph.output, *graph.value_info]
    types = {v.name: v.type.tensor_type.elem_type for v in values}
    types.update({i.name: i.data_type for i in graph.initializer})
    for node in graph.node:
        for inner in subgraphs(node):
            types.update(value_types(inner))
    return types


def constants_of(graph):
    """Names of values that no input changes."""
    inputs = {i.name for i in graph.input}
    fixed = {i.name for i in graph.initializer} - inputs
    for node in graph.node:
        if node.op_type == "Constant" or (
            node.input and all(n in fixed or not n for n in node.input)
        ):
            fixed.update(node.output)
    return fixed


def jumps_of(model):
    """Operators of the model that have kinks in float values, by count."""
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception:  # Models that break ONNX's rules have no types.
        pass
    types, fixed = value_types(model.graph), constants_of(model.graph)
    found = {}
    for node in nodes_of(model):
        if not node.input or all(n in fixed for n in node.input if n):
            continue
        kind = types.get(node.input[0])
        if kind is not None and kind not in FLOATS:
            continue
        if node.op_type in JUMPS | COMPARISONS:
            found[node.op_type] = found.get(node.op_type, 0) + 1
    return found


def facts_of(path):
    """Nodes, opset and kinks of a file."""
    model = onnx.load(path, load_external_data=False)
    opsets = {o.domain: o.version for o in model.opset_import}
    nodes = [n for n in nodes_of(model) if n.op_type != "Constant"]
    return {
        "nodes": len(nodes),
        "opset": opsets.get("", opsets.get("ai.onnx", 0)),
        "kinks": jumps_of(model),
    }
