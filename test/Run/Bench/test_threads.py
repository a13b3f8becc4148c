# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads on machines as they are: more of them than processors, one processor,
another program beside them. Times are the least of some runs, and bounds leave
room for machines that do something else."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from runs import (
    USAGE, command, fail, make_step, mp_run, train_folder, write_model,
)

PROCESSORS = sorted(os.sched_getaffinity(0))
# Loops of a few microseconds: waiting dominates the measured time.
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


class Bench:
    """A process that measures when it is asked to."""

    def __init__(self, step, batch, threads, processors):
        self.process = subprocess.Popen(
            command(
                "bench", step, batch, "--in-place", "--turns",
                f"--threads={threads}",
            ),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=pin(*processors),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()

    def run(self):
        """Seconds of all calls."""
        self.process.stdin.write(f"{CALLS} 3\n")
        self.process.stdin.flush()
        return sum(json.loads(self.process.stdout.readline())["times"])


def compare(step, batch, threads, processors):
    """Seconds with each number of threads, in turns."""
    with Bench(step, batch, threads[0], processors) as one:
        with Bench(step, batch, threads[1], processors) as other:
            pairs = [(one.run(), other.run()) for _ in range(5)]
    return [min(times) for times in zip(*pairs)]


@needs_two
@pytest.mark.parametrize("threads", [3, 8])
def test_more_threads_than_processors(step, batch, threads):
    few, many = compare(step, batch, (2, threads), PROCESSORS[:2])
    assert many < 3 * few


def test_threads_on_one_processor(step, batch):
    alone, many = compare(step, batch, (1, 4), PROCESSORS[:1])
    assert many < 3 * alone


@needs_two
def test_a_busy_neighbour(step, batch):
    """Each block is long enough for some turns of the neighbour. Blocks with
    and without it take turns: a step slows down while it trains, because its
    gradients become subnormal."""
    two = PROCESSORS[:2]
    loop = [sys.executable, "-c", "while True: pass"]
    with Bench(step, batch, 2, two) as bench:
        neighbour = subprocess.Popen(loop, preexec_fn=pin(*two))

        def run(change):
            neighbour.send_signal(change)
            return bench.run()

        try:
            pairs = [(run(signal.SIGSTOP), run(signal.SIGCONT)) for _ in range(7)]
        finally:
            neighbour.kill()
            neighbour.wait()
    # The first blocks are the ones before gradients become subnormal.
    quiet, beside = (min(times) for times in zip(*pairs[2:]))
    assert beside < 4 * quiet


def count_threads(model, *flags, before=None):
    """Threads that are in use, of a model that is soon compiled."""
    done = subprocess.run(
        command("bench", model, "--random", "--json", "--repeat=1", *flags),
        capture_output=True, text=True, timeout=120, preexec_fn=before,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["threads"]


@pytest.fixture
def small(tmp_path):
    return write_model(tmp_path, "g (float[4] x) => (float[4] y) { y = Relu(x) }")


def test_as_many_threads_as_processors(small):
    one = pin(PROCESSORS[0])
    for flags in ([], ["--threads=1"], ["--threads=7"]):
        assert count_threads(small, *flags, before=one) == 1
    # A quota may allow fewer.
    count = count_threads(small)
    assert 1 <= count <= len(PROCESSORS)
    assert count_threads(small, "--threads=65536") == count


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
@pytest.mark.parametrize("flags", [[], ["--threads=8"]])
def test_a_quota(small, group, quota, most, flags):
    allowed = count_threads(small)
    used = count_threads(small, *flags, before=group(quota))
    assert used == min(most, allowed)


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
