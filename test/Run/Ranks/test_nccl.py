# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices of ranks that reach each other by NCCL, an emulated one: the bits are
those of memory that goes through the host, and what is missing or fails is said.
(test_device_ranks.py has the bits of one device.)"""

import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pytest

from driver_double import DOUBLE, emulated_kernels, needs_double
from libraries import needs_linker
from ranks import LAUNCHERS, devices, find_launcher, launch, launch_each, lose_rank
from ranks import make_data, make_model, make_steps, needs_emulation, refuse, train
from runs import DEVICE, MP_RUN, USAGE, command, load_safetensors, mp_run, read_log

# EX_TEMPFAIL.
TIMED_OUT = 75


@pytest.fixture(scope="module")
def launcher():
    return find_launcher("openmpi")


@pytest.fixture(params=LAUNCHERS)
def any_launcher(request):
    return find_launcher(request.param)


def assert_equal_bits(found, expected):
    assert len(found) >= 4
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_two_hundred_steps(tmp_path, any_launcher):
    """Four ranks, of which one overflows, have the bits of one."""
    model = make_model(tmp_path, dropout=True)
    flags = ("--optimizer=adamw", "--mixed-fp16", "--clip-norm=1")
    step, one = make_steps(tmp_path, model, 4, *flags)
    data, log = make_data(tmp_path, 40, overflow=[5]), tmp_path / "log"
    found = train(
        any_launcher, 4, step, data, tmp_path / "r.safetensors", DEVICE, "--quiet",
        "--steps=200", "--collectives=nccl", f"--log={log}", env=devices(4),
    )
    mp_run(
        "train", one, f"--data={data}", "-o", tmp_path / "o.safetensors", DEVICE,
        "--quiet", "--steps=800",
    )
    assert_equal_bits(found, load_safetensors(tmp_path / "o.safetensors"))
    assert len(read_log(log)) == 200 and read_log(log)[-1]["skipped"] >= 1


# Sizes that no number of ranks divides; ranges of states, and of 16-bit weights.
WAYS = {
    "wire": ((), ("--wire=bf16",)),
    "shard": ((), ("--shard=optimizer",)),
    "shard-wire": ((), ("--shard=optimizer", "--wire=bf16")),
    "shard-bf16": (("--mixed-bf16",), ("--shard=optimizer",)),
}


@pytest.mark.parametrize("order", ["late", "early"])
@pytest.mark.parametrize("way", WAYS)
def test_same_bits(tmp_path, launcher, way, order):
    made, run = WAYS[way]
    model = make_model(tmp_path, hidden=1037)
    step, _ = make_steps(tmp_path, model, 3, "--optimizer=adamw", *made)
    data = make_data(tmp_path, 12)
    found = [
        train(
            launcher, 3, step, data, tmp_path / "out.safetensors", DEVICE, "--quiet",
            f"--collectives={name}", *run,
            env=devices(3, MPOPT_EMULATED_STREAMS=order),
        )
        for name in ("nccl", "mpi")
    ]  # fmt: skip
    assert_equal_bits(*found)


def test_figures(tmp_path, launcher):
    """What has been sent counts, as through the host."""
    step, _ = make_steps(tmp_path, make_model(tmp_path, hidden=1024), 2)
    data = make_data(tmp_path, 8)
    elements = 4 * 1024 + 1024 + 1024 * 3
    done = launch(
        launcher, 2, "train", step, f"--data={data}", DEVICE, "--json", "--steps=3",
        "--collectives=nccl", env=devices(2),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Half of the elements, twice in each step; parts are filled up.
    assert 3 * 4 * elements <= found["sent_bytes"] < 3 * (4 * elements + 16384)
    assert 0 < found["exposed_seconds"] and 0 < found["send_seconds"] < found["seconds"]


@needs_emulation
def test_overlap(tmp_path, launcher):
    """What a bucket is computed behind is in line before anybody waits: the
    processor asks for the end of a step alone."""
    # The weights are more than the first bucket's 1 MiB; the bias is another.
    hidden = 1 << 16
    step, _ = make_steps(tmp_path, make_model(tmp_path, hidden=hidden), 2)
    calls = tmp_path / "calls"
    rank = command(
        "train", step, f"--data={make_data(tmp_path, 2)}", DEVICE, "--quiet",
        "--collectives=nccl",
    )  # fmt: skip
    done = launch_each(
        launcher, [["env", f"MPOPT_EMULATED_LOG={calls}", *rank], [*rank]]
    )
    assert done.returncode == 0, done.stderr
    lines = [
        name
        for name in (line.split(" ")[0] for line in calls.read_text().splitlines())
        if name in ("cuGraphLaunch", "ncclGroupEnd", "ncclAllGather",
                    "cuStreamQuery", "cuStreamSynchronize")
    ]  # fmt: skip
    first = lines.index("cuGraphLaunch")
    in_line = lines[first : lines.index("cuStreamQuery", first)]
    assert "cuStreamSynchronize" not in in_line
    exchanges = [i for i, name in enumerate(in_line) if name == "ncclGroupEnd"]
    assert len(exchanges) >= 2
    assert in_line[exchanges[0] + 1] == "ncclAllGather"
    assert "cuGraphLaunch" in in_line[exchanges[0] : exchanges[1]]
    assert in_line[-1] == "cuGraphLaunch"


#
# Availability of NCCL
#


@needs_emulation
def test_one_device_for_two(tmp_path, launcher):
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data = f"--data={make_data(tmp_path, 4)}"
    done = launch(launcher, 2, "train", step, data, DEVICE)
    assert done.returncode == 0
    assert (
        "what devices reduce goes through the host: ranks 0 and 1 have the same device"
        in done.stderr
    )
    message = refuse(
        launcher, 2, "train", step, data, DEVICE, "--collectives=nccl", "--quiet"
    )
    assert message == (
        "mp-run train: error: --collectives=nccl: ranks 0 and 1 have the same device"
    )
    done = launch(launcher, 2, "train", step, data, DEVICE, env=devices(2))
    assert done.returncode == 0
    assert "2 ranks, by Open MPI" in done.stderr
    assert "; devices reduce by NCCL 2.27.0\n" in done.stderr


def test_wrong_word(tmp_path, launcher):
    done = launch(
        launcher, 2, "train", "step.mlirbc", "--data=x.npz", "--collectives=ncll"
    )
    assert done.returncode == USAGE
    assert "expected auto, nccl or mpi, got 'ncll'" in done.stderr


def test_other_choice(tmp_path, launcher):
    """All ranks have chosen the same."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    rank = command("train", step, f"--data={make_data(tmp_path, 4)}", DEVICE, "--quiet")
    done = launch_each(launcher, [rank, [*rank, "--collectives=mpi"]])
    assert done.returncode == 1
    assert (
        "rank 1 is about to do something else: collectives = mpi; rank 0 has "
        "collectives = auto" in done.stderr
    )


@needs_linker
@needs_double
def test_library(tmp_path, launcher):
    """PTX by the driver's double, whose library has NCCL's names, too."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2, "--optimizer=adamw")
    data, out = make_data(tmp_path, 8), tmp_path / "out.safetensors"
    variables = emulated_kernels(tmp_path, step, "--dim=batch=8", "--in-place")
    del variables["MPOPT_EMULATED_LOG"]
    run = (launcher, 2, step, data, out, "--quiet")
    expected = train(*run, DEVICE, env=devices(2))
    found = train(
        *run, "--device=cuda", "--collectives=nccl",
        env=devices(2, MPOPT_NCCL_LIBRARY=str(DOUBLE / "libcuda.so.1"), **variables),
    )
    assert_equal_bits(found, expected)
    # Packages of PyPI are installed next to the package of mp-run, which is
    # searched if the machine has no library that can be opened.
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "libnccl.so.2").write_text("no library\n")
    paths = f"{tmp_path / 'none'}:{DOUBLE}"
    program = tmp_path / "mp_opt" / "bin" / "mp-run"
    beside = tmp_path / "nvidia" / "nccl" / "lib" / "libnccl.so.2"
    for file in (program, beside):
        file.parent.mkdir(parents=True)
    shutil.copy(MP_RUN, program)
    # The driver's own, with its state.
    beside.symlink_to(DOUBLE / "libcuda.so.1")
    subprocess.run(
        [launcher, "-n", "2", program, "train", step, f"--data={data}", "-o", out,
         "--quiet", "--device=cuda", "--collectives=nccl"],
        check=True, timeout=60, env=devices(2, **{**variables, "LD_LIBRARY_PATH": paths}),
    )  # fmt: skip
    assert_equal_bits(load_safetensors(out), expected)
    environment = devices(2, MPOPT_NCCL_LIBRARY="libnone.so.2", **variables)
    run = (launcher, 2, "train", step, f"--data={data}", "--device=cuda")
    done = launch(*run, env=environment)
    assert done.returncode == 0, done.stderr
    assert "goes through the host: rank 0 has no NCCL: libnone.so.2:" in done.stderr
    message = refuse(*run, "--collectives=nccl", env=environment)
    assert "rank 0 has no NCCL" in message and "MPOPT_NCCL_LIBRARY may" in message
    # Something else.
    environment["MPOPT_NCCL_LIBRARY"] = "libm.so.6"
    message = refuse(*run, "--collectives=nccl", env=environment)
    assert "libm.so.6 has no nccl" in message


@needs_linker
@needs_double
@pytest.mark.skipif(
    "MPOPT_TEST_NCCL" not in os.environ, reason="names NVIDIA's libnccl.so.2"
)
def test_real_library(tmp_path, launcher):
    """NVIDIA's NCCL starts, has a version and an identifier, and says that the
    driver's double is no driver."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    variables = emulated_kernels(tmp_path, step, "--dim=batch=8", "--in-place")
    message = refuse(
        launcher, 2, "train", step, f"--data={make_data(tmp_path, 4)}",
        "--device=cuda", "--quiet",
        env=devices(2, MPOPT_NCCL_LIBRARY=os.environ["MPOPT_TEST_NCCL"], **variables),
    )
    assert "NCCL: ncclCommInitRank: unhandled cuda error" in message


#
# Failures
#


@pytest.mark.parametrize(
    "rank, number", [(0, signal.SIGKILL), (2, signal.SIGKILL), (1, signal.SIGSTOP)]
)
def test_lost_ranks(tmp_path, launcher, rank, number):
    step, _ = make_steps(tmp_path, make_model(tmp_path), 3)
    errors = lose_rank(
        launcher, 3, step, make_data(tmp_path, 30), rank, number, DEVICE,
        "--collectives=nccl", env=devices(3),
    )
    if number == signal.SIGSTOP:
        assert "no answer from other ranks for 3 s (--timeout)" in errors


@needs_emulation
def test_no_start(tmp_path, launcher):
    """What all ranks meet, one says."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    message = refuse(
        launcher, 2, "train", step, f"--data={make_data(tmp_path, 4)}", DEVICE,
        "--quiet", env=devices(2, MPOPT_EMULATED_FAIL="ncclCommInitRank:0:1"),
    )
    assert "NCCL: ncclCommInitRank: unhandled cuda error (" in message
    assert message.endswith("; --collectives=mpi does without")


# Failures on one rank: a function, the number of calls that succeed, and its
# error.
FAILURES = {
    "ncclGetUniqueId:0:2": (0, "rank 0 has no NCCL: ncclGetUniqueId: unhandled"),
    "ncclCommInitRank:0:5": (1, "NCCL: ncclCommInitRank: invalid usage ("),
    "ncclSend:5:1": (1, "NCCL: ncclSend: unhandled cuda error"),
    "ncclRecv:3:4": (0, "NCCL: ncclRecv: invalid argument"),
    "ncclGroupEnd:2:3": (1, "NCCL: ncclGroupEnd: unknown result code"),
    "ncclAllGather:2:2": (1, "NCCL: ncclAllGather: unhandled system error"),
    "cuEventRecord:3:719": (1, "LAUNCH_FAILED (cuEventRecord is to fail)"),
    "cuStreamQuery:2:719": (0, "cuStreamQuery, CUDA_ERROR_LAUNCH_FAILED"),
    "cuEventCreate:1:2": (1, "cuEventCreate, CUDA_ERROR_OUT_OF_MEMORY"),
}


@needs_emulation
@pytest.mark.parametrize("failure", FAILURES)
def test_failures(tmp_path, launcher, failure):
    """One message, and nothing hangs."""
    failing, expected = FAILURES[failure]
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    done = launch_each(
        launcher,
        [
            ["env", f"MPOPT_EMULATED_FAIL={failure if rank == failing else ''}",
             *command("train", step, f"--data={make_data(tmp_path, 10)}", DEVICE,
                      "--quiet", "--collectives=nccl", "--timeout=5")]
            for rank in range(2)
        ],
    )  # fmt: skip
    assert done.returncode not in (0, TIMED_OUT)
    lines = [l for l in done.stderr.splitlines() if l.startswith("mp-run train: ")]
    assert len(lines) == 1 and expected in lines[0], done.stderr
