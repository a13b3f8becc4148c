# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges of values: a record, a file, an argument."""

from __future__ import annotations

import os

from ._errors import UsageError
from ._records import Record


class Range(Record):
    """Statistics of one value: the greatest magnitude; the sum of squares of
    all elements, and that of what fp16 loses of those below its normal numbers;
    for values that divide, the smallest magnitude above zero; for sums and
    means, the greatest magnitude that a partial sum can have."""

    __slots__ = ()
    _fields = ("max", "energy", "lost", "smallest", "partial")


class Ranges:
    """Ranges of values by their names: what ``convert(ranges=...)`` takes."""

    def __init__(self, text: str):
        import json

        try:
            data = json.loads(text)
            found = data["format"] == "mp-opt.ranges" and data["version"] == 1
            self._data = data
            self.values = {
                name: Range(*(float(n) if n is not None else None for n in row))
                for name, row in data["values"].items()
            }
        except (ValueError, LookupError, TypeError, AttributeError):
            found = False
        if not found:
            raise UsageError("expected ranges as mp_opt.calibrate makes them", 2)

    @classmethod
    def load(cls, path) -> Ranges:
        """Reads a file that ``save`` or ``mp-opt --ranges`` has written."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def save(self, path) -> None:
        """Writes a file, whole or not at all."""
        part = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            with open(part, "w", encoding="utf-8") as file:
                file.write(self._text())
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    def merge(self, other: Ranges) -> Ranges:
        """The ranges of both; of the same model."""
        mine, theirs = self.model, other.model
        if mine and theirs and mine != theirs:
            raise UsageError("merge: ranges of another model", 2)
        made = Ranges(self._text())
        made._data["model"] = mine or theirs
        made._data["batches"] = self.batches + other.batches
        for name, row in other.values.items():
            old = made.values.get(name)
            made.values[name] = row if old is None else _merge(old, row)
        return made

    @property
    def batches(self) -> int:
        return self._data["batches"]

    @property
    def model(self) -> str:
        """The digest of the model's structure."""
        return self._data.get("model", "")

    def __getitem__(self, name: str) -> Range:
        return self.values[name]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __repr__(self) -> str:
        return f"Ranges({len(self)} values, {self.batches} batches)"

    def _text(self) -> str:
        import json

        def number(value):
            return "inf" if value == float("inf") else value

        rows = {
            name: [number(value) for value in row]
            for name, row in self.values.items()
        }
        return json.dumps({**self._data, "values": rows}, indent=1) + "\n"


def _merge(a: Range, b: Range) -> Range:
    def choose(of, x, y):
        return of(x, y) if None not in (x, y) else y if x is None else x

    return Range(
        max(a.max, b.max), a.energy + b.energy, a.lost + b.lost,
        choose(min, a.smallest, b.smallest), choose(max, a.partial, b.partial),
    )  # fmt: skip
