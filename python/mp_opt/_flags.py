# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keyword arguments as the flags of the programs."""

from __future__ import annotations

import os

from . import _mp_opt
from ._errors import UsageError, check


_described: dict[str, list[dict]] = {}
_rows_by_name: dict[str, dict] = {}
# Values that are texts, as help calls them, although they may look like numbers.
_TEXTS = frozenset((
    "OP,...", "REGEX", "REGEX|@FILE", "FILE", "DIR", "NODE", "NAME", "NAME,NAME",
    "LOSS", "PREFIX", "PROGRAM", "TRIPLE|sm_80,...",
))  # fmt: skip
_PRECISIONS = {
    "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16",
    "half": "fp16", "fp32": "fp32", "float32": "fp32", "float": "fp32",
}  # fmt: skip


def _describe(command: str) -> list[dict]:
    import json

    if command not in _described:
        text = check(_mp_opt.describe_options(command))
        _described[command] = json.loads(text)
    return _described[command]


def _row(name: str) -> dict:
    """The description of an argument, of whatever command has it; or nothing."""
    if not _rows_by_name:
        for command in ("tune", "attribute", "train", "compile", "convert"):
            for row in flags(command):
                _rows_by_name[row["name"]] = row
    return _rows_by_name.get(name, {})


def argument_names() -> dict[str, str]:
    """The names of Python's arguments by those of flags."""
    try:
        _row("")
    except Exception:  # The message is shown even if names are missing.
        return {}
    names = {row["flag"]: name for name, row in _rows_by_name.items()}
    for name, row in _rows_by_name.items():
        for synonym in row["synonyms"]:
            names.setdefault(synonym, synonym.lstrip("-").replace("-", "_"))
    return names | {"-o": "output", "--output": "output"}


def flags(command: str = "convert") -> list[dict]:
    """The flags of ``convert``, ``attribute``, ``tune``, ``compile`` or
    ``train``: what their keyword arguments are called (``name``), take and do."""
    rows = []
    for row in _describe(command):
        row = dict(row)
        row["name"] = row["flag"].lstrip("-").replace("-", "_")
        rows.append(row)
    return rows


def to_precision(value):
    """"bf16", "fp16" or "fp32" of a precision in any spelling: numpy's, torch's
    and ml_dtypes' types as well. Other texts come back."""
    if value is None or isinstance(value, str):
        return _PRECISIONS.get(value, value)
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    if not isinstance(name, str):
        name = str(value).rpartition("torch.")[2]
    if name not in _PRECISIONS:
        _refuse_precision(value)
    return _PRECISIONS[name]


def _refuse_precision(value):
    raise UsageError(
        "precision: expected 'bf16', 'fp16' or 'fp32', or a type such as "
        f"numpy.float16, got {value!r}",
        2,
    )


def _refuse(name: str, value, expected: str):
    kind = type(value)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    raise TypeError(
        f"{name}: expected {expected}, got {value!r}, which is of type "
        f"{where}{kind.__qualname__}"
    )


def _text(name: str, value) -> str:
    row = _row(name)
    if row.get("value") in _TEXTS and isinstance(value, (bool, int, float)):
        more = " or a list of texts" if row["repeatable"] else ""
        _refuse(name, value, "a text" + more)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    _refuse(name, value, "a text, a number, a list or a mapping of these")


def to_flags(arguments) -> list[tuple[str, str | None]]:
    """``{"deny_node": ["a", "b"], "dim": {"batch": 4}, "train": True}`` as
    ``--deny-node=a --deny-node=b --dim=batch=4 --train``; None is not given."""
    made: list[tuple[str, str | None]] = []
    for name, value in arguments.items():
        flag = name.replace("_", "-")
        if name == "precision":
            value = to_precision(value)
        if value is None:
            continue
        if value is True:
            made.append((flag, None))
        elif hasattr(value, "items"):
            made += [
                (flag, f"{key}={_text(name, item)}")
                for key, item in value.items()
            ]
        elif isinstance(value, (list, tuple, set, frozenset)):
            items = sorted(value) if isinstance(value, (set, frozenset)) else value
            made += [(flag, _text(name, item)) for item in items]
        else:
            made.append((flag, _text(name, value)))
    return made


def precision_flags(precision, arguments) -> dict:
    """What runs in 16 bit: bf16, unless something else says so."""
    precision = to_precision(precision)
    if precision not in (None, "bf16", "fp16", "fp32"):
        _refuse_precision(precision)
    says = ("policy", "gaudi_config", "mixed_bf16", "mixed_fp16", "bf16", "fp16")
    if precision is None and not any(arguments.get(name) for name in says):
        precision = "bf16"
    made = dict(arguments)
    if precision in ("bf16", "fp16"):
        made["precision"] = precision
    return made
