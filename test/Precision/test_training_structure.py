# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What onnxruntime's training graphs demand, in the mixed training models.

Nothing here needs onnxruntime-training: it is read off the graph.
"""

import functools

import onnx
import pytest
from onnx import TensorProto

import schema_types
from support import DTYPES, ELEMENT_TYPE, convert, staged, training_models

each_model = pytest.mark.parametrize("name", training_models())
each_dtype = pytest.mark.parametrize("dtype", DTYPES)

# Operands that a kernel writes into: these must be the caller's own buffers.
UPDATED_IN_PLACE = {
    ("com.microsoft", "InPlaceAccumulatorV2"): [0],
    ("com.microsoft", "BatchNormInternal"): [3, 4],
}


@functools.lru_cache(maxsize=None)
def mixed(name, dtype):
    source = staged(f"train/{name}/training_model.onnx")
    model = onnx.load(convert(source, f"--mixed-{dtype}"))
    return model, *schema_types.infer(model)


def nodes_of(model, *op_types):
    return [node for node in model.graph.node if node.op_type in op_types]


@each_model
@each_dtype
def test_accumulators_receive_fp32(name, dtype):
    """The CPU kernel reads a 16-bit gradient's bytes as if it were fp32."""
    model, types, _ = mixed(name, dtype)
    accumulators = nodes_of(model, "InPlaceAccumulatorV2")
    parameters = [
        v for v in model.graph.input if v.name.endswith(".accumulation.buffer")
    ]
    assert len(accumulators) == len(parameters) > 0
    for node in accumulators:
        for value in node.input[:2]:  # the buffer, the gradient
            assert types[value] == TensorProto.FLOAT, node.name


@each_model
@each_dtype
def test_updated_operands_are_graph_inputs(name, dtype):
    """A node in between would take the update, and the caller would not."""
    model, _, _ = mixed(name, dtype)
    inputs = {value.name for value in model.graph.input}
    found = 0
    for node in model.graph.node:
        for index in UPDATED_IN_PLACE.get((node.domain, node.op_type), []):
            assert node.input[index] in inputs, node.name
            found += 1
    assert found > 0


@each_model
@each_dtype
def test_parameters_keep_their_type(name, dtype):
    source = onnx.load(staged(f"train/{name}/training_model.onnx"))
    model, _, _ = mixed(name, dtype)
    assert list(model.graph.input) == list(source.graph.input)
    assert list(model.graph.output) == list(source.graph.output)


@each_model
@each_dtype
def test_schemas_admit_every_type(name, dtype):
    """Ops whose schema refuses the 16-bit type, or has none, stay fp32."""
    source = onnx.load(staged(f"train/{name}/training_model.onnx"))
    _, before = schema_types.infer(source)
    _, _, after = mixed(name, dtype)
    assert not before and not after


@each_model
@each_dtype
def test_opset_is_kept(name, dtype):
    source = onnx.load(staged(f"train/{name}/training_model.onnx"))
    model, _, _ = mixed(name, dtype)
    assert list(model.opset_import) == list(source.opset_import)


@each_model
@each_dtype
def test_matrix_products_run_in_16_bit(name, dtype):
    """Forward and backward; everything else here holds for fp32 as well."""
    model, types, _ = mixed(name, dtype)
    low = ELEMENT_TYPE[dtype]
    products = nodes_of(model, "MatMul", "Gemm", "FusedMatMul")
    assert products
    for node in products:
        assert types[node.input[0]] == low, node.name
        assert types[node.input[1]] == low, node.name
    for node in nodes_of(model, "Conv", "ConvGrad"):
        # bf16 convolutions are standard from opset 22; ConvGrad never is.
        expected = TensorProto.FLOAT if dtype == "bf16" else low
        assert {types[v] for v in node.input if v} == {expected}, node.name
