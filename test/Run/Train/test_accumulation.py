# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows of accumulated batches in fp16, one of which overflows: the update is
skipped, wherever in the window that is and wherever the run is kept or ends."""

import json
import signal
import subprocess

import numpy as np
import pytest

from ranks import find_launcher, launch
from runs import DIVERGED, INTERRUPTED, ROOT, command, fail, load_safetensors, mp_run
from runs import read_log
from support import run_mp_opt

WINDOW, WINDOWS = 3, 4
STEPS = WINDOW * WINDOWS
# A row whose gradients overflow, and one whose loss is not finite.
ROWS = {"gradient": 1e3, "loss": 3e38}


def make(folder, *flags):
    step = folder / f"step{len(flags)}.mlirbc"
    run_mp_opt(
        ROOT / "examples" / "training" / "classifier.onnxtxt", "--train",
        "--loss=softmax-cross-entropy", "--optimizer=adamw", "--mixed-fp16",
        "--summary=none", *flags, "-o", step,
    )  # fmt: skip
    return step


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    return make(tmp_path_factory.mktemp("step"), f"--accumulate={WINDOW}")


def make_data(folder, batch=None, value=0):
    x = np.random.default_rng(1).standard_normal((STEPS, 8, 4)).astype("f")
    labels = x[:, :, :3].argmax(2)
    if batch is not None:
        x[batch, 3] = value
    np.savez(folder / "data.npz", x=x, labels=labels)
    return f"--data={folder / 'data.npz'}"


def bits(path):
    return {name: value.tobytes() for name, value in load_safetensors(path).items()}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("place", range(WINDOW))
def test_a_window_is_skipped(tmp_path, step, kind, place):
    """A checkpoint after each step, and a run that ends after the overflow, go
    on to the bits of a whole run."""
    bad = WINDOW + place
    data, out = make_data(tmp_path, bad, ROWS[kind]), tmp_path / "o.safetensors"
    log = tmp_path / "log"
    mp_run("train", step, data, "--quiet", f"--steps={STEPS}", "-o", out,
           f"--log={log}", f"--checkpoint={tmp_path / 'all'}",
           "--checkpoint-every=1")  # fmt: skip
    whole = bits(out)
    entries = read_log(log)
    assert [e["skipped"] for e in entries] == [0] * (2 * WINDOW - 1) + [1] * (
        STEPS - 2 * WINDOW + 1
    )
    assert (entries[bad]["loss"] is None) == (kind == "loss")
    resumed = ("train", step, data, "--quiet", f"--checkpoint={tmp_path / 'c'}",
               "--resume", "-o", out)  # fmt: skip
    # The last step of the window is where the loss decides.
    for steps in sorted({min(bad + 1, 2 * WINDOW - 1), 2 * WINDOW - 1, STEPS}):
        mp_run(*resumed, f"--steps={steps}")
    assert bits(out) == whole


def test_ranks_skip_alike(tmp_path, step):
    """The scale stays where a loss was no number, on ranks as in a window."""
    data = make_data(tmp_path, WINDOW + 1, ROWS["loss"])
    one, many = tmp_path / "one.safetensors", tmp_path / "many.safetensors"
    mp_run("train", step, data, "--quiet", f"--steps={STEPS}", "-o", one)
    done = launch(
        find_launcher("openmpi"), WINDOW, "train", make(tmp_path, "--distribute"),
        data, "--quiet", f"--steps={WINDOWS}", "-o", many,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = bits(one)
    for name, value in bits(many).items():
        assert value == expected[name], name


def test_ranks_with_windows(tmp_path):
    """Of which one rank meets a loss that is no number, on its way."""
    step = make(tmp_path, "--distribute", f"--accumulate={WINDOW}")
    data, out = make_data(tmp_path, 1, ROWS["loss"]), tmp_path / "o.safetensors"
    results = []
    for stops in ((2 * WINDOW,), (1, WINDOW - 1, 2 * WINDOW)):
        for steps in stops:
            done = launch(
                find_launcher("openmpi"), 2, "train", step, data, "--quiet",
                f"--steps={steps}", f"--checkpoint={tmp_path / str(len(stops))}",
                "--checkpoint-every=1", "--resume", "-o", out,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        results.append(load_safetensors(out))
    whole, parts = results
    assert whole["loss_scale.skipped_steps"] == parts["loss_scale.skipped_steps"] == 1
    assert whole["loss_scale"] == parts["loss_scale"] == 65536


@pytest.mark.parametrize("every", (5, 7))
def test_growing_scale(tmp_path, every):
    """The scale of clean data grows until it is too large: that is no end."""
    step = make(tmp_path, "--accumulate=4", "--loss-scale=dynamic:growth-interval=1")
    random = np.random.default_rng(0)
    x = random.standard_normal((448, 4)).astype("f")
    np.savez(tmp_path / "d.npz", x=x, labels=x[:, :3].argmax(1))
    run = ("train", step, f"--data={tmp_path / 'd.npz'}", "--batch=8", "--quiet",
           "--epochs=4", "--json")  # fmt: skip
    out = tmp_path / "o.safetensors"
    done = mp_run(*run, f"--checkpoint={tmp_path / 'c'}",
                  f"--checkpoint-every={every}", "-o", out)  # fmt: skip
    assert json.loads(done.stdout)["skipped"] >= 1
    kept = bits(out)
    mp_run(*run, "-o", out)
    assert bits(out) == kept


def test_a_signal_within_a_window(tmp_path):
    """Whose sums have overflowed in its first step."""
    step = make(tmp_path, "--accumulate=100000000")
    data, log = make_data(tmp_path, 0, ROWS["loss"]), tmp_path / "log"
    run = command("train", step, data, "--steps=10000000", f"--log={log}", "--quiet",
                  f"--checkpoint={tmp_path / 'c'}")  # fmt: skip
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        while not (log.exists() and log.read_bytes().count(b"\n") > STEPS):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, errors
    assert "with a checkpoint" in errors


def test_windows_that_never_end_well(tmp_path, step):
    """Each window has a loss that is no number: that is judged as on ranks."""
    x = np.full((WINDOW, 8, 4), ROWS["loss"], "f")
    x[1:] = 1
    np.savez(tmp_path / "d.npz", x=x, labels=np.zeros((WINDOW, 8), int))
    run = ("train", step, f"--data={tmp_path / 'd.npz'}", "--quiet")
    message = fail(DIVERGED, *run, "--epochs=100")
    assert f"the loss of step {65 * WINDOW} is " in message
