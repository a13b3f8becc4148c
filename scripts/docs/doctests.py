# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Doctests of docstrings as blocks of code, for mkdocstrings.

A line that begins with ">>>" would be a quotation in Markdown. The block ends
with the next empty line, as a doctest does; what only doctest reads is left out.
"""

import re

import griffe

DOCTEST = re.compile(r"^(?P<indent> *)>>> .*\n?(?:(?! *$).*\n?)*", re.M)


def fence_doctests(text):
    def fence(match):
        indent = match["indent"]
        code = re.sub(r" *# doctest: .*", "", match[0]).rstrip("\n")
        return f"{indent}```pycon\n{code}\n{indent}```\n"

    return DOCTEST.sub(fence, text)


class Doctests(griffe.Extension):
    def on_package(self, *, pkg, **_):
        # When stubs are merged; names from other modules are theirs.
        waiting = [pkg]
        while waiting:
            item = waiting.pop()
            if item.docstring:
                item.docstring.value = fence_doctests(item.docstring.value)
            waiting += [m for m in item.members.values() if not m.is_alias]
