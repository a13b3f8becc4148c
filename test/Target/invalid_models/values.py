# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two values where one is meant, or one of another type than it says."""

from onnx import AttributeProto, TensorProto, helper

from .cases import (
    FLOAT, INT32, INT64, add, edited, make, put, texts
)
from .tensors import tensor_model
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

AXIS = ("node 'n' (Softmax", "'axis'")
GIVEN = "graph.node[0].attribute[0]"


def given_of(model):
    return model.graph.node[0].attribute[0]


def unsaid_type(model):
    given_of(model).ClearField("type")
    given_of(model).f = 1


def reference_outside(model):
    given_of(model).ClearField("i")
    given_of(model).ref_attr_name = "k"


ONE = helper.make_tensor("t", FLOAT, [1], [1.0])
edited(
    "two-values",
    lambda: make("[n] y = Softmax <axis = 1> (x)"),
    number_and_float=(put(f"{GIVEN}.f", 1), *AXIS),
    number_and_list=(lambda m: given_of(m).ints.append(1), *AXIS),
    number_and_text=(put(f"{GIVEN}.s", b"1"), *AXIS),
    number_and_tensor=(lambda m: given_of(m).t.CopyFrom(ONE), *AXIS),
    number_and_graph=(
        lambda m: given_of(m).g.CopyFrom(identity().graph), *AXIS
    ),
    lying_type=(put(f"{GIVEN}.type", AttributeProto.FLOAT), *AXIS),
    unsaid_type=(unsaid_type, *AXIS),
    reference_outside=(reference_outside, *AXIS),
    reference_and_value=(put(f"{GIVEN}.ref_attr_name", "k"), *AXIS),
)


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
