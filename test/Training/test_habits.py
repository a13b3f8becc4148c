# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What examples/training/README.md says of each row, by running it."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest

import habits
from habits import (
    adamw, classes, convert, fp32_step, keras_adam, ratings, small_nodes, step,
)
from steps import SCALE, SKIPPED, same_bits
from support import run_mp_opt, scratch_dir

ROWS = [
    "keras-fp16", "keras-bf16", "gaudi", "mxnet", "finetune", "gradients",
    "torch", "convnet-step",
]
# Flags that a model without an optimizer has no use for.
UNUSED = ("--lr=", "--weight-decay=")
GROWS = "--loss-scale=dynamic:init=32768,growth-interval=3"


def test_every_row_is_tested():
    assert list(habits.commands()) == ROWS


@pytest.mark.parametrize("name", ROWS)
def test_inputs_and_outputs_are_fp32(name):
    """Whatever is 16 bit inside: master weights, outputs, loss, gradients."""
    model = convert(name)
    assert small_nodes(model)
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.tensor_type.elem_type
        assert kind not in habits.SMALL_TYPES, value.name


def is_fp16(array):
    return np.array_equal(array, array.astype(np.float16))


def test_keras_layer_with_its_own_type():
    small = small_nodes(convert("keras-fp16"))
    assert {"features.0", "features.1"} <= small
    assert any(n.startswith("features.1_grad/") for n in small)
    assert not any(n.startswith("head") for n in small)
    everywhere = small_nodes(convert("keras-fp16", "--deny-node="))
    assert "head" in everywhere
    assert any(n.startswith("head_grad/") for n in everywhere)


def test_keras_outputs_are_those_of_an_fp32_layer():
    feeds = classes()
    assert not is_fp16(step("keras-fp16").run(feeds)["scores"])
    # Without the rule they are rounded, but cast: nodes after the model cannot
    # tell.
    assert is_fp16(step("keras-fp16", "--deny-node=").run(feeds)["scores"])


def test_keras_loss_scale():
    made = step("keras-fp16", GROWS)
    scales = []
    for index in range(7):
        # The fifth has gradients beyond fp16, and a finite loss.
        results = made.run(classes(size=500.0 if index == 4 else 1.0))
        assert np.isfinite(results["loss"])
        scales.append(float(made.state[SCALE]) / 32768)
    assert scales == [1, 1, 2, 2, 1, 1, 1]
    assert made.state[SKIPPED] == 1


def test_keras_names_are_the_flags():
    for kind in ("fp16", "bf16"):
        named = convert(f"keras-{kind}")
        flags = convert(f"keras-{kind}", "--policy=", f"--mixed-{kind}")
        assert named.SerializeToString() == flags.SerializeToString()


def test_keras_bfloat16_has_no_scale():
    model = convert("keras-bf16")
    assert not any(SCALE in v.name for v in model.graph.input)
    fp16 = convert("keras-fp16")
    assert any(v.name == SCALE for v in fp16.graph.input)


def is_update(name):
    return "_update/" in name or name.startswith("optimizer/")


def test_gaudi_optimizer_is_fp32():
    model = convert("gaudi")
    ops = {n.op_type for n in model.graph.node if is_update(n.name)}
    # All of these operators are on the list for 16 bit.
    assert {"Add", "Sub", "Mul", "Sqrt"} <= ops
    assert not any(map(is_update, small_nodes(model)))
    assert any("features.0_grad/" in n for n in small_nodes(model))


@pytest.mark.parametrize(
    "row, update", [("gaudi", adamw), ("keras-fp16", keras_adam)]
)
def test_updates_are_exact(row, update):
    """A state rounded to bf16 would be off by 2^-9; small moments in fp16
    would be zero."""
    made = step(row)
    scale = ["--loss-scale=32768"] if row == "keras-fp16" else []
    gradients = step(row, "--optimizer=none", *UNUSED, *scale)
    names = [n for n in made.state if n + ".exp_avg" in made.state]
    weights = {n: made.state[n].astype(np.float64) for n in names}
    slots = {n: (0, 0) for n in names}
    assert len(names) == 6
    for count in range(1, 5):
        feeds = classes(seed=count)
        current = {n: made.state[n] for n in names}
        found = gradients.run({**current, **feeds})
        made.run(feeds)
        assert made.state["step"] == count
        for name in names:
            g = found[name + "_grad"].astype(np.float64)
            weights[name], slots[name] = update(
                weights[name], g, slots[name], count
            )
            np.testing.assert_allclose(
                made.state[name], weights[name], rtol=1e-5, atol=1e-6
            )
            for slot, key in zip(slots[name], (".exp_avg", ".exp_avg_sq")):
                np.testing.assert_allclose(
                    made.state[name + key], slot, rtol=1e-5, atol=1e-12
                )


def test_mxnet_scale_changes_no_bit_of_fp32():
    scaled = fp32_step("mxnet")
    plain = fp32_step("mxnet", "--loss-scale=none")
    for seed in range(5):
        scaled.run(classes(seed=seed))
        plain.run(classes(seed=seed))
    assert scaled.trained().keys() == plain.trained().keys()
    assert same_bits(scaled.trained(), plain.trained())
    assert scaled.state["head.weight.velocity"].any()


def test_mxnet_update():
    """mom = momentum mom - lr rescale_grad g;  w += mom, of g times 128."""
    made = step("mxnet")
    gradients = step("mxnet", "--optimizer=none", "--lr=")
    names = [n for n in made.state if n + ".velocity" in made.state]
    moments = {n: np.zeros(made.state[n].shape) for n in names}
    assert len(names) == 6
    for seed in range(5):
        feeds = classes(seed=seed)
        before = {n: made.state[n] for n in names}
        found = gradients.run({**before, **feeds})
        made.run(feeds)
        for name in names:
            g = 128.0 * found[name + "_grad"].astype(np.float64)
            moments[name] = 0.9 * moments[name] - 0.05 * (1 / 128) * g
            np.testing.assert_allclose(
                made.state[name], before[name] + moments[name],
                rtol=1e-6, atol=1e-7,
            )


def test_finetuning_leaves_features_alone():
    model = convert("finetune")
    inputs = {v.name for v in model.graph.input}
    outputs = {v.name for v in model.graph.output}
    assert {"head.weight", "head.bias"} <= inputs
    assert not any("features" in n for n in inputs | outputs)
    nodes = [n.name for n in model.graph.node]
    assert not any(n.startswith("features.0_grad") for n in nodes)
    weights = habits.weights_of(model)
    source = scratch_dir("classifier") / "fp32.onnx"
    run_mp_opt(habits.EXAMPLES / "classifier.onnxtxt", "-o", source)
    pretrained = habits.weights_of(onnx.load(source))
    frozen = [n for n in pretrained if n.startswith("features")]
    assert len(frozen) == 4
    for name in frozen:
        (stored,) = [v for n, v in weights.items() if n.startswith(name)]
        assert stored.dtype == np.float16
        assert np.array_equal(stored, pretrained[name].astype(np.float16))


def test_finetuning_of_all():
    """Not frozen: master weights are fp32, and a small step is not lost."""
    frozen, whole = step("finetune"), step("finetune", "--freeze=")
    start = dict(whole.state)
    assert set(start) - set(frozen.state) == {
        n for n in start if n.startswith("features")
    }
    for _ in range(3):
        frozen.run(classes())
        whole.run(classes())
    for name in ("features.0.weight", "features.1.weight"):
        moved = np.abs(whole.state[name] - start[name])
        assert 0 < moved.max() and not is_fp16(whole.state[name])
    first = step("finetune", "--freeze=")
    other = step("finetune")
    first.run(classes())
    other.run(classes())
    for name in ("head.weight", "head.bias"):
        assert first.state[name].tobytes() == other.state[name].tobytes()


def test_gradients_are_unscaled():
    rng = np.random.default_rng(0)
    feeds = ratings(rng.integers(0, 16, (32, 4)))
    scaled = fp32_step("gradients").run(feeds)
    plain = fp32_step("gradients", "--loss-scale=none").run(feeds)
    # The scale of the backward pass is an additional output.
    assert scaled.pop("loss_scale") > 1 and same_bits(scaled, plain)
    names = [n for n in scaled if n.endswith("_grad")]
    assert len(names) == 3 and all(scaled[n].dtype == np.float32 for n in names)


def test_gradients_of_machines_are_averaged():
    """What an all-reduce gives is the gradient of the whole batch."""
    items = np.random.default_rng(0).integers(0, 16, (32, 4))
    made = step("gradients")
    whole, *parts = (
        made.run(ratings(rows)) for rows in (items, items[:16], items[16:])
    )
    for name in whole:
        if name.endswith("_grad"):
            mean = (parts[0][name] + parts[1][name]) / 2
            np.testing.assert_allclose(mean, whole[name], rtol=5e-3, atol=1e-6)


def test_rows_that_occur_often():
    """4,096 times the same row: a sum in fp16 stands still."""
    made = step("gradients")
    feeds = ratings(np.full((4096, 4), 3))
    results = made.run(feeds)
    weights = habits.weights_of(made.model)
    w = weights["dense.weight"].astype(np.float16).astype(np.float64)
    seed = 2 / 4096 * (results["rating"] - 1).astype(np.float64)
    each = (np.float16(1024 * seed) @ w.T).astype(np.float16)
    exact = each.astype(np.float64).reshape(-1, 8).sum(0) / 1024
    actual = results["embedding.table_grad"]
    np.testing.assert_allclose(actual[3], exact, rtol=1e-4, atol=1e-6)
    assert not np.delete(actual, 3, axis=0).any()
    narrow = np.float16(0) * each[0, :8]
    for row in each.reshape(-1, 8):
        narrow = narrow + row
    assert narrow.dtype == np.float16
    assert np.linalg.norm(narrow / 1024 - exact) > 0.1 * np.linalg.norm(exact)


def test_convnet():
    model = convert("convnet-step")
    small = small_nodes(model)
    for layer in ("conv0", "conv1", "conv2"):
        assert layer in small
        assert any(n.startswith(f"{layer}_grad/") for n in small)
    assert not any(n.startswith("predictions") for n in small)
    made = step("convnet-step")
    rng = np.random.default_rng(0)
    images = rng.normal(size=(8, 3, 32, 32)).astype(np.float32)
    feeds = {"images": images, "labels": rng.integers(0, 10, 8)}
    before = dict(made.state)
    losses = [float(made.run(feeds)["loss"]) for _ in range(10)]
    assert losses[-1] < losses[0]
    for name in ("conv0.mean", "conv0.variance"):
        assert not is_fp16(made.state[name])
        assert not np.array_equal(before[name], made.state[name])


def test_convnet_script():
    path = scratch_dir("script") / "convnet.onnx"
    script = habits.EXAMPLES / "convnet.py"
    subprocess.run([sys.executable, script, path], check=True, timeout=60)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    _, *flags = habits.arguments_of("convnet-step")
    output = path.with_name("step.onnx")
    summary = run_mp_opt(path, *flags, "-o", output).stdout
    bytes_ = json.loads(summary)["bytes"]["activations"]
    assert bytes_["after"] < bytes_["before"]
    assert output.exists()
