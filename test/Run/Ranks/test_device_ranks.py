# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that train on devices: what they reduce goes through the host or, by
NCCL, from device to device, and comes to the bits of one device that accumulates
as many batches."""

import ctypes
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from libraries import Library, emit, needs_linker
from ranks import ENVIRONMENT, devices, find_launcher, launch, launch_each
from ranks import make_data, make_model, make_steps, needs_emulation, train
from runs import DEVICE, command, load_safetensors, mp_run, read_log
from support import run_mp_opt


@pytest.fixture(scope="module")
def launcher():
    return find_launcher("openmpi")


# Streams do their work as late as possible, or as early as possible, unless
# they are waited for: a missing event shows in one of the two.
PATHS = {"mpi": ("mpi", "late"), "nccl": ("nccl", "late"), "early": ("nccl", "early")}


@pytest.fixture(params=PATHS)
def train_two(request, launcher):
    """Trains on two devices, which reduce in one of these ways."""
    collectives, order = PATHS[request.param]
    environment = devices(2, MPOPT_EMULATED_STREAMS=order)

    def run(step, data, out, *flags, log=None, **variables):
        rank = command(
            "train", step, f"--data={data}", "-o", out, DEVICE, "--quiet",
            f"--collectives={collectives}", *flags,
        )  # fmt: skip
        first = ["env", f"MPOPT_EMULATED_LOG={log}", *rank] if log else rank
        done = launch_each(
            launcher, [first, rank], env={**environment, **variables}
        )
        assert done.returncode == 0, (done.returncode, done.stdout + done.stderr)
        return load_safetensors(out)

    return run


def assert_equal_bits(found, expected):
    assert len(found) >= 4
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


CASES = {
    "adamw": ("--optimizer=adamw",),
    "clipped": ("--optimizer=momentum", "--clip-norm=0.1"),
    "bf16": ("--optimizer=adamw", "--mixed-bf16"),
    "fp16": ("--optimizer=sgd", "--mixed-fp16"),
    "dropout": ("--optimizer=sgd",),
}


@pytest.mark.parametrize("case", CASES)
def test_bits_of_one(tmp_path, train_two, case):
    """In fp16 one rank's batch overflows: both skip that step."""
    model = make_model(tmp_path, dropout=case == "dropout")
    step, one = make_steps(tmp_path, model, 2, *CASES[case])
    data = make_data(tmp_path, 10, overflow=[3] if case == "fp16" else [])
    log = tmp_path / "log"
    found = train_two(step, data, tmp_path / "r.safetensors", f"--log={log}")
    mp_run(
        "train", one, f"--data={data}", "-o", tmp_path / "o.safetensors", DEVICE,
        "--quiet",
    )
    assert_equal_bits(found, load_safetensors(tmp_path / "o.safetensors"))
    assert len(read_log(log)) == 5
    if case == "fp16":
        assert read_log(log)[-1]["skipped"] == 1


@needs_emulation
def test_large_batches(tmp_path, train_two):
    """Each rank copies its next batch during a step: by a stream of its own, next
    to that which reduces. The bits are those of ranks without pinned memory."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2, "--optimizer=adamw")
    data = make_data(tmp_path, 10, rows=5000)
    size = 4 * 4 * 5000

    def run(**variables):
        """The states at the end, and the log of the first rank."""
        log = tmp_path / "driver.log"
        states = train_two(
            step, data, tmp_path / "r.safetensors", "--epochs=2", log=log, **variables
        )
        return states, log.read_text()

    expected, log = run()
    # With MPI, ranks reduce pinned memory as well.
    copies = f"cuMemcpyHtoDAsync {size}\n  from pinned memory"
    assert copies in log
    taken = sum(map(int, re.findall(r"^cuMemAlloc (\d+)$", log, re.M)))
    # Memory for all but the buffer: what ranks reduce comes first.
    for variables in (
        {"MPOPT_EMULATED_FAIL": "cuMemAllocHost:0:2"},
        {"MPOPT_EMULATED_MEMORY": str(taken - size // 2)},
    ):
        found, log = run(**variables)
        assert copies not in log
        assert_equal_bits(found, expected)


def test_accumulation(tmp_path, train_two):
    """Sums are reduced where there is an update; in the middle of a window,
    states that are kept have the means of the ranks' sums."""
    model, data = make_model(tmp_path), make_data(tmp_path, 12)
    step, one = tmp_path / "two.mlirbc", tmp_path / "one.onnx"
    common = ("--train", "--loss=softmax-cross-entropy", "--summary=none")
    run_mp_opt(model, *common, "--distribute", "--accumulate=3", "-o", step)
    run_mp_opt(model, *common, "--accumulate=6", "-o", one)
    found = train_two(step, data, tmp_path / "r.safetensors", "--steps=12")
    mp_run(
        "train", one, f"--data={data}", "-o", tmp_path / "o.safetensors",
        "--steps=24", "--quiet",
    )
    expected = load_safetensors(tmp_path / "o.safetensors")
    for name in ("w1", "b1", "w2"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-6)
    for steps in (4, 12):
        resumed = train_two(
            step, data, tmp_path / "c.safetensors", f"--checkpoint={tmp_path / 'c'}",
            "--resume", f"--steps={steps}",
        )  # fmt: skip
    for name in ("w1", "b1", "w2"):
        np.testing.assert_allclose(resumed[name], found[name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",)])
def test_shared_optimizer(tmp_path, train_two, flags):
    """Ranks of which each has a part of the optimizer's states, and one device
    for both; a checkpoint of theirs goes on without sharing."""
    # Enough elements to be shared.
    model = make_model(tmp_path, hidden=1024)
    step, _ = make_steps(tmp_path, model, 2, "--optimizer=adamw", *flags)
    data = make_data(tmp_path, 8)
    expected = train_two(step, data, tmp_path / "w.safetensors")
    shared = train_two(step, data, tmp_path / "s.safetensors", "--shard=optimizer")
    assert_equal_bits(shared, expected)
    for steps, sharding in ((2, ("--shard=optimizer",)), (4, ())):
        resumed = train_two(
            step, data, tmp_path / "r.safetensors", f"--checkpoint={tmp_path / 'c'}",
            "--resume", f"--steps={steps}", *sharding,
        )  # fmt: skip
    assert_equal_bits(resumed, expected)


def test_statistics_and_tables(tmp_path, launcher, train_two):
    """--sync-batch-norm reduces in the forward pass, and gradients of rows that
    a batch looks up are whole tables: as on processors."""
    text = """
<ir_version: 9, opset_import: ["" : 21]>
net (int64[n] i) => (float[n,2] y)
<float[64,4] table, float[4] scale = {1, 1, 1, 1}, float[4] bias = {0, 0, 0, 0},
 float[4] mean = {0, 0, 0, 0}, float[4] var = {1, 1, 1, 1},
 float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  r = Gather(table, i)
  z, mean_out, var_out = BatchNormalization<training_mode = 1>(
      r, scale, bias, mean, var)
  y = MatMul(z, w)
}
"""
    random = np.random.default_rng(0)
    table = ", ".join(f"{value:.4f}" for value in random.standard_normal(256))
    text = text.replace("float[64,4] table", f"float[64,4] table = {{{table}}}")
    model, step = tmp_path / "m.onnxtxt", tmp_path / "step.mlirbc"
    model.write_text(text)
    run_mp_opt(
        model, "--train", "--loss=mse", "--distribute", "--sync-batch-norm",
        "--optimizer=momentum", "--summary=none", "-o", step,
    )
    np.savez(
        tmp_path / "d.npz", i=random.integers(0, 64, (8, 8)),
        labels=random.standard_normal((8, 8, 2)).astype("f"),
    )
    data, out = tmp_path / "d.npz", tmp_path / "out.safetensors"
    expected = train(launcher, 2, step, data, out, "--quiet", "--lr=0.01")
    found = train_two(step, data, out, "--lr=0.01")
    assert len(found) >= 8
    for name, value in found.items():
        np.testing.assert_allclose(
            value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name
        )


def test_states_that_part(tmp_path, launcher):
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data = make_data(tmp_path, 10)
    environment = {**ENVIRONMENT, "MPOPT_TEST_FLIP": "rank=1,step=3,state=w2"}
    done = launch(
        launcher, 2, "train", step, f"--data={data}", "--quiet", DEVICE,
        env=environment,
    )
    assert done.returncode != 0
    found = "after step 5, rank 1 has other states than rank 0: 'w2'"
    assert found in done.stderr


@needs_emulation
def test_overlap(tmp_path, launcher):
    """What a bucket is computed behind is in line before anybody waits for it:
    a call is launched in pieces."""
    # The weights are more than the first bucket's 1 MiB; the bias is another.
    hidden = 1 << 16
    model = make_model(tmp_path, hidden=hidden)
    step, _ = make_steps(tmp_path, model, 2)
    calls = tmp_path / "calls"
    rank = command(
        "train", step, f"--data={make_data(tmp_path, 2)}", DEVICE, "--quiet"
    )
    # One of the two ranks logs its calls.
    subprocess.run(
        [launcher, "-n", "1", "env", f"MPOPT_EMULATED_LOG={calls}", *rank, ":", "-n",
         "1", *rank],
        check=True, env=ENVIRONMENT, timeout=120,
    )  # fmt: skip
    lines = calls.read_text().splitlines()
    first, second = (
        lines.index(f"cuMemcpyDtoHAsync {4 * n * hidden}") for n in (4, 1)
    )
    assert "cuGraphLaunch" in lines[first:second]
    taken = [line for line in lines if line.startswith("cuMemAllocHost")]
    assert taken and lines.count("cuMemFreeHost") == len(taken)


@needs_emulation
def test_no_driver(tmp_path, launcher):
    """One of the ranks says so."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        pytest.skip("there is a driver")
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    done = launch(
        launcher, 2, "train", step, f"--data={make_data(tmp_path, 4)}",
        "--device=cuda",
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("there is no NVIDIA driver") == 1, done.stderr


class MemberC(ctypes.Structure):
    _fields_ = [
        ("operation", ctypes.c_int32), ("type", ctypes.c_int32),
        ("data", ctypes.c_void_p), ("count", ctypes.c_int64),
        ("rows", ctypes.c_void_p), ("num_rows", ctypes.c_int64),
        ("size", ctypes.c_int64),
    ]


START = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32,
    ctypes.POINTER(MemberC),
)
WAIT = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class CollectivesC(ctypes.Structure):
    _fields_ = [
        ("context", ctypes.c_void_p), ("start", START), ("wait", WAIT),
        ("error", ERROR),
    ]


@needs_linker
@needs_emulation
def test_libraries(tmp_path):
    """A library for devices asks whoever has set functions for it."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2, "--lr=0.5")
    path = emit(step, tmp_path / "libstep.so", DEVICE, "--in-place", "--dim=batch=8")
    library = Library(path, "step")
    with np.load(make_data(tmp_path, 1)) as data:
        batch = {"x": data["x"][0], "labels": data["labels"][0]}
    start = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in onnx.load(tmp_path / "m.onnx").graph.initializer
    }
    started, fails = [], []

    def begin(_, bucket, members, member):
        """Other ranks have gradients that are three times these."""
        given = member.contents
        started.append((bucket, given.operation, given.type, given.count))
        if given.type == 1:
            room = ctypes.cast(given.data, ctypes.POINTER(ctypes.c_float))
            np.ctypeslib.as_array(room, (given.count,))[:] *= 2
        return 0

    text = ctypes.create_string_buffer(b"gone")
    collectives = CollectivesC(
        None, START(begin), WAIT(lambda *_: len(fails)),
        ERROR(lambda _: ctypes.addressof(text)),
    )  # fmt: skip
    changes = []
    for functions in (None, ctypes.byref(collectives)):
        library.library.mp_set_collectives(functions)
        states = {name: start[name].copy() for name in ("w1", "b1", "w2")}
        library.run({**batch, **states})
        changes.append({name: states[name] - start[name] for name in states})
    for name, change in changes[0].items():
        assert change.any()
        np.testing.assert_allclose(changes[1][name], 2 * change, rtol=1e-4, atol=1e-6)
    assert {count for _, _, _, count in started} == {1, 16, 48, 64}
    fails.append(1)
    states = {name: start[name].copy() for name in ("w1", "b1", "w2")}
    ranks_failed = 6
    assert library.error({**batch, **states}) == (ranks_failed, "gone")
    library.library.mp_set_collectives(None)
    library.release()
