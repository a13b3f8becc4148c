# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled code that is kept: the same bits, and nothing that others wrote."""

import json
import os
import random
import resource
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnx_models import make_model
from runs import USAGE, command, fail, make_step, mp_run, write_model

CLASSIFIER = """
f (float[n,64] x) => (float[n,10] y)
<float[64,10] w = {%s}, float[10] b = {%s}>
{ h = MatMul(x, w) s = Add(h, b) y = Softmax(s) }
"""


def numbers(count, seed):
    values = np.random.default_rng(seed).standard_normal(count)
    return ", ".join(f"{value:.6f}" for value in values)


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache"
    return folder, f"--cache={folder}/"


@pytest.fixture
def model(tmp_path):
    text = CLASSIFIER % (numbers(640, 0), numbers(10, 1))
    return write_model(tmp_path, text)


def run(model, *flags):
    """All that is printed of the outputs."""
    flags = ("--random", "--dim=n=3", "--json", *flags)
    return mp_run("run", model, *flags).stdout


def is_kept(model, *flags):
    """Whether code is there for a run."""
    flags = ("--random", "--dim=n=3", "--repeat=1", "--warmup=0", *flags)
    return json.loads(mp_run("bench", model, *flags, "--json").stdout)[
        "from_cache"
    ]


def entries(folder):
    return sorted(folder.glob("*.code"))


@pytest.mark.parametrize(
    "flags", [(), ("--mixed-bf16",), ("--mixed-fp16",), ("--kernels=widen",)]
)
def test_same_bits(model, cache, flags):
    folder, where = cache
    fresh = run(model, "--cache=off", *flags)
    assert not folder.exists()
    assert run(model, where, *flags) == fresh
    assert len(entries(folder)) == 1
    assert is_kept(model, where, *flags)
    assert run(model, where, *flags) == fresh
    assert len(entries(folder)) == 1


def test_training_goes_the_same_way(tmp_path, cache):
    step = make_step("mlp784")
    data = step.parent / "data.npz"
    inputs = onnx.load(step).graph
    rng = np.random.default_rng(0)
    held = {i.name for i in inputs.initializer}
    arrays = {}
    for value in inputs.input:
        if value.name in held:
            continue
        shape = [d.dim_value or 8 for d in value.type.tensor_type.shape.dim]
        kind = value.type.tensor_type.elem_type
        arrays[value.name] = (
            rng.integers(0, 2, [32, *shape[1:]])
            if kind == TensorProto.INT64
            else rng.standard_normal([32, *shape[1:]]).astype(np.float32)
        )
    np.savez(data, **arrays)
    ends = []
    for flag in ("--cache=off", cache[1], cache[1]):
        out = tmp_path / f"end{len(ends)}.safetensors"
        mp_run("train", step, f"--data={data}", "--batch=8", "--epochs=2",
               "--quiet", flag, "-o", out)
        ends.append(out.read_bytes())
    assert ends[0] == ends[1] == ends[2]
    assert len(entries(cache[0])) == 1


def save_big(path, weight, node="fc", small=2.0):
    """A weight that code does not know, a constant that it does."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name=node),
        helper.make_node("Mul", ["h", "c"], ["y"], name="scale"),
    ]
    onnx.save(
        make_model(
            nodes, {"x": ["n", 64]}, {"y": ["n", 32]},
            {"w": weight, "c": np.float32(small)}, opset=21, ir=9
        ),
        path
    )
    return path


def test_what_code_depends_on(tmp_path, cache):
    folder, where = cache
    weight = np.random.default_rng(0).standard_normal((64, 32))
    weight = weight.astype(np.float32)
    run(save_big(tmp_path / "a.onnx", weight), where)
    other = save_big(tmp_path / "b.onnx", weight + 1)
    assert is_kept(other, where)
    assert run(other, where) == run(other, "--cache=off")
    for number, changed in enumerate((
        save_big(tmp_path / "c.onnx", weight, small=3.0),
        save_big(tmp_path / "d.onnx", weight, node="other"),
    )):
        assert not is_kept(changed, where)
        assert run(changed, where) == run(changed, "--cache=off")
        assert len(entries(folder)) == number + 2
    for flags in (("--in-place",), ("--kernels=direct",)):
        assert not is_kept(other, where, *flags)


def test_code_of_big_weights_is_the_same(tmp_path):
    """Nothing that lowers a model has looked at them."""
    files = []
    for seed in range(2):
        weight = np.random.default_rng(seed).standard_normal((64, 32))
        model = save_big(tmp_path / "m.onnx", weight.astype(np.float32))
        run(model, f"--cache={tmp_path}/{seed}/")
        files += [path.read_bytes() for path in entries(tmp_path / str(seed))]
    assert len(files) == 2 and files[0] == files[1]


def test_damaged_files_are_made_anew(model, cache):
    folder, where = cache
    # Which kernels are faster is measured where it is not known yet, and code
    # for others has another name.
    flags = (where, "--kernels=widen")
    fresh = run(model, *flags)
    (path,) = entries(folder)
    good = path.read_bytes()
    rng = random.Random(0)
    # The mark, the version, the length, the key, the hash, the code.
    places = [0, 8, 16, 24, 90, 120, 200, len(good) - 1]
    places += [rng.randrange(len(good)) for _ in range(8)]
    damaged = [
        good[:p] + bytes([good[p] ^ (1 << rng.randrange(8))]) + good[p + 1:]
        for p in places
    ]
    damaged += [good[:size] for size in (0, 7, 60, len(good) // 2)]
    damaged.append(good + b"x")
    for content in damaged:
        path.write_bytes(content)
        assert run(model, *flags) == fresh
        assert entries(folder) == [path]
        assert path.read_bytes() == good


def test_links_and_files_of_others_are_not_read(model, cache, tmp_path):
    folder, where = cache
    fresh = run(model, where)
    (path,) = entries(folder)
    aside = tmp_path / "aside"
    path.rename(aside)
    path.symlink_to(aside)
    assert not is_kept(model, where)
    assert not path.is_symlink() and aside.exists()
    path.chmod(0o622)
    assert not is_kept(model, where)
    assert path.stat().st_mode & 0o777 == 0o600
    assert run(model, where) == fresh


def test_folders_that_others_may_write(model, cache):
    folder, where = cache
    fresh = run(model, where)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    done = mp_run("run", model, "--random", "--dim=n=3", "--json", where)
    assert done.stdout == fresh
    assert done.stderr.count("warning") == 1
    assert "others may write there" in done.stderr
    if os.geteuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 12345, -1)
        done = mp_run("run", model, "--random", "--dim=n=3", where)
        assert "another user" in done.stderr


def test_full_disks(model, cache):
    folder, where = cache

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = mp_run("run", model, "--random", "--dim=n=3", "--json", where,
                  preexec_fn=limit)
    assert done.stdout == run(model, "--cache=off")
    assert done.stderr.count("warning") == 1 and "cannot write" in done.stderr
    assert not list(folder.iterdir())


def test_the_bound_holds(model, cache):
    folder, where = cache
    run(model, where)
    one = entries(folder)[0].stat().st_blocks * 512
    limit = 3 * one + one // 2
    (folder / "mine.txt").write_text("stays")
    for count in range(4, 10):
        mp_run("run", model, "--random", f"--dim=n={count}", where,
               env={**os.environ, "MPOPT_CACHE_SIZE": str(limit)})
        used = sum(p.stat().st_blocks * 512 for p in entries(folder))
        assert used <= limit
    assert (folder / "mine.txt").exists()
    assert not is_kept(model, where)


def test_eight_at_once_and_kills(model, cache):
    folder, where = cache
    fresh = run(model, "--cache=off")
    line = command("run", model, "--random", "--dim=n=3", "--json", where)
    many = [
        subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    assert [p.communicate()[0] for p in many] == [fresh] * 8
    rng = random.Random(0)
    for _ in range(10):
        for path in entries(folder):
            path.unlink()
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 1))
        process.kill()
        process.wait()
    assert run(model, where) == fresh
    assert len(list(folder.iterdir())) == 1


def test_misspelt(model):
    assert "did you mean" in fail(USAGE, "run", model, "--cache=onn")
