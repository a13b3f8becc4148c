# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run bench --sweep: times and memory by the size of a dimension."""

import json
import os

import pytest

from runs import BAD_INPUT, USAGE, attempt, fail, make_step, mp_run
from runs import write_model

MODEL = """
f (float[n,64] x, float[64,32] w) => (float[n,32] y)
<float[64,32] w = {%s}>
{ y = MatMul(x, w) }
""" % ", ".join(str(i % 5) for i in range(64 * 32))
FEW = ("--random", "--repeat=3", "--warmup=1")


def sweep(model, sizes, *flags, **options):
    flags = (*FEW, f"--sweep={sizes}", "--json", *flags)
    return json.loads(mp_run("bench", model, *flags, **options).stdout)


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path, MODEL)


def test_rows(model):
    table = sweep(model, "n=8,16")
    assert table["dim"] == "n" and table["memory_bytes"] > 2**28
    rows = table["rows"]
    assert [(row["size"], row["precision"]) for row in rows] == [
        (n, p) for n in (8, 16) for p in ("fp32", "bf16", "fp16")
    ]
    for row in rows:
        assert row["fits"] and 0 < row["p10"] <= row["median"] <= row["p90"]
        expected = row["size"] / row["median"]
        assert row["per_second"] == pytest.approx(expected)
        parts = ("input", "output", "constant", "arena")
        assert row["memory_bytes"] == sum(row[f"{p}_bytes"] for p in parts)
    for row in rows[::3]:
        assert row["output_bytes"] == row["size"] * 32 * 4
        assert row["input_bytes"] + row["constant_bytes"] == (
            row["size"] * 64 * 4 + 64 * 32 * 4
        )


def test_planned_memory_is_what_is_taken(model):
    """That of mp-run bench, which has compiled it."""
    done = mp_run("bench", model, *FEW, "--dim=n=16", "--json")
    figures = json.loads(done.stdout)
    (row,) = sweep(model, "n=16", "--precision=fp16")["rows"]
    (plain,) = sweep(model, "n=16")["rows"][:1]
    assert row["precision"] == "fp16" and plain["precision"] == "fp32"
    assert plain["arena_bytes"] == figures["arena_bytes"]
    assert plain["constant_bytes"] == figures["constant_bytes"]
    assert plain["output_bytes"] == figures["output_bytes"]


def test_memory_ends(model):
    """What does not fit is not run, and the end is where the plan says."""
    environment = dict(os.environ, MPOPT_EMULATED_MEMORY="30000")
    flags = ("--device=emulated", "--precision=bf16")
    table = sweep(model, "n=8,16,200", *flags, env=environment)
    assert table["memory_bytes"] == 30000
    assert [row["fits"] for row in table["rows"]] == [True, True, False]
    assert table["rows"][2]["median"] is None
    most = table["largest"]["bf16"]
    assert 16 < most < 200
    at_end = sweep(model, f"n={most - 8},{most + 8}", *flags, env=environment)
    assert [row["fits"] for row in at_end["rows"]] == [True, False]


def test_sizes_beyond_all_memory(model):
    table = sweep(model, "n=8,1000000000000", "--precision=bf16")
    small, large = table["rows"]
    assert small["fits"] and not large["fits"]
    assert large["memory_bytes"] is None
    assert large["input_bytes"] > table["memory_bytes"]


def test_a_converted_step(tmp_path):
    """It is what it is; its states are not outputs beside the inputs."""
    step = make_step("mlp_mse", "adamw", "--mixed-bf16")
    rows = sweep(step, "batch=4,8")["rows"]
    assert [row["precision"] for row in rows] == ["bf16", "bf16"]
    assert all(row["output_bytes"] < row["input_bytes"] / 8 for row in rows)
    assert rows[0]["memory_bytes"] < rows[1]["memory_bytes"]


def test_text(model):
    flags = (*FEW, "--sweep=n=8,16", "--precision=bf16")
    lines = mp_run("bench", model, *flags).stdout.splitlines()
    assert lines[0].split() == ["n", "precision", "ms", "examples/s", "memory"]
    assert lines[1].split()[:2] == ["8", "bf16"]
    assert lines[3].startswith("memory in all: ")
    assert lines[4].startswith("enough in bf16 for about n=")


def test_min_times(model):
    """Of a device that is not there: those of --dry-run, without data."""
    flags = ("--device=cuda:l4", "--dry-run", "--json")
    done = mp_run("bench", model, "--sweep=n=8,1000000", *flags)
    table = json.loads(done.stdout)
    assert table["memory_bytes"] == 24 * 10**9
    for row in table["rows"]:
        assert row["fits"] and row["median"] is None and row["least"] > 0
        assert row["per_second"] == pytest.approx(row["size"] / row["least"])
    (row,) = (r for r in table["rows"] if r["size"] == 8 and r["precision"] == "fp32")
    alone = json.loads(mp_run("bench", model, "--dim=n=8", *flags).stdout)
    assert row["least"] == pytest.approx(alone["seconds"])
    # A model that fits that device may not fit this machine: it needs 96 GB for
    # inputs and results.
    flags = ("--device=cuda:h200", "--dry-run", "--precision=fp16")
    lines = mp_run("bench", model, "--sweep=n=250000000", *flags).stdout
    assert "too large" not in lines
    lines = mp_run("bench", model, "--sweep=n=10000000000", *flags).stdout
    assert "least ms" in lines and "too large" in lines


@pytest.mark.parametrize(
    "value", ["n=8,8", "n=16,8", "n", "n=", "=3", "n=0", "n=8,x", "n=1,-2"]
)
def test_bad_values(model, value):
    done = attempt("bench", model, *FEW, f"--sweep={value}")
    assert done.returncode == USAGE and done.stderr.count("\n") == 1
    assert "expected NAME=SIZE,SIZE,..." in done.stderr
    assert f"got '{value}'" in done.stderr


@pytest.mark.parametrize("flag", ["--dim=n=8", "--turns"])
def test_flags_that_exclude_it(model, flag):
    done = attempt("bench", model, *FEW, "--sweep=n=8", flag)
    assert done.returncode == USAGE and "--sweep and " in done.stderr


def test_unknown_dimensions(tmp_path, model):
    error = fail(BAD_INPUT, "bench", model, *FEW, "--sweep=batch=8")
    assert "the model has no dimension 'batch': it has n" in error
    static = write_model(tmp_path, MODEL.replace("[n,", "[4,"), "s.onnxtxt")
    error = fail(BAD_INPUT, "bench", static, *FEW, "--sweep=n=8")
    assert "none of its dimensions has a name" in error


def test_inputs_are_not_made_up(model):
    assert "input 'x' is missing" in fail(
        BAD_INPUT, "bench", model, "--sweep=n=8"
    )
