# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that do not change are packed by the first call, for all others."""

import threading

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from libraries import Library, emit, needs_linker
import onnx_models
from runs import mp_run

SIZES = {
    "w": (700, 100), "v": (60, 100), "f": (40, 8, 3, 3), "g": (48, 4, 3, 3)
}
OUTPUTS = ("y", "o", "p")
NUM_WEIGHTS = sum(int(np.prod(sizes)) for sizes in SIZES.values())


def make_model(path, constant):
    """Products of columns (with steps and parts of panels), of transposed
    columns, of rows and of groups of these; weights are constants, or inputs
    with defaults."""
    random = np.random.default_rng(5)
    weights = [
        numpy_helper.from_array(random.normal(size=sizes).astype("f") / 8, name)
        for name, sizes in SIZES.items()
    ]
    inputs = {"x": ("n", 700), "i": ("b", 8, 12, 12)}
    outputs = {
        "y": ("n", 60), "o": ("b", 40, 10, 10), "p": ("b", 48, 5, 5)
    }
    if not constant:
        inputs.update(SIZES)
    def declare(values):
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
            for name, sizes in values.items()
        ]

    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["t"]),
        helper.make_node("Gemm", ["t", "v"], ["y"], transB=1),
        helper.make_node("Conv", ["i", "f"], ["o"]),
        helper.make_node("Conv", ["i", "g"], ["p"], group=2, strides=[2, 2]),
    ]
    model = onnx_models.make_model(
        nodes, declare(inputs), declare(outputs), weights, opset=21, ir=9
    )
    onnx.save(model, path)
    return path


def make_data(rows):
    random = np.random.default_rng(rows)
    return {
        "x": random.normal(size=(rows, 700)).astype("f"),
        "i": random.normal(size=(2, 8, 12, 12)).astype("f"),
    }


def check_equal(found, expected):
    for name in OUTPUTS:
        assert found[name].dtype == expected[name].dtype
        np.testing.assert_array_equal(
            found[name].view(np.uint8), expected[name].view(np.uint8)
        )


def make_library(folder, name, constant, *flags):
    model = make_model(folder / f"{name}.onnx", constant)
    path = emit(model, folder / f"lib{name}.so", *flags)
    return Library(path, name)


@needs_linker
@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",), ("--mixed-fp16",)])
def test_same_bits(tmp_path, flags):
    """In the first call and in others, and as by weights that may change."""
    library = make_library(tmp_path, "kept", True, *flags)
    other = make_library(tmp_path, "given", False, *flags)
    for threads in (1, 2):
        library.threads(threads)
        for rows in (40, 40, 130, 520, 7):
            data = make_data(rows)
            check_equal(library.run(data), other.run(data))
        library.release()
    model, data = tmp_path / "kept.onnx", make_data(40)
    np.savez(tmp_path / "in.npz", **data)
    mp_run(
        "run", model, tmp_path / "in.npz", *flags, "-o", tmp_path / "out.npz"
    )
    sizes = emit(model, tmp_path / "libs.so", *flags, "--dim=n=40,b=2")
    found = Library(sizes, "s").run(data)
    jit = np.load(tmp_path / "out.npz")
    for name in OUTPUTS:
        np.testing.assert_array_equal(
            jit[name].astype("f"), found[name].astype("f")
        )


@needs_linker
def test_packed_once(tmp_path):
    """By what models have allocated: nothing else is as big as the panels."""
    library = make_library(tmp_path, "kept", True)
    data, least = make_data(40), 4 * NUM_WEIGHTS
    first, most, kept = library.measure(data)
    assert least <= kept < 2 * least
    for _ in range(2):
        again, most, left = library.measure(data)
        assert left == kept and most - kept < least / 2
        check_equal(again, first)
    library.release()
    again, most, left = library.measure(data)
    assert most - left < least / 2 and left == kept
    check_equal(again, first)
    # The second release has nothing to free.
    library.release()
    library.release()
    other = make_library(tmp_path, "given", False)
    assert other.measure(data)[2] == 0
    other.release()


@needs_linker
def test_calls_at_a_time(tmp_path):
    """Threads that all find nothing packed agree on one copy."""
    library = make_library(tmp_path, "kept", True)
    data = make_data(40)
    expected, _, kept = library.measure(data)
    for _ in range(20):
        library.release()
        results, barrier = [], threading.Barrier(3)

        def run():
            barrier.wait()
            results.append(library.run(data))

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 3
        for found in results:
            check_equal(found, expected)
        assert library.measure(data)[2] == kept
    library.release()


@pytest.mark.parametrize("constant", ["a", "b", "ab"])
@pytest.mark.parametrize(
    "equation, a, b",
    [
        ("mk,kn->mn", (48, 255), (255, 17)),
        ("km,nk->mn", (255, 48), (17, 255)),
        ("bmk,nk->nbm", (3, 16, 257), (300, 257)),
        ("gmk,gkn->gmn", (3, 48, 300), (3, 300, 50)),
        ("kgm,gnk->mgn", (257, 3, 20), (3, 65, 257)),
    ],
)
def test_either_side(tmp_path, constant, equation, a, b):
    """Either factor, or both, may be constants of the model."""
    random = np.random.default_rng(3)
    factors = {
        name: random.normal(size=sizes).astype("f")
        for name, sizes in {"a": a, "b": b}.items()
    }
    expected = np.einsum(equation, *(v.astype("d") for v in factors.values()))
    given = {n: v for n, v in factors.items() if n not in constant}
    given["one"] = np.ones(1, "f")
    nodes = [
        helper.make_node("Einsum", ["a", "b"], ["c"], equation=equation),
        helper.make_node("Mul", ["c", "one"], ["y"]),
    ]
    model = onnx_models.make_model(
        nodes, {n: v.shape for n, v in given.items()}, {"y": expected.shape},
        {n: factors[n] for n in constant}, opset=21, ir=9
    )
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", **given)
    mp_run(
        "run", tmp_path / "m.onnx", tmp_path / "in.npz",
        "-o", tmp_path / "out.npz",
    )
    found = np.load(tmp_path / "out.npz")["y"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)
