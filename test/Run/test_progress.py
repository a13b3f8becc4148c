# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user sees of compiling: how far it is, and where its time goes."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from runs import command, mp_run, write_model

MODEL = """
f (float[n,64] x, float[64,32] w) => (float[n,32] y)
{ h = MatMul(x, w) y = Softmax(h) }
"""
LONGEST = 200


@pytest.fixture
def arguments(tmp_path):
    model = write_model(tmp_path, MODEL)
    return ["run", model, "--random", "--dim=n=3", "--cache=off"]


def slow_down(process):
    """Let it run a tenth of the time, so that any machine is slow enough: what
    takes 0.1 s of a processor takes longer than a second."""
    deadline = time.monotonic() + LONGEST
    while process.poll() is None:
        assert time.monotonic() < deadline, "it does not end"
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.18)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.02)


def run_slowly(arguments, stderr):
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.DEVNULL, stderr=stderr
    )
    try:
        slow_down(process)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0


STEP = r"(lowering, \d+ of \d+ passes|code, \d+ of \d+ pieces)"


def test_a_line_after_a_second(tmp_path, arguments):
    log = tmp_path / "log"
    with open(log, "w", encoding="utf-8") as file:
        run_slowly(arguments, file)
    lines = log.read_text().splitlines()
    assert len(lines) == 2, lines
    model = re.escape(arguments[1].name)
    assert re.fullmatch(rf"mp-run: compiling {model} for [^:]*", lines[0])
    done = re.fullmatch(rf"mp-run: .*{model}.*: done, (\d+\.\d) s", lines[1])
    assert done and float(done[1]) > 1


def test_nothing_next_to_json(tmp_path, arguments):
    log = tmp_path / "log"
    with open(log, "w", encoding="utf-8") as file:
        run_slowly([*arguments, "--json"], file)
    assert log.read_text() == ""


def test_a_line_of_a_terminal_goes_again(arguments):
    master, slave = os.openpty()
    pieces = []

    def read():
        # The end of a terminal is an error.
        with contextlib.suppress(OSError):
            while piece := os.read(master, 4096):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    run_slowly(arguments, slave)
    os.close(slave)
    reader.join()
    os.close(master)
    text = b"".join(pieces).decode()
    shown = text.split("\r")
    assert shown[0] == "" and shown[-1] == "\x1b[K", text
    # Several lines are shown, and none remains.
    assert len(shown) > 3 and "\n" not in text
    for line in shown[1:-1]:
        assert re.fullmatch(rf"mp-run: .*: {STEP}\x1b\[K", line)


def test_nothing_within_a_second(arguments):
    """Code that is there already is nothing to wait for."""
    folder = arguments[1].parent / "cache"
    arguments[-1] = f"--cache={folder}/"
    mp_run(*arguments)
    done = mp_run(*arguments)
    assert done.stderr == ""


STEPS = {"Lowering", "Translation to LLVM IR", "Code of pieces", "Linking"}


def read_times(text):
    """Wall seconds by names, of the outermost steps and of those in them."""
    # User time, if printed, comes before.
    rows = re.findall(
        r"(\d+\.\d+) \([ \d.]+%\)  (( *)[^\s\d].*)$", text, re.M
    )
    outer, inner = {}, {}
    for seconds, name, indent in rows:
        times = inner if indent else outer
        times[name.strip()] = times.get(name.strip(), 0) + float(seconds)
    return outer, inner


def test_where_the_time_goes(arguments):
    outer, inner = read_times(mp_run(*arguments, "--mlir-timing").stderr)
    total = outer.pop("Total")
    assert STEPS | {"Import"} <= set(outer)
    assert {"ConvertONNXToLinalg", "ConvertToLLVM", "Optimization"} <= set(inner)
    # Nothing of weight is left out, and nothing counts twice.
    assert outer["Rest"] < 0.5 * total
    assert sum(outer.values()) == pytest.approx(total, rel=0.1, abs=0.02)
    assert outer["Lowering"] >= inner["ConvertToLLVM"] > 0


def test_where_the_time_of_kept_code_goes(arguments):
    folder = arguments[1].parent / "cache"
    arguments[-1] = f"--cache={folder}/"
    mp_run(*arguments)
    outer, inner = read_times(mp_run(*arguments, "--mlir-timing").stderr)
    assert "Cache" in outer and not inner
    assert not STEPS & set(outer)


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_while_compiling_is_said(number, arguments):
    number = getattr(signal, number)
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # The signal may be ignored in the environment of the tests.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    time.sleep(0.1)
    process.send_signal(number)
    said = process.communicate(timeout=LONGEST)[1]
    if process.returncode == 0:
        pytest.skip("it was faster")
    assert process.returncode == -number
    assert said == "mp-run: stopped by a signal\n"
