# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and their gradients by fewer products, in a training step."""

import pathlib

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from libraries import Library, emit, needs_linker
from onnx_models import make_model
from runs import mp_run, run_mp_opt

SHAPE = (8, 40, 18, 20)
# Bounds on the ratio of the errors' root mean square to that of gradients.
BOUNDS = {"fp32": 1e-5, "--mixed-bf16": 2e-3, "--mixed-fp16": 3e-4}


@pytest.fixture(scope="module", params=BOUNDS)
def step(request, tmp_path_factory):
    """A step of two convolutions, its data and what mp-run makes of them."""
    folder = tmp_path_factory.mktemp("transforms")
    random = np.random.default_rng(11)
    weights = [
        numpy_helper.from_array(
            random.normal(size=(40, 40, 3, 3)).astype("f") / 19, name)
        for name in "vw"
    ]
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    onnx.save(
        make_model(nodes, {"x": SHAPE}, {"y": SHAPE}, weights),
        folder / "m.onnx"
    )
    flags = [] if request.param == "fp32" else [request.param]
    run_mp_opt(folder / "m.onnx", "--train", "--loss=mse", "--optimizer=none",
               *flags, "--summary=none", "-o", folder / "step.onnx")
    data = {name: random.normal(size=SHAPE).astype("f") for name in ("x", "labels")}
    np.savez(folder / "in.npz", **data)
    return folder, data, run(folder), request.param


def run(folder, *flags):
    path = folder / "out.npz"
    mp_run("run", folder / "step.onnx", folder / "in.npz", *flags, "-o", path)
    return {k: v.astype("f") for k, v in np.load(path).items()}


def test_same_bits_with_two_threads(step):
    folder, _, expected, _ = step
    for key, value in run(folder, "--threads=2").items():
        np.testing.assert_array_equal(value, expected[key], err_msg=key)


@needs_linker
def test_library_equals_jit(step):
    folder, data, expected, _ = step
    library = Library(emit(folder / "step.onnx", folder / "libs.so"), "s")
    found = library.run(data)
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key].astype("f"), value, err_msg=key)


def is_transformed(precision):
    """All but products of bf16 by matrix instructions, which take less time."""
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return precision != "--mixed-bf16" or "amx_bf16" not in info.split()


def test_close_to_direct_sums(step):
    """And not the same where they are transformed."""
    folder, _, found, precision = step
    direct = run(folder, "--kernels=direct")
    gradients = [key for key in found if key.endswith("_grad")]
    assert len(gradients) == 2
    for key in gradients:
        error = found[key] - direct[key]
        size = np.sqrt(np.mean(direct[key] ** 2))
        assert np.any(error != 0) == is_transformed(precision), key
        assert np.sqrt(np.mean(error**2)) < BOUNDS[precision] * size, key
