# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of operators by name hold names that exist, and the ops that they
must hold."""

import json
import re

import onnx
import pytest
from support import ROOT, attempt, operator_rows

LIB = ROOT / "lib" / "Precision" / "Policy"
# Written by older versions of torch's and onnxruntime's exporters.
HISTORIC = {"MaxPoolGrad", "SparseSoftmaxCrossEntropy", "SparseSoftmaxCrossEntropyGrad"}


def operators():
    """Operators by domain, and the types that each names anywhere."""
    known = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        types = known.setdefault((schema.domain, schema.name), set())
        for constraint in schema.type_constraints:
            types.update(constraint.allowed_type_strs)
    text = (ROOT / "lib" / "Schema" / "com.microsoft.json").read_text()
    for domain, ops in json.loads(text).items():
        for op in ops:
            types = known.setdefault((domain, op["name"]), set())
            for allowed in op["type_constraints"].values():
                types.update(allowed)
    return known


def printed(precision):
    done = attempt(
        "--print-config", f"--mixed-{precision}", check=True
    )
    return re.findall(r"(?<=[\[ ])((?:\w+\.)+\w+)(?=[,\]])", done.stdout)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_profiles_name_operators(precision):
    known = operators()
    names = printed(precision)
    assert len(names) > 200 and len(set(names)) == len(names)
    for name in names:
        domain, _, op = name.rpartition(".")
        domain = "" if domain == "ai.onnx" else domain
        assert (domain, op) in known or op in HISTORIC, name


def test_rows_are_those_of_the_schemas():
    rows = operator_rows()
    assert rows.keys() == {key for key in operators()}


def test_sensitive_operators_are_not_narrow():
    narrow = {
        name
        for (domain, name), row in operator_rows().items()
        if not domain and "narrow" in row["traits"]
    }
    assert not narrow & set(
        "ArgMax ArgMin BitCast Cast Ceil Equal Exp Floor Greater Hardmax IsInf IsNaN "
        "Less Log Loop Mod NonZero OneHot Pow QuantizeLinear Round Scan Sign Sin "
        "TopK Unique".split()
    )
    assert narrow >= set("Add Concat Conv Gelu MatMul Mul Relu Reshape Where".split())


def test_torch_names_name_operators():
    known = operators()
    text = (LIB / "TorchNames.cpp").read_text(encoding="utf-8")
    rows = re.findall(r'\{"(\w+)",\s*\{(.*?)\}\}', text, re.S)
    assert len(rows) > 200
    for name, body in rows:
        for op in re.findall(r'"([\w.]+)"', body):
            domain, _, short = op.rpartition(".")
            assert (domain, short) in known, (name, op)
