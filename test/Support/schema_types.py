# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of a graph's values, and whether the schemas admit them.

Types are propagated from graph inputs and initializers through the type
variables of the schemas: ONNX's own from the onnx package, onnxruntime's from
the repository's JSON description. Nothing here comes from mp-opt, and a
model's value_info counts only where a schema does not fix the type.
"""

import functools
import json

import onnx
from onnx import TensorProto

from support import ROOT

_TYPE_NAMES = {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(bfloat16)": TensorProto.BFLOAT16,
    "tensor(float16)": TensorProto.FLOAT16,
    "tensor(double)": TensorProto.DOUBLE,
    "tensor(bool)": TensorProto.BOOL,
    "tensor(string)": TensorProto.STRING,
    "tensor(complex64)": TensorProto.COMPLEX64,
    "tensor(complex128)": TensorProto.COMPLEX128,
    **{
        f"tensor({sign}int{bits})": getattr(
            TensorProto, f"{sign.upper()}INT{bits}"
        )
        for sign in ("", "u")
        for bits in (2, 4, 8, 16, 32, 64)
        if hasattr(TensorProto, f"{sign.upper()}INT{bits}")
    },
}


class Signature:
    """Operand and result types of one operator version."""

    def __init__(self, inputs, outputs, constraints):
        self.inputs = inputs  # [(type string, is variadic)]
        self.outputs = outputs
        self.constraints = constraints  # type variable -> allowed strings

    @staticmethod
    def formal(parameters, index):
        """Type string of the index-th value; None past the last one."""
        if index < len(parameters):
            return parameters[index][0]
        if parameters and parameters[-1][1]:
            return parameters[-1][0]
        return None


@functools.lru_cache(maxsize=None)
def _json_signatures():
    path = ROOT / "lib" / "Schema" / "com.microsoft.json"
    table = {}
    for domain, operators in json.loads(path.read_text()).items():
        for op in operators:
            parameters = [
                [(p["type"], p["option"] == "variadic") for p in op[side]]
                for side in ("inputs", "outputs")
            ]
            versions = table.setdefault((domain, op["name"]), [])
            versions.append(
                (
                    op["since_version"],
                    Signature(*parameters, op["type_constraints"]),
                )
            )
    return table


def signature(op_type, domain, version):
    """Signature in force at an opset, or None for an undescribed op."""
    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        versions = _json_signatures().get((domain, op_type), [])
        usable = [(v, s) for v, s in versions if v <= version]
        return max(usable, key=lambda item: item[0])[1] if usable else None
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    return Signature(
        [(p.type_str, p.option == variadic) for p in schema.inputs],
        [(p.type_str, p.option == variadic) for p in schema.outputs],
        {
            c.type_param_str: c.allowed_type_strs
            for c in schema.type_constraints
        },
    )


def _declared_types(graph):
    infos = [*graph.value_info, *graph.output]
    return {
        v.name: v.type.tensor_type.elem_type
        for v in infos
        if v.type.HasField("tensor_type")
    }


def _type_from_attributes(node):
    for attribute in node.attribute:
        if node.op_type == "Cast" and attribute.name == "to":
            return attribute.i
        if node.op_type == "Constant":
            if attribute.HasField("t"):
                return attribute.t.data_type
            if attribute.name in ("value_float", "value_floats"):
                return TensorProto.FLOAT
            return TensorProto.INT64
        if node.op_type == "ConstantOfShape" and attribute.HasField("t"):
            return attribute.t.data_type
    return TensorProto.FLOAT if node.op_type == "ConstantOfShape" else None


def _bind_inputs(node, form, types):
    """Types of the node's type variables, and what contradicts the schema."""
    bound, problems = {}, []
    for index, name in enumerate(node.input):
        formal = Signature.formal(form.inputs, index)
        actual = types.get(name)
        if not name or formal is None or not actual:
            continue
        allowed = form.constraints.get(formal, [formal])
        if actual not in map(_TYPE_NAMES.get, allowed):
            problems.append(f"operand {index} ({name}): not in {formal}")
        if formal in form.constraints:
            if bound.setdefault(formal, actual) != actual:
                problems.append(f"operand {index} ({name}): mixed {formal}")
    return bound, problems


def infer(model):
    """Element type of every value, and every breach of a schema.

    Returns ({value name: element type}, [text]). Values other than tensors
    have no entry. Graphs with subgraphs are refused.
    """
    graph = model.graph
    opsets = {
        "" if o.domain == "ai.onnx" else o.domain: o.version
        for o in model.opset_import
    }
    types = {t.name: t.data_type for t in graph.initializer}
    for value in graph.input:
        if value.type.HasField("tensor_type"):
            types[value.name] = value.type.tensor_type.elem_type
    declared = _declared_types(graph)
    low = (TensorProto.BFLOAT16, TensorProto.FLOAT16)
    problems = []
    for node in graph.node:
        assert not any(a.HasField("g") for a in node.attribute), node.name
        domain = "" if node.domain == "ai.onnx" else node.domain
        form = signature(node.op_type, domain, opsets.get(domain, 1))
        where = f"node '{node.name}' ({node.op_type})"
        if form is None:
            # Nobody described it, so nothing may be assumed about it.
            for name in [*node.input, *node.output]:
                kind = types.get(name) or declared.get(name, 0)
                types.setdefault(name, kind)
                if kind in low:
                    problems.append(f"{where}: {name} is 16-bit, no schema")
            continue
        bound, found = _bind_inputs(node, form, types)
        problems += [f"{where}: {text}" for text in found]
        for index, name in enumerate(node.output):
            formal = Signature.formal(form.outputs, index)
            allowed = form.constraints.get(formal, [formal])
            only = allowed[0] if len(allowed) == 1 else None
            types[name] = (
                bound.get(formal)
                or _TYPE_NAMES.get(only)
                or _type_from_attributes(node)
                or declared.get(name, 0)
            )
            said = declared.get(name)
            if said and said != types[name]:
                problems.append(f"{where}: {name} is declared otherwise")
            if types[name] in low and types[name] not in map(
                _TYPE_NAMES.get, allowed
            ):
                problems.append(f"{where}: result {name} not in {formal}")
    return types, problems


CONTRACTIONS = {"MatMul", "Gemm", "Conv", "FusedMatMul", "ConvGrad"}


def low_contractions(model, types, element_type):
    """The contractions that take an operand of the given type."""
    return [
        node
        for node in model.graph.node
        if node.op_type in CONTRACTIONS
        and any(types.get(name) == element_type for name in node.input)
    ]
