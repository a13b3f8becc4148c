# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges from a running training, and the next step that is made by them."""

import json
import pathlib

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model, save
from support import MP_OPT, attempt, run_mp_opt

RUN = pathlib.Path(MP_OPT).with_name("mp-run")
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def example():
    """A classifier and its data; the second layer works at 2e4."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="n_h"),
        helper.make_node("Relu", ["h"], ["r"], name="n_r"),
        helper.make_node("MatMul", ["r", "v"], ["scores"], name="n_scores"),
    ]
    weights = {
        "w": (RNG.standard_normal((16, 32)) * 0.25).astype(np.float32),
        "v": (RNG.standard_normal((32, 3)) * 4e3).astype(np.float32),
    }
    model = make_model(nodes, {"x": ["batch", 16]}, {"scores": ["batch", 3]}, weights)
    source, _ = save(model)
    x = RNG.standard_normal((128, 16)).astype(np.float32)
    np.savez(source.parent / "data.npz", x=x, labels=x[:, :3].argmax(1))
    return source


def make_step(example, name, *flags):
    step = example.parent / name
    done = run_mp_opt(
        example, "--train", "--loss=cross_entropy", "--optimizer=sgd",
        "--lr=1e-3", *flags, "-o", step,
    )
    return step, done


def train(step, *flags, code=0):
    return attempt(
        "train", step, f"--data={step.parent / 'data.npz'}", "--batch=16",
        "--progress=none", *flags, program=RUN, code=code,
    )


def test_a_step_is_calibrated(example):
    """The forward pass has head-room 4; gradients have no ranges."""
    path = example.parent / "ranges.json"
    step, _ = make_step(
        example, "fp16.onnx", "--mixed-fp16", "--loss-scale=1", f"--ranges={path}",
        f"--calibrate={example.parent / 'data.npz'}", "--dim=batch=16",
    )
    ranges = json.loads(path.read_text())
    assert {"h", "r", "scores"} <= set(ranges["values"])
    assert not any("grad" in name for name in ranges["values"])
    assert ranges["batches"] == 8
    assert ranges["values"]["scores"][0] > 65504 / 4
    explained = attempt(
        example, "--train", "--loss=cross_entropy", "--mixed-fp16",
        f"--ranges={path}", "--explain=n_scores", code=0,
    ).stdout
    assert "with head-room 4 it does not fit fp16" in explained
    train(step, "--steps=4")


def test_ranges_of_a_running_training(example):
    path = example.parent / "later.json"
    step, _ = make_step(example, "fp32.onnx")
    train(step, "--steps=12", "--recalibrate-at=10", f"--ranges={path}")
    ranges = json.loads(path.read_text())
    assert ranges["model"] == "" and ranges["batches"] == 8
    # The same weights, by a run that stops there.
    states = example.parent / "states.npz"
    train(step, "--steps=10", "-o", states)
    w, x = np.load(states)["w"], np.load(example.parent / "data.npz")["x"]
    largest = np.abs(x @ w).max()
    assert ranges["values"]["h"][0] == pytest.approx(largest, rel=1e-4)
    _, done = make_step(
        example, "next.onnx", "--mixed-fp16", f"--ranges={path}",
    )
    metadata = onnx.load(example.parent / "next.onnx").metadata_props
    assert any(entry.key == "mp-opt.ranges" for entry in metadata)


def test_flags_of_recalibration(example):
    step, _ = make_step(example, "step.onnx")
    path = example.parent / "none.json"
    for flags, expected, code in (
        (["--recalibrate-at=3"], "need each other", 2),
        ([f"--ranges={path}"], "need each other", 2),
        (["--steps=2", "--recalibrate-at=3", f"--ranges={path}"], "is after", 1),
        (["--epochs=1", "--recalibrate-at=99", f"--ranges={path}"], "is after", 1),
        (["--recalibrate-at=1", f"--ranges={step}"], "would replace", 2),
    ):
        done = train(step, *flags, code=code)
        assert expected in done.stderr, done.stderr
    assert not path.exists()


def test_a_run_that_resumes_later(example):
    step, _ = make_step(example, "resumed.onnx")
    folder, path = example.parent / "checkpoints", example.parent / "late.json"
    train(step, "--steps=6", f"--checkpoint={folder}")
    done = train(
        step, "--steps=8", f"--checkpoint={folder}", "--resume",
        "--recalibrate-at=5", f"--ranges={path}",
    )
    assert "--recalibrate-at=5 writes no ranges" in done.stderr
    assert not path.exists()
