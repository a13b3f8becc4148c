# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training artifacts of onnxruntime, scaled, in its own session."""

import functools
import json

import numpy as np
import onnx
import pytest

import steps  # noqa: F401, it says where the next ones are
from support import MODELS, convert, staged
from training import needs_runtime, work

pytestmark = needs_runtime
NAMES = ["bert2_op17", "mlp784", "resnet8"]
each_model = pytest.mark.parametrize("name", NAMES)
FP16 = ("--mixed-fp16", "--emulate")
SCALE = "loss_scale"


def first_states(scale):
    return {
        SCALE: np.array(scale, np.float32),
        SCALE + ".clean_steps": np.array(0, np.int32),
        SCALE + ".tolerance": np.array(1, np.int32),
        SCALE + ".skipped_steps": np.array(0, np.int64),
        SCALE + ".window_finite": np.array(True),
        SCALE + ".window_steps": np.array(0, np.int64),
    }


def artifact(name, file, *flags):
    return convert(staged(f"train/{name}/{file}.onnx"), *flags)


def train(name, flags=(), optimizer_flags=(), count=40, **more):
    folder = MODELS / "train" / name
    rates = json.loads((folder / "curve.json").read_text())["fp32"]["adamw"]
    model = staged(f"train/{name}/training_model.onnx")
    optimizer = staged(f"train/{name}/optimizer_adamw.onnx")
    return work(
        "train",
        model=convert(model, *flags) if flags else model,
        eval_model=folder / "eval_model.onnx",
        optimizer=convert(optimizer, *optimizer_flags)
        if optimizer_flags
        else optimizer,
        checkpoint=folder / "checkpoint",
        data=folder / "data.npz",
        learning_rate=rates["lr"],
        steps=count,
        **more,
    )


@functools.lru_cache(maxsize=None)
def fp32(name):
    return train(name)["loss"]


def last(losses):
    return np.mean(losses[-8:])


@each_model
def test_a_static_scale_needs_no_change(name):
    """The same inputs and outputs, the same loop."""
    source = onnx.load(staged(f"train/{name}/training_model.onnx"))
    scaled = (*FP16, "--loss-scale=1024")
    path = artifact(name, "training_model", *scaled)
    model = onnx.load(path)
    assert list(model.graph.input) == list(source.graph.input)
    assert list(model.graph.output) == list(source.graph.output)
    none = artifact(name, "training_model", *FP16, "--loss-scale=none")
    assert len(onnx.load(none).graph.node) < len(model.graph.node)
    # The default leaves a graph alone that may be scaled already.
    assert onnx.load(none) == onnx.load(artifact(name, "training_model", *FP16))
    losses = train(name, scaled)["loss"]
    assert abs(last(losses) - last(fp32(name))) <= 0.05 * last(fp32(name))


@each_model
def test_a_power_of_two_changes_no_bit_in_fp32(name):
    """Everything denied: what is left is the scaling alone."""
    flags = ("--mixed-fp16", "--deny-node=.*")
    plain = train(name, (*flags, "--loss-scale=none"), count=4)
    scaled = train(name, (*flags, "--loss-scale=256"), count=4)
    for key, value in plain.items():
        np.testing.assert_array_equal(value, scaled[key], err_msg=key)


@each_model
def test_a_dynamic_scale_finds_its_size(name):
    flags = (*FP16, "--loss-scale=dynamic:growth-interval=10")
    found = train(name, flags, flags, states=first_states(2.0**24))
    scales = found["state:" + SCALE]
    skipped = found[f"state:{SCALE}.skipped_steps"]
    assert scales[0] == 2.0**24 and scales.min() < 2.0**24
    assert 0 < skipped[-1] < 20
    assert np.isfinite(found["loss"]).all()
    assert found["loss"][-1] < found["loss"][0]


def test_skipped_windows_change_nothing():
    """Two windows of three: a bad step in the first one."""
    flags = (*FP16, "--loss-scale=dynamic")
    states = first_states(64)
    job = dict(window=3, states=states, count=6)
    found = train("mlp784", flags, flags, bad=[1], **job)
    alone = train("mlp784", flags, flags, bad=[1], window=3, states=states, count=3)
    start = train("mlp784", flags, flags, bad=[0], window=3, states=states, count=3)
    ends = [k for k in found if k.startswith("end:")]
    assert ends
    for key in ends:
        # The first window has left every parameter, whichever step was bad.
        np.testing.assert_array_equal(alone[key], start[key])
        assert np.isfinite(found[key]).all()
    assert any((alone[k] != found[k]).any() for k in ends)
    # Constant in a window; halved once, when the next one starts.
    assert found["state:" + SCALE].tolist() == [64, 64, 64, 32, 32, 32]
    assert found[f"state:{SCALE}.skipped_steps"].tolist() == [0, 0, 0, 1, 1, 1]


def test_an_optimizer_without_the_test_would_be_ruined():
    flags = (*FP16, "--loss-scale=dynamic")
    job = dict(states=first_states(64), count=2, bad=[0])
    good = train("mlp784", flags, flags, **job)
    bad = train("mlp784", flags, **job)
    assert np.isfinite(good["end:fc1.weight"]).all()
    assert not np.isfinite(bad["end:fc1.weight"]).all()


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_optimizers_keep_their_interface(kind):
    source = staged(f"train/mlp784/optimizer_{kind}.onnx")
    before = onnx.load(source).graph
    flags = ("--mixed-fp16", "--loss-scale=dynamic")
    after = onnx.load(convert(source, *flags)).graph
    assert list(before.input) == list(after.input)
    assert list(before.output) == list(after.output)
    assert len(after.node) > len(before.node)
    for flag in ("--mixed-bf16", "--mixed-fp16"):
        same = onnx.load(convert(source, flag)).graph
        assert list(same.node) == list(before.node)
