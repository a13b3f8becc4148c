# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The repository's own pages as pages of the site.

Each fact has one place: docs/ and the README files of folders. On the site they
have other neighbours, so that links between them are written anew. A link to a
file that is no page leads to a page with its text; a folder stands for its
README.md.
"""

import os
import pathlib
import re

# Pages outside of docs/.
MOVED = {
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "safety.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/h200.md": "benchmarks-h200.md",
    "docs/reference.md": "reference/index.md",
    "examples/training/README.md": "other-frameworks.md",
    "passes/README.md": "reference/pipeline.md",
}
# README.md is the first page of the repository, docs/index.md that of the site.
FIRST_PAGE = "docs/index.md"
FENCE = re.compile(r"^(?P<fence>`{3,})\w*\n.*?^(?P=fence)$\n?", re.M | re.S)
LINK = re.compile(r"(?P<text>\[[^\]]*\])\((?P<target>[^)\s]+)\)")
REMARK = re.compile(r"^<!-- (?:not run|run with torch):[^>]* -->\n", re.M)
# The weight of a page in the search, by the prefix of its name: guides first,
# then reference, then listings of sources.
SEARCH_BOOSTS = {
    "tutorials/": 4,
    "install.md": 4,
    "torch-amp.md": 4,
    "data.md": 2,
    "troubleshooting.md": 2,
    "source/": 0.1,
    "reference/": 0.25,
    "benchmarks": 0.5,
    "changelog.md": 0.5,
}
# Languages of source listings, by the suffix of the file.
LANGUAGES = {".c": "c", ".cpp": "cpp", ".h": "cpp", ".py": "python",
             ".sh": "sh", ".td": "text", ".yaml": "yaml"}


def page_of(path):
    """Where a file of the repository stands on the site."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/") and path.endswith(".md"):
        return path.removeprefix("docs/")
    return f"source/{path.removesuffix('.md')}.md"


def outside_of_code(text, change):
    """The text, with what is no block of code changed."""
    parts, end = [], 0
    for match in FENCE.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


class Stage:
    def __init__(self, root, folder):
        self.root = root
        self.folder = folder
        self.done = set()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for prefix, boost in SEARCH_BOOSTS.items():
            if name.startswith(prefix):
                text = f"---\nsearch:\n  boost: {boost}\n---\n\n{text}"
        path.write_text(text, encoding="utf-8")

    def add(self, path):
        """One file, named from the root, and those that it links to."""
        if path in self.done:
            return
        self.done.add(path)
        text = (self.root / path).read_text(encoding="utf-8")
        if path.endswith(".md"):
            text = REMARK.sub("", text)
            text = outside_of_code(text, lambda t: self.relink(t, path))
        else:
            text = show_source(path, text)
        self.write(page_of(path), text)

    def relink(self, text, page):
        """Links of a page, for its place on the site."""

        def replace(match):
            target, _, anchor = match["target"].partition("#")
            if "://" in target or not target:
                return match[0]
            file = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if (self.root / file).is_dir():
                file = f"{file}/README.md"
            if not (self.root / file).is_file():
                raise FileNotFoundError(f"{page}: no {match['target']}")
            if file == "README.md":
                file = FIRST_PAGE
            self.add(file)
            here = pathlib.PurePosixPath(page_of(page)).parent
            link = os.path.relpath(page_of(file), here)
            return f"{match['text']}({link}{'#' if anchor else ''}{anchor})"

        return LINK.sub(replace, text)


def show_source(path, text):
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    language = LANGUAGES.get(pathlib.PurePosixPath(path).suffix, "text")
    return f"# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
