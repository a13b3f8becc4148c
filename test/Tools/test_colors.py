# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages have colours on a terminal, and nowhere else."""

import os
import pathlib
import pty
import subprocess

import pytest
from support import MP_OPT, scratch_dir

MP_RUN = str(pathlib.Path(MP_OPT).with_name("mp-run"))
RED, MAGENTA, RESET = "\x1b[0;1;31m", "\x1b[0;1;35m", "\x1b[0m"
SMALL = pathlib.Path(__file__).parent / "Inputs" / "small.onnxtxt"
NAMES = ("NO_COLOR", "CLICOLOR_FORCE", "TERM")
WRONG = [[MP_OPT, "--nonsense"], [MP_RUN, "nonsense"],
         [MP_OPT, "diff", "--nonsense"], [MP_OPT, "missing.onnx"]]


def environment(**variables):
    kept = {k: v for k, v in os.environ.items() if k not in NAMES}
    return {**kept, "TERM": "xterm", **variables}


def on_terminal(command, streams=("stderr",), **variables):
    """What a terminal shows of standard error, standard output too if asked."""
    leader, follower = pty.openpty()
    outputs = {name: follower for name in streams}
    outputs.setdefault("stdout", subprocess.DEVNULL)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, env=environment(**variables), **outputs
    )
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 4096):
            shown += part
    except OSError:
        # Linux reports this error once the other end is closed.
        pass
    os.close(leader)
    process.wait(timeout=60)
    return shown.decode().replace("\r\n", "\n")


def in_pipe(command, **variables):
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(**variables)
    ).stderr


@pytest.mark.parametrize("command", WRONG, ids=" ".join)
def test_errors(command):
    shown = on_terminal(command)
    assert f": {RED}error:{RESET} " in shown
    plain = in_pipe(command)
    assert "\x1b" not in plain
    assert shown.replace(RED, "").replace(RESET, "") == plain


@pytest.mark.parametrize(
    "variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""},
                  {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}],
)
def test_without_colors(variables):
    for command in WRONG:
        assert "\x1b" not in on_terminal(command, **variables)


def test_colors_that_are_forced():
    for command in WRONG:
        assert RED in in_pipe(command, CLICOLOR_FORCE="1")
        assert "\x1b" not in in_pipe(command, CLICOLOR_FORCE="0")
        # An empty NO_COLOR says nothing.
        assert RED in on_terminal(command, NO_COLOR="")


def test_warnings():
    folder = scratch_dir("colors")
    model = folder / "soft.onnxtxt"
    model.write_text(
        '<ir_version: 9, opset_import: ["" : 21]>\n'
        "soft (float[N, 4] x) => (float[N, 2] y)\n"
        "<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}>\n"
        "{ h = MatMul(x, w) y = Softmax(h) }\n"
    )
    command = [MP_OPT, model, "--train", "--loss=cross_entropy",
               "-o", folder / "o.onnx"]
    assert f"soft.onnxtxt: {MAGENTA}warning:{RESET} " in on_terminal(command)
    assert "soft.onnxtxt: warning: " in in_pipe(command)


def test_text_of_mlir():
    """LLVM's own messages, which show the line, are no exception."""
    folder = scratch_dir("colors")
    (folder / "wrong.mlir").write_text("module {\n  wrong\n}\n")
    command = [MP_OPT, folder / "wrong.mlir"]
    assert "\x1b" in on_terminal(command)
    assert "\x1b" not in on_terminal(command, NO_COLOR="1")
    assert "\x1b" not in in_pipe(command)
    assert "wrong.mlir:2:3: error: " in in_pipe(command)


HINT = "mp-opt: note: this was the model as MLIR; -o FILE.onnx writes it\n"


def test_a_terminal_is_told_how_to_write(tmp_path):
    both = ("stdout", "stderr")
    command = [MP_OPT, SMALL]
    assert HINT in on_terminal(command, streams=both, NO_COLOR="1")
    for quiet in (["--emit=mlir"], ["-o", tmp_path / "o.onnx"]):
        assert HINT not in on_terminal([*command, *quiet], both, NO_COLOR="1")
    assert HINT not in in_pipe(command)
