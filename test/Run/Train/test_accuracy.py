# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trained states in the model that the step was made of, and how many labels
that finds: mp-run alone."""

import json

import numpy as np
import pytest

from runs import BAD_INPUT, USAGE, attempt, fail, load_safetensors, mp_run
from runs import write_model
from support import run_mp_opt

# A model as exporters write it in training mode: statistics of the batch, and a
# mask.
TRAINS = """
f (float[n,4] x) => (float[n,3] y)
<
  float[4,3] w = {0.11,-0.2,0.3,0.47,0.5,-0.6,0.7,0.83,0.9,-0.1,0.15,0.12},
  float[3] s = {1.1, 0.9, 1.2}, float[3] b = {0.1, 0.2, -0.1},
  float[3] mean = {0, 0, 0}, float[3] var = {1, 1, 1},
  float ratio = {0.5}, bool training = {1}
>
{
  h = MatMul(x, w)
  normal, new_mean, new_var = BatchNormalization<training_mode = 1>(h, s, b, mean, var)
  y, mask = Dropout<seed = 3>(normal, ratio, training)
}
"""


def make_data(folder, name, rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4)).astype(np.float32)
    labels = x[:, :3].argmax(1)
    np.savez(folder / name, x=x, labels=labels)
    return x, labels


@pytest.fixture(name="trained")
def train(tmp_path):
    """The model, its states after some steps, and data to test on."""
    model, step = write_model(tmp_path, TRAINS), tmp_path / "step.onnx"
    run_mp_opt(
        *(model, "--train", "--loss=softmax-cross-entropy", "--lr=0.05"),
        *("--optimizer=adamw", "--summary=none", "-o", step),
    )
    make_data(tmp_path, "data.npz", 64, 0)
    states = tmp_path / "trained.safetensors"
    mp_run(
        *("train", step, f"--data={tmp_path / 'data.npz'}", "--batch=16"),
        *("--epochs=10", "--quiet", "-o", states),
        f"--checkpoint={tmp_path / 'checkpoints'}",
    )
    return model, states, make_data(tmp_path, "test.npz", 51, 1)


def evaluate(states, x):
    """With running statistics, and without a mask."""
    v = {n: a.astype(np.float64) for n, a in load_safetensors(states).items()}
    normal = (x @ v["w"] - v["mean"]) / np.sqrt(v["var"] + 1e-5)
    return normal * v["s"] + v["b"]


def test_states_are_evaluated_as_in_inference(tmp_path, trained):
    model, states, (x, _) = trained
    out = tmp_path / "y.npz"
    flags = ("run", model, tmp_path / "test.npz", "-o", out)
    mp_run(*flags, f"--states={states}")
    expected = evaluate(states, x)
    np.testing.assert_allclose(np.load(out)["y"], expected, rtol=1e-5, atol=1e-5)
    # A checkpoint has them, too.
    mp_run(*flags, f"--states={tmp_path / 'checkpoints'}")
    np.testing.assert_allclose(np.load(out)["y"], expected, rtol=1e-5, atol=1e-5)
    # In 16 bit, weights are rounded after they have been set.
    mp_run(*flags, f"--states={states}", "--mixed-bf16")
    np.testing.assert_allclose(np.load(out)["y"], expected, rtol=0.05, atol=0.05)


def test_accuracy(tmp_path, trained):
    model, states, (x, labels) = trained
    flags = ("run", model, tmp_path / "test.npz", f"--states={states}")
    correct = int((evaluate(states, x).argmax(1) == labels).sum())
    assert correct > 30
    done = mp_run(*flags, "--accuracy")
    assert done.stdout == (
        f"accuracy {correct / 51:.4f} ({correct} of 51) of 'y'\n"
    )
    assert done.stderr == ""
    found = json.loads(mp_run(*flags, "--accuracy", "--json").stdout)
    assert (found["correct"], found["count"]) == (correct, 51)
    # Negative labels do not count; another name is given.
    np.savez(tmp_path / "test.npz", x=x, t=np.where(labels == 2, -1, labels))
    done = mp_run(*flags, "--accuracy=t")
    assert f"of {(labels != 2).sum()})" in done.stdout


def test_accuracy_over_positions(tmp_path):
    """Classes are the axis that labels have not."""
    model = write_model(
        tmp_path, "f (float[n,c,p] x) => (float[n,c,p] y) { y = Identity(x) }"
    )
    x = np.random.default_rng(0).normal(size=(5, 7, 6)).astype(np.float32)
    for axis in (1, 2):
        labels = x.argmax(axis).astype(np.int32)
        labels[0, 0] = (labels[0, 0] + 1) % 6
        np.savez(tmp_path / "x.npz", x=x, labels=labels)
        done = mp_run("run", model, tmp_path / "x.npz", "--accuracy")
        assert f"({labels.size - 1} of {labels.size})" in done.stdout


def test_what_has_no_accuracy(tmp_path, trained):
    model, states, (x, labels) = trained
    flags = ("run", model, tmp_path / "test.npz", "--accuracy")
    for changed, text in (
        (labels.astype(np.float32), "expected labels of an integer type"),
        (labels + 1, "label 3 is none of the 3 classes of 'y'"),
        (labels[:, None], "no output has scores for the labels 'labels'"),
        (labels * 0 - 1, "'labels' has no label from 0 on"),
    ):
        np.savez(tmp_path / "test.npz", x=x, labels=changed)
        assert text in fail(BAD_INPUT, *flags)
    np.savez(tmp_path / "test.npz", x=x)
    assert "the data have no labels 'labels'" in fail(BAD_INPUT, *flags)
    assert "--accuracy excludes --check" in fail(USAGE, *flags, "--check")


def test_states_of_another_model(tmp_path, trained):
    model, _, (x, _) = trained
    other = tmp_path / "other.npz"
    np.savez(other, w=np.zeros((5, 3), np.float32))
    flags = ("run", model, tmp_path / "test.npz", f"--states={other}")
    message = fail(BAD_INPUT, *flags)
    assert str(other) in message and "initializer 'w' is not of the" in message
    np.savez(other, v=np.zeros(3, np.float32))
    assert "no initializer has the name" in fail(BAD_INPUT, *flags)
    flags = (*flags[:-1], "--states=no.npz")
    assert attempt(*flags).returncode == BAD_INPUT
