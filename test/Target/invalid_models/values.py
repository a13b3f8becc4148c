# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two values where one is meant, or one of another type than it says."""

from onnx import AttributeProto, TensorProto, helper

from .cases import FLOAT, INT32, INT64, add, edits, make, texts
from .tensors import given, tensor_model
from .types import identity

# Two values where one is meant, or one of another type than it says.
for name, data_type, fields in [
    ("raw-and-float", FLOAT, {"raw_data": b"1234", "float_data": [1.0]}),
    ("raw-and-int64", INT64, {"raw_data": b"12345678", "int64_data": [1]}),
    ("float-and-int32", FLOAT, {"float_data": [1.0], "int32_data": [1]}),
    ("int32-for-float", FLOAT, {"int32_data": [1]}),
    ("float-for-int64", INT64, {"float_data": [1.0]}),
    ("int64-for-int32", INT32, {"int64_data": [1]}),
    ("double-for-float", FLOAT, {"double_data": [1.0]}),
    ("raw-strings", TensorProto.STRING, {"raw_data": b"a"}),
    ("strings-and-raw", TensorProto.STRING,
     {"raw_data": b"a", "string_data": [b"a"]}),
    ("int4-both", TensorProto.INT4, {"raw_data": b"1", "int32_data": [1]}),
    ("float8-both", TensorProto.FLOAT8E5M2,
     {"raw_data": b"1", "int32_data": [1]}),
    ("complex-for-double", TensorProto.COMPLEX64, {"double_data": [1, 2]}),
    ("external-and-raw", FLOAT, {"data_location": 1, "raw_data": b"1234",
     "external_data": [helper.onnx.StringStringEntryProto(key="location",
      value="out.onnx")]}),
    ("external-nowhere", FLOAT, {"data_location": 1}),
]:  # fmt: skip
    add("two-values", name, tensor_model(data_type, [1], **fields),
        "initializer 'w'")  # fmt: skip

softmax = edits(
    "two-values", lambda: make("[n] y = Softmax <axis = 1> (x)")
)
AXIS = ("node 'n' (Softmax", "'axis'")


@softmax(*AXIS)
def number_and_float(model):
    model.graph.node[0].attribute[0].f = 1


@softmax(*AXIS)
def number_and_list(model):
    model.graph.node[0].attribute[0].ints.append(1)


@softmax(*AXIS)
def number_and_text(model):
    model.graph.node[0].attribute[0].s = b"1"


@softmax(*AXIS)
def number_and_tensor(model):
    model.graph.node[0].attribute[0].t.CopyFrom(
        helper.make_tensor("t", FLOAT, [1], [1.0])
    )


@softmax(*AXIS)
def number_and_graph(model):
    model.graph.node[0].attribute[0].g.CopyFrom(identity().graph)


@softmax(*AXIS)
def lying_type(model):
    model.graph.node[0].attribute[0].type = AttributeProto.FLOAT


@softmax(*AXIS)
def unsaid_type(model):
    given = model.graph.node[0].attribute[0]
    given.ClearField("type")
    given.f = 1


@softmax(*AXIS)
def reference_outside(model):
    given = model.graph.node[0].attribute[0]
    given.ClearField("i")
    given.ref_attr_name = "k"


@softmax(*AXIS)
def reference_and_value(model):
    model.graph.node[0].attribute[0].ref_attr_name = "k"


texts(
    "two-values",
    [
        ("constant-two", "[n] y = Constant <value = float {1}, "
         "value_float = 1.0> ()", "node 'n' (Constant"),
        ("constant-ints", "[n] y = Constant <value_int = 1, "
         "value_ints = [1]> ()", "node 'n' (Constant", {"outputs": "int64[] y"}),
        ("tree", "[n] y = ai.onnx.ml.LabelEncoder <keys_int64s = [1], "
         "keys_floats = [1.0], values_floats = [1.0]> (i)",
         "node 'n' (ai.onnx.ml.LabelEncoder",
         {"inputs": "int64[2] i", "opsets": '"" : 21, "ai.onnx.ml" : 2'}),
    ],
)  # fmt: skip
