# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large inputs of a step are copied to a device during the step before."""

import json
import os
import re

import numpy as np
import pytest

from runs import DEVICE, DIVERGED, attempt, load_safetensors, mp_run
from runs import needs_emulator, read_log, write_model

WIDTH, BATCH, ROWS = 5000, 8, 40
BYTES = 4 * BATCH * WIDTH

# Sums of small integers are exact in any order. Rows are weighted by small
# labels, which are copied in the step's stream.
STEP = f"""
step (float[n,{WIDTH}] x, float[n,1] labels, float[{WIDTH}] w)
  => (float loss, float[{WIDTH}] w_new)
<float[{WIDTH}] w = {{{", ".join(["0"] * WIDTH)}}}, int64[1] rows = {{0}}>
{{
  weighted = Mul(x, labels)
  sums = ReduceSum<keepdims = 0>(weighted, rows)
  w_new = Add(w, sums)
  loss = ReduceSum<keepdims = 0>(sums)
}}
"""
# As if pinned memory was short.
SHORT = {"MPOPT_EMULATED_FAIL": "cuMemAllocHost:0:2"}
WARNING = "batches are copied before steps, and not during the steps before: "


@pytest.fixture
def step(tmp_path):
    return write_model(tmp_path, STEP)


def make_data(tmp_path, dtype=np.float32):
    generator = np.random.default_rng(3)
    x = generator.integers(-4, 5, (ROWS, WIDTH)).astype(dtype)
    labels = generator.integers(1, 5, (ROWS, 1)).astype(dtype)
    path = tmp_path / "data.npz"
    np.savez(path, x=x, labels=labels)
    return path


def train(tmp_path, step, data, *flags, device=DEVICE, **variables):
    """The state at the end, the losses, and what is said."""
    end, log = tmp_path / "end.safetensors", tmp_path / "log.jsonl"
    log.unlink(missing_ok=True)
    done = mp_run(
        "train", step, f"--data={data}", f"--batch={BATCH}", device, *flags,
        f"--log={log}", "-o", end, env=dict(os.environ, **variables),
    )
    losses = [record["loss"] for record in read_log(log)]
    return load_safetensors(end)["w"], losses, done.stderr


@pytest.mark.parametrize("order", ["late", "early"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("flags", [(), ("--no-shuffle",)], ids=["shuffled", "in order"])
def test_same_bits(tmp_path, step, dtype, flags, order):
    """Over epochs, with rows that are gathered and converted in memory that each
    batch uses again; whenever the copies are done."""
    data = make_data(tmp_path, dtype)
    flags = (*flags, "--epochs=3")
    expected = train(tmp_path, step, data, *flags, device="--device=cpu")
    found = train(tmp_path, step, data, *flags, MPOPT_EMULATED_STREAMS=order)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1] and len(found[1]) == 3 * ROWS // BATCH
    assert WARNING not in found[2]


SEVERAL = """
step (float[n,5000] x, int64[n,4000] ids, bool[n,70000] mask, float[20000] bias,
      float[5000] w)
  => (float loss, float[5000] w_new)
<float[20000] bias = {%s}, float[5000] w = {%s}, int64[1] rows = {0}>
{
  numbers = Cast<to = 1>(ids)
  summand = ReduceSum<keepdims = 0>(numbers)
  ones = Cast<to = 1>(mask)
  count = ReduceSum<keepdims = 0>(ones)
  offset = ReduceSum<keepdims = 0>(bias)
  both = Sub(summand, count)
  all = Add(both, offset)
  shifted = Add(x, all)
  sums = ReduceSum<keepdims = 0>(shifted, rows)
  w_new = Add(w, sums)
  loss = ReduceMax<keepdims = 0>(w_new)
}
""" % (", ".join(["1"] * 20000), ", ".join(["0"] * 5000))


@pytest.mark.parametrize("order", ["late", "early"])
def test_several_inputs(tmp_path, order):
    """Of several types, and one that has a default and no data."""
    step = write_model(tmp_path, SEVERAL)
    generator = np.random.default_rng(5)
    data = tmp_path / "data.npz"
    np.savez(
        data, x=generator.integers(-3, 4, (24, 5000)).astype(np.float32),
        ids=generator.integers(-2, 3, (24, 4000)),
        mask=generator.integers(0, 2, (24, 70000)).astype(bool),
    )
    expected = train(tmp_path, step, data, "--epochs=2", device="--device=cpu")
    log = tmp_path / "driver.log"
    variables = {"MPOPT_EMULATED_STREAMS": order, "MPOPT_EMULATED_LOG": str(log)}
    found = train(tmp_path, step, data, "--epochs=2", **variables)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1] and len(set(found[1])) == 6
    if DEVICE == "--device=emulated":
        copies = [c for c in read_calls(log) if "pinned" in c]
        sizes = sorted(int(copy.split()[1]) for copy in copies)
        assert sizes == sorted(6 * [8 * 5000 * 4, 8 * 4000 * 8, 8 * 70000])


@needs_emulator
def test_pinned_memory_is_short(tmp_path, step):
    """One line says so, and the steps are the same."""
    data = make_data(tmp_path)
    whole = train(tmp_path, step, data, "--epochs=2")
    found = train(tmp_path, step, data, "--epochs=2", **SHORT)
    np.testing.assert_array_equal(found[0], whole[0])
    assert found[1] == whole[1]
    (line,) = [line for line in found[2].splitlines() if WARNING in line]
    assert ": warning: " in line and "CUDA_ERROR_OUT_OF_MEMORY" in line
    assert f"pinned memory of the host of {BYTES} bytes for input 'x'" in line


@needs_emulator
def test_memory_of_the_device_is_short(tmp_path, step):
    """Enough for the step, but not for the buffer."""
    data = make_data(tmp_path)
    whole = train(tmp_path, step, data, "--epochs=2")
    size = json.loads(
        mp_run(
            "bench", step, "--device=cuda:h200", "--dry-run", "--json", "--in-place",
            f"--dim=n={BATCH}",
        ).stdout
    )
    least = size["memory_bytes"] - BYTES + 1024
    assert size["next_inputs"] == [BYTES]
    found = train(
        tmp_path, step, data, "--epochs=2", MPOPT_EMULATED_MEMORY=str(least)
    )
    np.testing.assert_array_equal(found[0], whole[0])
    assert f"a buffer of the device of {BYTES} bytes for input 'x'" in found[2]


@needs_emulator
def test_failed_copy(tmp_path, step):
    """The step that was running is named."""
    data = make_data(tmp_path)
    # x and labels of the first step, and the state; then x of the second one.
    log = tmp_path / "driver.log"
    train(tmp_path, step, data, MPOPT_EMULATED_LOG=str(log))
    copies = [c for c in read_calls(log) if c.startswith("cuMemcpyHtoD")]
    second = [i for i, c in enumerate(copies) if c == PINNED][1]
    done = attempt(
        "train", step, f"--data={data}", f"--batch={BATCH}", DEVICE, "--quiet",
        env=dict(os.environ, MPOPT_EMULATED_FAIL=f"cuMemcpyHtoDAsync:{second}:719"),
    )
    assert done.returncode not in (0, 134, 139), done.stderr
    assert re.search(r"error: .*step \d: device 'emulated': ", done.stderr)
    assert f"a copy of {BYTES} bytes for input 'x'" in done.stderr, done.stderr
    assert "CUDA_ERROR_LAUNCH_FAILED" in done.stderr


def read_calls(path):
    """The driver's calls, and with them what the log says of them."""
    calls = []
    for line in path.read_text().splitlines():
        if line.startswith(("  on", "  from")):
            calls[-1] += line[1:]
        elif not line.startswith("  "):
            calls.append(line)
    return calls


def steps_of(calls):
    """The calls from one launch of the graph to the next."""
    starts = [i for i, call in enumerate(calls) if call.startswith("cuGraphLaunch")]
    return [calls[i:j] for i, j in zip(starts, [*starts[1:], len(calls)])]


PINNED = f"cuMemcpyHtoDAsync {BYTES} from pinned memory on stream 2"


@needs_emulator
def test_order(tmp_path, step):
    """A batch is copied by another stream, after the step before was launched and
    before its results are waited for."""
    data, log = make_data(tmp_path), tmp_path / "driver.log"
    train(tmp_path, step, data, "--epochs=2", MPOPT_EMULATED_LOG=str(log))
    calls = read_calls(log)
    steps = steps_of(calls)
    count = 2 * ROWS // BATCH
    assert len(steps) == count
    # The first batch is copied before its step, in the same way.
    assert f"cuMemcpyHtoDAsync {BYTES}" not in calls
    assert calls.count(PINNED) == count
    assert calls.index(PINNED) < calls.index("cuGraphLaunch")
    for own in steps[:-1]:
        copied, waited = own.index(PINNED), own.index("cuStreamSynchronize")
        assert copied < own.index("cuMemcpyDtoHAsync 4") < waited
        assert own[copied + 1] == "cuEventRecord on stream 2"
        # The copy of the batch waits until the last one was taken.
        assert own[copied - 1] == "cuStreamWaitEvent 0 on stream 2"
        # The next step takes it.
        taken = own.index(f"cuMemcpyDtoDAsync {BYTES}")
        assert waited < taken
        assert own[taken - 1] == "cuStreamWaitEvent 0"
        assert own[taken + 1] == "cuEventRecord"
        # Labels are small: no pinned memory, and after the results.
        assert waited < own.index(f"cuMemcpyHtoDAsync {4 * BATCH}")
    assert PINNED not in steps[-1]
    # One buffer on the device, two slots of the host; all is freed.
    assert calls.count(f"cuMemAllocHost {BYTES}") == 2
    assert calls.count("cuMemFreeHost") == 2
    # One graph, whichever slot a batch is in.
    assert sum(call.startswith("cuGraphInstantiate") for call in calls) == 1


@needs_emulator
def test_bench_is_as_training(tmp_path, step):
    """With --in-place; other calls copy their inputs themselves."""
    log = tmp_path / "driver.log"
    flags = ("--random", f"--dim=n={BATCH}", DEVICE, "--repeat=3", "--warmup=1")
    environment = dict(os.environ, MPOPT_EMULATED_LOG=str(log))
    for more, pinned in (("--in-place",), 4), ((), 0):
        mp_run("bench", step, *flags, *more, env=environment)
        calls = read_calls(log)
        assert len(steps_of(calls)) == 4
        assert sum(call.startswith(PINNED) for call in calls) == pinned
        assert (f"cuMemAllocHost {BYTES}" in calls) == bool(pinned)
    text = mp_run("bench", step, *flags, "--in-place", env={**os.environ, **SHORT})
    assert re.search(
        r"^inputs +copied in each call, not during the call before: device 'emulated'",
        text.stdout, re.M,
    ), text.stdout


@needs_emulator
def test_small_batches(tmp_path, step):
    """Of up to 64 KiB: no pinned memory, no second stream."""
    data, log = make_data(tmp_path), tmp_path / "driver.log"
    mp_run(
        "train", step, f"--data={data}", "--batch=3", DEVICE, "--quiet",
        env=dict(os.environ, MPOPT_EMULATED_LOG=str(log)),
    )
    text = log.read_text()
    assert 4 * 3 * WIDTH <= 65536 and "stream 2" not in text
    assert "pinned" not in text and "cuMemAllocHost" not in text


def test_checkpoints_and_validation(tmp_path, step):
    """Between steps, while the next batch is copied; and a run that continues."""
    data = make_data(tmp_path)
    folder = tmp_path / "checkpoints"
    whole = train(tmp_path, step, data, "--steps=9", device="--device=cpu")
    more = (f"--checkpoint={folder}", "--checkpoint-every=1", "--resume",
            f"--validation={data}")
    for steps in 4, 9:
        found = train(tmp_path, step, data, f"--steps={steps}", *more)
    np.testing.assert_array_equal(found[0], whole[0])
    assert found[1] == whole[1][4:]


def test_divergence(tmp_path, step):
    """Steps are made again to find the origin: the batch that was copied for the
    next one is not used there."""
    data = make_data(tmp_path)
    with np.load(data) as read:
        x, labels = read["x"], read["labels"].copy()
    labels[20] = np.float32(3e38)
    np.savez(data, x=x * 4, labels=labels)
    texts = []
    for device in "--device=cpu", DEVICE:
        done = attempt(
            "train", step, f"--data={data}", f"--batch={BATCH}", "--no-shuffle",
            "--quiet", device,
        )
        assert done.returncode == DIVERGED, done.stderr
        texts.append(done.stderr)
    assert "in step 3, " in texts[0] and texts[0] == texts[1]
