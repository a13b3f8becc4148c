# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling a model takes what the model is long: equal layers are compiled
once, and what is left of each is cut into functions of bounded size."""

import json
import sys

import numpy as np
import onnx

from runs import ROOT, mp_run, run_mp_opt, scratch_dir

sys.path.insert(0, str(ROOT / "benchmarks"))
from make_models import encoder  # noqa: E402


def make_step(layers):
    """The step of an encoder of narrow layers, and labels for it."""
    folder = scratch_dir("layers")
    onnx.save(encoder(layers, 16, 20, tokens=8, head=8), folder / "f.onnx")
    run_mp_opt(
        folder / "f.onnx", "--train", "--loss=softmax-cross-entropy",
        "--optimizer=adamw", "--summary=none", "-o", folder / "step.onnx",
    )
    np.savez(folder / "labels.npz", labels=np.zeros(2, np.int64))
    return folder / "step.onnx", folder / "labels.npz"


def compile_step(layers):
    """The most memory that compiling took at one time, and bytes of code."""
    done = mp_run(
        "bench", *make_step(layers), "--random", "--dim=batch=2", "--repeat=1",
        "--warmup=0", "--threads=1", "--cache=off", "--json",
    )
    figures = json.loads(done.stdout)
    return figures["peak_bytes"], figures["code_bytes"]


def test_layers_of_an_encoder():
    """Four times the layers: as one block, they took 5.4 times the memory."""
    (less, small), (more, large) = (compile_step(n) for n in (6, 24))
    assert more < 2.5 * less
    assert large < 3.5 * small
