# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that mean nothing, by what is wrong with them.

Each is a good model in ONNX's text form with one thing wrong, in the text or,
where the text cannot say it, by an edit of the protobuf message. Beside it
stands where its error is to be: parts of the message.
"""

import collections

import onnx
from onnx import AttributeProto, TensorProto, helper, parser

Case = collections.namedtuple("Case", "kind name model where")
CASES = {}
FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
DEFAULT = '"" : 21'


def make(
    body,
    inputs="float[2,3,4,4] x",
    outputs="float[] y",
    weights="",
    functions="",
    opsets=DEFAULT,
    ir=10,
):
    """The model of a text; `body` is its nodes."""
    head = f"<ir_version: {ir}, opset_import: [{opsets}]>"
    weights = f"<{weights}>" if weights else ""
    text = f"{head} g ({inputs}) => ({outputs}) {weights} {{ {body} }}"
    return parser.parse_model(f"{text} {functions}")


def add(kind, name, model, *where):
    name = f"{kind}-{name}"
    assert name not in CASES, name
    CASES[name] = Case(kind, name, model, where)


def texts(kind, rows, **defaults):
    """Cases that are texts: name, nodes, where, and arguments of `make`."""
    for name, body, where, *options in rows:
        where = where if isinstance(where, tuple) else (where,)
        arguments = {**defaults, **(options[0] if options else {})}
        add(kind, name, make(body, **arguments), *where)


def edits(kind, model_of=None):
    """Decorates functions that edit a good model; their names are the cases'."""

    def register(*where):
        def decorate(edit):
            model = model_of()
            changed = edit(model)
            model = model if changed is None else changed
            add(kind, edit.__name__, model, *where)
            return edit

        return decorate

    return register


# What ONNX's inference says, it says in its own words.
INFERRED = {
    ("OneHot", "axis"): "'axis'",
    ("Conv", "group"): "'group'",
    ("Einsum", "equation"): "equation",
    ("Resize", "axes"): "axes",
    ("Unsqueeze", "axes"): "'axes'",
    ("Pad", "pads"): "pads",
    ("Col2Im", "strides"): "dimension",
}


def attribute(op, name):
    what = INFERRED.get((op, name), f"attribute '{name}'")
    return (f"node 'n' ({op}", what)


# Numbers and words that an attribute cannot be.
texts(
    "attribute-range",
    [
        (f"{op.lower()}-{name}",
         f"[n] y = {op} {f'<{text}>' if text else ''} {operands}",
         attribute(op, name), *options)
        for op, name, text, operands, *options in [
            ("Softmax", "axis", "axis = 4", "(x)"),
            ("LogSoftmax", "axis", "axis = -5", "(x)"),
            ("Hardmax", "axis", "axis = 9", "(x)"),
            ("Concat", "axis", "axis = 4", "(x, x)"),
            ("Flatten", "axis", "axis = 5", "(x)"),
            ("ArgMax", "axis", "axis = 4", "(x)", {"outputs": "int64[] y"}),
            ("ArgMin", "axis", "axis = -5", "(x)", {"outputs": "int64[] y"}),
            ("LayerNormalization", "axis", "axis = 4", "(x, s)",
             {"weights": "float[4] s = {1, 1, 1, 1}"}),
            ("Gather", "axis", "axis = 4", "(x, i)",
             {"weights": "int64[1] i = {0}"}),
            ("GatherElements", "axis", "axis = -5", "(x, i)",
             {"inputs": "float[2,3,4,4] x, int64[1,1,1,1] i"}),
            ("ScatterElements", "axis", "axis = 4", "(x, i, u)",
             {"inputs": "float[2,2] x, int64[1,1] i, float[1,1] u"}),
            ("Compress", "axis", "axis = 4", "(x, c)",
             {"inputs": "float[2,3] x, bool[2] c"}),
            ("LpNormalization", "axis", "axis = 4", "(x)"),
            ("LpNormalization", "p", "p = 3", "(x)"),
            ("OneHot", "axis", "axis = 3", "(i, d, v)",
             {"inputs": "int64[2] i", "weights":
              "int64 d = {3}, float[2] v = {0, 1}"}),
            ("Unique", "axis", "axis = 4", "(x)"),
            ("ReverseSequence", "batch_axis", "batch_axis = 2", "(x, l)",
             {"inputs": "float[2,2] x, int64[2] l"}),
            ("QuantizeLinear", "axis", "axis = 7", "(x, s)",
             {"inputs": "float[2,3,4,4] x, float[3] s",
              "outputs": "uint8[] y"}),
            ("Transpose", "perm", "perm = [0, 1, 2, 7]", "(x)"),
            ("DepthToSpace", "mode", 'blocksize = 1, mode = "XYZ"', "(x)"),
            ("Conv", "auto_pad", 'auto_pad = "SAME"', "(x, w)",
             {"inputs": "float[2,3,4,4] x, float[3,3,3,3] w"}),
            ("Conv", "group", "group = 2", "(x, w)",
             {"inputs": "float[2,3,4,4] x, float[4,3,3,3] w"}),
            ("ConvTranspose", "group", "group = 2", "(x, w)",
             {"inputs": "float[2,3,4,4] x, float[3,2,3,3] w"}),
            ("MaxPool", "storage_order",
             "kernel_shape = [2, 2], storage_order = 2", "(x)"),
            ("MaxPool", "auto_pad",
             'kernel_shape = [2, 2], auto_pad = "same_upper"', "(x)"),
            ("Resize", "mode", 'mode = "nearestt"', "(x, , s)",
             {"weights": "float[4] s = {1, 1, 2, 2}"}),
            ("Resize", "coordinate_transformation_mode",
             'coordinate_transformation_mode = "half"', "(x, , s)",
             {"weights": "float[4] s = {1, 1, 2, 2}"}),
            ("Resize", "nearest_mode", 'nearest_mode = "up"', "(x, , s)",
             {"weights": "float[4] s = {1, 1, 2, 2}"}),
            ("Pad", "mode", 'mode = "mirror"', "(x, p)",
             {"weights": "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"}),
            ("Cast", "to", "to = 99", "(x)"),
            ("CastLike", "saturate", "saturate = 2", "(x, x)"),
            ("EyeLike", "dtype", "dtype = 99", "(x)",
             {"inputs": "float[2,2] x"}),
            ("RandomNormal", "dtype", "shape = [2], dtype = 7", "()"),
            ("Bernoulli", "dtype", "dtype = 0", "(x)"),
            ("Multinomial", "dtype", "dtype = 1", "(x)",
             {"inputs": "float[2,2] x", "outputs": "int32[] y"}),
            ("BitShift", "direction", 'direction = "UP"', "(a, a)",
             {"inputs": "uint8[2] a", "outputs": "uint8[] y"}),
            ("ScatterND", "reduction", 'reduction = "mean"', "(x, i, u)",
             {"inputs": "float[2] x, int64[1,1] i, float[1] u"}),
            ("Gelu", "approximate", 'approximate = "erf"', "(x)"),
            ("Einsum", "equation", 'equation = "ij,jk->iz"', "(a, a)",
             {"inputs": "float[2,2] a"}),
            ("LSTM", "direction", 'hidden_size = 1, direction = "back"',
             "(a, w, w)", {"inputs": "float[2,2,1] a, float[1,4,1] w"}),
            ("GRU", "layout", "hidden_size = 1, layout = 2",
             "(a, w, w)", {"inputs": "float[2,2,1] a, float[1,3,1] w"}),
            ("RNN", "activations", 'hidden_size = 1, activations = ["Sinus"]',
             "(a, w, w)", {"inputs": "float[2,2,1] a, float[1,1,1] w"}),
            ("RoiAlign", "mode", 'mode = "min"', "(x, r, b)",
             {"inputs": "float[2,3,4,4] x, float[1,4] r, int64[1] b"}),
            ("RoiAlign", "output_height", "output_height = -2", "(x, r, b)",
             {"inputs": "float[2,3,4,4] x, float[1,4] r, int64[1] b"}),
            ("MaxRoiPool", "pooled_shape", "pooled_shape = [0, 2]", "(x, r)",
             {"inputs": "float[2,3,4,4] x, float[1,5] r"}),
            ("GridSample", "padding_mode", 'padding_mode = "zero"', "(x, r)",
             {"inputs": "float[2,3,4,4] x, float[2,4,4,2] r"}),
            ("NegativeLogLikelihoodLoss", "reduction", 'reduction = "avg"',
             "(a, t)", {"inputs": "float[2,3] a, int64[2] t"}),
            ("Trilu", "upper", "upper = 2", "(x)"),
            ("MaxPool", "ceil_mode", "kernel_shape = [2, 2], ceil_mode = -1",
             "(x)"),
            ("LRN", "size", "size = 0", "(x)"),
            ("ReduceSum", "keepdims", "keepdims = 2", "(x)"),
            ("MeanVarianceNormalization", "axes", "", "(x)",
             {"inputs": "float[2,3] x"}),
            ("GroupNormalization", "num_groups", "num_groups = 2", "(x, s, s)",
             {"inputs": "float[2,3,4,4] x, float[3] s"}),
        ]
    ],
)  # fmt: skip


# What an operator cannot do without.
BRANCH = "g1 () => (float[] o) { o = Identity (x) }"
texts(
    "attribute-missing",
    [
        (op.lower(), f"[n] {outputs} = {op} {text}", attribute(op, name),
         *options)
        for op, name, text, outputs, *options in [
            ("Cast", "to", "(x)", "y"),
            ("Concat", "axis", "(x, x)", "y"),
            ("DepthToSpace", "blocksize", "(x)", "y"),
            ("SpaceToDepth", "blocksize", "(x)", "y"),
            ("MaxPool", "kernel_shape", "(x)", "y"),
            ("AveragePool", "kernel_shape", "(x)", "y"),
            ("LpPool", "kernel_shape", "(x)", "y"),
            ("If", "then_branch", f"(c) <else_branch = {BRANCH}>", "y",
             {"inputs": "float[2] x, bool c"}),
            ("Loop", "body", "(, c, x)", "y",
             {"inputs": "float[2] x, bool c"}),
            ("Scan", "body", "<num_scan_inputs = 1> (x)", "y"),
            ("BitShift", "direction", "(a, a)", "y",
             {"inputs": "uint8[2] a", "outputs": "uint8[] y"}),
            ("RandomNormal", "shape", "()", "y"),
            ("RandomUniform", "shape", "()", "y"),
            ("Einsum", "equation", "(x)", "y"),
            ("GroupNormalization", "num_groups", "(x, s, s)", "y",
             {"inputs": "float[2,3,4,4] x, float[3] s"}),
            ("SequenceMap", "body", "(s)", "y",
             {"inputs": "seq(float[2]) s", "outputs": "seq(float[2]) y"}),
            ("LRN", "size", "(x)", "y"),
        ]
    ]
    + [
        ("constant", "[n] y = Constant ()", "node 'n' (Constant"),
        ("in-branch",
         "y = If (c) <then_branch = t () => (float[] o) "
         f"{{ [n] o = Cast (x) }}, else_branch = {BRANCH}>",
         attribute("Cast", "to"), {"inputs": "float[2] x, bool c"}),
        ("in-function", "y = local.f (x)", attribute("Cast", "to"),
         {"opsets": '"" : 21, "local" : 1', "functions":
          '<domain: "local", opset_import: ["" : 21]> f (a) => (b) '
          "{ [n] b = Cast (a) }"}),
        ("optional", "[n] y = Optional ()", "node 'n' (Optional",
         {"outputs": "optional(float[2]) y"}),
        ("identity-reference", "[n] y = Cast <to: int = @to> (x)",
         "attribute 'to'"),
    ],
)  # fmt: skip

# Lists of a length that does not fit the operands.
CONV = {"inputs": "float[2,3,4,4] x, float[3,3,3,3] w"}
texts(
    "attribute-length",
    [
        (f"{op.lower()}-{name}", f"[n] y = {op} <{text}> {operands}",
         attribute(op, name), *options)
        for op, name, text, operands, *options in [
            ("Conv", "strides", "strides = [1]", "(x, w)", CONV),
            ("Conv", "pads", "pads = [1, 1]", "(x, w)", CONV),
            ("Conv", "dilations", "dilations = [1, 1, 1]", "(x, w)", CONV),
            ("Conv", "kernel_shape", "kernel_shape = [3]", "(x, w)", CONV),
            ("ConvTranspose", "output_padding", "output_padding = [0]",
             "(x, w)", CONV),
            ("ConvTranspose", "output_shape", "output_shape = [6, 6, 6]",
             "(x, w)", CONV),
            ("MaxPool", "kernel_shape", "kernel_shape = [2]", "(x)"),
            ("MaxPool", "strides", "kernel_shape = [2, 2], strides = [1]",
             "(x)"),
            ("MaxPool", "dilations",
             "kernel_shape = [2, 2], dilations = [1, 1, 1]", "(x)"),
            ("AveragePool", "pads", "kernel_shape = [2, 2], pads = [1, 1, 1]",
             "(x)"),
            ("LpPool", "strides", "kernel_shape = [2, 2], strides = [1, 1, 1]",
             "(x)"),
            ("Transpose", "perm", "perm = [0, 1, 2]", "(x)"),
            ("Split", "num_outputs", "num_outputs = 3", "(x)"),
            ("LSTM", "activations", 'hidden_size = 1, activations = ["Tanh"]',
             "(a, w, w)", {"inputs": "float[2,2,1] a, float[1,4,1] w"}),
            ("Resize", "axes", "axes = [2, 3]", "(x, , s)",
             {"weights": "float[3] s = {1, 2, 2}"}),
            ("ReduceMean", "axes", "axes = [1, 1]", "(x)",
             {"opsets": '"" : 13'}),
            ("Squeeze", "axes", "axes = [0, 0]", "(a)",
             {"inputs": "float[1,2] a", "opsets": '"" : 11'}),
            ("Unsqueeze", "axes", "axes = [1, 1]", "(x)",
             {"opsets": '"" : 11'}),
            ("Pad", "pads", "pads = [1, 1]", "(x)", {"opsets": '"" : 10'}),
            ("Slice", "ends", "starts = [0, 0], ends = [1]", "(x)",
             {"opsets": '"" : 9'}),
            ("Upsample", "scales", "scales = [1.0, 1.0]", "(x)",
             {"opsets": '"" : 8'}),
            ("Col2Im", "strides", "strides = [1]", "(a, i, i)",
             {"inputs": "float[1,4,9] a", "weights": "int64[2] i = {2, 2}"}),
        ]
    ]
    + [
        ("transpose-doubled", "[n] y = Transpose <perm = [0, 0, 1, 2]> (x)",
         attribute("Transpose", "perm")),
        ("kernel-of-weight", "[n] y = Conv <kernel_shape = [2, 2]> (x, w)",
         attribute("Conv", "kernel_shape"), CONV),
    ],
)  # fmt: skip


# Attributes that are given twice.
def doubled(model, place=lambda model: model.graph.node[0]):
    node = place(model)
    node.attribute.append(node.attribute[0])
    return model


for name, body, options in [
    ("softmax", "[n] y = Softmax <axis = 1> (x)", {}),
    ("concat", "[n] y = Concat <axis = 1> (x, x)", {}),
    ("conv", "[n] y = Conv <strides = [1, 1]> (x, w)", CONV),
    ("cast", "[n] y = Cast <to = 1> (x)", {}),
    ("constant", "[n] y = Constant <value = float {1}> ()", {}),
    ("leaky", "[n] y = LeakyRelu <alpha = 0.5> (x)", {}),
    ("custom", "[n] y = my.Op <k = 1> (x)", {"opsets": '"" : 21, "my" : 1'}),
    ("gelu", '[n] y = Gelu <approximate = "tanh"> (x)', {}),
    ("if", f"[n] y = If (c) <then_branch = {BRANCH}, else_branch = {BRANCH}>",
     {"inputs": "float[2] x, bool c"}),
]:  # fmt: skip
    add("attribute-doubled", name, doubled(make(body, **options)),
        "node 'n' (", "given twice")  # fmt: skip
add(
    "attribute-doubled",
    "in-branch",
    doubled(
        make(
            "y = If (c) <then_branch = t () => (float[] o) "
            f"{{ [n] o = Cast <to = 1> (x) }}, else_branch = {BRANCH}>",
            inputs="float[2] x, bool c",
        ),
        lambda model: model.graph.node[0].attribute[0].g.node[0],
    ),
    "node 'n' (Cast",
    "given twice",
)
add(
    "attribute-doubled",
    "in-function",
    doubled(
        make(
            "y = local.f (x)",
            opsets='"" : 21, "local" : 1',
            functions='<domain: "local", opset_import: ["" : 21]> '
            "f (a) => (b) { [n] b = Cast <to = 1> (a) }",
        ),
        lambda model: model.functions[0].node[0],
    ),
    "node 'n' (Cast",
    "given twice",
)


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


# Values that do not fit each other, or what is done with them.
texts(
    "operand",
    [
        (name, f"[n] {body}", f"node 'n' ({body.split('= ')[1].split()[0]}",
         *options)
        for name, body, *options in [
            ("gemm-rank", "y = Gemm (x, x)", {"inputs": "float[2,3,4] x"}),
            ("gemm-sizes", "y = Gemm (x, x)", {"inputs": "float[2,3] x"}),
            ("matmul-sizes", "y = MatMul (x, x)", {"inputs": "float[2,3] x"}),
            ("matmul-scalar", "y = MatMul (x, x)", {"inputs": "float x"}),
            ("broadcast", "y = Add (x, z)",
             {"inputs": "float[2,3] x, float[4] z"}),
            ("where", "y = Where (c, x, x)",
             {"inputs": "bool[4] c, float[2,3] x"}),
            ("concat-rank", "y = Concat <axis = 0> (x, z)",
             {"inputs": "float[2,3] x, float[4] z"}),
            ("concat-sizes", "y = Concat <axis = 0> (x, z)",
             {"inputs": "float[2,3] x, float[2,4] z"}),
            ("reshape-twice", "y = Reshape (x, s)",
             {"weights": "int64[2] s = {-1, -1}"}),
            ("reshape-negative", "y = Reshape (x, s)",
             {"weights": "int64[2] s = {-2, 4}"}),
            ("reshape-count", "y = Reshape (x, s)",
             {"weights": "int64[2] s = {5, 5}"}),
            ("reshape-rank", "y = Reshape (x, s)",
             {"weights": "int64[1,2] s = {8, 12}"}),
            ("split-sum", "y, z = Split <axis = 1> (x, s)",
             {"weights": "int64[2] s = {1, 1}"}),
            ("split-count", "y, z = Split <axis = 1> (x, s)",
             {"weights": "int64[3] s = {1, 1, 1}"}),
            ("squeeze-size", "y = Squeeze (x, s)",
             {"weights": "int64[1] s = {1}"}),
            ("squeeze-axis", "y = Squeeze (x, s)",
             {"weights": "int64[1] s = {4}"}),
            ("unsqueeze-twice", "y = Unsqueeze (x, s)",
             {"weights": "int64[2] s = {1, 1}"}),
            ("unsqueeze-axis", "y = Unsqueeze (x, s)",
             {"weights": "int64[1] s = {7}"}),
            ("reduce-axis", "y = ReduceSum (x, s)",
             {"weights": "int64[1] s = {4}"}),
            ("reduce-twice", "y = ReduceSum (x, s)",
             {"weights": "int64[2] s = {1, 1}"}),
            ("cumsum-axis", "y = CumSum (x, s)",
             {"weights": "int64 s = {4}"}),
            ("expand", "y = Expand (x, s)",
             {"weights": "int64[4] s = {2, 3, 4, 5}"}),
            ("tile-count", "y = Tile (x, s)",
             {"weights": "int64[2] s = {1, 1}"}),
            ("pad-count", "y = Pad (x, s)",
             {"weights": "int64[6] s = {1, 1, 1, 1, 1, 1}"}),
            ("slice-count", "y = Slice (x, s, e)",
             {"weights": "int64[2] s = {0, 0}, int64[1] e = {1}"}),
            ("slice-axis", "y = Slice (x, s, s, a)",
             {"weights": "int64[1] s = {0}, int64[1] a = {4}"}),
            ("slice-step", "y = Slice (x, s, s, s, s)",
             {"weights": "int64[1] s = {0}"}),
            ("resize-count", "y = Resize (x, , s)",
             {"weights": "float[3] s = {1, 2, 2}"}),
            ("conv-channels", "y = Conv (x, w)",
             {"inputs": "float[2,3,4,4] x, float[3,4,3,3] w"}),
            ("conv-rank", "y = Conv (x, w)",
             {"inputs": "float[2,3,4,4] x, float[3,3,3] w"}),
            ("conv-bias", "y = Conv (x, w, b)",
             {"inputs": "float[2,3,4,4] x, float[3,3,3,3] w, float[4] b"}),
            ("norm-scale", "y = BatchNormalization (x, s, s, s, s)",
             {"inputs": "float[2,3,4,4] x, float[3,1] s"}),
            ("norm-size", "y = BatchNormalization (x, s, s, s, s)",
             {"inputs": "float[2,3,4,4] x, float[4] s"}),
            ("lstm-recurrence", "y = LSTM <hidden_size = 2> (a, w, r)",
             {"inputs": "float[3,1,4] a, float[1,8,4] w, float[1,6,2] r"}),
            ("lstm-bias", "y = LSTM <hidden_size = 2> (a, w, r, b)",
             {"inputs": "float[3,1,4] a, float[1,8,4] w, float[1,8,2] r, "
              "float[1,8] b"}),
            ("lstm-weight", "y = LSTM <hidden_size = 1> (a, w, w)",
             {"inputs": "float[2,2,1] a, float[4,1] w"}),
            ("depth", "y = DepthToSpace <blocksize = 2> (x)"),
            ("space", "y = SpaceToDepth <blocksize = 3> (x)"),
            ("topk", "y, z = TopK (x, k)", {"weights": "int64[1] k = {9}"}),
            ("gather-nd", "y = GatherND (x, i)",
             {"inputs": "float[2,3] x, int64[2,3] i"}),
            ("einsum-rank", 'y = Einsum <equation = "ij,jk->ik"> (x, x)'),
            ("einsum-sizes", 'y = Einsum <equation = "ij,jk->ik"> (a, b)',
             {"inputs": "float[2,3] a, float[4,2] b"}),
            ("einsum-count", 'y = Einsum <equation = "ij,jk->ik"> (a)',
             {"inputs": "float[2,2] a"}),
            ("range-step", "y = Range (a, a, s)",
             {"inputs": "float a", "weights": "float[2] s = {1, 2}"}),
            ("pool-rank", "y = GlobalAveragePool (x)", {"inputs": "float[2] x"}),
            ("dequantize", "y = DequantizeLinear (q, s, z)",
             {"inputs": "uint8[2] q, float s, int8 z"}),
        ]
    ],
)  # fmt: skip


# Branches, loops and scans: how many values go in and out, and of what type.
IF = {"inputs": "float[2] x, bool c"}


def branch(outputs="float[] o", body="o = Identity (x)", inputs=""):
    return f"b ({inputs}) => ({outputs}) {{ {body} }}"


def branches(then, other=None, left="y"):
    return (f"[n] {left} = If (c) <then_branch = {then}, "
            f"else_branch = {other or branch()}>")  # fmt: skip


INTEGER = branch("int64[2] o", "o = Cast <to = 7> (x)")
TWO = branch("float[] o, float[] p", "o = Identity (x) p = Identity (x)")
texts(
    "branch",
    [
        ("none-given", branches(branch("", "o = Identity (x)")),
         ("node 'n' (If", "'then_branch'", "1 output")),
        ("too-many", branches(TWO), ("node 'n' (If", "'then_branch'")),
        ("else-too-many", branches(branch(), TWO),
         ("node 'n' (If", "'else_branch'")),
        ("too-few", branches(branch(), left="y, z"),
         ("node 'n' (If", "'then_branch'")),
        ("else-too-few", branches(TWO, branch(), left="y, z"),
         ("node 'n' (If", "'else_branch'")),
        ("inputs", branches(branch(inputs="float[2] i")),
         ("node 'n' (If", "'then_branch'", "input")),
        ("else-inputs", branches(branch(), branch(inputs="float[2] i")),
         ("node 'n' (If", "'else_branch'", "input")),
        ("types", branches(branch(), INTEGER), "node 'n' (If"),
        ("types-of-both", branches(INTEGER, INTEGER), ("node 'n' (If", "'y'")),
        ("condition-type", f"[n] y = If (x) <then_branch = {branch()}, "
         f"else_branch = {branch()}>", "node 'n' (If"),
        ("condition-size", branches(branch()), "node 'n' (If",
         {"inputs": "float[2] x, bool[2] c"}),
        ("no-else", f"[n] y = If (c) <then_branch = {branch()}>",
         ("node 'n' (If", "'else_branch'")),
        ("in-branch", branches(branch(body=branches(TWO).replace("y =", "o ="))),
         ("node 'n' (If", "'then_branch'")),
    ],
    **IF,
)  # fmt: skip


def body(inputs, outputs, nodes):
    return f"body = b ({inputs}) => ({outputs}) {{ {nodes} }}"


LOOP = {"inputs": "float[2] x, bool c, int64 n"}
TAKES, GIVES = "int64 i, bool d, float[2] s", "bool e, float[2] t"
KEEPS = "e = Identity (d) t = Identity (s)"
texts(
    "loop",
    [
        (name, f"[n] {left} = Loop ({operands}) <{inner}>",
         ("node 'n' (Loop", *where), *options)
        for name, inner, where, left, operands, *options in [
            ("takes-too-few", body("int64 i, bool d", GIVES,
             "e = Identity (d) t = Identity (x)"), ("'body'", "input"), "y",
             "n, c, x"),
            ("takes-too-many", body(TAKES + ", float[2] q", GIVES, KEEPS),
             ("'body'", "input"), "y", "n, c, x"),
            ("takes-no-condition", body("int64 i", "float[2] t",
             "t = Identity (x)"), ("'body'", "input"), "y", "n, c"),
            ("gives-too-few", body(TAKES, "bool e", "e = Identity (d)"),
             ("'body'", "output"), "y", "n, c, x"),
            ("gives-too-many", body(TAKES, GIVES + ", float[2] u",
             KEEPS + " u = Identity (s)"), ("'body'", "output"), "y",
             "n, c, x"),
            ("gives-nothing", body(TAKES, "", KEEPS), ("'body'", "output"), "y",
             "n, c, x"),
            ("state-type", body(TAKES, "bool e, int64[2] t",
             "e = Identity (d) t = Cast <to = 7> (s)"), (), "y", "n, c, x"),
            ("state-input", body("int64 i, bool d, int64[2] s", GIVES,
             "e = Identity (d) t = Cast <to = 1> (s)"), (), "y", "n, c, x"),
            ("condition-type", body(TAKES, "float[2] e, float[2] t",
             "e = Identity (s) t = Identity (s)"), (), "y", "n, c, x"),
            ("counter-type", body("float i, bool d, float[2] s", GIVES, KEEPS),
             (), "y", "n, c, x"),
            ("count-type", body(TAKES, GIVES, KEEPS), (), "y", "x, c, x"),
            ("result-type", body(TAKES, GIVES, KEEPS), (), "y", "n, c, x",
             {"outputs": "int64[] y"}),
            ("too-few-results", body(TAKES, GIVES, KEEPS), (), "y",
             "n, c, x, x"),
        ]
    ],
    **LOOP,
)  # fmt: skip

SCAN = {"inputs": "float[2] x, float[3,2] z"}
TAKES, GIVES = "float[2] s, float[2] e", "float[2] t, float[2] u"
KEEPS = "t = Add (s, e) u = Identity (t)"
texts(
    "scan",
    [
        (name, f"[n] {left} = Scan (x, z) <num_scan_inputs = {count}, "
         f"{more}{inner}>", ("node 'n' (Scan", *where), *options)
        for name, count, inner, where, left, more, *options in [
            ("takes-too-few", 1, body("float[2] s", GIVES,
             "t = Identity (s) u = Identity (s)"), ("'body'", "input"), "y, w",
             ""),
            ("takes-too-many", 1, body(TAKES + ", float[2] f", GIVES, KEEPS),
             ("'body'", "input"), "y, w", ""),
            ("gives-too-few", 1, body(TAKES, "float[2] t", "t = Add (s, e)"),
             ("'body'", "output"), "y, w", ""),
            ("gives-too-many", 1, body(TAKES, GIVES, KEEPS),
             ("'body'", "output"), "y", ""),
            ("count-zero", 0, body(TAKES, GIVES, KEEPS),
             ("'num_scan_inputs'",), "y, w", ""),
            ("count-negative", -1, body(TAKES, GIVES, KEEPS),
             ("'num_scan_inputs'",), "y, w", ""),
            ("count-too-big", 3, body(TAKES, GIVES, KEEPS),
             ("'num_scan_inputs'",), "y, w", ""),
            ("axes", 1, body(TAKES, GIVES, KEEPS), ("'scan_input_axes'",),
             "y, w", "scan_input_axes = [0, 0], "),
            ("output-axes", 1, body(TAKES, GIVES, KEEPS),
             ("'scan_output_axes'",), "y, w", "scan_output_axes = [0, 0], "),
            ("axis", 1, body(TAKES, GIVES, KEEPS), ("'scan_input_axes'",),
             "y, w", "scan_input_axes = [2], "),
            ("directions", 1, body(TAKES, GIVES, KEEPS),
             ("'scan_input_directions'",), "y, w",
             "scan_input_directions = [0, 0], "),
            ("direction", 1, body(TAKES, GIVES, KEEPS),
             ("'scan_input_directions'",), "y, w",
             "scan_input_directions = [2], "),
            ("state-type", 1, body(TAKES, "int64[2] t, float[2] u",
             "t = Cast <to = 7> (s) u = Identity (s)"), (), "y, w", ""),
        ]
    ],
    **SCAN,
)  # fmt: skip
texts(
    "scan",
    [
        (f"map-{name}", f"[n] {left} = SequenceMap ({operands}) <{inner}>",
         ("node 'n' (SequenceMap", "'body'", what))
        for name, inner, what, left, operands in [
            ("takes-too-few", body("", "float[2] o", "o = Identity (x)"),
             "input", "y", "s"),
            ("takes-too-many", body("float[2] a, float[2] b", "float[2] o",
             "o = Identity (a)"), "input", "y", "s"),
            ("gives-nothing", body("float[2] a", "", "o = Identity (a)"),
             "output", "y", "s"),
            ("gives-too-many", body("float[2] a", "float[2] o, float[2] p",
             "o = Identity (a) p = Identity (a)"), "output", "y", "s"),
        ]
    ],
    inputs="float[2] x, seq(float[2]) s",
    outputs="seq(float[2]) y",
)  # fmt: skip


# Functions of the model.
LOCAL = '"" : 21, "local" : 1'


def function(text, opsets='"" : 21, "local" : 1'):
    return f'<domain: "local", opset_import: [{opsets}]> {text}'


F = function("f (a) => (b) { [m] b = Relu (a) }")
for name, nodes, where, functions, *more in [
    ("recursive", "[n] y = local.f (x)", "function 'local.f'",
     function("f (a) => (b) { b = local.f (a) }")),
    ("mutual", "[n] y = local.f (x)", "function 'local.",
     function("f (a) => (b) { b = local.g (a) }")
     + function("g (a) => (b) { b = local.f (a) }")),
    ("recursive-unused", "[n] y = Relu (x)", "function 'local.f'",
     function("f (a) => (b) { b = local.f (a) }")),
    ("recursive-in-branch", "[n] y = local.f (x)", "function 'local.f'",
     function("f (a) => (b) { c = Constant <value = bool {1}> () b = If (c)"
              " <then_branch = t () => (float[] o) { o = local.f (a) }, "
              "else_branch = t () => (float[] o) { o = Relu (a) }> }")),
    ("doubled", "[n] y = local.f (x)", "function 'local.f'", F + F),
    ("input-doubled", "[n] y = local.f (x, x)", "function 'local.f'",
     function("f (a, a) => (b) { b = Relu (a) }")),
    ("output-doubled", "[n] y, z = local.f (x)", "function 'local.f'",
     function("f (a) => (b, b) { b = Relu (a) }")),
    ("output-undefined", "[n] y = local.f (x)", "function 'local.f'",
     function("f (a) => (c) { b = Relu (a) }")),
    ("attribute-doubled", "[n] y = local.f (x)", "function 'local.f'",
     function("f <k, k> (a) => (b) { b = Relu (a) }")),
    ("attribute-and-default", "[n] y = local.f (x)", "function 'local.f'",
     function("f <k, k: int = 1> (a) => (b) { b = Relu (a) }")),
    ("outer-name", "[n] y = local.f (x)", ("node 'm' (Add", "'x'"),
     function("f (a) => (b) { [m] b = Add (a, x) }")),
    ("not-imported", "[n] y = local.f (x)", ("node 'm' (Relu", "'ai.onnx'"),
     function("f (a) => (b) { [m] b = Relu (a) }", '"local" : 1')),
    ("custom-not-imported", "[n] y = local.f (x)",
     ("node 'm' (my.Op", "'my'"),
     function("f (a) => (b) { [m] b = my.Op (a) }")),
    ("called-not-imported", "[n] y = local.f (x)",
     ("node 'm' (local.g", "'local'"),
     function("f (a) => (b) { [m] b = local.g (a) }", '"" : 21')
     + function("g (a) => (b) { b = Relu (a) }")),
    ("cycle", "[n] y = local.f (x)", "node 'm' (Add",
     function("f (a) => (b) { [m] b = Add (a, c) c = Relu (b) }")),
    ("value-twice", "[n] y = local.f (x)", ("'b'", "defined already"),
     function("f (a) => (b) { [m] b = Relu (a) b = Exp (a) }")),
    ("too-many-operands", "[n] y = local.f (x, x)",
     ("node 'n' (local.f", "1 input"), F),
    ("too-many-results", "[n] y, z = local.f (x)",
     ("node 'n' (local.f", "1 output"), F),
    ("unknown-attribute", "[n] y = local.f <k = 1> (x)",
     ("node 'n' (local.f", "'k'"), F),
    ("unknown-reference", "[n] y = local.f <k = 1> (x)",
     ("node 'm' (Elu", "'alpha'", "'q'"),
     function("f <k> (a) => (b) { [m] b = Elu <alpha : float = @q> (a) }")),
    ("too-new", "[n] y = local.f (x)", ("node 'm' (Gelu",),
     function("f (a) => (b) { [m] b = Gelu (a) }", '"" : 17')),
    ("model-without-import", "[n] y = local.f (x)",
     ("node 'n' (local.f", "'local'"), F, {"opsets": DEFAULT}),
]:  # fmt: skip
    where = where if isinstance(where, tuple) else (where,)
    options = {"opsets": LOCAL, "functions": functions, **(more or [{}])[0]}
    add("function", name, make(nodes, **options), *where)

called = edits(
    "function",
    lambda: make("[n] y = local.f (x)", opsets=LOCAL, functions=F),
)


@called("function", "name")
def function_without_name(model):
    model.functions[0].name = ""


@called("node 'n' (local.f", "overload 'wide'")
def overload(model):
    model.graph.node[0].overload = "wide"


# Operators that the imported opset does not have yet, or no more.
texts(
    "operator-version",
    [
        (f"{op.lower()}-{opset}", f"[n] y = {op} {text}",
         (f"node 'n' ({op}", f"opset {opset}"),
         {"opsets": f'"" : {opset}', **(options[0] if options else {})})
        for op, opset, text, *options in [
            ("Gelu", 19, "(x)"),
            ("Mish", 17, "(x)"),
            ("GroupNormalization", 17, "<num_groups = 1> (x, s, s)",
             {"inputs": "float[2,3,4,4] x, float[3] s"}),
            ("Attention", 22, "(x, x, x)"),
            ("GridSample", 15, "(x, g)",
             {"inputs": "float[2,3,4,4] x, float[2,4,4,2] g"}),
            ("Bernoulli", 14, "(x)"),
            ("Trilu", 13, "(x)"),
            ("Swish", 23, "(x)"),
            ("RMSNormalization", 22, "(x, s)",
             {"inputs": "float[2,3,4,4] x, float[4] s"}),
            ("Celu", 11, "(x)"),
            ("BlackmanWindow", 16, "(k)", {"weights": "int64 k = {4}"}),
            ("Upsample", 13, "(x, s)",
             {"weights": "float[4] s = {1, 1, 2, 2}"}),
            ("Scatter", 16, "(x, i, u)",
             {"inputs": "float[2,2] x, int64[1,1] i, float[1,1] u"}),
            ("GreaterOrEqual", 11, "(x, x)", {"outputs": "bool[] y"}),
        ]
    ],
)  # fmt: skip
texts(
    "operator-version",
    [
        ("in-branch", branches(branch(body="[m] o = Gelu (x)")),
         ("node 'm' (Gelu", "opset 19"), {"opsets": '"" : 19', **IF}),
        ("cast-saturate", "[n] y = Cast <to = 1, saturate = 1> (x)",
         ("node 'n' (Cast", "'saturate'"), {"opsets": '"" : 18'}),
        ("pad-wrap", '[n] y = Pad <mode = "wrap"> (x, p)',
         ("node 'n' (Pad", "'mode'"), {"opsets": '"" : 18',
          "weights": "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"}),
        ("ml", "[n] y = ai.onnx.ml.TreeEnsemble (x)",
         ("node 'n' (ai.onnx.ml.TreeEnsemble", "opset 4"),
         {"opsets": '"" : 21, "ai.onnx.ml" : 4'}),
    ],
)  # fmt: skip

# Domains and their versions.
texts(
    "domain",
    [
        (name, f"[n] y = {op} (x)", where, {"opsets": opsets})
        for name, op, where, opsets in [
            ("custom", "my.Op", ("node 'n' (my.Op", "'my'"), DEFAULT),
            ("ml", "ai.onnx.ml.Normalizer",
             ("node 'n' (ai.onnx.ml.Normalizer", "'ai.onnx.ml'"), DEFAULT),
            ("training", "ai.onnx.preview.training.Adagrad",
             ("node 'n' (ai.onnx.preview.training.Adagrad",
              "'ai.onnx.preview.training'"), DEFAULT),
            ("org", "org.example.Op", ("node 'n' (org.example.Op",
             "'org.example'"), DEFAULT),
            ("default", "Relu", ("node 'n' (Relu", "'ai.onnx'"), '"my" : 1'),
            ("zero", "Relu", ("domain 'ai.onnx'", "found 0"), '"" : 0'),
            ("too-new", "Relu", ("domain 'ai.onnx'", "found 99"), '"" : 99'),
            ("ml-too-new", "Relu", ("domain 'ai.onnx.ml'", "found 99"),
             '"" : 21, "ai.onnx.ml" : 99'),
            ("two-versions", "Relu", ("domain 'ai.onnx'", "17"),
             '"" : 21, "" : 17'),
            ("two-names", "Relu", ("domain 'ai.onnx'", "17"),
             '"" : 21, "ai.onnx" : 17'),
        ]
    ]
    + [
        ("in-branch", branches(branch(body="[m] o = my.Op (x)")),
         ("node 'm' (my.Op", "'my'"), IF),
    ],
)  # fmt: skip


@edits("domain", identity)("domain 'ai.onnx'", "found -1")
def negative(model):
    model.opset_import[0].version = -1


# What nodes read and define.
texts(
    "order",
    [
        ("cycle-of-one", "[n] y = Add (x, y)", "node 'n' (Add"),
        ("cycle-of-two", "[n] y = Add (x, h) h = Relu (y)", "node 'n' (Add"),
        ("cycle-by-branch", branches(branch(body="o = Relu (h)"))
         + " h = Relu (y)", "node 'n' (If", IF),
        ("undefined", "[n] y = Relu (h)", ("node 'n' (Relu", "'h'")),
        ("undefined-in-branch", branches(branch(body="[m] o = Relu (h)")),
         ("node 'm' (Relu", "'h'"), IF),
        ("of-branch", branches(branch(body="h = Relu (x) o = Relu (h)"))
         + " [m] z = Relu (h)", ("node 'm' (Relu", "'h'"), IF),
        ("twice", "y = Relu (x) [n] y = Exp (x)", ("'n'", "'y'")),
        ("twice-in-branch", branches(branch(body="o = Relu (x) o = Exp (x)")),
         "'o'", IF),
        ("input", "[n] x = Relu (x) y = Relu (x)", ("'n'", "cycle")),
        ("initializer", "[n] w = Relu (x) y = Relu (w)", ("'n'", "'w'"),
         {"weights": "float[1] w = {1}"}),
        ("twice-by-one", "[n] y, y = my.Op (x)", ("'n'", "'y'"),
         {"opsets": '"" : 21, "my" : 1'}),
        ("output-undefined", "[n] h = Relu (x)", ("output 'y'",)),
        ("two-inputs", "[n] y = Relu (x)", "'x'",
         {"inputs": "float[2] x, float[2] x"}),
        ("branch-output-undefined",
         branches(branch("float[] q", "o = Relu (x)")), ("output 'q'",), IF),
    ],
)  # fmt: skip


# Sparse tensors.
def sparse_model():
    model = make("[n] y = Relu (w)", outputs="float[] y")
    add_sparse(model.graph.sparse_initializer.add())
    return model


def add_sparse(tensor, indices=(1, 5), values=(1.0, 2.0), dims=(2, 3)):
    tensor.values.CopyFrom(
        helper.make_tensor("w", FLOAT, [len(values)], values)
    )
    tensor.indices.CopyFrom(
        helper.make_tensor("i", INT64, [len(indices)], indices)
    )
    tensor.dims.extend(dims)


sparse = edits("sparse", sparse_model)
for name, indices in [
    ("out-of-range", (1, 6)),
    ("negative", (-1, 5)),
    ("unsorted", (5, 1)),
    ("doubled", (5, 5)),
    ("too-many", (1, 2, 5)),
    ("too-few", (1,)),
    ("huge", (1, 2**60)),
]:
    model = make("[n] y = Relu (w)", outputs="float[] y")
    add_sparse(model.graph.sparse_initializer.add(), indices)
    add("sparse", name, model, "sparse initializer 'w'", "ind")
    model = make("[n] y = Constant ()", outputs="float[] y")
    given = model.graph.node[0].attribute.add(name="sparse_value")
    given.type = AttributeProto.SPARSE_TENSOR
    add_sparse(given.sparse_tensor, indices)
    add("sparse", f"constant-{name}", model, "node 'n' (Constant",
        "'sparse_value'", "ind")  # fmt: skip


def coordinates(tensor, rows):
    flat = [index for row in rows for index in row]
    size = [len(rows), len(rows[0])]
    tensor.indices.CopyFrom(helper.make_tensor("i", INT64, size, flat))


@sparse("sparse initializer 'w'", "ind")
def coordinate_out_of_range(model):
    coordinates(model.graph.sparse_initializer[0], [[0, 1], [1, 3]])


@sparse("sparse initializer 'w'", "ind")
def coordinates_unsorted(model):
    coordinates(model.graph.sparse_initializer[0], [[1, 1], [0, 2]])


@sparse("sparse initializer 'w'", "ind")
def coordinates_of_three(model):
    coordinates(model.graph.sparse_initializer[0], [[0, 1, 0], [1, 2, 0]])


@sparse("sparse initializer 'w'", "ind")
def indices_of_rank_3(model):
    model.graph.sparse_initializer[0].indices.dims[:] = [1, 1, 2]


@sparse("sparse initializer 'w'", "ind")
def indices_of_int32(model):
    model.graph.sparse_initializer[0].indices.CopyFrom(
        helper.make_tensor("i", INT32, [2], [1, 5])
    )


@sparse("sparse initializer 'w'", "ind")
def no_indices(model):
    model.graph.sparse_initializer[0].ClearField("indices")


@sparse("sparse initializer 'w'", "values")
def values_of_rank_2(model):
    model.graph.sparse_initializer[0].values.dims[:] = [1, 2]


@sparse("sparse initializer 'w'", "values")
def values_too_few(model):
    del model.graph.sparse_initializer[0].values.float_data[1:]


@sparse("sparse initializer 'w'", "dim")
def no_dimensions(model):
    del model.graph.sparse_initializer[0].dims[:]


@sparse("sparse initializer 'w'", "dimension 0")
def empty_dimension(model):
    model.graph.sparse_initializer[0].dims[0] = 0


@sparse("'w'", "defined already")
def name_of_input(model):
    model.graph.initializer.append(
        helper.make_tensor("w", FLOAT, [1], [1.0])
    )


# How many bytes, or numbers, the data of a tensor have.
def tensor_model(data_type, dims, **fields):
    model = make("[n] y = Identity (w)")
    model.graph.output[0].type.tensor_type.elem_type = data_type
    model.graph.initializer.append(
        TensorProto(name="w", data_type=data_type, dims=dims, **fields)
    )
    return model


for name, data_type, dims, fields in [
    ("int4-few", TensorProto.INT4, [5], {"raw_data": b"12"}),
    ("int4-many", TensorProto.INT4, [5], {"raw_data": b"1234"}),
    ("uint4-few", TensorProto.UINT4, [4], {"raw_data": b"1"}),
    ("int4-numbers", TensorProto.INT4, [5], {"int32_data": [1, 2]}),
    ("uint4-numbers", TensorProto.UINT4, [4], {"int32_data": []}),
    ("int2", TensorProto.INT2, [5], {"raw_data": b"1"}),
    ("uint2", TensorProto.UINT2, [4], {"raw_data": b"12"}),
    ("float4", TensorProto.FLOAT4E2M1, [4], {"raw_data": b"123"}),
    ("float8", TensorProto.FLOAT8E4M3FN, [4], {"raw_data": b"123"}),
    ("float8-numbers", TensorProto.FLOAT8E5M2, [4], {"int32_data": [1, 2]}),
    ("float8-range", TensorProto.FLOAT8E5M2, [1], {"int32_data": [256]}),
    ("float8e8m0", TensorProto.FLOAT8E8M0, [4], {"raw_data": b"12345"}),
    ("complex64", TensorProto.COMPLEX64, [2], {"raw_data": b"1" * 8}),
    ("complex64-odd", TensorProto.COMPLEX64, [2], {"float_data": [1, 2, 3]}),
    ("complex128", TensorProto.COMPLEX128, [1], {"raw_data": b"1" * 8}),
    ("complex128-few", TensorProto.COMPLEX128, [1], {"double_data": [1]}),
    ("bool", TensorProto.BOOL, [4], {"raw_data": b"\x01"}),
    ("float16", TensorProto.FLOAT16, [2], {"raw_data": b"\x01"}),
    ("float16-range", TensorProto.FLOAT16, [1], {"int32_data": [65536]}),
    ("int8-range", TensorProto.INT8, [1], {"int32_data": [300]}),
    ("uint8-range", TensorProto.UINT8, [1], {"int32_data": [-1]}),
    ("uint32-range", TensorProto.UINT32, [1], {"uint64_data": [2**32]}),
    ("strings", TensorProto.STRING, [2], {"string_data": [b"a"]}),
    ("strings-many", TensorProto.STRING, [1], {"string_data": [b"a", b"b"]}),
    ("float", FLOAT, [2], {"float_data": [1.0]}),
    ("none", FLOAT, [2], {}),
    ("empty", FLOAT, [0], {"float_data": [1.0]}),
]:
    add("data-size", name, tensor_model(data_type, dims, **fields),
        "initializer 'w'")  # fmt: skip
model = tensor_model(TensorProto.INT4, [5], raw_data=b"12")
given = model.graph.initializer[0]
constant = make("[n] y = Constant ()", outputs="int4[] y")
constant.graph.node[0].attribute.append(helper.make_attribute("value", given))
add("data-size", "constant", constant, "node 'n' (Constant", "'value'")

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


# training_info.
def training_model():
    model = make(
        "[n] y = MatMul (x, w)",
        inputs="float[2,2] x, float[2,2] w",
        outputs="float[2,2] y",
        weights="float[2,2] w = {1, 1, 1, 1}",
    )
    info = model.training_info.add()
    info.initialization.CopyFrom(
        parser.parse_graph(
            "init () => (float[2,2] w_0) "
            "{ w_0 = RandomNormal <shape = [2, 2]> () }"
        )
    )
    info.algorithm.CopyFrom(
        parser.parse_graph(
            "step (float[2,2] t) => (float[2,2] w_1, int64 count) "
            "<float r = {0.5}> { d = Sub (y, t) g = Mul (d, r) "
            "w_1 = Sub (w, g) count = Size (d) }"
        )
    )
    info.initialization_binding.add(key="w", value="w_0")
    info.update_binding.add(key="w", value="w_1")
    return model


training = edits("training-info", training_model)


@training("initialization_binding", "'v'")
def initializes_nothing(model):
    model.training_info[0].initialization_binding[0].key = "v"


@training("initialization_binding", "'w_2'")
def initialized_by_nothing(model):
    model.training_info[0].initialization_binding[0].value = "w_2"


@training("update_binding", "'v'")
def updates_nothing(model):
    model.training_info[0].update_binding[0].key = "v"


@training("update_binding", "'x'")
def updates_an_input(model):
    model.training_info[0].update_binding[0].key = "x"


@training("update_binding", "'y'")
def updates_a_result(model):
    model.training_info[0].update_binding[0].key = "y"


@training("update_binding", "'w_2'")
def updated_by_nothing(model):
    model.training_info[0].update_binding[0].value = "w_2"


@training("update_binding", "'g'")
def updated_by_inner(model):
    model.training_info[0].update_binding[0].value = "g"


@training("update_binding", "'w' is bound twice")
def updates_twice(model):
    model.training_info[0].update_binding.add(key="w", value="w_1")


@training("initialization_binding", "'w' is bound twice")
def initializes_twice(model):
    model.training_info[0].initialization_binding.add(key="w", value="w_0")


@training("update_binding of 'w'", "'count'")
def updates_by_other_type(model):
    model.training_info[0].update_binding[0].value = "count"


@training("update_binding", "''")
def updates_unnamed(model):
    model.training_info[0].update_binding[0].ClearField("key")


@training("initialization", "input")
def initialization_with_inputs(model):
    model.training_info[0].initialization.input.append(model.graph.input[0])


@training("'q'", "does not define")
def algorithm_reads_nothing(model):
    model.training_info[0].algorithm.node[0].input[0] = "q"


@training("algorithm")
def no_algorithm(model):
    model.training_info[0].ClearField("algorithm")


@training("training_info 1", "'w' is bound twice")
def updated_by_two(model):
    info = training_model().training_info[0]
    model.training_info.append(info)


# Versions of the IR, and what they allow.
versioned = edits("ir-version", identity)
for version in (0, -1, 15, 99, 2**31, 2**40, -(2**40)):
    model = identity()
    model.ir_version = version
    add("ir-version", str(version), model, "IR version", str(version))


@versioned("IR version")
def no_version(model):
    model.ClearField("ir_version")


@versioned("IR version", "opset")
def no_opset_at_3(model):
    model.ir_version = 3
    del model.opset_import[:]


@versioned("opset")
def no_opset_at_8(model):
    model.ir_version = 8
    del model.opset_import[:]


@versioned("metadata", "'k'")
def metadata_twice(model):
    model.metadata_props.add(key="k", value="1")
    model.metadata_props.add(key="k", value="2")


@edits("ir-version", training_model)("IR version 6", "training_info")
def training_at_6(model):
    model.ir_version = 6


@edits(
    "ir-version",
    lambda: make("y = local.f (x)", opsets=LOCAL, functions=F),
)("IR version 7", "function")
def functions_at_7(model):
    model.ir_version = 7
