# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What calls raise, and what they warn of."""

from __future__ import annotations

import re
import sys
import warnings

from ._records import Record

_SEVERITIES = ("note", "warning", "error", "remark")


class Diagnostic(Record):
    """One message; fields are empty where it says nothing of them."""

    __slots__ = ()
    _fields = ("severity", "file", "node", "op", "attribute", "message")

    def __str__(self) -> str:
        prefix = f"{self.file}: " if self.file else ""
        return f"{prefix}{self.severity}: {self.message}"


class Error(Exception):
    """A model, an option or data that cannot be used.

    ``status`` is the exit code that the programs end with; ``diagnostics`` are
    all messages of the call, the first error among them.
    """

    def __init__(self, message: str, status: int = 1, diagnostics=()):
        super().__init__(message)
        self.status = status
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)

    def __reduce__(self):
        return type(self), (str(self), self.status, self.diagnostics)


class UsageError(Error, ValueError):
    """Options that there are not, or that contradict each other."""


class NotSupportedError(Error, NotImplementedError):
    """The model has operators that cannot be compiled, or 16 bit that was asked
    for with ``strict=True`` cannot be had."""


class DeviceError(Error, RuntimeError):
    """The device was lost, or has failed."""


class InternalError(Error, RuntimeError):
    """A bug, or no memory left."""


class ModelWarning(UserWarning):
    """What is worth a look in a model or in data."""


# Parts of messages that are instructions for a shell.
_MAKE_STEP = re.compile(r"mp-opt \S+ --train --loss=\.\.\. -o step\.onnx")
_SIZES = re.compile(r"(?<![\w-])--dim=(\w+)=(\w+)")
_FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*|-o)(?![\w-])")


def to_python(text: str) -> str:
    """A message of the programs with the names that arguments have here:
    ``deny_node`` for ``--deny-node``. Command lines stay as they are."""
    if "-" not in text:
        return text
    from ._flags import argument_names

    names = argument_names()

    def rename(match):
        return names.get(match[1], match[1])

    text = _MAKE_STEP.sub("mp_opt.train_step(model, loss)", text)
    parts = re.split("(; |: )", text)
    for place, part in enumerate(parts):
        if not re.search(r"\bmp-(opt|run) ", part):
            part = _SIZES.sub(r'dim={"\1": \2}', part)
            parts[place] = _FLAG.sub(rename, part)
    return "".join(parts)


OUTSIDE = 3
_CLASSES = {
    2: UsageError,
    4: NotSupportedError,
    7: DeviceError,
    70: InternalError,
}


def _frames_inside() -> int:
    """How many frames up the caller of the package stands."""
    depth, frame = 1, sys._getframe(1)
    package = __name__.rpartition(".")[0]
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != package and not name.startswith(package + "."):
            return depth
        depth, frame = depth + 1, frame.f_back
    return depth


def check(result, allowed=(), notes=False):
    """The value of a call; raises where it failed, warns of what it said, with
    ``notes`` of notes as well. Flags have the names of Python's arguments."""
    status, value, text, messages = result
    told = [
        Diagnostic(
            _SEVERITIES[severity], file, node, op, attribute, to_python(message)
        )
        for severity, file, node, op, attribute, message in messages
    ]
    if status and status not in allowed:
        raise _CLASSES.get(status, Error)(to_python(text), status, told)
    for diagnostic in told:
        severity = diagnostic.severity
        if severity == "warning" or (notes and severity in ("note", "remark")):
            warnings.warn(
                str(diagnostic).replace(f"{severity}: ", "", 1),
                ModelWarning,
                stacklevel=_frames_inside(),
            )
    return value
