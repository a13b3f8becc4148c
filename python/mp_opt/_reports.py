# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What calls find out, as objects that print themselves, in notebooks too."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import pathlib


def _pre(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


@dataclasses.dataclass(frozen=True)
class Summary:
    """The table at the end of a run of mp-opt, and ``data``, the same and more
    as docs/reports.md names it."""

    text: str
    data: dict

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _pre(self.text)


@dataclasses.dataclass(frozen=True)
class Report:
    """A page that needs no other file."""

    html: str

    def save(self, path) -> None:
        # Whole or not at all.
        path = pathlib.Path(path)
        new = path.with_name(path.name + f".{os.getpid()}.new")
        new.write_text(self.html, encoding="utf-8")
        new.replace(path)

    def __repr__(self) -> str:
        return f"<mp_opt.Report of {len(self.html)} bytes: save(path)>"

    def _repr_html_(self) -> str:
        # The page in a frame of its own: styles and scripts stay inside.
        return (
            '<iframe style="width:100%;height:640px;border:0" '
            'sandbox="allow-scripts" srcdoc="'
            + html.escape(self.html, quote=True)
            + '"></iframe>'
        )


@dataclasses.dataclass(frozen=True)
class Explanation:
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _pre(self.text)


@dataclasses.dataclass(frozen=True)
class Diff:
    """What differs between two models; true if anything does."""

    text: str
    data: dict
    differs: bool

    def __bool__(self) -> bool:
        return self.differs

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _pre(self.text)


@dataclasses.dataclass(frozen=True)
class Verification:
    """Whether a result is as near to float64 as rounding explains; ``text`` has
    a table, and the verdict in its last line. True if it is."""

    text: str
    verified: bool

    def __bool__(self) -> bool:
        return self.verified

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _pre(self.text)


def parse(text: str) -> dict:
    return json.loads(text)
