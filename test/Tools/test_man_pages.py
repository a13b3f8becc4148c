# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Man pages say all that --help says, and man has nothing against them."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from support import MP_OPT

BUILD = pathlib.Path(MP_OPT).parents[1]
PAGES = BUILD / "share" / "man" / "man1"
MP_RUN = str(pathlib.Path(MP_OPT).with_name("mp-run"))
COMMANDS = {
    "mp-opt": [MP_OPT],
    **{f"mp-opt-{name}": [MP_OPT, name]
       for name in ("attribute", "bisect", "diff", "reduce", "tune")},
    **{f"mp-run-{name}": [MP_RUN, name]
       for name in ("run", "bench", "compare", "train", "plan", "show")},
}
TOPICS = {"mp-opt": ["train", "code", "data"]}
NAMES = [*COMMANDS, "mp-run", "mp-opt-lsp-server"]
# Words that represent several flags at once, or refer to other pages.
LEFT_OUT = {"usage", "codes", "as", "inputs,", "for", "mp-opt", "mp-run", "run",
            "the", "same", "..."}

needs_man = pytest.mark.skipif(not shutil.which("man"), reason="no man")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          check=True, **options)


def render(name):
    """As on a terminal that is so wide that no paragraph is broken."""
    environment = {**os.environ, "MANWIDTH": "5000", "MAN_KEEP_FORMATTING": "",
                   "LC_ALL": "C.UTF-8"}
    text = run("man", "--no-hyphenation", "-P", "cat", "-l", PAGES / f"{name}.1",
               env=environment).stdout
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", text)


@needs_man
@pytest.mark.parametrize("name", NAMES)
def test_groff_has_no_warnings(name):
    done = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
               PAGES / f"{name}.1", env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert not done.stderr, done.stderr


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
@pytest.mark.parametrize("name", NAMES)
def test_mandoc_has_no_warnings(name):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning",
                           PAGES / f"{name}.1"], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout, done.stdout


@needs_man
@pytest.mark.parametrize("name", COMMANDS)
def test_each_flag_has_an_entry(name):
    rows = json.loads(run(*COMMANDS[name], "--help=json").stdout)
    lines = render(name).splitlines()
    heads = {re.split(r"[=\[ ]", part)[0] for line in lines
             if line.startswith("       -") for part in line.split(", ")
             for part in [part.strip()]}
    for row in rows:
        for flag in (row["flag"], *row["synonyms"]):
            assert flag in heads, flag
    assert {"--help", "-h", "--version"} <= heads
    assert ("--print-completion" in heads) == (name in ("mp-opt", "mp-run"))


@needs_man
@pytest.mark.parametrize("name", COMMANDS)
def test_choices_and_words_are_named(name):
    text = render(name)
    for row in json.loads(run(*COMMANDS[name], "--help=json").stdout):
        for word in row["choices"] + row["words"]:
            assert word in text, (row["flag"], word)


@needs_man
@pytest.mark.parametrize("name", [*COMMANDS, "mp-run"])
def test_nothing_of_help_is_lost(name):
    """Each word of it is in the page."""
    command = COMMANDS.get(name, [MP_RUN])
    texts = [run(*command, "--help").stdout]
    texts += [run(*command, f"--help={topic}").stdout
              for topic in TOPICS.get(name, [])]
    page = set(re.split(r"[\s,;:]+", render(name)))
    for text in texts:
        # The title's program, headings, and lists of flags.
        words = {word for word in re.split(r"[\s,;:()]+", text.partition(": ")[2])
                 if word and not word.startswith("-")}
        missing = words - page - LEFT_OUT
        missing = {word for word in missing if not re.search(
            re.escape(word), render(name), re.I)}
        assert not missing, " ".join(sorted(missing))


@needs_man
def test_pages_are_found(tmp_path):
    """By man, and by what looks for words in their first lines."""
    target = tmp_path / "man" / "man1"
    shutil.copytree(PAGES, target)
    environment = {**os.environ, "MANPATH": str(tmp_path / "man"),
                   "LC_ALL": "C.UTF-8"}
    for name in NAMES:
        where = run("man", "-w", name, env=environment).stdout.strip()
        assert where == str(target / f"{name}.1")
        done = run("lexgrog", target / f"{name}.1")
        assert f'"{name} - ' in done.stdout, done.stdout


@needs_man
def test_pages_lead_to_pages():
    for name in NAMES:
        listed = render(name).partition("SEE ALSO\n")[2].strip().split("\n")[0]
        others = [page.strip() for page in listed.split(",")]
        assert others and all(page.removesuffix("(1)") in NAMES
                              and page.endswith("(1)") for page in others), listed


def test_versions_are_the_programs():
    version = run(MP_OPT, "--version").stdout.split(" (")[0]
    for name in NAMES:
        head = re.search(r"^\.TH .*$", (PAGES / f"{name}.1").read_text(), re.M)[0]
        assert version.replace("mp-opt", "").strip() in head.replace("\\", "")


@pytest.mark.parametrize("name", NAMES)
def test_description_says_what_the_command_does(name):
    """In a sentence, before any list."""
    text = (PAGES / f"{name}.1").read_text(encoding="utf-8")
    first = text.split(".SH DESCRIPTION\n")[1].lstrip().removeprefix(".PP\n")
    assert re.match(r"(\\fB[\w\\-]+\\fR )?[A-Za-z]", first), first[:200]
