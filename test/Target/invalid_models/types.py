# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of values that are missing or unknown."""

from .cases import FLOAT, INT64, edited, make, put, texts

# Types of values.
def identity():
    return make("[n] y = Relu (x)", inputs="float[2] x", outputs="float[2] y")


INPUT, OUTPUT = "graph input 'x'", "graph output 'y'"
X = "graph.input[0].type.tensor_type.elem_type"
Y = "graph.output[0].type.tensor_type.elem_type"


def sequence_of_unknown(model):
    inner = model.graph.input.add(name="s").type.sequence_type.elem_type
    inner.tensor_type.elem_type = 99


def map_of_floats(model):
    inner = model.graph.input.add(name="m").type.map_type
    inner.key_type = FLOAT
    inner.value_type.tensor_type.elem_type = FLOAT


def sparse_undefined(model):
    inner = model.graph.input.add(name="p").type.sparse_tensor_type
    inner.shape.dim.add(dim_value=2)


def unnamed(model):
    model.graph.input.add().type.tensor_type.elem_type = FLOAT


def value_unknown(model):
    model.graph.value_info.add(name="h").type.tensor_type.elem_type = 77


def map_to_nothing(model):
    model.graph.input.add(name="m").type.map_type.key_type = INT64


edited(
    "value-type",
    identity,
    input_without_type=(
        lambda m: m.graph.input[0].ClearField("type"), INPUT, "type"
    ),
    input_of_no_kind=(lambda m: m.graph.input[0].type.Clear(), INPUT, "type"),
    input_undefined=(put(X, 0), INPUT, "element type"),
    input_unknown=(put(X, 99), INPUT, "element type 99"),
    input_negative=(put(X, -1), INPUT, "element type -1"),
    output_unknown=(put(Y, 99), OUTPUT, "element type 99"),
    value_unknown=(value_unknown, "value_info 'h'", "element type 77"),
    sequence_of_nothing=(
        lambda m: m.graph.input.add(name="s").type.sequence_type.SetInParent(),
        "graph input 's'", "element type",
    ),
    sequence_of_unknown=(
        sequence_of_unknown, "graph input 's'", "element type 99"
    ),
    map_of_floats=(map_of_floats, "graph input 'm'", "key type"),
    map_to_nothing=(map_to_nothing, "graph input 'm'", "element type"),
    optional_of_nothing=(
        lambda m: m.graph.input.add(name="o").type.optional_type.SetInParent(),
        "graph input 'o'", "element type",
    ),
    sparse_undefined=(sparse_undefined, "graph input 'p'", "element type"),
    input_without_name=(unnamed, "graph input #1", "name"),
    output_without_name=(
        put("graph.output[0].name", ""), "graph output #0", "name"
    ),
    output_of_other_type=(put(Y, INT64), "node 'n' (Relu", "output #0"),
)  # fmt: skip

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
