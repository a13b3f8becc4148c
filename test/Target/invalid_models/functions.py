# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the model."""

from .cases import DEFAULT, add, edits, make

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
