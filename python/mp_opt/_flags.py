# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keyword arguments as the flags of the programs."""

from __future__ import annotations

import os

from . import _mp_opt
from ._errors import UsageError, check


_described: dict[str, list[dict]] = {}


def _describe(command: str) -> list[dict]:
    import json

    if command not in _described:
        text = check(_mp_opt.describe_options(command))
        _described[command] = json.loads(text)
    return _described[command]


def flags(command: str = "convert") -> list[dict]:
    """The flags of ``convert``, ``compile`` or ``train``: what their keyword
    arguments are called (``name``), take and do."""
    rows = []
    for row in _describe(command):
        row = dict(row)
        row["name"] = row["flag"].lstrip("-").replace("-", "_")
        rows.append(row)
    return rows


def _text(name: str, value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(
        f"{name}: expected a text, a number, a list or a mapping of these, "
        f"got {type(value).__name__}"
    )


def to_flags(arguments) -> list[tuple[str, str | None]]:
    """``{"deny_node": ["a", "b"], "dim": {"batch": 4}, "train": True}`` as
    ``--deny-node=a --deny-node=b --dim=batch=4 --train``; None is not given."""
    made: list[tuple[str, str | None]] = []
    for name, value in arguments.items():
        flag = name.replace("_", "-")
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
    if precision not in (None, "bf16", "fp16", "fp32"):
        raise UsageError(
            f"precision: expected 'bf16', 'fp16' or 'fp32', got {precision!r}",
            2,
        )
    says = ("policy", "gaudi_config", "mixed_bf16", "mixed_fp16", "bf16", "fp16")
    if precision is None and not any(arguments.get(name) for name in says):
        precision = "bf16"
    made = dict(arguments)
    if precision in ("bf16", "fp16"):
        made["precision"] = precision
    return made
