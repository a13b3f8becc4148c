# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are wrong: one error that says where and what, exit code 1,
nothing written, an old output whole."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from conversions import convert
import onnx_models

FLOAT = TensorProto.FLOAT
CASES = {}


def case(message):
    """A function that spoils a good model, and what mp-opt says of it."""

    def register(spoil):
        CASES[spoil.__name__] = (spoil, message)
        return spoil

    return register


def make_model():
    return onnx_models.make_model(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
            helper.make_node("Softmax", ["h"], ["y"], name="sm", axis=-1),
        ],
        {"x": ["n", 4]}, {"y": ["n", 2]}, {"w": np.ones((4, 2), np.float32)},
    )


@case("initializer 'w': expected 32 bytes of data for 'tensor<4x2xf32>', found 28")
def short_data(model):
    weight = model.graph.initializer[0]
    weight.raw_data = weight.raw_data[:-4]


@case("initializer 'w': dimension -2 is out of range")
def negative_dimension(model):
    model.graph.initializer[0].dims[1] = -2


@case("initializer 'w': dimension 4611686018427387904 is out of range")
def huge_dimension(model):
    model.graph.initializer[0].dims[1] = 2**62


@case("initializer 'w': unknown element type 99")
def element_type(model):
    model.graph.initializer[0].data_type = 99


@case("a graph input defines 'x', which is defined already")
def two_inputs(model):
    model.graph.input.append(model.graph.input[0])


@case("an initializer defines 'w', which is defined already")
def two_initializers(model):
    model.graph.initializer.append(model.graph.initializer[0])


@case("node 'sm' (Softmax): attribute 'axis' is given twice")
def attribute_twice(model):
    node = model.graph.node[1]
    node.attribute.append(node.attribute[0])


@case("node 'sm' (Softmax): expected an attribute name, found ''")
def attribute_without_name(model):
    model.graph.node[1].attribute[0].name = ""


@case("node 'sm' (Softmax): expected an attribute name, found 'onnx.results'")
def attribute_of_ours(model):
    model.graph.node[1].attribute[0].name = "onnx.results"


@case("node 'sm' (Softmax-13): attribute 'axis' is STRING, expected INT")
def attribute_kind(model):
    attribute = model.graph.node[1].attribute[0]
    attribute.CopyFrom(helper.make_attribute("axis", "last"))


@case(
    "node 'sm' (Softmax): attribute 'axis': expected a value of its type "
    "FLOAT, found one of another"
)
def attribute_that_lies(model):
    model.graph.node[1].attribute[0].type = onnx.AttributeProto.FLOAT


@case("node 'sm' (Softmax-13): attribute 'axis' is TYPE_PROTO, expected INT")
def attribute_field_by_field(model):
    attribute = model.graph.node[1].attribute[0]
    attribute.ClearField("i")
    attribute.type = onnx.AttributeProto.TYPE_PROTO
    attribute.tp.tensor_type.elem_type = FLOAT


@case("node 'mm' (MatMul-13): expected 2 inputs, got 3")
def operand_count(model):
    model.graph.node[0].input.append("w")


@case("node 'mm' (MatMul-13): input #1 ('B') is not optional, but absent")
def operand_absent(model):
    model.graph.node[0].input[1] = ""


@case("node 'mm' (MatMul-13): input #1 ('B') has type 'tensor<4x2xi32>'")
def operand_type(model):
    ones = np.ones((4, 2), np.int32)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(ones, "w"))


@case("opset import of domain 'ai.onnx': found versions 17 and 18")
def two_opsets(model):
    model.opset_import.append(helper.make_opsetid("ai.onnx", 18))


@case("IR version 8: expected the import of an opset, found none")
def no_opset(model):
    del model.opset_import[:]


@case("node 'mm' (MatMul): the model imports no opset of the domain 'ai.onnx'")
def other_opset(model):
    model.opset_import[0].domain = "my"


@case("expected an ONNX model, found no graph")
def no_graph(model):
    model.ClearField("graph")


@case("expected 32 bytes of data for 'tensor<4x2xf32>', found 4")
def external_data_size(model):
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="out.onnx")


@case("external data: offset '-1' is not a size in bytes")
def external_data_offset(model):
    external_data_size(model)
    weight = model.graph.initializer[0]
    weight.external_data.add(key="offset", value="-1")


@case("external data file '/etc/passwd': expected a path relative to the model")
def external_data_absolute(model):
    external_data_size(model)
    model.graph.initializer[0].external_data[0].value = "/etc/passwd"


@case("external data file 'a/../../x': expected a path below the model's folder")
def external_data_above(model):
    external_data_size(model)
    model.graph.initializer[0].external_data[0].value = "a/../../x"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",)], ids=["", "mixed"])
def test_bad_model(name, flags, tmp_path):
    spoil, message = CASES[name]
    model = make_model()
    spoil(model)
    done = convert(model, tmp_path, *flags)
    assert done.returncode == 1 and message in done.stderr


@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_truncated(share, tmp_path):
    content = make_model().SerializeToString()
    done = convert(content[: int(len(content) * share)], tmp_path)
    assert "error: expected an ONNX model, found" in done.stderr
