# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/operators.md: what each stage does with each operator of ONNX.

usage: operators.py MP-OPT [--check]

The rows come from the code's own tables: the lists that mp-opt prints, the
lowering rules, the gradient rules and the decompositions. The names, types and
definitions of operators come from the package onnx. With --check the page is
compared with what would be written, and the exit code is 1 if it differs.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/operators.md"
ENTRY = re.compile(r'\{"((?:[\w.]+\.)?[A-Z]\w+)",\s*[a-z]')
CLASSES = ("allow", "deny", "promote")
FLOATS = ("tensor(float)", "seq(tensor(float))", "optional(tensor(float))")
HEAD = """# Operators by stage

<!-- Written by scripts/docs/operators.py from the tables of the code. -->

The stages treat each operator of ONNX's default domain as follows. Every operator can be converted: conversion keeps what it does not know in fp32.

- **bf16, fp16**: the class that the built-in profile gives the operator ([what classes mean](concepts.md)); `-`, the operator has no float values.
  The safety analyses and your own lists overrule it.
- **run** (`mp-run`, `--emit=lib`): `yes`, by a rule of its own; `definition`, by the function that ONNX defines it by; `no` ends with exit code 4.
- **train** (`--train`): `yes`, the gradient has a rule; `definition`, the gradients of the function's operators; `length`, sequences of known
  length; `-`, no gradient can pass; `no` ends with an error if a gradient has to pass.

Types of elements limit this further: strings, 8-bit and 4-bit floats and optional values do not run. The rules that lower and differentiate
com.microsoft's operators are listed below the table.
"""


def read_tables(folder):
    found = set()
    for path in sorted((ROOT / folder).rglob("*.cpp")):
        found |= set(ENTRY.findall(path.read_text(encoding="utf-8")))
    return found


def read_classes(program, precision):
    """The class of each operator on a built-in list."""
    done = subprocess.run(
        [program, "--print-config", f"--mixed-{precision}"],
        stdout=subprocess.PIPE, text=True, check=True,
    )
    found = {}
    for name in CLASSES:
        words = re.search(rf"^  {name}: \[([^\]]*)\]", done.stdout, re.M)
        for operator in words[1].split(","):
            found[operator.strip().removeprefix("ai.onnx.")] = name
    return found


def list_operators():
    """The newest version of each operator of ONNX's default domain."""
    import onnx

    found = {}
    for schema in onnx.defs.get_all_schemas():
        if schema.domain == "" and not schema.deprecated:
            found[schema.name] = schema
    return dict(sorted(found.items()))


def takes_float(schema, values):
    """Whether one of the inputs or outputs may be float."""
    types = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return any(
        kind in FLOATS
        for value in values
        for kind in types.get(value.type_str, [value.type_str])
    )


def say_run(schema, lowered):
    if schema.name in lowered or schema.name == "Constant":
        return "yes"
    defined = schema.has_function or schema.has_context_dependent_function
    return "definition" if defined else "no"


def say_train(schema, differentiated):
    if schema.name in differentiated:
        return "yes"
    passes = takes_float(schema, schema.inputs) and takes_float(schema, schema.outputs)
    if "Sequence" in schema.name:
        return "length" if passes else "-"
    if not passes:
        return "-"
    defined = schema.has_function or schema.has_context_dependent_function
    return "definition" if defined else "no"


def list_microsoft(names):
    prefix = "com.microsoft."
    return ", ".join(
        f"`{n.removeprefix(prefix)}`" for n in sorted(names) if n.startswith(prefix)
    )


def make_page(program):
    classes = [read_classes(program, p) for p in ("bf16", "fp16")]
    decomposed = read_tables("lib/Autodiff/Decompositions")
    lowered = read_tables("lib/Conversion/ONNXToLinalg/Rules") | decomposed
    # Recurrent cells are differentiated as the Scan that they decompose to.
    differentiated = read_tables("lib/Autodiff/Rules") | {"GRU", "LSTM", "RNN"}
    lines = [HEAD, "| operator | bf16 | fp16 | run | train |", "|---|---|---|---|---|"]
    for name, schema in list_operators().items():
        has_float = takes_float(schema, [*schema.inputs, *schema.outputs])
        by_list = [of.get(name, "follow" if has_float else "-") for of in classes]
        cells = [name, *by_list, say_run(schema, lowered)]
        lines.append(f"| {' | '.join([*cells, say_train(schema, differentiated)])} |")
    lines += [
        "", "## com.microsoft", "",
        f"These have a rule to run, or a decomposition: {list_microsoft(lowered)}.",
        "", f"These have a gradient rule: {list_microsoft(differentiated)}.",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = make_page(options.program)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE}: differs: run scripts/docs/operators.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
