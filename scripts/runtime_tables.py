# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the operators and float types that a runtime takes, for lib/Schema/Runtimes.

usage: runtime_tables.py onnxruntime-cpu TABLE    merge this package's kernels into it
       runtime_tables.py onnxruntime-cpu TABLE --check
       runtime_tables.py openvino TABLE           write it anew
       runtime_tables.py mp-run TABLE [--check]   from the rules of this project

The tables of TensorRT and of onnxruntime's CUDA provider come from documents,
which they name; nothing here can read these runtimes without a GPU.
With --check nothing is written, and the exit code is 1 if the rows of the
release that is installed differ from the table's.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOMAINS = {"": "", "ai.onnx": "", "ai.onnx.ml": "ai.onnx.ml.",
           "com.microsoft": "com.microsoft."}
FLOATS = {"tensor(float)": "f32", "tensor(float16)": "f16",
          "tensor(bfloat16)": "bf16", "tensor(double)": "f64"}
ORDER = ("f32", "f16", "bf16", "f64", "other")
OPEN_END = 2**31 - 1
# Kernels that refuse some of the types that they are registered for.
NARROWED = {
    ("ScatterND", "T"): ("reduction != none", ("f32", "f64", "other")),
    ("ScatterElements", "T"): ("reduction != none", ("f32", "f64", "other")),
}


def join(types):
    return ",".join(t for t in ORDER if t in types) or "-"


def read_onnxruntime():
    """The kernels of the CPU provider as {(operator, versions, variable): types}."""
    from onnxruntime.capi import _pybind_state as state

    found = {}
    for kernel in state.get_all_opkernel_def():
        prefix = DOMAINS.get(kernel.domain)
        if kernel.provider != "CPUExecutionProvider" or prefix is None:
            continue
        first, last = kernel.version_range
        versions = str(first) if last in (OPEN_END, first) else f"{first}-{last}"
        # Without constraints, operands have the schema's fixed types.
        fixed = {"*": ["tensor(float)", "tensor(int64)"]}
        for variable, types in (kernel.type_constraints or fixed).items():
            row = found.setdefault((prefix + kernel.op_name, versions, variable), set())
            row.update(FLOATS.get(t, "other") for t in types)
    return found


def list_onnxruntime_rows():
    """(operator, versions, variable, types, condition) of the installed package."""
    rows = set()
    for (operator, versions, variable), types in read_onnxruntime().items():
        narrowed = NARROWED.get((operator, variable))
        if narrowed:
            rows.add((operator, versions, variable, join(types), "reduction == none"))
            types = types & set(narrowed[1])
        rows.add((operator, versions, variable, join(types), "-"))
    return rows


def get_release():
    import onnxruntime

    return ".".join(onnxruntime.__version__.split(".")[:2])


def get_newest_opset():
    from onnxruntime.capi import _pybind_state as state

    return max(s.since_version for s in state.get_all_operator_schema()
               if s.domain in ("", "ai.onnx"))


def parse_release(text):
    return tuple(int(part) for part in text.split("."))


class Table:
    """Lines of a table: comments, settings, and rows with their releases."""

    def __init__(self, path):
        self.comments, self.settings, self.releases, self.rows = [], [], {}, {}
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = line.split("\t")
            if line.startswith("#"):
                self.comments.append(line)
            elif cells[0] == "release":
                self.releases[cells[1]] = cells[2:]
            elif cells[0] == "kernel":
                self.rows.setdefault(tuple(cells[1:6]), []).append(cells[6])
            else:
                self.settings.append(line)

    def covers(self, releases, release):
        if releases == "-":
            return True
        if releases.endswith("+"):
            return parse_release(releases[:-1]) <= release
        first, _, last = releases.partition("-")
        last = last or first
        return (not first or parse_release(first) <= release) and \
            release <= parse_release(last)

    def get_rows(self, release):
        number = parse_release(release)
        return {row for row, releases in self.rows.items()
                if any(self.covers(r, number) for r in releases)}

    def merge(self, release, opsets, rows):
        """Adds a release; the table has rows for each release from here on."""
        known = sorted({*self.releases, release}, key=parse_release)
        content = {r: self.get_rows(r) for r in self.releases}
        content[release] = rows
        self.releases[release] = opsets
        self.rows = {}
        for row in sorted(set().union(*content.values())):
            has = [r for r in known if row in content[r]]
            if has == known:
                text = "-"
            elif has == known[known.index(has[0]):]:
                text = has[0] + "+"
            elif len(has) == 1:
                text = has[0]
            else:
                text = f"{has[0]}-{has[-1]}"
            self.rows[row] = [text]

    def format(self):
        lines = [*self.comments, *self.settings]
        for release in sorted(self.releases, key=parse_release):
            lines.append("\t".join(["release", release, *self.releases[release]]))
        for row, releases in sorted(self.rows.items()):
            lines += ["\t".join(["kernel", *row, r]) for r in releases]
        return "\n".join(lines) + "\n"


def do_onnxruntime(path, check):
    table = Table(path)
    release, rows = get_release(), list_onnxruntime_rows()
    if check:
        return compare(table.get_rows(release), rows, f"onnxruntime {release}", path)
    table.merge(release, ["1", str(get_newest_opset())], rows)
    path.write_text(table.format(), encoding="utf-8")
    return 0


def compare(known, found, name, path):
    for row in sorted(found - known):
        print(f"{path}: {name} has this row, the table does not: {row}")
    for row in sorted(known - found):
        print(f"{path}: {name} does not have this row, the table does: {row}")
    return int(known != found)


def read_openvino():
    """The operators whose node tests OpenVINO's reader converts."""
    import openvino
    from onnx.backend.test.case.node import collect_testcases

    core, taken = openvino.Core(), set()
    for case in collect_testcases(None):
        if case.model is None:
            continue
        operators = {node.op_type for node in case.model.graph.node
                     if node.domain in ("", "ai.onnx")}
        if len(operators) != 1 or taken >= operators:
            continue
        try:
            core.read_model(case.model.SerializeToString())
            taken |= operators
        except Exception:  # The reader throws RuntimeError and others.
            continue
    return taken, openvino.__version__


def do_openvino(path, check):
    taken, version = read_openvino()
    release = ".".join(version.split(".")[:2])
    table = Table(path)
    rows = {(name, "*", "*", "f32,f16,bf16,f64,other", "-") for name in taken}
    if check:
        return compare(table.get_rows(release), rows, f"OpenVINO {release}", path)
    table.rows = {}
    table.releases = {}
    table.merge(release, ["7", "28"], rows)
    path.write_text(table.format(), encoding="utf-8")
    return 0


def list_own_rows():
    sys.path.insert(0, str(ROOT / "scripts/docs"))
    import operators

    lowered = operators.read_tables("lib/Conversion/ONNXToLinalg/Rules")
    lowered |= operators.read_tables("lib/Autodiff/Decompositions")
    names = {name for name, schema in operators.list_operators().items()
             if operators.say_run(schema, lowered) != "no"}
    names |= {name for name in lowered if name.startswith("com.microsoft.")}
    return {(name, "*", "*", "f32,f16,bf16,f64,other", "-") for name in names}


def do_own(path, check):
    table = Table(path)
    rows = list_own_rows()
    release = next(iter(table.releases))
    if check:
        return compare(table.get_rows(release), rows, "mp-run", path)
    table.rows = {row: ["-"] for row in rows}
    path.write_text(table.format(), encoding="utf-8")
    return 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("runtime", choices=["onnxruntime-cpu", "openvino", "mp-run"])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    do = {"onnxruntime-cpu": do_onnxruntime, "openvino": do_openvino, "mp-run": do_own}
    return do[options.runtime](options.table, options.check)


if __name__ == "__main__":
    sys.exit(main())
