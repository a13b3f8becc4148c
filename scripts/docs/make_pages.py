# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what mkdocs builds the site from: pages and mkdocs.yml.

usage: make_pages.py FOLDER --programs=FOLDER --tblgen=FILE --mlir-include=FOLDER

Into FOLDER go mkdocs.yml and pages/: those of the repository (stage.py), those
that programs and .td files say themselves (reference.py), plots in place of
their marks (plots.py).
"""

import argparse
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import plots  # noqa: E402
import reference  # noqa: E402
import stage  # noqa: E402

# Parts that a version may be built without: their pages say so.
OPTIONAL = {
    "python.md": "# Python\n\nThis version has no Python package: Python programs "
    "call `mp-opt` and `mp-run`, or a [library](running.md) that `--emit=lib` has "
    "made.\n",
    "reference/python-api.md": "# mp_opt\n\nThis version has no Python package.\n",
    "c-api.md": "# C\n\nThis version has no library of the compiler for C: C "
    "programs call a [compiled model](running.md#in-programs-of-your-own).\n",
}


# A mark in docs/reference.md, which cannot link to pages that are not kept.
MADE_PAGES = "<!-- made pages -->"


def list_made_pages(folder):
    """Links to the pages that the navigation has and the repository has not."""
    config = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    group, lines = "", []
    for line in config[config.index("  - Reference:") :].splitlines()[1:]:
        entry = re.fullmatch(r"( +)- (?:([^:]+):)? ?([\w/-]+\.md)?", line)
        if not entry or len(entry[1]) < 6:
            break
        spaces, name, page = entry.groups()
        if not page:
            group = f"{name}: "
        elif page.startswith("reference/") and page != "reference/index.md":
            prefix = group if len(spaces) > 6 else ""
            lines.append(f"- [{prefix}{name}]({page.removeprefix('reference/')})")
    index = folder / "pages/reference/index.md"
    text = index.read_text(encoding="utf-8")
    index.write_text(text.replace(MADE_PAGES, "\n".join(lines)), encoding="utf-8")


def make(folder, options):
    pages = stage.Stage(ROOT, folder / "pages")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        pages.add(str(path.relative_to(ROOT)))
    for path in stage.MOVED:
        if path != "README.md":
            pages.add(path)
    reference.make_pages(
        pages,
        options.programs,
        reference.Tables(ROOT, options.tblgen, options.mlir_include),
    )
    if (ROOT / "python/mp_opt/__init__.py").exists():
        pages.write("reference/python-api.md", "# mp_opt\n\n::: mp_opt\n")
    for name, text in OPTIONAL.items():
        if not (folder / "pages" / name).exists():
            pages.write(name, text)
    list_made_pages(folder)
    for path in (folder / "pages").rglob("*.md"):
        plots.draw_into(path)
    shutil.copytree(
        ROOT / "docs/site",
        folder / "pages/site",
        ignore=shutil.ignore_patterns("mkdocs.yml"),
    )
    config = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(
        config.replace("@ROOT@", str(ROOT)), encoding="utf-8"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--tblgen", required=True)
    parser.add_argument("--mlir-include", required=True)
    options = parser.parse_args()
    try:
        make(options.folder, options)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"make_pages.py: error: {error}")


if __name__ == "__main__":
    main()
