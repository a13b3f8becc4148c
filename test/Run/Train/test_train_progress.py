# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user sees of training: on a terminal, in a file, as JSON."""

import contextlib
import fcntl
import json
import os
import re
import struct
import subprocess
import termios
import threading

import numpy as np
import pytest

from runs import USAGE, command, fail, make_step, mp_run, train_folder
from runs import write_model

NAME = "mlp784"
# Eight batches make an epoch.
DATA = train_folder(NAME) / "data.npz"
EPOCHS = 40


def train(*flags):
    return ["train", make_step(NAME), f"--data={DATA}", *flags]


def on_terminal(*arguments, columns=80, **variables):
    """What a terminal gets, of standard output and of standard error."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    pieces = []

    def read():
        # The end of a terminal is an error.
        with contextlib.suppress(OSError):
            while piece := os.read(master, 4096):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    environment |= {"TERM": "xterm", **variables}
    done = subprocess.run(
        command(*arguments), stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    reader.join()
    os.close(master)
    assert done.returncode == 0
    return b"".join(pieces).decode().replace("\r\n", "\n")


COLOR = re.compile(r"\x1b\[\d+m")
NUMBER = r"[-+.\de]+"
SPEED = rf"{NUMBER} (steps|examples)/s"
EPOCH = rf"epoch \d+/{EPOCHS}  step \d+/{8 * EPOCHS}  loss {NUMBER}  {SPEED}"
LEFT = r"\d+:\d\d(:\d\d)?"


def test_a_terminal():
    text = on_terminal(*train(f"--epochs={EPOCHS}"))
    # A line stays for each epoch, and the bar is gone at the end.
    lines = [line.split("\r\x1b[K")[-1] for line in text.split("\n")]
    assert lines.pop() == ""
    epochs = [line for line in lines if re.match(EPOCH, line)]
    assert len(epochs) == EPOCHS, text
    for line in epochs[:-1]:
        assert re.fullmatch(rf"{EPOCH}  {LEFT} left", line)
    assert re.fullmatch(rf"{EPOCH}  {LEFT}", epochs[-1])
    assert re.match(rf"steps {8 * EPOCHS}  epochs {EPOCHS}  loss ", lines[-1])


# Steps are so fast that a bar is due only once in a thousand or so.
SLOW = ("--epochs=1000",)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_bar(columns):
    text = on_terminal(*train(*SLOW), columns=columns)
    shown = [COLOR.sub("", p) for p in text.split("\r\x1b[K")[1:]]
    bars = [p for p in shown if "\n" not in p]
    assert bars
    for bar in bars:
        assert len(bar) < columns
        assert bar.startswith("epoch ")
        if columns >= 80:
            assert re.match(
                rf"epoch \d+/1000 (\[=* *\])? \d+/8  {LEFT} left  loss ", bar
            ), bar
        if columns >= 100:
            assert re.search(r"\[[= ]{24}\]", bar)


def test_colors_of_a_terminal():
    assert COLOR.search(on_terminal(*train(*SLOW)))
    assert not COLOR.search(on_terminal(*train(*SLOW), NO_COLOR="1"))
    dumb = on_terminal(*train(*SLOW), TERM="dumb")
    assert "\x1b" not in dumb and "\r" not in dumb
    bar = mp_run(*train(*SLOW, "--progress=bar")).stderr
    assert "\x1b[K" in bar and not COLOR.search(bar)


def progress_of(*flags):
    lines = mp_run(*train(*flags)).stderr.splitlines()
    return [line for line in lines if not line.startswith("mp-run train: ")]


def test_lines():
    for flags in ((), ("--progress=lines",)):
        lines = progress_of(f"--epochs={EPOCHS}", *flags)
        assert len(lines) == 10
        for line in lines[:-1]:
            assert re.fullmatch(rf"{EPOCH}  {LEFT} left", line)
    assert progress_of("--progress=none") == []
    assert mp_run(*train("--quiet", "--progress=bar")).stderr == ""
    assert "expected auto, bar, lines or none" in fail(
        USAGE, *train("--progress=baar")
    )


LOSSES = """
step (float[n] x, float total) => (float loss, float total_new)
<float total = {0}>
{
  loss = ReduceSum<keepdims = 0>(x)
  total_new = Add(total, loss)
}
"""


def test_losses_are_means_of_the_epoch(tmp_path):
    step = write_model(tmp_path, LOSSES)
    np.savez(tmp_path / "data.npz", x=np.arange(10, dtype=np.float32))
    flags = (f"--data={tmp_path / 'data.npz'}", "--batch=2", "--no-shuffle")
    done = mp_run("train", step, *flags, "--epochs=2", "--json")
    # Sums of two: 1, 5, 9, 13, 17, and again.
    lines = re.findall(r"step (\d+)/10  loss (\S+)", done.stderr)
    means = [1, 3, 5, 7, 9]
    assert [(int(s), float(m)) for s, m in lines] == [
        (i + 1, means[i % 5]) for i in range(10)
    ]
    end = json.loads(done.stdout)
    assert (end["loss"], end["epoch_loss"], end["epoch"]) == (17, 9, 1)
    assert end["steps_per_second"] == pytest.approx(10 / end["step_seconds"])
    assert end["examples_per_second"] == pytest.approx(
        2 * end["steps_per_second"]
    )
    assert end["step_seconds"] <= end["seconds"]


def test_time_of_steps_alone(tmp_path):
    """Checkpoints take most of the time of this run."""
    flags = (f"--checkpoint={tmp_path / 'c'}", "--checkpoint-every=1")
    done = mp_run(*train(*flags, "--epochs=3", "--json", "--quiet"))
    end = json.loads(done.stdout)
    assert end["step_seconds"] < 0.8 * end["seconds"]
