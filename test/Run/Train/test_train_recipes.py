# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run train makes torch's steps; averages take the place of parameters."""

import sys

import numpy as np
import onnx
import pytest

from runs import ROOT, USAGE, fail, mp_run, read_log

sys.path.insert(0, str(ROOT / "test" / "Training"))
import recipes  # noqa: E402
from recipe_table import RECIPES  # noqa: E402
from recipes import assert_close, flags_of, make_net  # noqa: E402
from recipes import references  # noqa: E402
from support import run_mp_opt  # noqa: E402

# Each of these recipes represents several others.
NAMES = [
    "sce-smooth-sum",
    "language-model",
    "nll-weights-ignore",
    "smooth-l1-beta",
    "bce-positive-zero",
    "kl-div-batchmean",
    "two-losses",
    "clip-both",
    "rates-by-layer",
    "average-of-sums",
]


def make_step(folder, recipe):
    onnx.save(make_net(recipe), folder / "net.onnx")
    losses = [f"--loss={loss}" for loss in recipe.losses]
    step = folder / "step.onnx"
    run_mp_opt(
        folder / "net.onnx", "--train", *losses, *flags_of(recipe), "-o", step
    )
    np.savez(folder / "data.npz", **recipes.make_data(recipe))
    return step


def train(folder, step, *flags):
    mp_run(
        "train",
        step,
        f"--data={folder / 'data.npz'}",
        f"--batch={recipes.ROWS}",
        "--no-shuffle",
        f"--log={folder / 'log.jsonl'}",
        "--quiet",
        *flags,
    )


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_torch(tmp_path, name):
    recipe, expected = RECIPES[name], references()[name]
    step = make_step(tmp_path, recipe)
    out = tmp_path / "end.npz"
    train(tmp_path, step, "-o", out)
    log = read_log(tmp_path / "log.jsonl")
    assert_close([r["loss"] for r in log], expected["loss"], "loss")
    if len(recipe.losses) > 1:
        for part, loss in enumerate(recipe.losses):
            found = [r["losses"][loss.split(":")[0]] for r in log]
            assert_close(found, expected[f"part{part}"], loss)
    states = np.load(out)
    names = [n for n in expected.dtype.names if n in states]
    assert len(names) >= 4
    for parameter in names:
        assert_close(states[parameter], expected[parameter][-1], parameter)


def test_averages_take_the_place_of_parameters(tmp_path):
    recipe, expected = RECIPES["average"], references()["average"]
    step = make_step(tmp_path, recipe)
    plain, out = tmp_path / "plain.npz", tmp_path / "out.npz"
    train(tmp_path, step, "-o", plain)
    train(tmp_path, step, "-o", out, "--average")
    plain, averaged = np.load(plain), np.load(out)
    assert set(plain) - set(averaged) == {
        n for n in plain if n.endswith(".ema")
    }
    for name in averaged:
        if f"{name}.ema" in plain:
            np.testing.assert_array_equal(averaged[name], plain[f"{name}.ema"])
            assert_close(averaged[name], expected[f"{name}.ema"][-1], name)
            assert (averaged[name] != plain[name]).any()
    net, into = tmp_path / "net.onnx", tmp_path / "trained.onnx"
    train(tmp_path, step, "-o", into, f"--into={net}", "--average")
    weights = {
        t.name: onnx.numpy_helper.to_array(t)
        for t in onnx.load(into).graph.initializer
    }
    np.testing.assert_array_equal(
        weights["body.weight"], plain["body.weight.ema"]
    )


def test_average_that_cannot_be(tmp_path):
    recipe = RECIPES["l1"]
    step = make_step(tmp_path, recipe)
    flags = (f"--data={tmp_path / 'data.npz'}", "--batch=8", "--quiet")
    message = fail(USAGE, "train", step, *flags, "--average")
    assert "--average needs -o" in message
    out = tmp_path / "out.npz"
    message = fail(1, "train", step, *flags, "--average", "-o", out)
    assert "the model has no average" in message and not out.exists()


def test_a_log_with_parts_goes_on(tmp_path):
    recipe = RECIPES["two-losses"]
    step = make_step(tmp_path, recipe)
    train(tmp_path, step)
    whole = read_log(tmp_path / "log.jsonl")
    checkpoints = f"--checkpoint={tmp_path / 'checkpoints'}"
    train(tmp_path, step, checkpoints, "--steps=2")
    train(tmp_path, step, checkpoints, "--steps=4", "--resume")
    assert read_log(tmp_path / "log.jsonl") == whole and len(whole) == 4
