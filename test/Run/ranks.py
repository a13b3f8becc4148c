# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of several ranks, and what they train."""

import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from runs import BAD_INPUT, DEVICE, command, load_safetensors
from support import run_mp_opt

ENVIRONMENT = {
    **os.environ,
    # There may be more ranks than cores, in a container; the only fabric is
    # memory.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "self,vader",
    # Containers may forbid one process to read another's memory.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
LAUNCHERS = {"openmpi": "mpiexec.openmpi", "mpich": "mpiexec.mpich"}


needs_emulation = pytest.mark.skipif(
    DEVICE != "--device=emulated", reason="asks the emulated driver"
)


def devices(count, **variables):
    """An environment with so many devices; skips where a machine has fewer."""
    if DEVICE == "--device=cuda":
        found, driver = ctypes.c_int(), ctypes.CDLL("libcuda.so.1")
        assert driver.cuInit(0) == driver.cuDeviceGetCount(ctypes.byref(found)) == 0
        if found.value < count:
            pytest.skip(f"there are {found.value} GPUs, {count} are needed")
    return {**ENVIRONMENT, "MPOPT_EMULATED_DEVICES": str(count), **variables}


@functools.lru_cache(maxsize=None)
def find_launcher(name):
    """Its path; skips where it is missing, or cannot start a process here, as
    without a name of the host."""
    found = shutil.which(LAUNCHERS[name])
    if not found:
        pytest.skip(f"{LAUNCHERS[name]} is not installed")
    done = subprocess.run(
        [found, "-n", "2", "true"], capture_output=True, text=True, timeout=60,
        env=ENVIRONMENT,
    )
    if done.returncode != 0:
        pytest.skip(f"{LAUNCHERS[name]} starts nothing: {done.stderr.strip()}")
    return found


@pytest.fixture(params=LAUNCHERS)
def launcher(request):
    return find_launcher(request.param)


def launch(launcher, ranks, *arguments, **options):
    """A run of so many ranks, whatever its exit code is."""
    options = {"timeout": 120, "env": ENVIRONMENT, **options}
    return subprocess.run(
        [launcher, "-n", str(ranks), *command(*arguments)],
        capture_output=True, text=True, **options,
    )


def launch_each(launcher, ranks, env=None):
    """Ranks with a command line each."""
    words = [word for rank in ranks for word in (":", "-n", "1", *rank)]
    return subprocess.run(
        [launcher, *words[1:]], capture_output=True, text=True, timeout=60,
        env=env or devices(len(ranks)),
    )


def make_model(folder, name="m.onnx", dropout=False, hidden=16):
    random = np.random.default_rng(0)
    weights = {
        "w1": random.standard_normal((4, hidden)) / 2, "b1": np.zeros(hidden),
        "w2": random.standard_normal((hidden, 3)) / 4,
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Dropout", ["a", "ratio", "mode"], ["d"], seed=3),
        helper.make_node("MatMul", ["d", "w2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["batch", 4])],
        [helper.make_tensor_value_info("y", 1, ["batch", 3])],
        [
            *(numpy_helper.from_array(w.astype("f"), n) for n, w in weights.items()),
            numpy_helper.from_array(np.float32(0.2), "ratio"),
            numpy_helper.from_array(np.bool_(dropout), "mode"),
        ],
    )
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, folder / name)
    return folder / name


def make_data(folder, batches, name="data.npz", overflow=(), rows=8):
    """Batches of `rows`, some of which fp16 cannot multiply."""
    random = np.random.default_rng(1)
    x = random.standard_normal((batches, rows, 4)).astype("f")
    labels = x[:, :, :3].argmax(2)
    for batch in overflow:
        x[batch] = 3e4
    np.savez(folder / name, x=x, labels=labels)
    return folder / name


def make_steps(folder, model, ranks, *flags):
    """The step for ranks, and that of one which accumulates as many batches."""
    common = ("--train", "--loss=softmax-cross-entropy", "--summary=none", *flags)
    distributed, accumulated = folder / "ranks.mlirbc", folder / "one.onnx"
    run_mp_opt(model, *common, "--distribute", "-o", distributed)
    run_mp_opt(model, *common, f"--accumulate={ranks}", "-o", accumulated)
    return distributed, accumulated


def train(launcher, ranks, step, data, out, *flags, **options):
    done = launch(
        launcher, ranks, "train", step, f"--data={data}", "-o", out, *flags, **options
    )
    assert done.returncode == 0, (done.returncode, done.stdout + done.stderr)
    return load_safetensors(out)


def refuse(launcher, ranks, *arguments, code=BAD_INPUT, **options):
    """The one line of mp-run about a run that ends before its first step."""
    done = launch(launcher, ranks, *arguments, **options)
    assert done.returncode == code, done.stdout + done.stderr
    lines = [l for l in done.stderr.splitlines() if l.startswith("mp-run")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def find_ranks(step):
    """The processes of a run by their ranks."""
    ranks = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = open(f"/proc/{name}/cmdline", "rb").read().split(b"\0")
            variables = open(f"/proc/{name}/environ", "rb").read().split(b"\0")
        except OSError:
            continue
        if os.fsencode(step) not in words or not words[0].endswith(b"mp-run"):
            continue
        for variable in variables:
            found = re.match(rb"(?:OMPI_COMM_WORLD|PMI)_RANK=(\d+)$", variable)
            if found:
                ranks[int(found[1])] = int(name)
    return ranks


def lose_rank(launcher, ranks, step, data, rank, number, *flags, env=ENVIRONMENT):
    """Sends one of the ranks that train a signal: all others end, within the
    time limit of 3 s and some seconds. What has been written to stderr."""
    log = step.parent / "log"
    with subprocess.Popen(
        [
            launcher, "-n", str(ranks),
            *command("train", step, f"--data={data}", "--steps=10000000",
                     "--timeout=3", f"--log={log}", "--quiet", *flags),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    ) as run:  # fmt: skip
        deadline = time.time() + 60
        while time.time() < deadline and not (log.exists() and log.stat().st_size):
            time.sleep(0.1)
        processes = find_ranks(step)
        assert sorted(processes) == list(range(ranks)), run.poll()
        start = time.time()
        os.kill(processes[rank], number)
        try:
            _, errors = run.communicate(timeout=30)
        finally:
            for process in find_ranks(step).values():
                os.kill(process, signal.SIGKILL)
    assert run.returncode != 0
    assert time.time() - start < 3 + 5
    assert not find_ranks(step)
    return errors
