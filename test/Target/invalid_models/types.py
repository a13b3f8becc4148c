# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of values that are missing or unknown."""

from .cases import FLOAT, INT64, edits, make, texts

# Types of values.
def identity():
    return make("[n] y = Relu (x)", inputs="float[2] x", outputs="float[2] y")


typed = edits("value-type", identity)


@typed("graph input 'x'", "type")
def input_without_type(model):
    model.graph.input[0].ClearField("type")


@typed("graph input 'x'", "type")
def input_of_no_kind(model):
    model.graph.input[0].type.Clear()


@typed("graph input 'x'", "element type")
def input_undefined(model):
    model.graph.input[0].type.tensor_type.elem_type = 0


@typed("graph input 'x'", "element type 99")
def input_unknown(model):
    model.graph.input[0].type.tensor_type.elem_type = 99


@typed("graph input 'x'", "element type -1")
def input_negative(model):
    model.graph.input[0].type.tensor_type.elem_type = -1


@typed("graph output 'y'", "element type 99")
def output_unknown(model):
    model.graph.output[0].type.tensor_type.elem_type = 99


@typed("value_info 'h'", "element type 77")
def value_unknown(model):
    model.graph.value_info.add(name="h").type.tensor_type.elem_type = 77


@typed("graph input 's'", "element type")
def sequence_of_nothing(model):
    model.graph.input.add(name="s").type.sequence_type.SetInParent()


@typed("graph input 's'", "element type 99")
def sequence_of_unknown(model):
    inner = model.graph.input.add(name="s").type.sequence_type.elem_type
    inner.tensor_type.elem_type = 99


@typed("graph input 'm'", "key type")
def map_of_floats(model):
    inner = model.graph.input.add(name="m").type.map_type
    inner.key_type = FLOAT
    inner.value_type.tensor_type.elem_type = FLOAT


@typed("graph input 'm'", "element type")
def map_to_nothing(model):
    model.graph.input.add(name="m").type.map_type.key_type = INT64


@typed("graph input 'o'", "element type")
def optional_of_nothing(model):
    model.graph.input.add(name="o").type.optional_type.SetInParent()


@typed("graph input 'p'", "element type")
def sparse_undefined(model):
    inner = model.graph.input.add(name="p").type.sparse_tensor_type
    inner.shape.dim.add(dim_value=2)


@typed("graph input #1", "name")
def input_without_name(model):
    model.graph.input.add().type.tensor_type.elem_type = FLOAT


@typed("graph output #0", "name")
def output_without_name(model):
    model.graph.output[0].name = ""


@typed("node 'n' (Relu", "output #0")
def output_of_other_type(model):
    model.graph.output[0].type.tensor_type.elem_type = INT64


texts(
    "value-type",
    [
        ("cast", "[n] y = Cast <to = 1> (x)", ("node 'n' (Cast", "'y'"),
         {"outputs": "int64[] y"}),
        ("shape", "[n] y = Shape (x)", ("node 'n' (Shape", "y"),
         {"outputs": "float[] y"}),
        ("argmax", "[n] y = ArgMax (x)", ("node 'n' (ArgMax", "y"),
         {"outputs": "float[] y"}),
        ("constant", "[n] y = Constant <value = float {1}> ()",
         ("node 'n' (Constant", "'y'"), {"outputs": "int64[] y"}),
        ("sequence-at", "[n] y = SequenceAt (x, i)",
         "node 'n' (SequenceAt", {"inputs": "float[2] x, int64 i"}),
        ("sequence-construct", "[n] y = SequenceConstruct (x, i)",
         "node 'n' (SequenceConstruct",
         {"inputs": "float[2] x, int64 i", "outputs": "seq(float[2]) y"}),
        ("sequence-insert", "[n] y = SequenceInsert (s, i)",
         "node 'n' (SequenceInsert",
         {"inputs": "seq(float[2]) s, int64 i", "outputs": "seq(float[2]) y"}),
        ("sequence-concat", "[n] y = ConcatFromSequence <axis = 0> (x)",
         "node 'n' (ConcatFromSequence"),
        ("optional", "[n] y = OptionalGetElement (x)",
         "node 'n' (OptionalGetElement", {"opsets": '"" : 15'}),
        ("add", "[n] y = Add (x, i)", "node 'n' (Add",
         {"inputs": "float[2] x, int64[2] i"}),
    ],
)  # fmt: skip
