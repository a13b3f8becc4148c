# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of forms that kernels tell apart, beside float64: small images,
few columns left behind whole panels, filter positions that reach nothing."""

import numpy as np
import onnx
import pytest
from onnx import helper

from onnx_models import make_model
from runs import attempt, mp_run, run_mp_opt

# Image, channels, results, edge of the kernel, stride, dilation, pads.
CASES = {
    "one_row_of_positions": (14, 6, 9, 3, 1, 24, 24),
    "positions_at_corners": (14, 6, 9, 3, 1, 12, 12),
    # A contraction for each of these (mp-split-filters).
    "wide_filters": (14, 33, 40, 3, 1, 12, 12),
    "wide_strided_filters": (25, 24, 20, 3, 2, 20, 20),
    "many_wide_filters": (9, 20, 17, 5, 1, 4, 8),
    "wide_kernel": (4, 5, 7, 9, 1, 1, 4),
    "only_pads": (3, 4, 5, 2, 1, 40, 25),
    "strided_filters": (15, 4, 6, 3, 2, 11, 11),
    "small_image": (7, 70, 33, 3, 2, 1, 3),
    "one_by_one": (7, 600, 40, 1, 1, 1, 0),
    "four_left": (14, 31, 17, 1, 1, 1, 0),
    "one_pixel": (1, 300, 50, 1, 1, 1, 0),
    "two_pixels": (2, 33, 70, 1, 2, 1, 1),
}


def make(folder, case):
    size, channels, results, edge, stride, dilation, pad = case
    random = np.random.default_rng(1)
    x = random.standard_normal((2, channels, size, size), np.float32)
    w = random.standard_normal((results, channels, edge, edge), np.float32)
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], pads=[pad] * 4, strides=[stride] * 2,
        dilations=[dilation] * 2,
    )
    y = convolve(x, w, stride, dilation, pad)
    model = make_model(
        [node], {"x": x.shape}, {"y": y.shape}, {"w": w}
    )
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "x.npz", x=x)
    return x, w, y


def windows(x, edge, stride, dilation, pad):
    """For each filter position the elements that it reads."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    count = (x.shape[-1] - dilation * (edge - 1) - 1) // stride + 1
    for k in range(edge):
        for l in range(edge):
            rows = slice(k * dilation, k * dilation + stride * count, stride)
            columns = slice(l * dilation, l * dilation + stride * count, stride)
            yield k, l, x[:, :, rows, columns][:, :, :count, :count]


def convolve(x, w, stride, dilation, pad):
    return sum(
        np.einsum("ncij,fc->nfij", part, w[:, :, k, l].astype(np.float64))
        for k, l, part in windows(x, w.shape[-1], stride, dilation, pad)
    )


def run(folder, model, data, *flags):
    out = folder / "out.npz"
    mp_run("run", folder / model, folder / data, *flags, "-o", out)
    return {name: value.astype("f") for name, value in np.load(out).items()}


@pytest.mark.parametrize("name", CASES)
def test_forward(tmp_path, name):
    *_, y = make(tmp_path, CASES[name])
    found = run(tmp_path, "m.onnx", "x.npz", "--threads=1")["y"]
    scale = np.sqrt(np.mean(y**2)) or 1
    assert np.abs(found - y).max() < 1e-5 * scale * 4
    again = run(tmp_path, "m.onnx", "x.npz", "--threads=2")["y"]
    np.testing.assert_array_equal(again, found)
    rounded = run(tmp_path, "m.onnx", "x.npz", "--mixed-bf16")["y"]
    assert np.abs(rounded - y).max() < 2**-6 * scale * 4


@pytest.mark.parametrize("name", CASES)
def test_weight_gradients(tmp_path, name):
    """Of filter positions that reach nothing they are zero."""
    case = CASES[name]
    x, w, y = make(tmp_path, case)
    run_mp_opt(
        tmp_path / "m.onnx", "--train", "--loss=mse", "--optimizer=none",
        "--summary=none", "-o", tmp_path / "step.onnx",
    )
    labels = np.random.default_rng(2).standard_normal(y.shape, np.float32)
    np.savez(tmp_path / "in.npz", x=x, labels=labels)
    found = run(tmp_path, "step.onnx", "in.npz")
    (gradient,) = (v for n, v in found.items() if n.startswith("w") and v.shape == w.shape)
    d = 2 * (y - labels) / y.size
    expected = np.zeros(w.shape)
    for k, l, part in windows(x, w.shape[-1], *case[4:]):
        expected[:, :, k, l] = np.einsum("ncij,nfij->fc", part, d)
    scale = np.abs(expected).max() or 1
    assert np.abs(gradient - expected).max() < 1e-5 * scale


@pytest.mark.parametrize("kernels", ["widen", "dot"])
def test_16_bit_between(tmp_path, kernels):
    """Results of 49 columns in 16 bit: the last of a row is stored alone, and
    the first of the next row stays."""
    random = np.random.default_rng(3)
    x = random.standard_normal((1, 64, 14, 14), np.float32)
    shapes = {"v": (96, 64, 1, 1), "w": (96, 96, 1, 1)}
    weights = {
        name: random.standard_normal(shape, np.float32) / np.sqrt(shape[1])
        for name, shape in shapes.items()
    }
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["p"], strides=[2, 2]),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("Conv", ["q", "w"], ["y"]),
    ]
    model = make_model(
        nodes, {"x": x.shape}, {"y": (1, 96, 7, 7)},
        {n: w.astype("f") for n, w in weights.items()}
    )
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=x)
    exact = run(tmp_path, "m.onnx", "x.npz")["y"]
    done = attempt(
        "run", tmp_path / "m.onnx", tmp_path / "x.npz", "--mixed-bf16",
        f"--kernels={kernels}", "-o", tmp_path / "out.npz",
    )
    if "needs a processor" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "out.npz")["y"]
    scale = np.sqrt(np.mean(exact**2))
    assert np.abs(found - exact).max() < 2**-5 * scale


@pytest.mark.parametrize("edge, stride", [(3, 1), (3, 2), (5, 1), (5, 2), (7, 1)])
def test_single_channels(tmp_path, edge, stride):
    """By windows that slide along rows, from an image that is not copied."""
    random = np.random.default_rng(edge)
    pad = edge // 2
    x = random.standard_normal((2, 20, 28, 28), np.float32)
    w = random.standard_normal((20, 1, edge, edge), np.float32)
    y = sum(
        part * w[None, :, 0, k, l, None, None].astype(np.float64)
        for k, l, part in windows(x, edge, stride, 1, pad)
    )
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], pads=[pad] * 4, strides=[stride] * 2, group=20
    )
    model = make_model(
        [node], {"x": x.shape}, {"y": y.shape}, {"w": w}
    )
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=x)
    for flags in (), ("--device=emulated",):
        found = run(tmp_path, "m.onnx", "x.npz", *flags)["y"]
        assert np.abs(found - y).max() < 1e-5 * np.abs(y).max()
    run_mp_opt(
        tmp_path / "m.onnx", "--convert-onnx-to-linalg", "--emit=mlir",
        "-o", tmp_path / "m.mlir",
    )
    text = (tmp_path / "m.mlir").read_text()
    assert text.count("kernel.contract") == 1 and "insert_slice" not in text
