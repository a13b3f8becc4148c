# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages are true: their commands run as written, their links lead somewhere.

pages.py says how blocks are marked.
"""

import pathlib
import re
import subprocess

import pytest

import pages
from support import MP_OPT, ROOT

PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("examples/**/README.md"),
        *ROOT.glob("benchmarks/README.md"),
        *ROOT.glob("passes/README.md"),
        *ROOT.glob("fuzz/README.md"),
    ]
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# A command that would escape being run.
HIDDEN = re.compile(r"^ {4,}(?:\$ )?(?:mp-opt|mp-run|build/bin/\S+) ", re.M)
# Of a release that says what it can do on one page.
README_LINES = 200


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_commands_run(name, tmp_path):
    pages.make_folder(tmp_path)
    ran = 0
    for block in pages.read_blocks(read(name)):
        if block.kind not in pages.RUN or block.reason:
            continue
        try:
            pages.run_block(block, tmp_path)
        except AssertionError as error:
            raise AssertionError(f"{name}:{block.line}: {error}") from None
        ran += 1
    if not ran:
        pytest.skip("no commands")


@pytest.mark.parametrize("name", NAMES)
def test_no_command_escapes(name):
    rest = pages.outside_of_blocks(read(name))
    assert not HIDDEN.search(rest), "commands belong into blocks of sh"


def anchors(path):
    """As GitHub makes them of headings."""
    text = pages.outside_of_blocks(path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    kept = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in kept}


@pytest.mark.parametrize("name", NAMES)
def test_links(name):
    page = ROOT / name
    for target in LINK.findall(pages.outside_of_blocks(read(name))):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{name}: no {target}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{name}: no {target}"


def test_every_page_is_reached():
    """From README, by links."""
    reached, new = set(), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {
            (page.parent / target.partition("#")[0]).resolve()
            for page in new
            if page.suffix == ".md"
            for target in LINK.findall(page.read_text(encoding="utf-8"))
            if "://" not in target
        } - reached
    assert not [n for n in ROOT.glob("docs/*.md") if n not in reached]


def test_readme_is_short():
    assert len(read("README.md").splitlines()) <= README_LINES


#
# Help texts
#

TOPICS = [
    ["mp-opt", "--help"],
    ["mp-opt", "--help=train"],
    ["mp-opt", "--help=code"],
    *(["mp-run", c, "--help"] for c in ("run", "bench", "compare", "train", "show")),
]
EXAMPLES = re.compile(r"^Examples?:\n((?:  .*\n)+)", re.M)
# What the examples of help texts speak of.
MODEL = """<ir_version: 10, opset_import: ["": 18]>
m (float[batch, 4] x) => (float[batch, 4] y)
<float[4, 4] "head.weight" = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
 float[4, 4] "body.weight" = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{
  ["body/product"] b = MatMul (x, "body.weight")
  ["act"] a = Gelu (b)
  ["head/product"] y = MatMul (a, "head.weight")
}
"""
MAIN = """#include "net.h"
int main(void) { return net_run(0, 0) == 0; }
"""


def print_help(topic):
    program = pathlib.Path(MP_OPT).parent / topic[0]
    done = subprocess.run(
        [program, *topic[1:]], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    return done.stdout


def make_what_help_names(folder):
    (folder / "model.onnxtxt").write_text(MODEL.replace("18", "20"))
    pages.run_shell(
        "mp-opt model.onnxtxt -o model.onnx; cp model.onnx net.onnx;"
        "mp-opt model.onnxtxt -o model.mlir;"
        "python -c 'import numpy; numpy.savez(\"data.npz\","
        " x=numpy.ones((2, 4), numpy.float32))'",
        folder,
    )
    (folder / "main.c").write_text(MAIN)


@pytest.mark.parametrize("topic", TOPICS, ids=" ".join)
def test_examples_of_help_run(topic, tmp_path):
    found = EXAMPLES.findall(print_help(topic))
    if not found:
        pytest.skip("no examples")
    make_what_help_names(tmp_path)
    for text in found:
        pages.run_shell(text, tmp_path)


@pytest.mark.parametrize("topic", TOPICS, ids=" ".join)
def test_help_fits_a_terminal(topic):
    assert max(map(len, print_help(topic).splitlines())) <= 80
