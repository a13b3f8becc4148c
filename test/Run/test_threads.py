# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads on machines as they are: more of them than processors, one processor,
another program beside them. Times are the least of some runs, and bounds leave
room for machines that do something else."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from runs import USAGE, attempt, command, fail, make_step, mp_run, train_folder

PROCESSORS = sorted(os.sched_getaffinity(0))
# Loops of a few microseconds, so that waiting is most of what is measured.
CALLS = 500
needs_two = pytest.mark.skipif(len(PROCESSORS) < 2, reason="needs 2 processors")


@pytest.fixture(scope="module")
def step():
    return make_step("mlp784")


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """One batch of those that the data are."""
    path = tmp_path_factory.mktemp("batch") / "batch.npz"
    with np.load(train_folder("mlp784") / "data.npz") as data:
        np.savez(path, **{name: data[name][0] for name in data.files})
    return path


def pin(*processors):
    return lambda: os.sched_setaffinity(0, processors)


def bench(step, batch, threads=None, processors=None, calls=CALLS):
    """Seconds of all calls, and the threads in use."""
    flags = [f"--threads={threads}"] if threads else []
    done = attempt(
        "bench", step, batch, "--in-place", "--json", f"--repeat={calls}",
        *flags, preexec_fn=pin(*processors) if processors else None,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return sum(found["times"]), found["threads"]


def least(step, batch, *arguments, runs=4, **options):
    return min(bench(step, batch, *arguments, **options)[0] for _ in range(runs))


@needs_two
@pytest.mark.parametrize("threads", [3, 8])
def test_more_threads_than_processors(step, batch, threads):
    two = PROCESSORS[:2]
    few = least(step, batch, 2, processors=two)
    many = least(step, batch, threads, processors=two)
    assert many < 3 * few


def test_threads_on_one_processor(step, batch):
    one = PROCESSORS[:1]
    alone = least(step, batch, 1, processors=one)
    many = least(step, batch, 4, processors=one)
    assert many < 3 * alone


@needs_two
def test_a_busy_neighbour(step, batch):
    two = PROCESSORS[:2]
    quiet = least(step, batch, 2, processors=two)
    loop = [sys.executable, "-c", "while True: pass"]
    neighbour = subprocess.Popen(loop, preexec_fn=pin(*two))
    try:
        beside = least(step, batch, 2, processors=two)
    finally:
        neighbour.kill()
        neighbour.wait()
    assert beside < 4 * quiet


def test_as_many_threads_as_processors(step, batch):
    one = PROCESSORS[:1]
    for threads in (None, 1, 7):
        assert bench(step, batch, threads, one, calls=1)[1] == 1
    # A quota may allow fewer.
    _, count = bench(step, batch, calls=1)
    assert 1 <= count <= len(PROCESSORS)
    assert bench(step, batch, 65536, calls=1)[1] == count


def groups():
    """A folder for a new group with the controller cpu, by its version."""
    for version, folder in ((1, "/sys/fs/cgroup/cpu"), (2, "/sys/fs/cgroup")):
        if version == 1 and os.path.exists(f"{folder}/cpu.cfs_quota_us"):
            return version, folder
        try:
            with open(f"{folder}/cgroup.subtree_control") as file:
                if version == 2 and "cpu" in file.read().split():
                    return version, folder
        except OSError:
            pass
    pytest.skip("no control groups with the controller cpu")


@pytest.fixture
def group():
    """Limits a new group, and yields what moves a process there."""
    version, parent = groups()
    outer = f"{parent}/mp-opt-test-{os.getpid()}"
    try:
        os.mkdir(outer)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")

    def write(name, text):
        with open(f"{outer}/{name}", "w") as file:
            file.write(text)

    def limit(quota):
        if version == 1:
            write("cpu.cfs_period_us", "100000")
            write("cpu.cfs_quota_us", str(quota))
        else:
            write("cpu.max", f"{quota} 100000")
        return lambda: write("cgroup.procs", str(os.getpid()))

    try:
        yield limit
    finally:
        os.rmdir(outer)


@pytest.mark.parametrize("quota, most", [(50000, 1), (100000, 1), (100001, 2)])
def test_a_quota(step, batch, group, quota, most):
    done = subprocess.run(
        command("bench", step, batch, "--json", "--repeat=1", "--threads=8"),
        capture_output=True, text=True, timeout=120, preexec_fn=group(quota),
    )
    assert done.returncode == 0, done.stderr
    used = json.loads(done.stdout)["threads"]
    assert used == min(most, len(PROCESSORS)) or used < most


def test_same_bits(tmp_path, step, batch):
    results = []
    for threads in (1, 2, 8):
        path = tmp_path / f"{threads}.npz"
        mp_run("run", step, batch, f"--threads={threads}", "-o", path)
        with np.load(path) as data:
            results.append({name: data[name].tobytes() for name in data.files})
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "abc", "2x", "1.5", "0x2", " 2", "65537", "4294967297",
     "99999999999", "18446744073709551617", "9" * 40],
)
@pytest.mark.parametrize("tool", ["run", "bench", "compare", "train"])
def test_nonsense(tool, text):
    message = fail(USAGE, tool, "model.onnx", f"--threads={text}")
    assert message == (
        f"mp-run {tool}: error: --threads: expected a number from 1 to 65536, "
        f"got '{text}'\n"
    )


@pytest.mark.parametrize("flag", [["--threads="], ["--threads"]])
def test_nothing(flag):
    message = fail(USAGE, "run", "model.onnx", *flag)
    assert "--threads: expected a number from 1 to 65536" in message
