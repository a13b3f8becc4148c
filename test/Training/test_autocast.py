# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""16-bit gradients are as good as those of torch's autocast.

Against fp32, on the same model and batch, the error of each gradient and of
all together is at most three times that of torch, which lies in
autocast_errors.json (written by make_autocast_references.py).
"""

import json
import pathlib

import numpy as np
import pytest

from steps import Step
from support import MODELS, rms

ERRORS = json.loads(
    (pathlib.Path(__file__).parent / "autocast_errors.json").read_text()
)
FACTOR = 3
each_model = pytest.mark.parametrize("name", sorted(ERRORS))
each_type = pytest.mark.parametrize("dtype", ["bf16", "fp16"])


def read_batch(name):
    """The stored batch, and fp32's gradients."""
    stored = np.load(MODELS / "train" / name / "ref.npz")
    feeds = {n[3:]: stored[n] for n in stored.files if n[:3] == "in:"}
    feeds["labels"] = feeds.pop("labels", feeds.pop("target", None))
    exact = {
        n: stored[f"out:{n}_grad"].astype(np.float64)
        for n in ERRORS[name]["bf16"]["each"]
    }
    return feeds, exact


def find_errors(results, exact):
    for gradient in exact:
        assert results[gradient + "_grad"].dtype == np.float32
        assert np.isfinite(results[gradient + "_grad"]).all()
    return {n: results[n + "_grad"] - e for n, e in exact.items()}


def gradient_errors(name, *flags):
    """The errors of the stored batch's gradients, and the gradients."""
    loss = "mse" if name == "mlp_mse" else "softmax-cross-entropy"
    step = Step(
        MODELS / "train" / name / "forward.onnx",
        f"--loss={loss}",
        "--optimizer=none",
        *flags,
    )
    feeds, exact = read_batch(name)
    return find_errors(step.run(feeds), exact), exact


def stack(arrays):
    return np.concatenate([a.ravel() for a in arrays.values()])


def check_errors(errors, exact, torch):
    everything = rms(stack(exact))
    # Something was rounded, on either side.
    assert min(rms(stack(errors)), torch["all"]) > 1e-5 * everything
    assert rms(stack(errors)) <= FACTOR * torch["all"]
    assert errors.keys() == torch["each"].keys()
    for gradient, error in errors.items():
        bound = FACTOR * torch["each"][gradient]
        # A value that is not rounded to 16 bit differs by fp32's own noise.
        bound += 1e-5 * max(rms(exact[gradient]), 1e-2 * everything)
        assert rms(error) <= bound, gradient


@each_model
@each_type
def test_gradients_are_as_good_as_those_of_autocast(name, dtype):
    errors, exact = gradient_errors(name, f"--mixed-{dtype}", "--emulate")
    check_errors(errors, exact, ERRORS[name][dtype])


@pytest.mark.parametrize("name", ["mlp_mse", "bert2_op17"])
def test_the_bound_notices_a_coarser_type(name):
    errors, _ = gradient_errors(name, "--mixed-bf16", "--emulate")
    assert rms(stack(errors)) > FACTOR * ERRORS[name]["fp16"]["all"]
