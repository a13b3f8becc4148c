# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bias corrections, running variances, small weights and losses as in torch."""

import json
import pathlib

import numpy as np
import onnx
import pytest

from steps import Step, scratch_dir
from support import MP_OPT, attempt, run_mp_opt
from test_parameters import with_metadata
from test_torch_rules import RNG, W, X, build, gradients

MP_RUN = pathlib.Path(MP_OPT).with_name("mp-run")

# ---- Numbers ---------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "lazy-adam", "lamb"])
@pytest.mark.parametrize("beta2", [0.999, 0.9999])
def test_bias_corrections_are_those_of_float64(optimizer, beta2):
    """Of a weight of zeros, the update has all the digits that there are."""
    text = """(float[5,3] x) => (float[5,4] y) { y = MatMul(x, w) }"""
    model = build(text, w=W)
    eps = 1e-12
    step = Step(
        model, "--loss=mse", "--lr=1",
        f"--optimizer={optimizer}:beta2={beta2},eps={eps}",
    )  # fmt: skip
    labels = RNG.normal(size=(5, 4)).astype(np.float32)
    feeds = {"x": X, "labels": labels}
    gradient = gradients(model, **feeds)[0]["w_grad"].astype(np.float64)
    for count in (1, 2, 10, 1000, 100000):
        first = RNG.normal(size=W.shape).astype(np.float32)
        second = np.square(RNG.normal(size=W.shape)).astype(np.float32)
        step.state.update({
            "step": np.array(count - 1), "w": W,
            "w.exp_avg": first, "w.exp_avg_sq": second,
        })  # fmt: skip
        moved = step.run(feeds)
        mean = 0.9 * first.astype(np.float64) + 0.1 * gradient
        square = beta2 * second.astype(np.float64) + (1 - beta2) * gradient**2
        mean /= 1 - 0.9**count
        square /= 1 - beta2**count
        exact = mean / (np.sqrt(square) + eps)
        if optimizer == "lamb":
            exact *= np.linalg.norm(W) / np.linalg.norm(exact)
        found = W.astype(np.float64) - moved["w_new"]
        bound = 2**-23 * np.abs(W).max() + 4e-7 * np.abs(exact)
        assert (np.abs(found - exact) <= bound).all(), count


def test_running_variances_of_torch():
    text = """(float[5,4,3] x) => (float[5,4,3] y) {
      y, mean, var = BatchNormalization <training_mode: int = 1> (
          x, s, b, m, v)
    }"""
    ones = np.ones(4, np.float32)
    model = build(text, s=ones, b=0 * ones, m=0 * ones, v=2 * ones)
    x = RNG.normal(size=(5, 4, 3)).astype(np.float32)
    for marked in (False, True):
        if marked:
            with_metadata(model, running_var="unbiased")
        step = Step(model, "--loss=mse")
        step.run({"x": x, "labels": x})
        expected = 0.9 * 2 + 0.1 * x.var(axis=(0, 2), ddof=int(marked))
        np.testing.assert_allclose(step.state["v"], expected, rtol=1e-6)


def test_small_layer_scales_stay_fp32():
    text = """(float[16,3] x) => (float[16,4] y) {
      a = MatMul(x, w)
      [scale] h = Mul(a, g)
      y = MatMul(h, v)
    }"""
    v = RNG.normal(size=(4, 4)).astype(np.float32)
    for scale, kept in ((1e-6, True), (1, False)):
        g = np.full(4, scale, np.float32) * (1 + 0.1 * np.arange(4))
        g[0] *= 1 if kept else 1e-7
        model = build(text, w=W, v=v, g=g.astype(np.float32))
        folder = scratch_dir("scale")
        onnx.save(model, folder / "net.onnx")
        done = run_mp_opt(
            folder / "net.onnx", "--mixed-fp16", "--explain=scale", "-o",
            folder / "low.onnx",
        )  # fmt: skip
        said = "of its RMS in fp16, more than 2^-10"
        assert (said in done.stdout + done.stderr) == kept


# ---- Losses ----------------------------------------------------------------


def run_train(step, folder, *flags):
    done = attempt(
        "train", step, f"--data={folder / 'data.npz'}", "--batch=5",
        "--epochs=1", "--json", "--progress=none", "-o",
        folder / "out.safetensors", *flags, program=MP_RUN
    )
    return done


@pytest.mark.parametrize("name", ["cost", "loss"])
def test_a_loss_of_the_models_own_trains(name):
    text = f"""(float[N,3] x, float[N,4] t) => (float {name}) {{
      y = MatMul(x, w)
      d = Sub(y, t)
      s = Mul(d, d)
      {name} = ReduceMean <keepdims: int = 0> (s)
    }}"""
    step = Step(build(text, w=W), f"--loss=output:{name}", "--lr=0")
    assert {"loss", name} <= set(step.outputs)
    labels = RNG.normal(size=(5, 4)).astype(np.float32)
    np.savez(step.folder / "data.npz", x=X, t=labels)
    done = run_train(step.path, step.folder)
    assert done.returncode == 0, done.stderr
    expected = np.square(X @ W - labels).mean()
    np.testing.assert_allclose(json.loads(done.stdout)["loss"], expected, 1e-5)


def test_an_inner_value_called_loss_is_renamed():
    text = """(float[5,3] x) => (float[5,4] y) {
      loss = MatMul(x, w)
      y = Tanh(loss)
    }"""
    assert "loss" in Step(build(text, w=W), "--loss=mse").outputs


LANGUAGE = """(int64[B,S] i) => (float[B,S,6] y) {
  e = Gather(t, i)
  y = MatMul(e, v)
}"""


def test_classes_on_the_last_axis_are_suspected():
    table = RNG.normal(size=(6, 4)).astype(np.float32)
    v = RNG.normal(size=(4, 6)).astype(np.float32)
    advice = "--class-axis=-1 if the last axis holds them"
    model = build(LANGUAGE, t=table, v=v)
    step = Step(model, "--loss=cross_entropy")
    assert "classes of 'y' are axis 1 (S); " + advice in step.messages
    ids = np.zeros((5, 3), np.int64)
    np.savez(step.folder / "data.npz", i=ids, labels=ids)
    assert advice in run_train(step.path, step.folder).stderr
    step = Step(model, "--loss=cross_entropy", "--class-axis=-1")
    assert advice not in step.messages


def test_a_batch_whose_labels_are_all_ignored_is_passed_over():
    table = RNG.normal(size=(6, 4)).astype(np.float32)
    v = RNG.normal(size=(4, 6)).astype(np.float32)
    for smoothing in ("", ",label-smoothing=0.1"):
        step = Step(
            build(LANGUAGE, t=table, v=v), "--class-axis=-1",
            f"--loss=cross_entropy:ignore-index=-100{smoothing}",
        )  # fmt: skip
        ids = RNG.integers(0, 6, (15, 3))
        labels = ids.copy()
        labels[5:10] = -100
        np.savez(step.folder / "data.npz", i=ids, labels=labels)
        done = run_train(step.path, step.folder, "--no-shuffle")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("is not a number, but all states are") == 1
        assert (step.folder / "out.safetensors").exists()
