# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of code of a page, and what is to be run of them.

A block of `sh` runs as it stands, one of `python` too; in one of `console`,
what stands behind "$ " is run and the rest is what it prints, where "..." stands
for any text. The blocks of a page follow one another in one folder. A comment
in front of a block, "<!-- not run: why -->", leaves it out.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

from support import MP_OPT, ROOT

BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
RUN = ("sh", "python", "console")


@dataclasses.dataclass(frozen=True)
class Block:
    line: int
    kind: str
    text: str
    # Why it is not run; empty if it is.
    reason: str


def read_blocks(text):
    return [
        Block(
            text[: match.start("text")].count("\n") + 1,
            match["kind"],
            match["text"],
            match["reason"] or "",
        )
        for match in BLOCK.finditer(text)
    ]


def outside_of_blocks(text):
    return BLOCK.sub("", text)


def make_folder(folder):
    """What a clone has of what pages name: sources by links, a build folder."""
    for name in ("examples", "benchmarks", "scripts", "test", "docs"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").symlink_to(pathlib.Path(MP_OPT).parents[1])


def environment(folder):
    """Of a shell that has the programs, this Python and its package on its path."""
    values = dict(os.environ)
    programs = [pathlib.Path(MP_OPT).parent, pathlib.Path(sys.executable).parent]
    values["PATH"] = os.pathsep.join([*map(str, programs), values["PATH"]])
    values["PWD"] = str(folder)
    # The package as it is built.
    values["PYTHONPATH"] = str(pathlib.Path(MP_OPT).parents[1] / "python")
    return values


def run_shell(text, folder):
    """What it prints, both streams in one."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}"
    # What takes a second, as on a loaded machine, says how far it is.
    return re.sub(r"^mp-\w+: compiling .*\n", "", done.stdout, flags=re.M)


def run_python(text, folder):
    path = folder / "page.py"
    path.write_text(text, encoding="utf-8")
    return run_shell("python page.py", folder)


def split_console(text):
    """Pairs of a command and what it prints."""
    pairs = []
    for line in text.splitlines():
        if line.startswith("$ "):
            pairs.append([line[2:], []])
        elif pairs and pairs[-1][0].endswith("\\"):
            pairs[-1][0] += "\n" + line
        else:
            pairs[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in pairs]


def matches(printed, expected):
    pattern = ".*".join(map(re.escape, expected.strip().split("...")))
    return re.fullmatch(pattern, printed.strip(), re.S) is not None


def run_console(text, folder):
    for command, expected in split_console(text):
        printed = run_shell(command, folder)
        assert matches(printed, expected), (
            f"$ {command}\nprinted:\n{printed}\nexpected:\n{expected}"
        )


def run_block(block, folder):
    run = {"sh": run_shell, "python": run_python, "console": run_console}
    run[block.kind](block.text, folder)


