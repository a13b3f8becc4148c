# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the examples that pages name into these pages.

usage: embed_examples.py FOLDER [--root ROOT]

The pages (*.md) that `ninja mlir-doc` has written below FOLDER say
"Example: test/Graph/onnx-fix-sizes.mlir" of a pass: behind the paragraph goes
the text of each file of the repository ROOT that it names. What an earlier run
has put there is replaced. Exits with 1 if there is no such file.
"""

import argparse
import pathlib
import re
import sys

EXAMPLES = re.compile(
    r"^Examples?:(?P<names>(?:\s+`?test/[\w./-]+\w`?[,.]?)+)\n"
    r"(?P<embedded>(?:\n`test/[^`\n]+`:\n\n(?P<fence>`{3,})mlir\n"
    r"(?:.*\n)*?(?P=fence)\n)*)",
    re.M,
)


def fence_for(text):
    """More backquotes than the text has in a row."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def embed(page, root):
    """The page with its examples; an error if one is not there."""

    def replace(match):
        parts = [match[0][: match.start("embedded") - match.start()]]
        for name in re.findall(r"test/[\w./-]+\w", match["names"]):
            text = (root / name).read_text(encoding="utf-8")
            fence = fence_for(text)
            parts.append(f"\n`{name}`:\n\n{fence}mlir\n{text}{fence}\n")
        return "".join(parts)

    return EXAMPLES.sub(replace, page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    here = pathlib.Path(__file__).resolve()
    parser.add_argument("--root", type=pathlib.Path, default=here.parents[1])
    options = parser.parse_args()
    for path in sorted(options.folder.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        try:
            embedded = embed(page, options.root)
        except OSError as error:
            print(f"{path}: {error.filename}: {error.strerror}")
            return 1
        if embedded != page:
            path.write_text(embedded, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
