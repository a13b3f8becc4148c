# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How models that mean nothing are written down."""

import collections

from onnx import TensorProto, parser

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


def edited(kind, model_of, **rows):
    """Cases by name: an edit of a good model, and what the error says."""
    for name, (edit, *where) in rows.items():
        model = model_of()
        edit(model)
        add(kind, name, model, *where)


def put(path, value):
    """An edit that sets a field: "graph.node[0].name"."""
    owner, _, field = f"model.{path}".rpartition(".")
    read = eval(f"lambda model: {owner}")
    return lambda model: setattr(read(model), field, value)


# Errors of ONNX's inference, which uses its own words.
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
