# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of flags: each flag of each program, misspelt and misused."""

import json
import pathlib
import re
import subprocess

import pytest
from support import MP_OPT, ROOT

MP_RUN = str(pathlib.Path(MP_OPT).with_name("mp-run"))
COMMANDS = {
    "mp-opt": [MP_OPT],
    **{f"mp-opt {name}": [MP_OPT, name]
       for name in ("attribute", "bisect", "diff", "reduce", "tune")},
    **{
        f"mp-run {name}": [MP_RUN, name]
        for name in ("run", "bench", "compare", "train", "show")
    },
}
USAGE = 2


def attempt(command, *arguments):
    return subprocess.run(
        [*COMMANDS[command], *arguments], capture_output=True, text=True,
        timeout=60, stdin=subprocess.DEVNULL,
    )


def load(command):
    done = attempt(command, "--help=json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


TABLES = {command: load(command) for command in COMMANDS}
FLAGS = [(command, row) for command, rows in TABLES.items() for row in rows]
each_flag = pytest.mark.parametrize(
    "command, row", [pytest.param(c, r, id=f"{c} {r['flag']}") for c, r in FLAGS]
)


def expect(command, text, *arguments):
    done = attempt(command, *arguments)
    assert done.returncode == USAGE, done.stderr
    assert done.stderr.startswith(f"{command}: error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert text in done.stderr
    assert not done.stdout


def test_tables_are_not_empty():
    assert len(TABLES["mp-opt"]) > 50 and len(TABLES["mp-run train"]) > 30


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_told_apart(command):
    names = [name for row in TABLES[command]
             for name in (row["flag"], *row["synonyms"])]
    assert len(names) == len(set(names))
    assert not {"--help", "--version", "-h"} & set(names)


@each_flag
def test_rows_say_what_they_are(command, row):
    assert row["help"] and row["group"]
    assert row["help"][0] != row["help"][0].upper() or row["help"][0] in "-1N"
    assert not row["help"].endswith(".")
    if row["value"]:
        # A placeholder, or the words that there are.
        first = row["value"].split("=")[0].split("|")[0].strip(".,:")
        assert first in row["choices"] or first == first.upper() \
            or "=" in row["value"] or ":" in row["value"]
        assert row["expected"]


def misspell(name):
    """Two letters in the middle change places, or one goes where that is the
    same or the name is short."""
    body = name.lstrip("-")
    middle = len(body) // 2
    if len(body) > 4 and body[middle] != body[middle - 1]:
        letters = list(body)
        letters[middle - 1], letters[middle] = letters[middle], letters[middle - 1]
        return "--" + "".join(letters)
    return "--" + body[:middle] + body[middle + 1:]


@each_flag
def test_misspelt(command, row):
    known = {n.lstrip("-") for r in TABLES[command]
             for n in (r["flag"], *r["synonyms"])}
    typed = misspell(row["flag"])
    if len(row["flag"]) < 5 or typed.lstrip("-") in known:
        pytest.skip("too short to be told from others")
    done = attempt(command, typed + "=1")
    assert done.returncode == USAGE
    assert f"unknown flag '{typed}'; did you mean '" in done.stderr, done.stderr
    # Other flags may be equally near, but a suggestion must be near.
    meant = done.stderr.split("did you mean '")[1].split("'")[0]
    assert meant == row["flag"] or meant.lstrip("-") in known


def test_misspelt_flags_are_recognised():
    """All but those of which a sister is as near."""
    wrong = []
    for command, row in FLAGS:
        typed = misspell(row["flag"])
        if len(row["flag"]) < 8:
            continue
        if f"did you mean '{row['flag']}'?" not in attempt(command, typed).stderr:
            wrong.append((command, typed))
    assert not wrong


@each_flag
def test_missing_values(command, row):
    if row["optional"]:
        if row["value"]:
            expect(command, f"{row['flag']}: expected ", row["flag"] + "=")
        return
    expect(command, f"{row['flag']}: expected {row['expected']}", row["flag"])
    expect(command, f"{row['flag']}: expected {row['expected']}, got the flag "
           f"'{TABLES[command][0]['flag']}'", row["flag"],
           TABLES[command][0]["flag"])


@each_flag
def test_wrong_kinds_of_values(command, row):
    numbers = row["value"] in ("N", "X") and row["expected"] != "PERCENT"
    if row["choices"] or numbers or not row["value"]:
        if row["group"] == "Learning rate" and row["flag"] == "--lr":
            pytest.skip("read with the others of its group")
        expect(command, f"{row['flag']}: expected {row['expected']}, got "
               "'nonsense'", f"{row['flag']}=nonsense")


@each_flag
def test_given_twice(command, row):
    if row["repeatable"]:
        return
    value = row["choices"][0] if row["choices"] else "1"
    if row["expected"] == "RTOL,ATOL":
        value = "1,1"
    once = row["flag"] if not row["value"] else f"{row['flag']}={value}"
    if row["flag"] == "--summary":
        once = "--summary=json"
    expect(command, f"{row['flag']}: given twice", once, once)


def test_far_names_are_not_suggested():
    """Two of three letters differ, or no flag is alike."""
    for typed in ("--xyz", "--mv66", "--nonsense", "-q"):
        text = attempt("mp-opt", typed).stderr
        assert text == f"mp-opt: error: unknown flag '{typed}'; see mp-opt --help\n"


def test_help_in_parts():
    for topic, text in {"train": "--loss=LOSS", "code": "--target=TRIPLE"}.items():
        assert text in attempt("mp-opt", f"--help={topic}").stdout
    listing = attempt("mp-opt", "--help=all").stdout
    for row in TABLES["mp-opt"]:
        assert row["flag"] in listing and row["help"] in listing
    # LLVM's own flags, e.g. of its code generators, are not flags here.
    assert "--mp-classify" in listing and "--mlir-timing" in listing
    assert "--mv66" not in listing and "--debug-crash-in" not in listing


def test_help_names_what_there_is():
    """What --help and its parts show, the table has, and the other way round,
    but for flags that another one's description names."""
    texts = "".join(
        attempt("mp-opt", flag).stdout
        for flag in ("--help", "--help=train", "--help=code", "--help=data")
    )
    for row in TABLES["mp-opt"]:
        assert row["flag"] in texts, row["flag"]
    # Commands refer to the help of what they have in common.
    common = {"mp-opt": texts, "mp-run": attempt("mp-run run", "--help").stdout}
    for command, rows in TABLES.items():
        if command != "mp-opt":
            own = attempt(command, "--help").stdout + common[command.split()[0]]
            for row in rows:
                if row["flag"] != "--precision":
                    assert row["flag"] in own, (command, row["flag"])


def list_documented():
    """Commands and flags in lines of documents that begin with a program."""
    paths = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")),
             *sorted(ROOT.glob("examples/**/*.md"))]
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            # Commands of checks, in quotes, have flags of their own.
            line = re.sub("='[^']*'", "=X", line.replace("`", " "))
            words = line.removeprefix("    build/bin/").split()
            for command in (" ".join(words[:2]), " ".join(words[:1])):
                if command in COMMANDS:
                    break
            else:
                continue
            for word in words:
                flag = word.split("=")[0].split("[")[0].strip("(.,;:)")
                if re.fullmatch("--[a-z][a-z0-9-]*", flag):
                    yield path.name, command, flag


def test_documents_name_flags_that_there_are():
    found = set(list_documented())
    assert len(found) > 10
    wrong = [row for row in sorted(found)
             if "unknown flag" in attempt(row[1], row[2]).stderr]
    assert not wrong
