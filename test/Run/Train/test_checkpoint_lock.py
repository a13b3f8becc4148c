# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run at a time uses a checkpoint folder, and no run that is dead."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time

from ranks import find_launcher, launch, make_data, make_model
from runs import BAD_INPUT, attempt, command, fail, make_step, mp_run, train_folder
from support import run_mp_opt

NAME = "mlp784"


def train(folder, *flags):
    return ["train", make_step(NAME), f"--data={train_folder(NAME) / 'data.npz'}",
            f"--checkpoint={folder}", "--checkpoint-every=7", *flags]  # fmt: skip


@contextlib.contextmanager
def endless(folder):
    """A run that has written a checkpoint."""
    run = subprocess.Popen(
        command(*train(folder, "--steps=10000000", "--quiet")), stderr=subprocess.PIPE
    )
    try:
        while not any(folder.glob("step-*/manifest.json")):
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.02)
        yield run
    finally:
        run.kill()
        run.communicate()


def test_a_second_run_is_refused(tmp_path):
    folder, log = tmp_path / "c", tmp_path / "log"
    (tmp_path / "link").symlink_to(folder)
    with endless(folder) as run:
        expected = f"is in use by process {run.pid} on {socket.gethostname()};"
        for other, *flags in ([folder], [folder, "--resume"], [tmp_path / "link"]):
            message = fail(BAD_INPUT, *train(other, *flags, f"--log={log}"))
            assert f"mp-run train: error: {other}: {expected}" in message
        assert not log.exists()
        # The failed attempts do not affect the first run.
        newest = max(folder.glob("step-*"))
        while max(folder.glob("step-*")) == newest:
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 130
    assert not (folder / "lock").exists()
    steps = int(max(folder.glob("step-*")).name.removeprefix("step-"))
    mp_run(*train(folder, "--resume", f"--steps={steps + 1}"))


def test_a_dead_run_blocks_nobody(tmp_path):
    """What it leaves says nothing, be it of a process that lives."""
    folder = tmp_path / "c"
    with endless(folder) as run:
        run.kill()
        run.wait()
        assert (folder / "lock").read_text().startswith(f"{run.pid} ")
    (folder / "lock").write_text(f"{os.getpid()} {socket.gethostname()}\n")
    steps = int(max(folder.glob("step-*")).name.removeprefix("step-"))
    done = mp_run(*train(folder, "--resume", f"--steps={steps + 9}"))
    assert re.search(r"going on after step \d+", done.stderr)
    assert "lock" not in done.stderr
    assert not (folder / "lock").exists()


def test_what_cannot_be_locked(tmp_path):
    """Is a warning; and a run that makes no step leaves no folder."""
    folder = tmp_path / "c"
    folder.mkdir()
    os.mkfifo(folder / "lock")
    done = mp_run(*train(folder, "--steps=3"))
    assert f"warning: {folder}: cannot be locked: " in done.stderr
    attempt(*train(tmp_path / "a" / "b", "--init=no.npz"))
    assert not (tmp_path / "a").exists()


def test_ranks(tmp_path):
    """The first one has the lock of all, and all end where it fails."""
    launcher, folder = find_launcher("openmpi"), tmp_path / "c"
    step = tmp_path / "step.mlirbc"
    run_mp_opt(
        make_model(tmp_path), "--train", "--loss=softmax-cross-entropy",
        "--distribute", "--summary=none", "-o", step,
    )  # fmt: skip
    run = ("train", step, f"--data={make_data(tmp_path, 8)}", "--steps=4",
           f"--checkpoint={folder}", "--quiet")  # fmt: skip
    with endless(folder) as other:
        done = launch(launcher, 2, *run, "--resume")
        assert done.returncode == BAD_INPUT, done.stderr
        lines = [l for l in done.stderr.splitlines() if l.startswith("mp-run")]
        assert len(lines) == 1 and f"process {other.pid} on " in lines[0]
    done = launch(launcher, 2, *run[:-2], f"--checkpoint={tmp_path / 'd'}")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "d" / "lock").exists()
