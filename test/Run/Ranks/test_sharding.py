# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpiexec -n N mp-run train --shard=optimizer: ranks that keep a part of the
optimizer's states come to the bits of ranks that keep all of them."""

import json
import re

import numpy as np
import pytest

from ranks import find_launcher, launch, launcher, make_data, make_model
from ranks import make_steps, train
from runs import BAD_INPUT, load_safetensors, read_log
from support import run_mp_opt

CASES = {
    "adamw": ("--optimizer=adamw",),
    "adamw, bf16": ("--optimizer=adamw", "--mixed-bf16"),
    "adam, fp16": ("--optimizer=adam", "--mixed-fp16"),
    "momentum, averages": ("--optimizer=momentum", "--average=ema:decay=0.9"),
    "adagrad, groups": ("--optimizer=adagrad", "--group=w2:lr-scale=0.1"),
    "clipped values": ("--optimizer=adamw", "--clip-value=1e-3"),
}
# Sums over a parameter come in parts, one for each rank.
TO_ROUNDING = {
    "lamb": ("--optimizer=lamb",),
    "clipped norm": ("--optimizer=adamw", "--clip-norm=0.05"),
}


@pytest.fixture
def many():
    return find_launcher("openmpi")


def run_both(folder, launcher, ranks, step, data, *flags):
    """States with and without sharding, and what is said of it."""
    plain = train(
        launcher, ranks, step, data, folder / "p.safetensors", *flags, "--quiet"
    )
    done = launch(
        launcher, ranks, "train", step, f"--data={data}", "--shard=optimizer", "-o",
        folder / "s.safetensors", *flags, "--progress=none",
    )
    assert done.returncode == 0, done.stderr
    return plain, load_safetensors(folder / "s.safetensors"), done.stderr


@pytest.mark.parametrize("case", [*CASES, *TO_ROUNDING])
def test_states(tmp_path, many, case):
    """Of sizes that do not divide by the number of ranks, too; in fp16 one
    rank's batch overflows."""
    ranks = 3
    model = make_model(tmp_path, hidden=1001)
    step, _ = make_steps(tmp_path, model, ranks, *({**CASES, **TO_ROUNDING}[case]))
    data = make_data(
        tmp_path, 10 * ranks, overflow=[3 * ranks + 1] if "fp16" in case else []
    )
    plain, sharded, said = run_both(tmp_path, many, ranks, step, data, "--steps=40")
    assert plain.keys() == sharded.keys()
    for name, value in plain.items():
        assert value.shape == sharded[name].shape
        if case in CASES:
            np.testing.assert_array_equal(value, sharded[name], err_msg=name)
        else:
            np.testing.assert_allclose(
                value, sharded[name], rtol=1e-4, atol=1e-6, err_msg=name
            )
    # w1 and w2 have 4004 and 3003 elements; b1 has fewer than are shared.
    states = sum(
        value.nbytes for name, value in plain.items()
        if re.fullmatch(r"w[12]\.(exp_avg|exp_avg_sq|velocity|sum|ema)", name)
    )
    whole, own = re.search(r"of ([\d.]+) MB of states, each has ([\d.]+)", said).groups()
    assert float(whole) == pytest.approx(states / 1e6, abs=0.06)
    assert float(own) == pytest.approx(states / 1e6 / ranks, abs=0.06)


@pytest.mark.parametrize("ranks", [2, 4])
def test_bits_of_one(tmp_path, launcher, ranks):
    model = make_model(tmp_path, hidden=700, dropout=True)
    step, one = make_steps(tmp_path, model, ranks, "--optimizer=adamw", "--mixed-bf16")
    data = make_data(tmp_path, 4 * ranks)
    steps = 6
    found = train(
        launcher, ranks, step, data, tmp_path / "r.safetensors", "--quiet",
        "--shard=optimizer", f"--steps={steps}",
    )
    expected = train(
        launcher, 1, one, data, tmp_path / "o.safetensors", "--quiet",
        f"--steps={ranks * steps}", "--ranks=1",
    )
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_accumulation(tmp_path, many):
    """Parameters are gathered where an update is made."""
    model, data = make_model(tmp_path, hidden=1001), make_data(tmp_path, 16)
    step = tmp_path / "step.mlirbc"
    run_mp_opt(
        model, "--train", "--loss=softmax-cross-entropy", "--optimizer=adamw",
        "--summary=none", "--accumulate=3", "--distribute", "-o", step,
    )
    plain, sharded, _ = run_both(tmp_path, many, 2, step, data, "--steps=12")
    for name, value in plain.items():
        np.testing.assert_array_equal(value, sharded[name], err_msg=name)


def test_bytes(tmp_path, many):
    """As many as an all-reduce sends; where the model reads parameters in bf16
    only, a quarter fewer."""
    data = make_data(tmp_path, 8)
    sent = {}
    for name, precision in (("fp32", ()), ("bf16", ("--mixed-bf16",))):
        folder = tmp_path / name
        folder.mkdir()
        model = make_model(folder, hidden=8000)
        step, _ = make_steps(folder, model, 2, "--optimizer=adamw", *precision)
        for shard in ("none", "optimizer"):
            done = launch(
                many, 2, "train", step, f"--data={data}", f"--shard={shard}",
                "--quiet", "--json", "--steps=4",
            )
            assert done.returncode == 0, done.stderr
            sent[name, shard] = json.loads(done.stdout)["sent_bytes"]
    assert sent["fp32", "optimizer"] == pytest.approx(sent["fp32", "none"], rel=0.01)
    assert sent["bf16", "optimizer"] == pytest.approx(
        0.75 * sent["bf16", "none"], rel=0.05
    )


def test_checkpoints(tmp_path, launcher):
    """Have whole states: as many ranks go on to the same bits, one goes on with
    what four have written, and the other way."""
    model, data = make_model(tmp_path, hidden=1001), make_data(tmp_path, 24)
    step, _ = make_steps(tmp_path, model, 2, "--optimizer=adamw", "--mixed-bf16")
    common = ("--quiet", "--shard=optimizer")
    whole = train(
        launcher, 2, step, data, tmp_path / "w.safetensors", "--steps=9", *common
    )
    for steps in (4, 9):
        resumed = train(
            launcher, 2, step, data, tmp_path / "r.safetensors", *common,
            f"--checkpoint={tmp_path / 'c'}", "--resume", f"--steps={steps}",
        )
    for name, value in whole.items():
        np.testing.assert_array_equal(value, resumed[name], err_msg=name)
    # All steps are done: with and without sharding, the current states are
    # written.
    for flags in (("--quiet",), common):
        again = train(
            launcher, 2, step, data, tmp_path / "n.safetensors", *flags,
            f"--checkpoint={tmp_path / 'c'}", "--resume", "--steps=9",
        )
        for name, value in whole.items():
            np.testing.assert_array_equal(value, again[name], err_msg=name)


def test_validation_and_averages(tmp_path, many):
    step, _ = make_steps(
        tmp_path, make_model(tmp_path, hidden=1001), 2, "--average=ema:decay=0.5",
        "--optimizer=momentum",
    )
    data = make_data(tmp_path, 8)
    logs = []
    for shard in ("none", "optimizer"):
        logs.append(tmp_path / f"{shard}.log")
        train(
            many, 2, step, data, tmp_path / f"{shard}.safetensors", "--quiet",
            "--average", f"--validation={data}", f"--log={logs[-1]}", "--epochs=2",
            f"--shard={shard}",
        )
    plain, sharded = (
        load_safetensors(tmp_path / f"{shard}.safetensors")
        for shard in ("none", "optimizer")
    )
    for name, value in plain.items():
        np.testing.assert_array_equal(value, sharded[name], err_msg=name)
    losses = [[r.get("validation_loss") for r in read_log(log)] for log in logs]
    assert losses[0] == losses[1] and losses[0][-1] is not None


def test_nothing_to_share(tmp_path, many):
    """Small parameters only, or no states."""
    data = make_data(tmp_path, 4)
    for hidden, flags in ((16, ("--optimizer=adamw",)), (1001, ("--optimizer=sgd",))):
        step, _ = make_steps(tmp_path, make_model(tmp_path, hidden=hidden), 2, *flags)
        done = launch(
            many, 2, "train", step, f"--data={data}", "--shard=optimizer",
        )
        assert done.returncode == BAD_INPUT
        assert done.stderr.count("has no state of an optimizer that ranks could") == 1
