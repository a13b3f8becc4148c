# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How runs of training end, and that nothing is lost by it."""

import os
import pathlib
import re
import signal
import stat
import subprocess
import time

import numpy as np
import onnx
import pytest

from runs import BAD_INPUT, DIVERGED, USAGE, attempt, command, fail
from runs import load_safetensors, make_step, mp_run, read_log, train_folder
from runs import write_model

NAME = "mlp784"
DATA = train_folder(NAME) / "data.npz"
# A number of steps that the small models do not reach during a test.
ENDLESS = 10**7


def train(*flags):
    return ["train", make_step(NAME), f"--data={DATA}", *flags]


# -----------------------------------------------------------------------------
# Before the first step
# -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags, text",
    [
        (("-o", "no/end.npz"), "cannot write 'no/end.npz': No such file"),
        (("-o", "."), "Is a directory"),
        (("--log=no/log",), "cannot write 'no/log'"),
        (("--checkpoint=file/runs",), "cannot make the folder 'file/runs'"),
        (("--checkpoint=file",), "Not a directory"),
        (("--checkpoint=/proc/runs",), "cannot make the folder '/proc/runs'"),
        (("-o", "end.npy"), "an .npy file holds one tensor, the step has"),
    ],
)
def test_what_cannot_be_written(tmp_path, flags, text):
    (tmp_path / "file").write_text("")
    log = () if flags[0].startswith("--log") else ("--log=steps",)
    done = attempt(*train(*flags, *log), cwd=tmp_path)
    assert done.returncode == BAD_INPUT, done.stderr
    assert text in done.stderr
    assert done.stderr.startswith("mp-run train: error: ")
    # The log begins with the first step.
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_model_of_another_step(tmp_path):
    other = train_folder("mlp_mse") / "forward.onnx"
    flags = ("-o", tmp_path / "out.onnx", f"--into={other}")
    message = fail(BAD_INPUT, *train(*flags, f"--log={tmp_path / 'log'}"))
    assert "no initializer has the name of a trained parameter" in message
    assert list(tmp_path.iterdir()) == []


def test_a_check_leaves_no_folder(tmp_path):
    flags = (f"--checkpoint={tmp_path / 'runs' / '1'}", "--init=no.npz")
    assert "no.npz" in fail(BAD_INPUT, *train(*flags))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "flags, text",
    [
        (("-o", "r.csv"), "'.csv' is not a format that tensors are written in"),
        (("-o", "t.onnx"), "a model needs --into=MODEL"),
        (("-o", "t.npz", "--into=m.onnx"), "--into writes a model"),
        (("-o", "data.npz"), "'data.npz' would replace 'data.npz'"),
        (("--log=step.onnx",), "'step.onnx' would replace 'step.onnx'"),
        (("-o", "x.npz", "--log=./x.npz"), "-o and --log are both"),
    ],
)
def test_outputs_of_no_use(flags, text):
    message = fail(USAGE, "train", "step.onnx", "--data=data.npz", *flags)
    assert text in message


def test_formats_of_outputs_of_a_run(tmp_path):
    model = write_model(tmp_path, "f (float[2] x) => (float[2] y) {y = Abs(x)}")
    message = fail(USAGE, "run", model, "--random", "-o", tmp_path / "r.csv")
    assert "expected .npz, .npy or .safetensors" in message
    assert not (tmp_path / "r.csv").exists()
    # The error comes before any file is read.
    lost = tmp_path / "no" / "r.npz"
    message = fail(BAD_INPUT, "run", model, "no.npz", "-o", lost)
    assert f"cannot write '{lost}'" in message
    np.savez(tmp_path / "x.npz", x=np.ones(2, np.float32))
    data = tmp_path / "x.npz"
    message = fail(USAGE, "run", model, data, "-o", data)
    assert f"'{data}' would replace '{data}', which is read" in message


# -----------------------------------------------------------------------------
# Disks
# -----------------------------------------------------------------------------


def find_rescued(message):
    (folder,) = re.findall(r"are kept in '([^']+)'", message)
    return pathlib.Path(folder)


def whole_run(tmp_path, steps):
    out = tmp_path / "whole.safetensors"
    mp_run(*train(f"--steps={steps}", "-o", out))
    return out.read_bytes()


def test_a_full_disk_at_the_end(tmp_path):
    """/dev/full is a disk that is full."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = attempt(*train("--steps=9", "-o", "/dev/full"), env=environment)
    assert done.returncode == BAD_INPUT
    assert "cannot write '/dev/full': No space left" in done.stderr
    folder = find_rescued(done.stderr)
    assert folder.parent == tmp_path
    # The run continues there without a difference.
    out = tmp_path / "end.safetensors"
    mp_run(*train("--steps=20", f"--checkpoint={folder}", "--resume", "-o", out))
    assert out.read_bytes() == whole_run(tmp_path, 20)


def test_a_full_disk_with_a_checkpoint(tmp_path):
    checkpoint = f"--checkpoint={tmp_path / 'checkpoints'}"
    message = fail(BAD_INPUT, *train(checkpoint, "--steps=9", "-o", "/dev/full"))
    assert "the checkpoint of step 9 has the states" in message
    out = tmp_path / "end.safetensors"
    done = mp_run(*train(checkpoint, "--steps=9", "--resume", "-o", out))
    assert "all 9 steps are made already" in done.stderr
    assert out.read_bytes() == whole_run(tmp_path, 9)


def test_no_room_anywhere(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path / "none")}
    done = attempt(*train("--steps=2", "-o", "/dev/full"), env=environment)
    assert done.returncode == BAD_INPUT
    assert "no folder can be made to keep the states in" in done.stderr


def test_a_log_that_is_full(tmp_path):
    out = tmp_path / "end.safetensors"
    message = fail(BAD_INPUT, *train("--log=/dev/full", "-o", out))
    assert "cannot write '/dev/full'" in message or "/dev/full" in message
    assert "has the states after step 1" in message
    assert out.read_bytes() == whole_run(tmp_path, 1)


# An index that is a sum: only the step finds it.
INDEXED = """
step (int64[n] x, float[4] table, float total) => (float loss, float total_new)
<float[4] table = {1, 2, 3, 4}, float total = {0}>
{
  sum = ReduceSum<keepdims = 0>(x)
  value = Gather(table, sum)
  total_new = Add(total, value)
  loss = Identity(value)
}
"""


def test_a_step_that_fails(tmp_path):
    """A row that is not there, in the sixth batch of eight."""
    x = np.zeros((8, 2), np.int64)
    x[5, 1] = 99
    np.savez(tmp_path / "data.npz", x=x)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    out = tmp_path / "end.npz"
    step = write_model(tmp_path, INDEXED)
    flags = ("train", step, f"--data={tmp_path / 'data.npz'}")
    done = attempt(*flags, "-o", out, env=environment)
    assert done.returncode == BAD_INPUT and not out.exists()
    assert "error: step 6: " in done.stderr and "99" in done.stderr
    assert "may have changed some" in done.stderr
    assert (find_rescued(done.stderr) / "step-0000000005").is_dir()


def heed_signals():
    """Those that who runs the tests ignores, nohup for example."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(*arguments, log):
    process = subprocess.Popen(
        command(*arguments),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    while not log.exists() or not log.read_text():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    return process


def test_checkpoints_that_cannot_be_written(tmp_path):
    folder, log = tmp_path / "checkpoints", tmp_path / "log"
    out = tmp_path / "end.safetensors"
    process = start(
        *train(f"--checkpoint={folder}", "--checkpoint-every=50"),
        *(f"--steps={ENDLESS}", f"--log={log}", "-o", out),
        log=log,
    )
    # A file in the place of the folder, whose checkpoints go elsewhere.
    while True:
        try:
            if folder.exists():
                folder.rename(tmp_path / "moved")
            folder.write_text("")
            break
        except OSError:
            continue
    _, errors = process.communicate(timeout=60)
    assert process.returncode == BAD_INPUT, errors
    made = len(read_log(log))
    # The path is the checkpoint's, or that of a file in it, whichever comes
    # next.
    assert re.search(rf"cannot [a-z ]+ '?{folder}", errors), errors
    assert f"'{out}' has the states after step {made}" in errors
    assert made % 50 == 0 and load_safetensors(out)


def test_permissions_follow_the_mask(tmp_path):
    folder = tmp_path / "runs" / "checkpoints"
    out = tmp_path / "end.safetensors"
    mp_run(
        *train(f"--checkpoint={folder}", "--steps=2", "-o", out),
        preexec_fn=lambda: os.umask(0o027),
    )
    (states,) = folder.glob("step-*/states.safetensors")
    for path, mode in (
        (folder.parent, 0o750),
        (states.parent, 0o750),
        (states, 0o640),
        (out, 0o640),
    ):
        assert stat.S_IMODE(path.stat().st_mode) == mode, path
    mp_run(
        *train(f"--checkpoint={tmp_path / 'open'}", "--steps=2"),
        preexec_fn=lambda: os.umask(0o022),
    )
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755


# -----------------------------------------------------------------------------
# Signals
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_write_the_output(tmp_path, number):
    number = getattr(signal, number)
    log, out = tmp_path / "log", tmp_path / "end.safetensors"
    process = start(
        *train(f"--steps={ENDLESS}", f"--log={log}", "-o", out), log=log
    )
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    made = len(read_log(log))
    assert f"after step {made}; '{out}' has its states" in errors
    if made < 300:
        assert out.read_bytes() == whole_run(tmp_path, made)


def test_a_run_that_keeps_nothing_says_so():
    assert "are not kept" in mp_run(*train("--steps=1")).stderr


def test_progress_that_nobody_reads(tmp_path):
    """As in mp-run train ... 2>&1 | head -1."""
    out = tmp_path / "end.safetensors"
    process = subprocess.Popen(
        command(*train("--steps=400", "-o", out)), stderr=subprocess.PIPE
    )
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert out.read_bytes() == whole_run(tmp_path, 400)


# -----------------------------------------------------------------------------
# Divergence
# -----------------------------------------------------------------------------

# The state is not finite from the step on in which the sum of x is not.
ADDER = """
step (float[n] x, float[n] w, float total) => (float loss, float total_new)
<float total = {0}>
{
  sum = ReduceSum<keepdims = 0>(x)
  total_new = Add(total, sum)
  loss = ReduceSum<keepdims = 0>(w)
}
"""


def write_data(folder, bad, value=3e38):
    x = np.ones((6, 2), np.float32)
    x[bad:] = value
    path = folder / "data.npz"
    np.savez(path, x=x, w=np.ones_like(x))
    return f"--data={path}"


def test_states_that_are_not_finite(tmp_path):
    """The loss is that of the states before the step: 2, all the time."""
    step = write_model(tmp_path, ADDER)
    out, folder = tmp_path / "end.npz", tmp_path / "checkpoints"
    out.write_text("what was there")
    flags = ("-o", out, f"--checkpoint={folder}", "--checkpoint-every=1")
    message = fail(DIVERGED, "train", step, write_data(tmp_path, 3), *flags)
    assert "state 'total' is not finite after step 4" in message
    assert "the last checkpoint is that of step 3" in message
    assert f"'{out}' is not written" in message
    assert out.read_text() == "what was there"
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["step-0000000002", "step-0000000003"]
    # It is good.
    mp_run(
        *("train", step, write_data(tmp_path, 3), f"--init={folder}/{names[1]}"
          "/states.safetensors", "--steps=1", "-o", tmp_path / "next.npz"),
    )
    assert np.load(tmp_path / "next.npz")["total"] == 8


def test_states_that_are_not_finite_at_the_end(tmp_path):
    step = write_model(tmp_path, ADDER)
    out = tmp_path / "end.npz"
    data = write_data(tmp_path, 5, -3e38)
    message = fail(DIVERGED, "train", step, data, "-o", out)
    assert "state 'total' is not finite after step 6" in message
    assert not out.exists()


def test_a_state_that_begins_infinite(tmp_path):
    """The best loss of a run that has not begun, for example."""
    model = onnx.load(write_model(tmp_path, ADDER))
    (total,) = model.graph.initializer
    infinite = np.array(np.inf, np.float32)
    total.CopyFrom(onnx.numpy_helper.from_array(infinite, "total"))
    step, out = tmp_path / "step.onnx", tmp_path / "end.npz"
    onnx.save(model, step)
    mp_run("train", step, write_data(tmp_path, 6), "-o", out)
    assert np.load(out)["total"] == np.inf


def test_all_steps_are_skipped(tmp_path):
    """The learning rate makes parameters so large that all losses are NaN, and
    loss scaling skips the steps; before 64 of them are over, the run is."""
    step = make_step(NAME, "adamw", "--mixed-fp16")
    out, log = tmp_path / "end.npz", tmp_path / "log"
    done = attempt(
        *("train", step, f"--data={DATA}", "--lr=1e9", "--steps=40"),
        *("-o", out, f"--log={log}"),
    )
    assert done.returncode == DIVERGED, done.stderr
    assert len(read_log(log)) == 40 and not out.exists()
    assert "the loss of step 40 is NaN" in done.stderr
    assert "-nan" not in done.stderr and "nan" in done.stderr
    warnings = re.findall(r"warning: the last 10 steps.*skipped", done.stderr)
    assert len(warnings) == 1
    # Bad states do not replace a good checkpoint.
    checkpoints = tmp_path / "checkpoints"
    done = attempt(
        *("train", step, f"--data={DATA}", "--lr=1e9", "--steps=40"),
        *(f"--checkpoint={checkpoints}", "--checkpoint-every=1"),
    )
    assert "the last checkpoint is that of step 1" in done.stderr
    assert len(list(checkpoints.iterdir())) == 1
