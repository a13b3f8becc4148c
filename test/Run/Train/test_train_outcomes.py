# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs that learn nothing say why: all steps were skipped, updates vanish, or a
node yields what is not finite."""

import re

import numpy as np
import pytest

from runs import DIVERGED, fail, mp_run, read_log, write_model
from support import run_mp_opt


# -----------------------------------------------------------------------------
# Runs that change nothing
# -----------------------------------------------------------------------------

STEEP = """
f (float[n,4] x) => (float[n,1] y) <float[4,1] w = {1, 2, 3, 4}>
{ y = MatMul(x, w) }
"""


def train_steep(folder, *flags, scale=None):
    """Gradients are some 1e3: scaled by 1024 they leave fp16."""
    model, step = write_model(folder, STEEP), folder / "step.onnx"
    run_mp_opt(
        *(model, "--train", "--loss=mse", "--optimizer=sgd", "--lr=1e-9"),
        *("--summary=none", "-o", step),
        *(("--mixed-fp16", f"--loss-scale={scale}") if scale else ()),
    )
    rng = np.random.default_rng(0)
    data = folder / "data.npz"
    np.savez(
        data,
        x=rng.normal(size=(32, 4)).astype(np.float32) * 30,
        labels=np.zeros((32, 1), np.float32),
    )
    flags = ("--batch=16", "--quiet", "-o", folder / "end.npz", *flags)
    return ["train", step, f"--data={data}", *flags]


def test_a_constant_scale_that_is_too_large(tmp_path):
    log = tmp_path / "log"
    run = train_steep(tmp_path, "--steps=12", f"--log={log}", scale=1 << 20)
    message = fail(DIVERGED, *run)
    assert "the last 10 steps, up to step 10, were all skipped" in message
    assert "no step of this run changed a parameter: all 12 were skipped" in message
    assert "constant loss scale" in message and "is not written" in message
    assert [r["skipped"] for r in read_log(log)] == list(range(1, 13))
    assert not (tmp_path / "end.npz").exists()
    # One that fits.
    mp_run(*train_steep(tmp_path, "--steps=12", f"--log={log}", scale=1))
    assert {r["skipped"] for r in read_log(log)} == {0}


def test_a_dynamic_scale_that_still_falls(tmp_path):
    checkpoints = f"--checkpoint={tmp_path / 'c'}"
    run = train_steep(tmp_path, "--steps=1", checkpoints, scale="dynamic")
    message = fail(DIVERGED, *run)
    assert "the loss scale has fallen to 32768, and more steps" in message
    # It has been kept.
    run = train_steep(
        tmp_path, "--steps=60", checkpoints, "--resume", scale="dynamic"
    )
    mp_run(*run)


def test_updates_that_vanish(tmp_path):
    message = fail(DIVERGED, *train_steep(tmp_path, "--steps=2", "--lr=1e-30"))
    assert "vanish in rounding at the learning rate 1e-30" in message
    mp_run(*train_steep(tmp_path, "--steps=2"))


# -----------------------------------------------------------------------------
# The node that diverges
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [(), ("--checkpoint-every=1",)], ids=str)
def test_the_node_that_diverges(tmp_path, flags):
    """The steps are made again: from a checkpoint, or from the beginning."""
    if flags:
        flags += (f"--checkpoint={tmp_path / 'c'}",)
    run = train_steep(tmp_path, "--steps=20", "--lr=1", *flags)
    message = fail(DIVERGED, *run)
    found = re.search(
        r"in step (\d+), '(\S+)' of .*\((\w+)-1\d\) is the first result that is"
        r" not finite; the data of that step are finite",
        message,
    )
    assert found and found[3] in ("Mul", "MatMul"), message
    assert 2 < int(found[1]) < 20


ADDER = """
step (float[n] x, float total) => (float loss, float total_new)
<float total = {0}>
{
  sum = ReduceSum<keepdims = 0>(x)
  total_new = Add(total, sum)
  loss = Identity(total)
}
"""


def test_the_node_that_diverges_at_once(tmp_path):
    step = write_model(tmp_path, ADDER)
    x = np.full((4, 2), 3e38, np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    message = fail(DIVERGED, "train", step, f"--data={tmp_path / 'data.npz'}")
    assert "in step 1, 'sum' of" in message and "(ReduceSum-13)" in message


# -----------------------------------------------------------------------------
# Unread outputs
# -----------------------------------------------------------------------------

UNREAD = """
step (int64[n] x, float[4] table, float total) =>
    (float loss, float rows, float "loss.part", float total_new)
<float[4] table = {1, 2, 3, 4}, float total = {0}>
{
  sum = ReduceSum<keepdims = 0>(x)
  rows = Gather(table, sum)
  "loss.part" = ReduceMax<keepdims = 0>(table)
  total_new = Add(total, "loss.part")
  loss = Identity("loss.part")
}
"""


def test_outputs_that_nobody_reads_are_not_computed(tmp_path):
    """This one has a row that is not there."""
    step = write_model(tmp_path, UNREAD)
    data, log = tmp_path / "data.npz", tmp_path / "log"
    np.savez(data, x=np.full((4, 2), 9, np.int64))
    mp_run("train", step, f"--data={data}", f"--log={log}", "--quiet")
    assert [r["losses"] for r in read_log(log)] == [{"part": 4}] * 4
    # `run` computes all.
    fail(1, "run", step, "--random", f"--raw=x:{tmp_path / 'x'}:int64[2]")
