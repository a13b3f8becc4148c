# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes out of their range, missing, of the wrong length, given twice."""

from .cases import add, attribute, make, texts

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


# Required attributes of operators.
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
