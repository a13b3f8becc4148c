# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One model with everything that converters drop, through every way.

Through MLIR text and bytecode it must come back byte for byte; through the
precision pipeline with all of its content.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import DTYPES, run_mp_opt

FLOAT = TensorProto.FLOAT
# A field number that no ONNX message uses, with the bytes "kept".
UNKNOWN = b"\xa2\xf1\x04\x04kept"
PLACES = ("model", "graph", "node", "tensor")


def add_metadata(message, place):
    entry = message.metadata_props.add()
    entry.key, entry.value = f"{place}.key", f"{place} value"


def make_model():
    node = helper.make_node(
        "MatMul", ["x", "w"], ["h"], name="mm", doc_string="node doc"
    )
    call = helper.make_node("Twice", ["h"], ["t"], domain="local", name="f")
    cond = helper.make_node(
        "If",
        ["flag"],
        ["i"],
        name="if",
        then_branch=helper.make_graph(
            [helper.make_node("Identity", ["t"], ["a"], name="then")],
            "yes",
            [],
            [helper.make_tensor_value_info("a", FLOAT, ["batch", 4])],
            doc_string="subgraph doc",
        ),
        else_branch=helper.make_graph(
            [helper.make_node("Add", ["t", "sparse"], ["b"], name="else")],
            "no",
            [],
            [helper.make_tensor_value_info("b", FLOAT, ["batch", 4])],
        ),
    )
    last = helper.make_node("Softmax", ["i"], ["y"], name="sm")
    weight = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
    weight.doc_string = "tensor doc"
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sparse", FLOAT, [1], [2.0]),
        helper.make_tensor("indices", TensorProto.INT64, [1], [3]),
        [4],
    )
    graph = helper.make_graph(
        [node, call, cond, last],
        "main",
        [
            helper.make_tensor_value_info("x", FLOAT, ["batch", 4], "input"),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", FLOAT, ["batch", 4])],
        [weight],
        doc_string="graph doc",
        value_info=[
            helper.make_tensor_value_info("h", FLOAT, ["batch", 4], "value"),
            helper.make_tensor_value_info("t", FLOAT, ["batch", 4]),
        ],
        sparse_initializer=[sparse],
    )
    annotation = graph.quantization_annotation.add(tensor_name="h")
    annotation.quant_parameter_tensor_names.add(key="SCALE", value="w")
    function = helper.make_function(
        "local",
        "Twice",
        ["p"],
        ["q"],
        [helper.make_node("Add", ["p", "p"], ["q"])],
        [helper.make_opsetid("", 21)],
    )
    function.doc_string = "function doc"
    model = helper.make_model(
        graph,
        functions=[function],
        opset_imports=[
            helper.make_opsetid("local", 1),
            helper.make_opsetid("", 21),
        ],
        producer_name="producer",
        ir_version=10,
        doc_string="model doc",
    )
    training = model.training_info.add()
    training.algorithm.CopyFrom(
        helper.make_graph(
            [helper.make_node("Mul", ["w", "w"], ["w_new"])],
            "step",
            [],
            [helper.make_tensor_value_info("w_new", FLOAT, [4, 4])],
        )
    )
    training.update_binding.add(key="w", value="w_new")
    parts = (model, model.graph, model.graph.node[0])
    for part, place in zip(parts, PLACES):
        add_metadata(part, place)
    for part in (*parts, model.graph.initializer[0]):
        part.MergeFromString(UNKNOWN)
    return model


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.onnx"
    path.write_bytes(make_model().SerializeToString(deterministic=True))
    onnx.checker.check_model(onnx.load(path))
    return path


@pytest.mark.parametrize("form", ["mlir", "mlirbc"])
def test_round_trip(source, tmp_path, form):
    middle, result = tmp_path / f"middle.{form}", tmp_path / "result.onnx"
    run_mp_opt(source, "-o", middle)
    run_mp_opt(middle, "-o", result)
    assert result.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    "flags",
    [(), ("--emulate",), ("--assign=first-operand",), ("--strict",)],
    ids=" ".join,
)
@pytest.mark.parametrize("form", ["onnx", "mlir", "mlirbc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_mixed(source, tmp_path, dtype, form, flags):
    result = tmp_path / "result.onnx"
    before = source
    if form != "onnx":
        before = tmp_path / f"before.{form}"
        run_mp_opt(source, "-o", before)
    run_mp_opt(before, f"--mixed-{dtype}", *flags, "-o", result)
    before, after = onnx.load(source), onnx.load(result)
    assert any(node.op_type == "Cast" for node in after.graph.node)
    assert result.read_bytes().count(b"kept") == len(PLACES)
    nodes = {node.name: node for node in after.graph.node}
    for node in before.graph.node:
        assert nodes[node.name].doc_string == node.doc_string
        assert list(nodes[node.name].metadata_props) == list(
            node.metadata_props
        )
    for field in ("training_info", "metadata_props"):
        assert list(getattr(after, field)) == list(getattr(before, field))
    docs = [function.doc_string for function in after.functions]
    assert docs == [function.doc_string for function in before.functions]
    # Emulation rounds in functions, too.
    if "--emulate" not in flags:
        assert list(after.functions) == list(before.functions)
    for field in ("doc_string", "producer_name", "ir_version"):
        assert getattr(after, field) == getattr(before, field)
    for field in (
        "input",
        "output",
        "sparse_initializer",
        "quantization_annotation",
        "metadata_props",
    ):
        expected = list(getattr(before.graph, field))
        assert list(getattr(after.graph, field)) == expected
    assert after.graph.doc_string == before.graph.doc_string
    dims = {v.name: v.type.tensor_type.shape for v in after.graph.value_info}
    assert [d.dim_param for d in dims["h"].dim] == ["batch", ""]
    docs = {v.name: v.doc_string for v in after.graph.value_info}
    assert docs["h"] == "value"
    # A binding updates the weight: it stays the fp32 master.
    (weight,) = after.graph.initializer
    assert weight.data_type == FLOAT and weight.doc_string == "tensor doc"
