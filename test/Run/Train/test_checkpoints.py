# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: what a run loses when it is killed, and what it does not."""

import json
import resource
import signal
import subprocess
import time

import pytest

from runs import BAD_INPUT, DEVICE, INTERRUPTED, attempt, command, fail
from runs import make_step, mp_run, read_log, train_folder

NAME = "mlp784"
STEPS = 48


def arguments(folder, *more, steps=STEPS, every=5):
    return [
        "train",
        make_step(NAME),
        f"--data={train_folder(NAME) / 'data.npz'}",
        f"--steps={steps}",
        f"--checkpoint={folder / 'checkpoints'}",
        f"--checkpoint-every={every}",
        *more,
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The states at the end of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    out = folder / "end.safetensors"
    mp_run(*arguments(folder, "-o", out, f"--log={folder / 'log'}"))
    return out.read_bytes(), (folder / "log").read_text()


def steps_in(folder):
    # A missing folder has none.
    return sorted(
        int(p.parent.name.removeprefix("step-"))
        for p in (folder / "checkpoints").glob("step-*/manifest.json")
    )


def test_the_last_two_are_kept(tmp_path, whole):
    mp_run(*arguments(tmp_path, steps=21))
    assert steps_in(tmp_path) == [20, 21]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2
    mp_run(*arguments(tmp_path, "--resume", "--keep=3", steps=41))
    assert steps_in(tmp_path) == [35, 40, 41]


def test_a_resumed_run_ends_with_the_same_bits(tmp_path, whole):
    out, log = tmp_path / "end.safetensors", f"--log={tmp_path / 'log'}"
    mp_run(*arguments(tmp_path, log, steps=17))
    done = mp_run(*arguments(tmp_path, "--resume", log, "-o", out))
    assert "going on after step 17" in done.stderr
    assert out.read_bytes() == whole[0]
    assert (tmp_path / "log").read_text() == whole[1]


def test_the_manifest(tmp_path):
    mp_run(*arguments(tmp_path, steps=21))
    path = tmp_path / "checkpoints" / "step-0000000021" / "manifest.json"
    manifest = json.loads(path.read_text())
    # Eight batches make an epoch.
    assert (manifest["epoch"], manifest["position"]) == (2, 5)
    assert manifest["tensors"]["fc1.weight"]["type"] == "float[64,784]"
    shown = mp_run("show", tmp_path / "checkpoints").stdout
    assert shown.split()[:4] == ["step", "int64", "[21,", "21]"]


def inode(path):
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def run_and_kill(tmp_path, delay, *flags):
    """Again and again, until the run has come to its end: what it gives."""
    out, log = tmp_path / "end.safetensors", tmp_path / "log"
    flags = ("--resume", f"--log={log}", "-o", out, *flags)
    line = command(*arguments(tmp_path, *flags, every=1))
    kills = 0
    while not out.exists() and kills < 60:
        before = steps_in(tmp_path)
        old = inode(log)
        process = subprocess.Popen(line, stderr=subprocess.DEVNULL)
        # The log is a new file when the steps begin.
        while inode(log) == old and process.poll() is None:
            time.sleep(0.002)
        # Each kill comes later than the last: the run makes progress.
        time.sleep(delay * (1 + kills / 4))
        process.kill()
        process.wait()
        kills += 1
        if before and not out.exists():
            assert steps_in(tmp_path)[-1] >= before[-1]
    # On a busy machine, all kills may come before the end.
    if not out.exists():
        subprocess.run(line, stderr=subprocess.DEVNULL, check=True)
    assert kills > 0
    return out.read_bytes()


@pytest.mark.parametrize("delay", [0.002, 0.01, 0.03, 0.07, 0.13])
def test_killed_at_any_time(tmp_path, whole, delay):
    assert run_and_kill(tmp_path, delay) == whole[0]


@pytest.mark.parametrize("delay", [0.03, 0.13])
def test_killed_on_a_device(tmp_path, delay):
    """Where checkpoints are written while steps go on."""
    out = tmp_path / "whole.safetensors"
    folder = tmp_path / "whole"
    folder.mkdir()
    mp_run(*arguments(folder, DEVICE, "-o", out))
    assert run_and_kill(tmp_path, delay, DEVICE) == out.read_bytes()


def test_interrupted(tmp_path, whole):
    out = tmp_path / "end.safetensors"
    log = tmp_path / "log"
    line = command(
        *arguments(
            tmp_path, f"--log={log}", "-o", out, steps=10**7, every=10**6
        )
    )
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    while not log.exists() or not log.read_text():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == INTERRUPTED, errors
    made = len(read_log(log))
    assert steps_in(tmp_path) == [made] and out.exists()
    assert f"after step {made}, with a checkpoint" in errors
    out.unlink()
    if made < STEPS:
        mp_run(*arguments(tmp_path, "--resume", "-o", out))
        assert out.read_bytes() == whole[0]


def damage(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "file, offset, text",
    [
        ("states.safetensors", -1000, "the elements of tensor"),
        ("states.safetensors", 9, "states.safetensors: "),
        ("manifest.json", 200, "manifest.json: corrupt checkpoint"),
        ("manifest.json", 0, "manifest.json: corrupt checkpoint"),
    ],
)
def test_a_corrupt_checkpoint(tmp_path, whole, file, offset, text):
    mp_run(*arguments(tmp_path, steps=20))
    newest = tmp_path / "checkpoints" / "step-0000000020"
    damage(newest / file, offset)
    out = tmp_path / "end.safetensors"
    done = mp_run(*arguments(tmp_path, "--resume", "-o", out))
    assert "warning" in done.stderr and text in done.stderr
    assert "using step 15 instead" in done.stderr
    assert out.read_bytes() == whole[0]


def test_none_is_whole(tmp_path):
    mp_run(*arguments(tmp_path, steps=10))
    for folder in (tmp_path / "checkpoints").iterdir():
        damage(folder / "manifest.json", 5)
    message = fail(BAD_INPUT, *arguments(tmp_path, "--resume"))
    assert "step-0000000010" in message and "corrupt" in message


def test_what_a_checkpoint_belongs_to(tmp_path):
    mp_run(*arguments(tmp_path, steps=10))
    assert "--resume continues from it" in fail(BAD_INPUT, *arguments(tmp_path))
    for flag, text in {"--lr=1": "lr = ", "--seed=3": "seed = 0"}.items():
        message = fail(BAD_INPUT, *arguments(tmp_path, "--resume", flag))
        assert "the checkpoint was made with " + text in message
    other = arguments(tmp_path, "--resume")
    other[1] = make_step(NAME, "sgd")
    assert "another model" in fail(BAD_INPUT, *other)


def test_resume_without_a_checkpoint_starts(tmp_path):
    done = mp_run(*arguments(tmp_path, "--resume", steps=3))
    assert "starting anew" in done.stderr and steps_in(tmp_path) == [3]


def no_room():
    """A disk that takes 200 kB: less than the states."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


def test_a_full_disk(tmp_path, whole):
    mp_run(*arguments(tmp_path, steps=20))
    before = steps_in(tmp_path)
    done = attempt(*arguments(tmp_path, "--resume"), preexec_fn=no_room)
    assert done.returncode == BAD_INPUT and "cannot write" in done.stderr
    assert steps_in(tmp_path) == before
    assert len(list((tmp_path / "checkpoints").iterdir())) == len(before)
    out = tmp_path / "end.safetensors"
    mp_run(*arguments(tmp_path, "--resume", "-o", out))
    assert out.read_bytes() == whole[0]
