# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run train: stored curves, batches, schedules, what ends a run."""

import json
import math

import numpy as np
import onnx
import pytest

from runs import BAD_INPUT, DIVERGED, MODELS, OPTIMIZERS, USAGE, attempt
from runs import curve, fail, load_safetensors, make_step, mp_run, read_log
from runs import train_folder, write_model

NAMES = sorted(p.parent.name for p in MODELS.glob("train/*/forward.onnx"))
# Its masks are drawn by the runtime.
RANDOM = {"bert2_dropout"}
STEPS = 40


def losses(tmp_path, *arguments):
    log = tmp_path / "log.jsonl"
    mp_run("train", *arguments, f"--log={log}", "--quiet")
    return np.array([record["loss"] for record in read_log(log)])


@pytest.mark.parametrize("name", [n for n in NAMES if n not in RANDOM])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_curves(tmp_path, name, optimizer):
    expected = curve(name)[optimizer]["loss"]
    data = train_folder(name) / "data.npz"
    step = make_step(name, optimizer)
    found = losses(tmp_path, step, f"--data={data}", f"--steps={STEPS}")
    # Statistics of a batch of eight amplify rounding from step to step.
    rtol = 1e-2 if name == "resnet8" else 1e-3
    np.testing.assert_allclose(found, expected, rtol=rtol)


# The state sums up, over all steps, the contents of batches and the rates.
ADDER = """
step (float[n,2] x, float[n] w, float learning_rate, float[2] total,
      float rates)
  => (float loss, float[2] total_new, float rates_new, float[n] w_seen)
<float learning_rate = {0.5}, float[2] total = {0, 0}, float rates = {0},
 int64[1] axes = {0}>
{
  sums = ReduceSum<keepdims = 0>(x, axes)
  total_new = Add(total, sums)
  rates_new = Add(rates, learning_rate)
  loss = ReduceSum<keepdims = 0>(x)
  w_seen = Identity(w)
}
"""
ROWS = 10
X = np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2)
W = np.zeros(ROWS, np.float32)


@pytest.fixture
def adder(tmp_path):
    np.savez(tmp_path / "rows.npz", x=X, w=W)
    np.savez(
        tmp_path / "batches.npz", x=X.reshape(5, 2, 2), w=W.reshape(5, 2)
    )
    return write_model(tmp_path, ADDER)


def test_batches_come_in_their_order(tmp_path, adder):
    data = f"--data={tmp_path / 'batches.npz'}"
    found = losses(tmp_path, adder, data, "--epochs=2")
    np.testing.assert_array_equal(found, np.tile(X.reshape(5, 4).sum(1), 2))


def test_rows_in_order(tmp_path, adder):
    data = f"--data={tmp_path / 'rows.npz'}"
    found = losses(tmp_path, adder, data, "--batch=4", "--no-shuffle")
    # Rows that do not fill a batch are left out.
    np.testing.assert_array_equal(found, [X[:4].sum(), X[4:8].sum()])


def test_shuffled_rows(tmp_path, adder):
    data = f"--data={tmp_path / 'rows.npz'}"
    flags = (adder, data, "--batch=1", "--epochs=2")
    first, again, other = (
        losses(tmp_path, *flags, f"--seed={seed}") for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any() and (first[:ROWS] != first[ROWS:]).any()
    for epoch in (first[:ROWS], first[ROWS:], other[:ROWS]):
        np.testing.assert_array_equal(np.sort(epoch), np.sort(X.sum(1)))


def test_states_are_handed_on_and_written(tmp_path, adder):
    out = tmp_path / "end.safetensors"
    data = f"--data={tmp_path / 'batches.npz'}"
    mp_run("train", adder, data, "-o", out, "--epochs=3")
    states = load_safetensors(out)
    assert list(states) == ["total", "rates"]
    np.testing.assert_array_equal(states["total"], 3 * X.sum(0))
    assert states["rates"] == 15 * 0.5
    mp_run("train", adder, data, f"--init={out}", "-o", out)
    np.testing.assert_array_equal(
        load_safetensors(out)["total"], 4 * X.sum(0)
    )


def rates(tmp_path, adder, *flags):
    data = f"--data={tmp_path / 'batches.npz'}"
    log = tmp_path / "log.jsonl"
    out = tmp_path / "end.safetensors"
    flags = (data, "--steps=10", f"--log={log}", "-o", out, *flags)
    mp_run("train", adder, *flags, "--quiet")
    found = [record["lr"] for record in read_log(log)]
    # The logged rates are those that the model got.
    assert load_safetensors(out)["rates"] == pytest.approx(sum(found), rel=1e-5)
    return found


def test_schedules(tmp_path, adder):
    def of(*flags):
        return rates(tmp_path, adder, "--lr=8", *flags)

    assert rates(tmp_path, adder) == [0.5] * 10
    assert of() == [8] * 10
    assert of("--warmup=4") == [2, 4, 6] + [8] * 7
    linear = of("--lr-schedule=linear")
    assert linear == pytest.approx([8 * (1 - s / 10) for s in range(10)])
    cosine = of("--lr-schedule=cosine", "--warmup=2", "--lr-min=1")
    halves = [(1 + math.cos(math.pi * s / 8)) / 2 for s in range(8)]
    assert cosine == pytest.approx([4, 8] + [1 + 7 * h for h in halves])
    steps = of("--lr-schedule=step", "--lr-step=4", "--lr-gamma=0.5")
    assert steps == [8] * 4 + [4] * 4 + [2] * 2


def test_divergence(tmp_path, adder):
    x = X.copy().reshape(5, 2, 2)
    x[3] = 3e38
    np.savez(tmp_path / "bad.npz", x=x, w=W.reshape(5, 2))
    out = tmp_path / "end.npz"
    flags = (f"--data={tmp_path / 'bad.npz'}", "-o", out)
    message = fail(DIVERGED, "train", adder, *flags)
    assert "the loss of step 4 is infinite" in message
    assert f"'{out}' is not written" in message
    assert not out.exists()


def test_json(tmp_path, adder):
    data = f"--data={tmp_path / 'batches.npz'}"
    done = mp_run("train", adder, data, "--json", "--quiet")
    assert json.loads(done.stdout)["steps"] == 5 and done.stderr == ""


def test_parameters_go_into_a_model(tmp_path):
    name = "mlp784"
    forward = train_folder(name) / "forward.onnx"
    data = f"--data={train_folder(name) / 'data.npz'}"
    out = tmp_path / "end.safetensors"
    mp_run("train", make_step(name), data, "-o", out)
    trained = tmp_path / "trained.onnx"
    into = (f"--into={forward}", "-o", trained)
    mp_run("train", make_step(name), data, *into)
    states, old = load_safetensors(out), onnx.load(forward)
    new = onnx.load(trained)
    onnx.checker.check_model(new, full_check=True)
    assert [n.name for n in new.graph.node] == [n.name for n in old.graph.node]
    for before, after in zip(old.graph.initializer, new.graph.initializer):
        array = onnx.numpy_helper.to_array(after)
        assert before.name == after.name
        np.testing.assert_array_equal(array, states[after.name])
        assert (array != onnx.numpy_helper.to_array(before)).any()
    other = f"--into={train_folder('mlp_mse') / 'forward.onnx'}"
    message = fail(
        BAD_INPUT, "train", make_step(name), data, other, "-o", trained
    )
    assert "no initializer has the name" in message


@pytest.mark.parametrize(
    "data, flags, text",
    [
        ({"x": X, "w": W}, (), "--batch=N must say"),
        ({"x": X, "w": W}, ("--batch=11",), "10 rows, less than a batch"),
        ({"x": X, "w": W[:9]}, ("--batch=2",), "'w' has 9 rows, 'x' has 10"),
        ({"x": X}, ("--batch=2",), "missing: w (batches or rows of float32[n])"),
        ({"x": X, "ww": W}, ("--batch=2",), "is 'ww' meant to be 'w'?"),
        (
            {"a": X, "b": W},
            ("--batch=2",),
            "data.npz: missing: x (batches or rows of float32[n,2]), w (batches "
            "or rows of float32[n]); the data have: a, b",
        ),
        ({"x": X.astype("c8"), "w": W}, ("--batch=2",), 'x.astype("float32")'),
        ({"x": X[:, :1], "w": W}, ("--batch=2",), "found float32[2,1]"),
        ({"x": X.reshape(5, 2, 2), "w": W}, ("--batch=2",), "'x' has batches"),
        (
            {"x": X.reshape(5, 2, 2), "w": W.reshape(5, 2)},
            ("--batch=2",),
            "batches already",
        ),
    ],
)
def test_data_that_do_not_fit(tmp_path, adder, data, flags, text):
    np.savez(tmp_path / "data.npz", **data)
    data = f"--data={tmp_path / 'data.npz'}"
    assert text in fail(BAD_INPUT, "train", adder, data, *flags)


def test_no_step(tmp_path):
    model = write_model(tmp_path, "f (float[2] x) => (float[2] y) {y = Abs(x)}")
    np.savez(tmp_path / "data.npz", x=np.ones((3, 2), np.float32))
    data = f"--data={tmp_path / 'data.npz'}"
    message = fail(BAD_INPUT, "train", model, data)
    assert "model.onnxtxt: it is not a training step" in message
    assert "mp-opt model.onnxtxt --train --loss=... -o step.onnx" in message


@pytest.mark.parametrize(
    "flags, text",
    [
        ((), "--data=FILE"),
        (("--data=d", "--epochs=1", "--steps=2"), "exclude each other"),
        (("--data=d", "--resume"), "need --checkpoint=DIR"),
        (("--data=d", "--lr-schedule=cosin"), "did you mean 'cosine'"),
        (("--data=d", "--lr-schedule=step"), "needs --lr-step"),
        (("--data=d", "--lr=nan"), "--lr: expected a number"),
        (("--data=d", "--into=m"), "--into needs -o"),
        (("--data=d", "--keep=0"), "--keep: expected a number of at least 1"),
    ],
)
def test_usage(flags, text):
    assert text in fail(USAGE, "train", "step.onnx", *flags)


def test_fp16_scales_its_loss(tmp_path):
    data = train_folder("mlp784") / "data.npz"
    step = make_step("mlp784", "adamw", "--mixed-fp16")
    log = tmp_path / "log.jsonl"
    done = attempt("train", step, f"--data={data}", f"--log={log}", "--epochs=2")
    assert done.returncode == 0 and "scale 65536" in done.stderr
    records = read_log(log)
    assert records[0]["scale"] == 65536 and records[-1]["skipped"] == 0
    assert records[-1]["loss"] < records[0]["loss"]
