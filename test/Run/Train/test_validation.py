# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run train --validation: the loss of the forward pass, as in inference."""

import json

import numpy as np
import pytest

from runs import BAD_INPUT, fail, load_safetensors, mp_run, read_log
from runs import run_mp_opt, write_model

# Least squares by gradient descent; batches may be of any size.
STEP = """
step (float[n,3] x, float[n,1] y, float learning_rate, float[3,1] w)
  => (float loss, float[3,1] w_new)
<float learning_rate = {0.1}, float[3,1] w = {0.5, -1, 2}>
{
  predicted = MatMul(x, w)
  error = Sub(predicted, y)
  squares = Mul(error, error)
  loss = ReduceMean<keepdims = 0>(squares)
  turned = Transpose<perm = [1, 0]>(x)
  slope = MatMul(turned, error)
  change = Mul(slope, learning_rate)
  w_new = Sub(w, change)
}
"""
BATCH, ROWS, HELD_OUT = 4, 24, 10
GENERATOR = np.random.default_rng(7)


def rows(count, width=3):
    x = GENERATOR.standard_normal((count, width)).astype(np.float32)
    return {"x": x, "y": x[:, :1] - 2 * x[:, 1:2] + 0.5}


def save(path, arrays):
    np.savez(path, **arrays)
    return path


@pytest.fixture
def data(tmp_path):
    held_out = rows(HELD_OUT)
    return (
        save(tmp_path / "data.npz", rows(ROWS)),
        save(tmp_path / "held-out.npz", held_out),
        held_out,
    )


def train(tmp_path, step, data, *flags):
    log, out = tmp_path / "log", tmp_path / "end.safetensors"
    done = mp_run(
        *("train", step, f"--data={data}", f"--batch={BATCH}", "--lr=0.01"),
        *(f"--log={log}", "-o", out, *flags),
    )
    return read_log(log), load_safetensors(out), done


def mean_square(held_out, w):
    return np.mean((held_out["x"].astype("f8") @ w - held_out["y"]) ** 2)


def test_all_rows_at_the_end_of_each_epoch(tmp_path, data):
    """Ten rows are two batches of four and one of two."""
    step = write_model(tmp_path, STEP)
    validation = f"--validation={data[1]}"
    for epochs in (1, 2):
        flags = (validation, f"--epochs={epochs}", "--json", "--quiet")
        log, states, done = train(tmp_path, step, data[0], *flags)
        expected = mean_square(data[2], states["w"])
        assert log[-1]["validation_loss"] == pytest.approx(expected, rel=1e-5)
        end = json.loads(done.stdout)
        assert end["validation_loss"] == log[-1]["validation_loss"]
        evaluated = [r["step"] for r in log if "validation_loss" in r]
        assert evaluated == [6 * (e + 1) for e in range(epochs)]


def test_training_is_what_it_is_without(tmp_path, data):
    step = write_model(tmp_path, STEP)
    _, with_it, _ = train(
        tmp_path, step, data[0], f"--validation={data[1]}", "--epochs=3"
    )
    _, without, _ = train(tmp_path, step, data[0], "--epochs=3")
    np.testing.assert_array_equal(with_it["w"], without["w"])


def test_it_is_shown_and_kept(tmp_path, data):
    step = write_model(tmp_path, STEP)
    folder = tmp_path / "checkpoints"
    log, _, done = train(
        *(tmp_path, step, data[0], f"--validation={data[1]}"),
        f"--checkpoint={folder}",
    )
    loss = log[-1]["validation_loss"]
    assert f"validation {loss:.6g}" in done.stderr
    assert f"validation {loss:.6g}" in done.stdout
    manifest = json.loads(
        (folder / "step-0000000006" / "manifest.json").read_text()
    )
    assert manifest["validation_loss"] == loss
    assert f"validation loss {loss:.6g}" in mp_run("show", folder).stdout


def test_averages_are_evaluated_where_they_are_the_result(tmp_path, data):
    text = STEP.replace("float[3,1] w)", 'float[3,1] w, float[3,1] "w.ema")')
    text = text.replace("w_new)\n", 'w_new, float[3,1] "w.ema_new")\n')
    text = text.replace("2}>\n", '2}, float[3,1] "w.ema" = {0, 0, 0},\n'
                        " float half = {0.5}>\n")
    text = text.replace("change)\n}", 'change)\n  sum = Add(w_new, "w.ema")\n'
                        '  "w.ema_new" = Mul(sum, half)\n}')
    step = write_model(tmp_path, text)
    found = []
    for flags in ((), ("--average",)):
        log, states, _ = train(
            tmp_path, step, data[0], f"--validation={data[1]}", *flags
        )
        assert ("w.ema" in states) == (not flags)
        expected = mean_square(data[2], states["w"])
        assert log[-1]["validation_loss"] == pytest.approx(expected, rel=1e-5)
        found.append(expected)
    assert abs(found[0] - found[1]) > 1e-3


def test_the_end_of_a_run_within_an_epoch(tmp_path, data):
    step = write_model(tmp_path, STEP)
    log, states, _ = train(
        tmp_path, step, data[0], f"--validation={data[1]}", "--steps=4"
    )
    expected = mean_square(data[2], states["w"])
    assert log[-1]["validation_loss"] == pytest.approx(expected, rel=1e-5)


def test_fewer_rows_than_a_batch(tmp_path, data):
    step = write_model(tmp_path, STEP)
    few = rows(BATCH - 1)
    path = save(tmp_path / "few.npz", few)
    log, states, _ = train(tmp_path, step, data[0], f"--validation={path}")
    expected = mean_square(few, states["w"])
    assert log[-1]["validation_loss"] == pytest.approx(expected, rel=1e-5)


def test_batches_that_are_made_already(tmp_path, data):
    step = write_model(tmp_path, STEP)
    batches = {k: v.reshape(2, 5, -1) for k, v in data[2].items()}
    path = save(tmp_path / "batches.npz", batches)
    log, states, _ = train(tmp_path, step, data[0], f"--validation={path}")
    expected = mean_square(data[2], states["w"])
    assert log[-1]["validation_loss"] == pytest.approx(expected, rel=1e-5)


def test_a_step_of_one_batch_size(tmp_path, data):
    text = STEP.replace("n,", f"{BATCH},")
    step = write_model(tmp_path, text)
    log, states, done = train(
        tmp_path, step, data[0], f"--validation={data[1]}"
    )
    assert "the last 2 rows are left out" in done.stderr
    whole = {k: v[:8] for k, v in data[2].items()}
    expected = mean_square(whole, states["w"])
    assert log[-1]["validation_loss"] == pytest.approx(expected, rel=1e-5)


def test_data_that_do_not_fit(tmp_path, data):
    step = write_model(tmp_path, STEP)
    x, y = data[2]["x"], data[2]["y"]
    for arrays, text in (
        ({"x": x, "z": y}, "missing: y (batches or rows of float32[n,1]); the"),
        ({"x": x[:0], "y": y[:0]}, "the data have 0 rows, less than a batch"),
        ({"x": x, "y": y[:5]}, "input 'y' has 5 rows, 'x' has 10"),
        ({"x": x[:, :2], "y": y}, "input 'x': expected float32[n,3], found"),
    ):
        bad = save(tmp_path / "bad.npz", arrays)
        message = fail(
            *(BAD_INPUT, "train", step, f"--data={data[0]}", "--batch=4"),
            f"--validation={bad}",
        )
        assert f"bad.npz: {text}" in message


FORWARD = """
net (float[n,3] x) => (float[n,1] y)
<float[3,1] w = {0.5, -1, 2}, float[3] scale = {1, 2, 3},
 float[3] bias = {0.1, 0.2, 0.3}, float[3] mean = {0.1, -0.1, 0},
 float[3] variance = {1, 2, 0.5}, float ratio = {0.5}, bool train = {1}>
{
  BODY
  y = MatMul(h, w)
}
"""
NORMALIZED = """h, mean_out, variance_out = BatchNormalization<training_mode = 1>
    (x, scale, bias, mean, variance)"""
DROPPED = "h, mask = Dropout(x, ratio, train)"


def make_step(tmp_path, body, *flags):
    model = write_model(tmp_path, FORWARD.replace("BODY", body), "net.onnxtxt")
    step = tmp_path / "made.onnx"
    run_mp_opt(
        *(model, "--train", "--loss=mse:labels=target", "--optimizer=sgd"),
        *("--summary=none", *flags, "-o", step),
    )
    return step


@pytest.mark.parametrize("precision", [(), ("--mixed-bf16",)])
@pytest.mark.parametrize("body", [NORMALIZED, DROPPED])
def test_as_in_inference(tmp_path, body, precision):
    step = make_step(tmp_path, body, *precision)
    training, held_out = rows(ROWS), rows(HELD_OUT)
    for arrays in (training, held_out):
        arrays["target"] = arrays.pop("y")
    log, states, _ = train(
        *(tmp_path, step, save(tmp_path / "data.npz", training)),
        f"--validation={save(tmp_path / 'held-out.npz', held_out)}",
    )
    x = held_out["x"].astype("f8")
    if body == NORMALIZED:
        # They have moved.
        assert abs(states["mean"] - [0.1, -0.1, 0]).max() > 1e-3
        x = (x - states["mean"]) / np.sqrt(states["variance"] + 1e-5)
        x = x * states["scale"] + states["bias"]
    expected = np.mean((x @ states["w"] - held_out["target"]) ** 2)
    # Products of operands that are rounded to 8 bits.
    rtol = 2**-5 if precision else 1e-5
    assert log[-1]["validation_loss"] == pytest.approx(expected, rel=rtol)
    # The training loss differs: it has dropout, or statistics of the batch.
    assert abs(log[-1]["loss"] - expected) > 1e-3
