# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling a model takes what the model is long: equal layers are compiled
once, and what is left of each is cut into functions of bounded size."""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from onnx_models import parse
from runs import compute, MP_OPT, ROOT, mp_run, run_mp_opt, scratch_dir, write_model

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


def compile_model(text):
    """What compiling a model took of the processor and of memory."""
    folder = scratch_dir("inputs")
    run = subprocess.Popen(
        [MP_OPT, write_model(folder, text), "--emit=llvm", "--summary=none",
         "-o", folder / "f.ll"],
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode == 0
    return usage


def peak_of_inputs(count):
    """The most memory, in MB, that compiling a sum of so many inputs takes."""
    names = [f"x{i}" for i in range(count)]
    inputs = ", ".join(f"float[2] {name}" for name in names)
    usage = compile_model(f"f ({inputs}) => (float[2] y) {{y = Sum({', '.join(names)})}}")
    return usage.ru_maxrss / 1024


def test_many_inputs():
    """3,000 inputs more took 300 MB: each had lists of all in the context."""
    assert peak_of_inputs(4000) - peak_of_inputs(1000) < 100


def joined(count):
    """Parts of one tensor, a function of each, and all in one tensor again."""
    split, parts = ([f"{c}{i}" for i in range(count)] for c in "sp")
    nodes = "".join(f"{p} = Neg({s})\n" for s, p in zip(split, parts))
    return (
        f"f (float[2,{3 * count}] x) => (float[2,{3 * count}] y) {{"
        f"{', '.join(split)} = Split<axis = 1, num_outputs = {count}>(x)\n"
        f"{nodes} y = Concat<axis = 1>({', '.join(parts)})}}"
    )


def test_many_parts():
    """128 parts took a minute: 16 times what 64 took."""
    assert compile_model(joined(256)).ru_utime < 20


@pytest.mark.parametrize("count", [16, 40])
def test_parts_in_their_order(count):
    """Parts have their places, in memory that another output begins as, too."""
    folder = scratch_dir("parts")
    text = joined(count).replace(
        "y) {", f"y, float[4,{3 * count}] z) {{z = Concat<axis = 0>(y, x)\n"
    )
    head, body = text.split("{", 1)
    first, rest = body.split("\n", 1)
    model = write_model(folder, f"{head}{{{rest[:-1]}\n{first}}}")
    x = np.random.default_rng(0).standard_normal((2, 3 * count), np.float32)
    got = compute(model, {"x": x})
    assert np.array_equal(got["y"], -x)
    assert np.array_equal(got["z"], np.concatenate([-x, x]))


@pytest.mark.parametrize("known", [True, False])
def test_many_sizes(known):
    """A list of sizes may be longer than shapes are: gradients of a Concat have
    one of as many as it has parts."""
    folder = scratch_dir("sizes")
    count = 70
    sizes = np.arange(count) % 3 + 1
    parts = ", ".join(f"p{i}" for i in range(count))
    listed = ", ".join(map(str, sizes))
    model = write_model(
        folder,
        f"f (float[{sizes.sum()}] x{'' if known else f', int64[{count}] s'})"
        f" => (float[m] y) {{"
        + (f"s = Constant<value_ints = [{listed}]>()\n" if known else "")
        + f"{parts} = Split<axis = 0>(x, s)\n y = Concat<axis = 0>(p69, {parts})}}",
    )
    x = np.arange(sizes.sum(), dtype=np.float32)
    given = {"x": x} if known else {"x": x, "s": sizes}
    last = x[-sizes[-1] :]
    assert np.array_equal(compute(model, given)["y"], np.concatenate([last, x]))


def sum_of_images():
    """Of each channel, the sum of all numbers."""
    return parse(
        "sum (float[8,16,32,32] x) => (float[16] y) <int64[3] axes = {0, 2, 3}>"
        " { y = ReduceSum<keepdims = 0>(x, axes) }",
        ir=9,
    )


def test_sums_are_loops():
    """Sums over sizes that are known are no copies of their bodies: LLVM made
    14.5 kB of this one for processors with large buffers."""
    folder = scratch_dir("sums")
    onnx.save(sum_of_images(), folder / "sum.onnx")
    done = mp_run(
        "bench", folder / "sum.onnx", "--random", "--repeat=1", "--warmup=0",
        "--threads=1", "--cache=off", "--json",
    )
    assert json.loads(done.stdout)["code_bytes"] < 8000


def ladder(rungs):
    """A chain of elementwise nodes, each of which a sum reads as well."""
    nodes, image, total = [], "x", "t"
    for i in range(rungs):
        nodes.append(f"y{i} = {'Mul' if i % 2 else 'Add'}({image}, c)")
        nodes.append(f"s{i} = ReduceSum<keepdims = 0>(y{i}, axes)")
        nodes.append(f"t{i} = Add({total}, s{i})")
        image, total = f"y{i}", f"t{i}"
    return parse(
        f"ladder (float[64,64] x, float[64] c, float[64] t) => (float[64] {total})"
        f" <int64[1] axes = {{1}}> {{ {' '.join(nodes)} }}",
        ir=9,
    )


def test_chains_that_others_read():
    """Readers compute what is in front of them again, but not all of it."""
    def code_bytes(rungs):
        path = scratch_dir("ladder") / "m.onnx"
        onnx.save(ladder(rungs), path)
        done = mp_run(
            "bench", path, "--random", "--repeat=1", "--warmup=0", "--threads=1",
            "--cache=off", "--json",
        )
        return json.loads(done.stdout)["code_bytes"]

    assert code_bytes(120) < 5 * code_bytes(30)
