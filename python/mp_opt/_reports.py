# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What calls find out, as objects that print themselves, in notebooks too."""

from __future__ import annotations

import os


def _escape(text: str, quote: bool = False) -> str:
    # Imported here: most users of this package print nothing.
    import html

    return html.escape(text, quote)


class _Text:
    """What has a text."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        line = self.text.rstrip().rpartition("\n")[2]
        return f"<mp_opt.{type(self).__name__}: {line}>"

    def _repr_html_(self) -> str:
        return f"<pre>{_escape(self.text)}</pre>"


class Summary(_Text):
    """The table at the end of a run of mp-opt, and ``data``, the same and more
    as docs/reports.md names it."""

    def __init__(self, text: str, data: dict):
        super().__init__(text)
        self.data = data


class Explanation(_Text):
    """Why nodes have their precision."""


class Diff(_Text):
    """What differs between two models; true if anything does."""

    def __init__(self, text: str, data: dict, differs: bool):
        super().__init__(text)
        self.data = data
        self.differs = differs

    def __bool__(self) -> bool:
        return self.differs


class Verification(_Text):
    """Whether a result is as near to float64 as rounding explains; ``text`` has
    a table, and the verdict in its last line. True if it is."""

    def __init__(self, text: str, verified: bool):
        super().__init__(text)
        self.verified = verified

    def __bool__(self) -> bool:
        return self.verified


class Report:
    """A page that needs no other file."""

    def __init__(self, html: str):
        self.html = html

    def save(self, path) -> None:
        # Whole or not at all.
        path = os.fspath(path)
        new = f"{path}.{os.getpid()}.new"
        try:
            with open(new, "w", encoding="utf-8") as file:
                file.write(self.html)
            os.replace(new, path)
        except BaseException:
            if os.path.exists(new):
                os.unlink(new)
            raise

    def __repr__(self) -> str:
        return f"<mp_opt.Report of {len(self.html)} bytes: save(path)>"

    def _repr_html_(self) -> str:
        # The page is in its own frame: its styles and scripts stay inside.
        return (
            '<iframe style="width:100%;height:640px;border:0" '
            'sandbox="allow-scripts" srcdoc="'
            + _escape(self.html, quote=True)
            + '"></iframe>'
        )


def parse(text: str) -> dict:
    import json

    return json.loads(text)
