# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt --verify: what is about to be written is run first."""

import re

import numpy as np
import pytest

import support
from runs import BAD_INPUT, OUTSIDE, USAGE, write_model

# In 16 bit, numbers that are added to 4096 are lost.
LOSSY = """
f (float[8] x) => (float[8] y)
<float big = {4096}>
{
  raised = Add(x, big)
  y = Sub(raised, big)
}
"""
PRODUCT = """
f (float[n,32] x, float[32,32] w) => (float[n,32] y) { y = MatMul(x, w) }
"""
FLAGS = ("--mixed-bf16", "--summary=none")


def verify(model, *flags):
    return support.attempt(model, *FLAGS, *flags, timeout=120)


def test_a_good_result(tmp_path):
    model = write_model(tmp_path, PRODUCT)
    out = tmp_path / "out.onnx"
    done = verify(model, "--verify", "--dim=n=16", "-o", out)
    assert done.returncode == 0, done.stderr
    assert out.exists()
    assert "against the input in float64" in done.stderr
    assert "(MatMul-" in done.stderr
    verdict = re.fullmatch(
        r".*: verified: output 'y' is within what rounding to bf16 explains "
        r"\(off by (\S+) %, (\S+) % allowed\)",
        done.stderr.splitlines()[-1],
    )
    # Two roundings of operands and one of the result.
    error, allowed = map(float, verdict.groups())
    assert 0.1 < error < allowed < 1.5
    # The table has the same bound, and no other.
    assert f"{allowed:g} %" in done.stderr.splitlines()[-5]
    assert "outside" not in done.stderr


def test_sizes_that_nothing_says(tmp_path):
    model = write_model(tmp_path, PRODUCT)
    done = verify(model, "--verify", "-o", tmp_path / "out.onnx")
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if ": note: " in line]
    assert len(notes) == 1 and "n=32" in notes[0] and "--dim" in notes[0]
    done = verify(model, "--verify", "--dim=n=2", "-o", tmp_path / "out.onnx")
    assert done.returncode == 0 and ": note: " not in done.stderr


def test_data_that_the_model_does_not_take(tmp_path):
    model = write_model(tmp_path, PRODUCT)
    random = np.random.default_rng(0)
    arrays = {
        "x": random.normal(size=(2, 32)).astype(np.float32),
        "w": random.normal(size=(32, 32)).astype(np.float32),
        "labels": np.zeros(2, np.int64),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    flags = (f"--verify={tmp_path / 'x.npz'}", "-o", tmp_path / "out.onnx")
    done = verify(model, *flags)
    assert done.returncode == 0, done.stderr
    assert "warning: the model has no input 'labels'" in done.stderr
    assert done.stderr.count("warning:") == 1
    del arrays["w"]
    np.savez(tmp_path / "x.npz", **arrays)
    done = verify(model, *flags)
    assert done.returncode == BAD_INPUT
    text = "input 'w' is missing: expected float32[32,32], found 'labels'"
    assert text in done.stderr and "warning" not in done.stderr


def test_a_bad_result_is_not_written(tmp_path):
    model = write_model(tmp_path, LOSSY)
    np.savez(tmp_path / "x.npz", x=np.linspace(1, 2, 8, dtype=np.float32))
    out = tmp_path / "out.onnx"
    flags = ("--allow=Add,Sub", f"--verify={tmp_path / 'x.npz'}", "-o", out)
    done = verify(model, *flags)
    assert done.returncode == OUTSIDE, done.stderr
    assert not out.exists()
    assert "error: NOT verified: output 'y' is too far" in done.stderr
    assert "rounding to bf16 alone does that here" in done.stderr
    # Bits that are lost in bf16 are kept in fp32.
    flags = (f"--verify={tmp_path / 'x.npz'}", "--deny=Add,Sub", "-o", out)
    assert verify(model, *flags).returncode == 0 and out.exists()


def test_a_tolerance(tmp_path):
    model = write_model(tmp_path, PRODUCT)
    flags = ("--verify", "--dim=n=16", "-o", tmp_path / "out.onnx")
    assert verify(model, *flags, "--rtol=1e-6").returncode == OUTSIDE
    assert verify(model, *flags, "--rtol=1e-2").returncode == 0


@pytest.mark.parametrize(
    "flags, code, text",
    [
        (("--verify=no.npz", "--dim=n=2"), BAD_INPUT, "no.npz"),
        (("--rtol=1",), USAGE, "--rtol needs --verify"),
        (("--verify", "--train", "--loss=mse"), USAGE, "a training step"),
    ],
)
def test_what_stands_against_it(tmp_path, flags, code, text):
    model = write_model(tmp_path, PRODUCT)
    out = tmp_path / "out.onnx"
    done = verify(model, *flags, "-o", out)
    assert done.returncode == code and text in done.stderr, done.stderr
    assert not out.exists()


def test_values_too_small_for_fp16(tmp_path):
    """That is told from a fault, and from operands that are too coarse."""
    model = write_model(tmp_path, PRODUCT)
    arrays = {
        "x": np.full((2, 32), 1e-4, np.float32),
        "w": np.full((32, 32), 1e-5, np.float32),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    done = support.attempt(
        model, "--mixed-fp16", "--summary=none",
        f"--verify={tmp_path / 'x.npz'}", "-o", tmp_path / "out.onnx",
        timeout=120, code=OUTSIDE
    )
    assert "the least number of fp16" in done.stderr


RANGES = {
    # Data determine the place of an element, and whether it has a logarithm.
    "f (float[n,8] x, float[8,8] w) => (float[n,8] y) "
    "{ a = Exp(x) y = MatMul(a, w) }": "(Exp-13) depends on the range of input 'x'",
    "f (float[n,8] x, float[4,8] t, float[8,8] v, float[8,4] w) => "
    "(float[n,8] y) { h = MatMul(x, v) s = MatMul(h, w) "
    "k = ArgMax <axis = 1, keepdims = 0> (s) y = Gather(t, k) }":
    "(ArgMax-13) makes integers or steps of floats",
}


@pytest.mark.parametrize("text", RANGES, ids=["exp", "argmax"])
def test_random_data_prove_little(tmp_path, text):
    """The verdict is less then; data of the user's are judged as ever."""
    model = write_model(tmp_path, text)
    out = tmp_path / "out.onnx"
    done = verify(model, "--verify", "--dim=n=4", "-o", out)
    assert done.returncode == 0 and out.exists(), done.stderr
    verdict = done.stderr.splitlines()[-1]
    assert ": ran: output 'y' is within" in verdict and "verified" not in verdict
    assert "; random data prove little for this model: node with " in verdict
    assert RANGES[text] in verdict and "--verify=DATA" in verdict
    rng = np.random.default_rng(0)
    arrays = {"x": (4, 8), "w": (8, 8)}
    if "ArgMax" in text:
        arrays |= {"w": (8, 4), "t": (4, 8), "v": (8, 8)}
    arrays = {k: rng.normal(size=s).astype("f4") for k, s in arrays.items()}
    np.savez(tmp_path / "x.npz", **arrays)
    done = verify(model, f"--verify={tmp_path / 'x.npz'}", "-o", out)
    assert done.returncode == 0, done.stderr
    assert "verified: output 'y' is within" in done.stderr.splitlines()[-1]


def test_each_program_is_compiled_once(tmp_path, monkeypatch):
    """The result, the input in float64, and the input as it is."""
    model = write_model(tmp_path, PRODUCT)
    cache = tmp_path / "code"
    done = verify(
        model, "--verify", "--dim=n=16", f"--cache={cache}/", "-o", tmp_path / "o.onnx"
    )
    assert done.returncode == 0, done.stderr
    entries = [path for path in cache.rglob("*") if path.is_file()]
    assert 0 < len({path.stem for path in entries}) <= 3, entries
