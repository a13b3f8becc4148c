#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the stubs of the package mp_opt for type checkers and editors, with
every flag as an argument.

usage: make_stubs.py LIBMP-OPT FILE

The flags are those of the library. The build of the package runs this.
"""

import ctypes
import json
import pathlib
import sys

HEAD = '''# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by make_stubs.py.
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Literal, TypeVar, overload

_Path = str | PathLike[str]
# onnx.ModelProto, onnx_ir.Model, torch.onnx.ONNXProgram
_Object = TypeVar("_Object")
_Texts = str | Iterable[str]
_Sizes = Mapping[str, int] | str | Iterable[str]
# Types of numpy, torch and ml_dtypes are not known here.
_Precision = Literal["bf16", "fp16", "fp32"] | Any
_Array = Any
_Batches = (
    Mapping[str, _Array | _Path] | _Path
    | Iterable[Mapping[str, _Array | _Path] | _Path]
)

__version__: str

class Diagnostic(tuple[str, str, str, str, str, str]):
    severity: str
    file: str
    node: str
    op: str
    attribute: str
    message: str

class Error(Exception):
    status: int
    diagnostics: tuple[Diagnostic, ...]
    def __init__(
        self,
        message: str,
        status: int = 1,
        diagnostics: Iterable[Diagnostic] = (),
    ) -> None: ...

class UsageError(Error, ValueError): ...
class NotSupportedError(Error, NotImplementedError): ...
class DeviceError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...
class ModelWarning(UserWarning): ...

class Value(tuple[str, str, tuple[int | None, ...], bool]):
    name: str
    dtype: str
    shape: tuple[int | None, ...]
    has_default: bool
    @property
    def type(self) -> str: ...

class Range(tuple[float, float, float, float | None, float | None]):
    max: float
    energy: float
    lost: float
    smallest: float | None
    partial: float | None

class Ranges:
    values: dict[str, Range]
    def __init__(self, text: str) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Ranges: ...
    def save(self, path: _Path) -> None: ...
    def merge(self, other: Ranges) -> Ranges: ...
    @property
    def batches(self) -> int: ...
    @property
    def model(self) -> str: ...
    def __getitem__(self, name: str) -> Range: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...

class _Text:
    text: str
    def _repr_html_(self) -> str: ...

class Summary(_Text):
    data: dict[str, Any]

class Explanation(_Text): ...

class Diff(_Text):
    data: dict[str, Any]
    differs: bool
    def __bool__(self) -> bool: ...

class Verification(_Text):
    verified: bool
    def __bool__(self) -> bool: ...

class NodeError(tuple[str, str, float | None, float | None, float | None]):
    node: str
    op: str
    predicted: float | None
    measured: float | None
    share: float | None

class TuningPoint(tuple[float, float | None, float | None, int, int]):
    share: float
    error: float | None
    predicted: float | None
    bytes: int
    nodes_16bit: int

class Attribution(_Text):
    precision: str
    of: str
    batches: int
    nodes_total: int
    predicted: float | None
    predicted_first_order: float | None
    measured: float | None
    spread: float | None
    flips: float | None
    flip_error: float | None
    curvature: float | None
    reliable: bool
    doubts: list[str]
    excess: float | None
    excess_roundings: int
    nodes: list[NodeError]
    runs: int
    probes: int
    seconds: dict[str, float]
    def to_dict(self) -> dict[str, Any]: ...

class Tuning(_Text):
    precision: str
    of: str
    nodes_total: int
    bytes_fp32: int
    curve: list[TuningPoint]
    target: float | None
    met: bool | None
    error: float | None
    predicted: float | None
    bytes: int | None
    runs: int | None
    nodes_16bit: int | None
    baselines: dict[str, dict[str, Any]]
    seconds: dict[str, float]
    policy: str
    def save_policy(self, path: _Path) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...

class Report:
    html: str
    def save(self, path: _Path) -> None: ...
    def _repr_html_(self) -> str: ...

'''
PROGRAM = """class Program:
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    def get_inputs(self) -> list[Value]: ...
    def get_outputs(self) -> list[Value]: ...
    def __call__(self, *arrays: _Array, **named: _Array) -> Any: ...
    def run(
        self, names: Iterable[str] | None, feeds: Mapping[str, _Array]
    ) -> list[Any]: ...

"""
STEP = """    inputs: tuple[Value, ...]
    states: tuple[Value, ...]
    @property
    def count(self) -> int: ...
    @property
    def lr(self) -> float: ...
    def step(
        self,
        batch: Mapping[str, _Array] | None = None,
        *,
        lr: float | None = None,
        **arrays: _Array,
    ) -> dict[str, Any]: ...
    def __call__(
        self,
        batch: Mapping[str, _Array] | None = None,
        *,
        lr: float | None = None,
        **arrays: _Array,
    ) -> dict[str, Any]: ...
    def all_states(self) -> dict[str, Any]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def optimizer_state_dict(self) -> dict[str, Any]: ...
    def scaler_state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(
        self,
        states: Mapping[str, _Array],
        *,
        strict: bool = False,
        count: int | None = None,
    ) -> None: ...
    def save(self, path: _Path, *, keep: int = 2) -> None: ...
    def load(self, path: _Path) -> None: ...

"""
TAIL = """def flags(command: str = "convert") -> list[dict[str, Any]]: ...
def num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...
"""


def read_flags(library, command):
    """The table of flags, each with the name of its argument."""
    options, text = ctypes.c_void_p(), ctypes.c_char_p()
    if library.mp_opt_options_create(command.encode(), ctypes.byref(options)):
        raise SystemExit(f"make_stubs.py: no options for '{command}'")
    library.mp_opt_options_describe(options, ctypes.byref(text))
    rows = json.loads(text.value)
    for row in rows:
        row["name"] = row["flag"].lstrip("-").replace("-", "_")
    library.mp_opt_options_destroy(options)
    return rows


def type_of(row):
    """What Python gives for a flag."""
    if row["name"] in ("dim", "fix"):
        return "_Sizes"
    if row["name"] == "ranges" and row["repeatable"]:
        return "Ranges | _Path | Iterable[Ranges | _Path]"
    if row["name"] == "calibrate":
        return "_Batches"
    if row["name"] == "measure":
        return "int | str | bool"
    if row["choices"]:
        kind = f"Literal[{', '.join(repr(c) for c in row['choices'])}]"
        kind = kind.replace("'", '"')
    elif not row["value"]:
        kind = "bool"
    elif row["value"] in ("N", "X"):
        kind = "int" if row["value"] == "N" else "float"
    elif row["value"] in ("FILE", "DIR", "FILE|NAME"):
        kind = "_Path"
    else:
        kind = "str"
    if row["repeatable"]:
        return "_Texts"
    if row["optional"] and row["value"]:
        kind += " | bool"
    return kind


def format_arguments(rows, left_out):
    return "".join(
        f"    {row['name']}: {type_of(row)} | None = None,\n"
        for row in rows
        if row["name"] not in left_out
    )


# Flags that are not arguments of convert() and similar functions, or that have
# their own arguments.
OWN = ("precision", "o", "print_config", "dry_run", "summary", "explain", "train")


def function(name, first, result, rest, after=""):
    return f"def {name}(\n{first}    *,\n{after}{rest}) -> {result}: ...\n"


def make(library):
    tables = {command: read_flags(library, command)
              for command in ("convert", "attribute", "tune", "compile",
                              "train")}
    training = {row["name"] for row in tables["convert"]
                if row["group"] == "Training"} - {"loss_scale"}  # fmt: skip

    def arguments(command, *left_out):
        return format_arguments(tables[command], left_out)

    named = "    name: str | None = None,\n"
    converts = arguments("convert", *OWN, *training)
    precision = "    precision: _Precision | None = None,\n"
    text = HEAD
    steps = arguments("convert", *OWN, "loss", "optimizer")
    for overload in (True, False):
        model = "_Path" if overload else "_Object"
        text += "@overload\n" + function(
            "convert", f"    model: {model},\n{precision}",
            "Any" if overload else "_Object", converts, named,
        )  # fmt: skip
        if overload:
            text += "@overload\n" + function(
                "convert", f"    model: Any,\n{precision}", "_Path", converts,
                "    output: _Path,\n" + named,
            )  # fmt: skip
    text += function(
        "train_step", "    model: Any,\n    loss: _Texts,\n", "Any", steps,
        '    optimizer: str = "sgd",\n    output: _Path | None = None,\n'
        + named + precision,
    )  # fmt: skip
    for name, first, result in (
        ("summary", "", "Summary"),
        ("explain", "    node: _Texts,\n", "Explanation"),
        ("report", "", "Report"),
        ("overlay", "", "dict[str, Any]"),
    ):
        text += function(
            name, f"    model: Any,\n{first}{precision}", result, converts, named
        )
    text += function(
        "calibrate",
        "    model: Any,\n"
        "    data: _Batches,\n" + precision,
        "Ranges",
        arguments("convert", *OWN[:-1], "calibrate", "ranges"), named,
    )  # fmt: skip
    for name, result, own in (
        ("attribute", "Attribution", ""),
        ("tune", "Tuning", "    target_error: float | None = None,\n"),
    ):
        text += function(
            name,
            "    model: Any,\n    data: _Batches | None = None,\n" + precision,
            result, arguments(name, "precision", "data", "target_error"),
            own + named,
        )  # fmt: skip
    text += function("policy", precision, "str", converts)
    text += "def diff(before: Any, after: Any) -> Diff: ...\n"
    text += function(
        "verify", "    model: Any,\n    result: Any | None = None,\n",
        "Verification",
        arguments("convert", *OWN, *training, "verify"),
        "    data: Mapping[str, _Array] | _Path | None = None,\n"
        + precision + named,
    )  # fmt: skip
    text += "\n" + PROGRAM
    text += function(
        "compile", "    model: Any,\n", "Program",
        arguments("compile", "precision"), precision + named,
    )  # fmt: skip
    text += "\nclass TrainingStep:\n"
    made = function(
        "__init__", "    self,\n    model: Any,\n", "None",
        arguments("train", "precision"), precision + named,
    )  # fmt: skip
    text += "".join(f"    {line}\n" for line in made.splitlines())
    return text + STEP + TAIL


def main():
    library, file = sys.argv[1:]
    text = make(ctypes.CDLL(library))
    # A link there is replaced, not followed.
    pathlib.Path(file).unlink(missing_ok=True)
    pathlib.Path(file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
