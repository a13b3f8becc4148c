# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every forward model of the collection is trained, as it was exported.

The gradient as a whole is checked by the loss's difference along it: fp32
rounding hides single elements, not their sum.
"""

import numpy as np
import pytest

from steps import Step
from support import MODELS

NAMES = sorted(p.parent.name for p in MODELS.glob("fwd/*/model.onnx"))
each_model = pytest.mark.parametrize("name", NAMES)


def first_inputs(name):
    arrays = np.load(MODELS / "fwd" / name / "io0.npz")
    return {n[3:]: arrays[n] for n in arrays.files if n.startswith("in:")}


def make_step(name, *flags):
    """The step, and a batch: the target is off by one or so."""
    step = Step(MODELS / "fwd" / name / "model.onnx", "--loss=mse", *flags)
    feeds = first_inputs(name)
    (labels,) = [i for i in step.session.get_inputs() if i.name == "labels"]
    output = step.outputs[1]
    zero = np.zeros([d if isinstance(d, int) else 1 for d in labels.shape])
    feeds["labels"] = zero.astype(np.float32)
    try:
        shape = step.session.run([output], feeds)[0].shape
    except Exception:
        # The labels must have the output's batch.
        sizes = [v.shape[0] for v in first_inputs(name).values() if v.ndim]
        shape = (sizes[0], *zero.shape[1:])
        feeds["labels"] = np.zeros(shape, np.float32)
        shape = step.session.run([output], feeds)[0].shape
    rng = np.random.default_rng(5)
    feeds["labels"] = rng.normal(size=shape).astype(np.float32)
    return step, feeds


@each_model
def test_the_loss_falls_along_the_gradient(name):
    step, feeds = make_step(name, "--optimizer=none")
    defaults = step.defaults()
    found = step.run(feeds)
    gradients = {
        n.removesuffix("_grad"): v
        for n, v in found.items()
        if n.endswith("_grad")
    }
    assert len(gradients) > 10 and gradients.keys() <= defaults.keys()
    square = sum(np.sum(g.astype(np.float64) ** 2) for g in gradients.values())
    assert square > 0
    # A change of the loss by about one part in two hundred.
    length = 0.005 * float(found["loss"]) / square

    def loss_at(sign):
        moved = {
            n: defaults[n] + np.float32(sign * length) * g
            for n, g in gradients.items()
        }
        return float(step.run({**feeds, **moved})["loss"])

    slope = (loss_at(1) - loss_at(-1)) / (2 * length)
    np.testing.assert_allclose(slope, square, rtol=0.03)


@each_model
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_steps_in_16_bit_lower_the_loss(name, dtype):
    flags = ["--optimizer=adamw", "--lr=3e-4", f"--mixed-{dtype}", "--emulate"]
    step, feeds = make_step(name, *flags)
    losses = [float(step.run(feeds)["loss"]) for _ in range(12)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
