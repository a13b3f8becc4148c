# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of code of a page, and what is to be run of them.

A block of `sh` runs as it stands, one of `python` too; in one of `console`,
what stands behind "$ " is run and the rest is what it prints, where "..." stands
for any text. The blocks of a page follow one another in one folder. A comment
in front of a block, "<!-- not run: why -->", leaves it out. With
"<!-- run with torch: FILES -->" it is run by a Python that has torch; where
there is none, the files that it writes are those of Inputs, and a block that
writes none is left out.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from support import MP_OPT, ROOT

BLOCK = re.compile(
    r"(?:<!-- (?P<mark>not run|run with torch):(?P<words>[^>]*) -->\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
RUN = ("sh", "python", "console")
INPUTS = pathlib.Path(__file__).resolve().parent / "Inputs"
# The same environment as in scripts/compare-torch.sh.
TORCH_PYTHON = pathlib.Path(
    os.environ.get("MPOPT_TORCH_PYTHON")
    or pathlib.Path(
        os.environ.get("MPOPT_CACHE", "~/.cache/mp-opt"), "venv-torch/bin/python"
    ).expanduser()
)


@dataclasses.dataclass(frozen=True)
class Block:
    line: int
    kind: str
    text: str
    # The reason why it is not run; empty if it is run.
    reason: str = ""
    # The files that it writes, if torch runs it.
    torch_files: tuple | None = None


def read_blocks(text):
    blocks = []
    for match in BLOCK.finditer(text):
        line = text[: match.start("text")].count("\n") + 1
        words, mark = (match["words"] or "").strip(), match["mark"]
        blocks.append(
            Block(
                line,
                match["kind"],
                match["text"],
                words if mark == "not run" else "",
                tuple(words.split()) if mark == "run with torch" else None,
            )
        )
    return blocks


def outside_of_blocks(text):
    return BLOCK.sub("", text)


def make_folder(folder):
    """What a clone has of what pages name: sources by links, a build folder."""
    for name in ("examples", "benchmarks", "scripts", "test", "docs"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").symlink_to(pathlib.Path(MP_OPT).parents[1])


def environment(folder, python):
    """Of a shell that has the programs, a Python and the package on its path."""
    values = dict(os.environ)
    programs = [pathlib.Path(MP_OPT).parent, pathlib.Path(python).parent]
    values["MPOPT"] = str(ROOT)
    values["PATH"] = os.pathsep.join([*map(str, programs), values["PATH"]])
    values["PWD"] = str(folder)
    # The package as it is built.
    values["PYTHONPATH"] = str(pathlib.Path(MP_OPT).parents[1] / "python")
    return values


def run_shell(text, folder, python=sys.executable):
    """What it prints, both streams in one."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder,
        env=environment(folder, python),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}"
    # Progress is printed if compiling takes a second, e.g. on a loaded machine.
    return re.sub(r"^mp-\w+: compiling .*\n", "", done.stdout, flags=re.M)


def run_python(text, folder, python=sys.executable):
    path = folder / "page.py"
    path.write_text(text, encoding="utf-8")
    return run_shell("python page.py", folder, python)


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
    if block.torch_files is not None:
        if TORCH_PYTHON.exists():
            run = {"sh": run_shell, "python": run_python}
            run[block.kind](block.text, folder, TORCH_PYTHON)
        else:
            for name in block.torch_files:
                shutil.copy(INPUTS / name, folder)
        return
    run = {"sh": run_shell, "python": run_python, "console": run_console}
    run[block.kind](block.text, folder)


def run_page(name, folder):
    """Its blocks, one after the other; an error names the line."""
    ran = 0
    for block in read_blocks((ROOT / name).read_text(encoding="utf-8")):
        if block.kind not in RUN or block.reason:
            continue
        try:
            run_block(block, folder)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            raise AssertionError(f"{name}:{block.line}: {error}") from None
        ran += 1
    if not ran:
        pytest.skip("no commands")
