# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages are true: their commands run as written, their links lead somewhere.

pages.py says how blocks are marked.
"""

import pathlib
import re
import subprocess
import sys

import pytest

import pages
from support import MP_OPT, ROOT

PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *ROOT.glob("docs/**/*.md"),
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
COMMANDS = ("run", "bench", "compare", "train", "plan", "show")
OPT_COMMANDS = ("attribute", "bisect", "diff", "reduce", "tune")
# The length limit of README.md, which must stay short.
README_LINES = 100


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


# test_tutorials.py runs the others: two files run at the same time.
@pytest.mark.parametrize("name", [n for n in NAMES if "/tutorials/" not in n])
def test_commands_run(name, tmp_path):
    pages.make_folder(tmp_path)
    pages.run_page(name, tmp_path)


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
    assert not [n for n in ROOT.glob("docs/**/*.md") if n not in reached]


def test_readme_is_short():
    assert len(read("README.md").splitlines()) <= README_LINES


#
# Names in the text
#

CODE = re.compile(r"`([^`\n]+)`")
# A file or folder of the repository, by its name from the root.
NAMED = re.compile(
    r"(?:benchmarks|docs|examples|fuzz|include|lib|passes|scripts|test|tools)"
    r"(?:/[\w.-]+)+/?"
)
# Flags of other programs than those of the repository, which pages name.
FOREIGN_FLAGS = {"--install", "--prefix", "--load-dialect-plugin",
                 "--load-pass-plugin", "--name", "--hostfile",
                 "--param", "--config", "--package-config", "--extensions",
                 "--best", "--int8", "--onnx"}
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+\b(?!-?\*)")


@pytest.mark.parametrize("name", NAMES)
def test_files_exist(name):
    """Those that a page names in backquotes."""
    for text in CODE.findall(pages.outside_of_blocks(read(name))):
        if NAMED.fullmatch(text):
            folders = (ROOT, (ROOT / name).parent)
            assert any((f / text).exists() for f in folders), f"{name}: {text}"


def test_names_of_code_exist():
    """What docs/extending.md says of functions and types."""
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("include", "lib", "passes")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".h", ".cpp", ".td")
    )
    text = read("docs/extending.md")
    names = set(re.findall(r"`([a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+)`", text))
    for block in pages.read_blocks(text):
        names |= set(re.findall(r"\b[a-z]+[A-Z]\w+", block.text))
    assert len(names) > 5
    assert not [n for n in names if not re.search(rf"\b{n}\b", sources)]
    # Rules and rows are shown as they are.
    lines = {line.strip() for block in pages.read_blocks(text)
             if block.kind == "cpp" for line in block.text.splitlines()}
    lines -= {"", "..."}
    assert len(lines) > 20
    assert not [line for line in lines if line not in sources]


@pytest.fixture(scope="module")
def known_flags():
    programs = pathlib.Path(MP_OPT).parent
    texts = [print_help(["mp-opt", "--help=all"])]
    for command in (*(["mp-opt", c] for c in OPT_COMMANDS),
                    *(["mp-run", c] for c in COMMANDS)):
        done = subprocess.run(
            [programs / command[0], *command[1:], "--help=json"],
            capture_output=True, text=True, timeout=60, check=True,
        )
        texts.append(done.stdout)
    for path in (*ROOT.glob("scripts/*"), *ROOT.glob("examples/**/*.py"),
                 *ROOT.glob("benchmarks/**/*.py")):
        if path.is_file():
            texts.append(path.read_text(encoding="utf-8"))
    return FOREIGN_FLAGS.union(*map(FLAG.findall, texts))


@pytest.mark.parametrize("name", NAMES)
def test_flags_exist(name, known_flags):
    text = read(name)
    # Console blocks contain output, including deliberate errors.
    code = [b.text for b in pages.read_blocks(text) if b.kind == "sh" and not b.reason]
    code += CODE.findall(pages.outside_of_blocks(text))
    named = {flag for part in code for flag in FLAG.findall(part)}
    assert not named - known_flags

#
# Help texts
#

TOPICS = [
    ["mp-opt", "--help"],
    ["mp-opt", "--help=train"],
    ["mp-opt", "--help=code"],
    ["mp-opt", "--help=data"],
    *(["mp-opt", c, "--help"] for c in OPT_COMMANDS),
    *(["mp-run", c, "--help"] for c in COMMANDS),
]
EXAMPLES = re.compile(r"^Examples?:\n((?:  .*\n)+)", re.M)
# The model that the examples of help texts refer to.
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
    # The command of a search: every model passes.
    (folder / "check.py").write_text("")


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


def test_flags_of_the_wheel_script():
    """As docs/install.md writes them: with "=", or as the next word."""
    for arguments in (["--python=no-python"], ["--python", "no-python"]):
        done = subprocess.run(
            [ROOT / "scripts/build-wheel.sh", *arguments],
            capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == 1
        assert "--python: cannot run no-python" in done.stderr


#
# Messages and tables that pages repeat
#


def read_texts_of_sources():
    """With string literals that follow each other joined."""
    texts = []
    for folder in ("lib", "passes", "tools"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".h", ".cpp"):
                texts.append(path.read_text(encoding="utf-8"))
    return re.sub(r'"\s*\n\s*"', "", "\n".join(texts))


def test_quoted_messages_exist():
    """Those in the first column of docs/troubleshooting.md."""
    sources = read_texts_of_sources()
    messages = re.findall(r"^\| `([^`]+)`", read("docs/troubleshooting.md"), re.M)
    assert len(messages) >= 20
    missing = [
        message
        for message in messages
        for part in message.replace("runs in: mp-run", "runs in: ").split("...")
        if part.strip(" ;,") and part not in sources
    ]
    assert not missing


def test_operators_are_those_of_the_code():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/docs/operators.py", MP_OPT, "--check"],
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 0, done.stderr
