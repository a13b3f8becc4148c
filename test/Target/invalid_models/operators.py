# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that an opset does not have, domains, names and their order."""

from .cases import DEFAULT, edits, texts
from .control_flow import IF, branch, branches
from .types import identity

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


# Values that nodes read and define: their names and their order.
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
