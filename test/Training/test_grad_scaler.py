# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row of torch in examples/training/README.md, against its recipe.

    scaler.scale(loss / 2).backward()
    every second time:
      scaler.unscale_(optimizer)
      clip_grad_norm_(parameters, 1)
      scaler.step(optimizer); scaler.update(); optimizer.zero_grad()

The recipe is written down here for float64, with the range of fp16 for the
values of the backward pass.
"""

import numpy as np
import pytest

from habits import adamw, classes, step
from steps import SCALE, SKIPPED

FP16_MAX = 65504.0
LAYERS = ("features.0", "features.1", "head")
STEPS = 40
# Steps whose gradients leave fp16 while the loss stays finite.
PLANTED = {6: 2e3, 7: 2e3, 13: 5e3, 24: 2e3, 31: 3e3}


class GradScaler:
    """torch.amp.GradScaler's arithmetic."""

    def __init__(self, scale, growth_interval):
        self.scale, self.clean = scale, 0
        self.growth_interval = growth_interval

    def update(self, found_inf):
        if found_inf:
            self.scale, self.clean = self.scale / 2, 0
            return
        self.clean += 1
        if self.clean == self.growth_interval:
            self.scale, self.clean = self.scale * 2, 0


def backward(weights, feeds, seed):
    """The gradients of `seed` times the loss; also the largest value of the
    backward pass that a 16-bit node computes."""
    values = [feeds["x"].astype(np.float64)]
    for index, layer in enumerate(LAYERS):
        made = values[-1] @ weights[layer + ".weight"]
        made += weights[layer + ".bias"]
        values.append(np.maximum(made, 0) if index < 2 else made)
    scores = values.pop()
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    gradient = shifted / shifted.sum(1, keepdims=True)
    gradient[np.arange(len(gradient)), feeds["labels"]] -= 1
    gradient *= seed / len(gradient)
    found, largest = {}, 0
    for layer, value in zip(reversed(LAYERS), reversed(values)):
        found[layer + ".weight"] = value.T @ gradient
        found[layer + ".bias"] = gradient.sum(0)
        for made in (gradient, found[layer + ".weight"]):
            largest = max(largest, np.abs(made).max())
        gradient = (gradient @ weights[layer + ".weight"].T) * (value > 0)
    return found, largest


class Recipe:
    """Two backward passes, then a step that may be skipped."""

    def __init__(self, weights, scaler):
        self.weights = {n: w.astype(np.float64) for n, w in weights.items()}
        self.slots = {n: (0, 0) for n in weights}
        self.scaler, self.count, self.skipped = scaler, 0, 0
        self.zero_grad()

    def zero_grad(self):
        self.sums = {n: 0 for n in self.weights}
        self.largest = []

    def backward(self, feeds):
        seed = self.scaler.scale / 2
        found, largest = backward(self.weights, feeds, seed)
        # mp-opt divides the loss by nothing and takes the mean of unscaled
        # gradients: its values in fp16 are twice as large.
        self.largest.append(largest * 2)
        self.sums = {n: s + found[n] for n, s in self.sums.items()}

    def step(self):
        largest = max(self.largest)
        # Nothing is so near the border that rounding decides.
        assert not 0.7 * FP16_MAX < largest < 1.4 * FP16_MAX
        found_inf = largest > FP16_MAX
        if not found_inf:
            gradients = {
                n: s / self.scaler.scale for n, s in self.sums.items()
            }
            norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
            clip = min(1, 1 / (norm + 1e-6))
            self.count += 1
            for name, gradient in gradients.items():
                self.weights[name], self.slots[name] = adamw(
                    self.weights[name],
                    gradient * clip,
                    self.slots[name],
                    self.count,
                )
        self.skipped += found_inf
        self.scaler.update(found_inf)
        self.zero_grad()


@pytest.fixture(scope="module")
def run():
    """The states of either side after each step."""
    made = step("torch", "--loss-scale=dynamic:init=65536,growth-interval=4")
    names = [n for n in made.state if n + ".exp_avg" in made.state]
    assert len(names) == 6
    recipe = Recipe({n: made.state[n] for n in names}, GradScaler(65536.0, 4))
    history = []
    for index in range(STEPS):
        feeds = classes(seed=index % 4, size=PLANTED.get(index, 1.0))
        results = made.run(feeds)
        assert np.isfinite(results["loss"])
        recipe.backward(feeds)
        if index % 2:
            recipe.step()
        actual = (
            float(made.state[SCALE]),
            int(made.state[SKIPPED]),
            int(made.state["step"]),
            {n: made.state[n] for n in names},
        )
        scaler = recipe.scaler
        history.append((
            actual,
            (scaler.scale, recipe.skipped, recipe.count, dict(recipe.weights)),
        ))
    return history


def test_scales(run):
    scales = [expected[0] for _, expected in run]
    assert [actual[0] for actual, _ in run] == scales
    # It has fallen and grown, more than once.
    moves = np.sign(np.diff(scales))
    assert (moves > 0).sum() >= 2 and (moves < 0).sum() >= 3


def test_skipped_steps(run):
    for actual, expected in run:
        assert actual[1:3] == expected[1:3]
    assert run[-1][1][1] >= 4


def test_parameters(run):
    """Clipped, averaged and skipped as in torch, within what fp16 rounds."""
    start, end = run[0][1][3], run[-1][1][3]
    for name, expected in end.items():
        moved = np.abs(expected - start[name]).max()
        assert moved > 0.02
        error = np.abs(run[-1][0][3][name] - expected).max()
        assert error <= 0.05 * moved, name


def test_a_window_changes_nothing_before_its_end(run):
    for index in range(2, STEPS, 2):
        before, after = run[index - 1][0], run[index][0]
        assert before[:3] == after[:3]
        for name, value in before[3].items():
            assert value.tobytes() == after[3][name].tobytes()
