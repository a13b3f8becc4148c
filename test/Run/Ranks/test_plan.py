# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run plan: what a step on many ranks would take, from its own buckets."""

import json

import pytest

from runs import BAD_INPUT, DEVICE, MODELS, USAGE, fail, mp_run
from support import run_mp_opt, scratch_dir


@pytest.fixture(scope="module")
def step():
    path = scratch_dir("plan") / "step.mlirbc"
    run_mp_opt(
        MODELS / "train" / "mlp_mse" / "forward.onnx", "--train", "--loss=mse",
        "--optimizer=adamw", "--distribute", "--summary=none", "-o", path,
    )
    return path


def plan(step, *flags):
    done = mp_run("plan", step, "--random", "--dim=batch=64", "--json", *flags)
    return json.loads(done.stdout)


def simulate(found, ranks, share, bandwidth):
    """The seconds that a step waits, of a network without latency: a bucket
    is sent when it is ready and the one before has arrived; what waits moves
    all that comes later."""
    events = []
    for number, bucket in enumerate(found["buckets"]):
        events.append((bucket["ready"], 0, number))
        if bucket["needed"]:
            events.append((bucket["needed"], 1, number))
    waited, free, ends = 0, 0, {}
    for time, is_need, number in sorted(events):
        now = time + waited
        if is_need:
            waited += max(0, ends[number] - now)
            continue
        sent = found["buckets"][number]["bytes"] * share
        free = ends[number] = (
            max(now, free) + 2 * sent * (ranks - 1) / ranks / bandwidth
        )
    return waited


def test_device(step):
    """The same buckets by the times of a device's events."""
    flags = ("--ranks=8", "--network=25g")
    found = plan(step, *flags, DEVICE)
    expected = plan(step, *flags)
    keys = ("bytes", "fp32")
    assert [[b.get(k) for k in keys] for b in found["buckets"]] == [
        [b.get(k) for k in keys] for b in expected["buckets"]
    ]
    ready = [b["ready"] for b in found["buckets"]]
    assert 0 < ready[0] and ready == sorted(ready) and ready[-1] < found["seconds"]
    for bucket in found["buckets"]:
        assert bucket["ready"] <= bucket["needed"] <= found["seconds"]


def test_waits(step):
    """Of a network that is slow beside the step, all of it is a wait."""
    found = plan(step, "--ranks=2,8", "--network=0.001,0", "--jitter=0")
    assert found["gradient_bytes"] == sum(b["bytes"] for b in found["buckets"])
    for case in found["plans"]:
        share = (0.5 if case["wire"] == "bf16" else 1) * (0.75 if case["sharded"] else 1)
        expected = simulate(found, case["ranks"], share, 1e6) / case["accumulate"]
        assert case["exposed_seconds"] == pytest.approx(expected, rel=1e-3)
        total = found["seconds"] + expected
        assert case["step_seconds"] == pytest.approx(total, rel=1e-3)
        assert case["efficiency"] == pytest.approx(found["seconds"] / total, rel=1e-3)
        assert case["exposed_seconds"] > 0
    assert found["ranks_at_90_percent_fp32"] == 1


def test_order(step):
    """More ranks, more bytes and latency never help; sizes are the step's."""
    found = plan(step, "--ranks=8,64,1024", "--network=nvlink+400g")
    by = {
        (c["ranks"], c["wire"], c["accumulate"], c["sharded"]): c
        for c in found["plans"]
    }
    for ranks in (8, 64, 1024):
        fp32 = by[ranks, "fp32", 1, False]
        assert fp32["sent_bytes"] == pytest.approx(
            2 * found["gradient_bytes"] * (ranks - 1) / ranks, rel=0.01
        )
        assert by[ranks, "bf16", 1, False]["efficiency"] >= fp32["efficiency"]
        assert by[ranks, "fp32", 4, False]["efficiency"] >= fp32["efficiency"]
        assert by[ranks, "fp32", 1, True]["sent_bytes"] < fp32["sent_bytes"]
    assert (
        by[8, "fp32", 1, False]["exposed_seconds"]
        <= by[64, "fp32", 1, False]["exposed_seconds"]
        <= by[1024, "fp32", 1, False]["exposed_seconds"]
    )


def test_text(step):
    done = mp_run(
        "plan", step, "--random", "--dim=batch=64", "--network=25g", "--ranks=4"
    )
    assert "of gradients in" in done.stdout and "with 4 ranks, in fp32:" in done.stdout
    assert "2.9 GB/s and 15 us between ranks" in done.stdout
    nodes = mp_run(
        "plan", step, "--random", "--dim=batch=64", "--network=48,4:8,370,1.9"
    )
    assert "between nodes of 8, 370 GB/s and 1.9 us within" in nodes.stdout


def test_measured_once(step, tmp_path):
    """A plan's figures make the same plan, and that of another network."""
    found = plan(step, "--network=100g", "--ranks=2,64")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(found))
    again = json.loads(
        mp_run("plan", path, "--network=100g", "--ranks=2,64", "--json").stdout
    )
    assert again["plans"] == found["plans"]
    assert [b["bytes"] for b in again["buckets"]] == [b["bytes"] for b in found["buckets"]]
    slow = json.loads(
        mp_run("plan", path, "--network=0.001,5", "--ranks=2,64", "--json").stdout
    )
    assert slow["seconds"] == found["seconds"]
    assert slow["plans"][0]["efficiency"] < found["plans"][0]["efficiency"]


BUCKET = {"bytes": 1000, "ready": 0.5}


@pytest.mark.parametrize(
    "content, expected",
    [
        (b"", "plan.json"),
        (b"[1]", "expected a plan with 'seconds', above 0"),
        (b"[[[[1]]]]", "it is nested more than 3 deep"),
        ({"seconds": 0, "buckets": [BUCKET]}, "'seconds', above 0"),
        ({"seconds": 1}, "expected a plan with 'buckets'"),
        ({"seconds": 1, "buckets": []}, "expected a plan with 'buckets'"),
        ({"seconds": 1, "buckets": [7]}, "bucket 0: it is not an object"),
        ({"seconds": 1, "buckets": [BUCKET, {"ready": 0}]}, "bucket 1: expected 'bytes'"),
        ({"seconds": 1, "buckets": [{**BUCKET, "bytes": -1}]}, "expected 'bytes'"),
        ({"seconds": 1, "buckets": [{**BUCKET, "ready": 2}]}, "expected 'ready'"),
        ({"seconds": 1, "buckets": [{**BUCKET, "needed": 2}]}, "'needed': expected"),
        ({"seconds": 1, "buckets": [{**BUCKET, "needed": 0.1}]}, "'needed': expected"),
    ],
)
def test_wrong_figures(tmp_path, content, expected):
    path = tmp_path / "plan.json"
    if not isinstance(content, bytes):
        content = json.dumps(content).encode()
    path.write_bytes(content)
    message = fail(BAD_INPUT, "plan", path, "--network=25g")
    assert expected in message and "plan.json" in message
    assert message.count("\n") == 1


def test_figures_without_data(tmp_path):
    path = tmp_path / "plan.json"
    assert "cannot read it" in fail(BAD_INPUT, "plan", path, "--network=25g")
    path.write_text(json.dumps({"seconds": 1, "buckets": [BUCKET]}))
    for more in (["--random"], ["data.npz"], ["--input=x=x.npy"]):
        message = fail(USAGE, "plan", path, *more, "--network=25g")
        assert "has what was measured: expected no data" in message


@pytest.mark.parametrize(
    "flags, expected",
    [
        ((), "expected --network=NAME"),
        (("--network=400",), "did you mean '400g'?"),
        (("--network=1,2:0,3,4",), "expected 10g"),
        (("--network=-1,2",), "expected 10g"),
        (("--network=25g", "--ranks=0"), "--ranks: expected N,N,... from 1 on, got '0'"),
        (("--network=25g", "--ranks=8,"), "got '8,'"),
        (("--network=25g", "--jitter=-1"), "--jitter"),
        (("--network=25g", "--device=emulate"), "did you mean 'emulated'?"),
    ],
)
def test_wrong_usage(step, flags, expected):
    assert expected in fail(USAGE, "plan", step, "--random", *flags)


def test_steps_that_reduce_nothing(tmp_path):
    alone = tmp_path / "step.onnx"
    run_mp_opt(
        MODELS / "train" / "mlp_mse" / "forward.onnx", "--train", "--loss=mse",
        "--summary=none", "-o", alone,
    )
    message = fail(BAD_INPUT, "plan", alone, "--random", "--network=25g")
    assert "reduces nothing over ranks" in message
