# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and scans: how many values go in and out, of what type."""

from .cases import texts

# Branches, loops and scans: the numbers and types of their inputs and outputs.
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
