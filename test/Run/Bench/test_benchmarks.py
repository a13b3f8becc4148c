# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/compiled_models.py: engines take turns, tables say what they did."""

import os
import re
import sys

import pytest

import support
from runs import MP_RUN, ROOT, scratch_dir

BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import compiled_models  # noqa: E402
import turns  # noqa: E402

# Answers as an engine does, and writes its name where all can see it.
ENGINE = """
import json, sys
name, seconds, log = sys.argv[1], float(sys.argv[2]), sys.argv[3]
for line in sys.stdin:
    calls, warmup = map(int, line.split())
    if name == "dies":
        sys.exit("out of breath")
    print(name, file=open(log, "a"))
    times = [seconds] * calls
    print(json.dumps({"times": times, "peak_bytes": 1}), flush=True)
"""


def fake(name, seconds, log):
    command = [sys.executable, "-c", ENGINE, name, seconds, log]
    return turns.Engine(name, command, log.parent)


def test_engines_take_turns(tmp_path):
    log = tmp_path / "turns"
    engines = [fake("slow", 0.5, log), fake("fast", 0.125, log)]
    turns.take_turns(engines, rounds=3, seconds=1, limit=60)
    turns.close_all(engines)
    assert log.read_text().split() == ["slow", "fast"] * 4
    slow, fast = engines
    assert slow.ratio(fast) == 4 and slow.median == 0.5
    assert len(slow.blocks) == 3 and slow.calls < fast.calls


def test_others_go_on_without_an_engine_that_fails(tmp_path):
    log = tmp_path / "turns"
    engines = [fake("dies", 0.5, log), fake("lives", 0.5, log)]
    turns.take_turns(engines, rounds=2, seconds=1, limit=60)
    turns.close_all(engines)
    dies, lives = engines
    assert dies.failed == "out of breath" and not dies.blocks
    assert len(lives.blocks) == 2


def test_an_engine_without_an_answer_fails(tmp_path):
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    engine = turns.Engine("silent", command, tmp_path)
    turns.take_turns([engine], rounds=1, seconds=1, limit=0.2)
    engine.close()
    assert "no answer" in engine.failed


def run_script(*arguments):
    """With no peers but onnxruntime, which is in this environment."""
    folder = scratch_dir("benchmarks")
    return support.attempt(
        "-B", BENCHMARKS / "compiled_models.py", *arguments, "--rounds=1",
        "--seconds=0.01", "--threads=1", f"--models={folder}",
        program=sys.executable, timeout=400,
        env={**os.environ, "XDG_CACHE_HOME": str(folder)}
    )


@pytest.mark.parametrize(
    "kind, name, engines",
    [
        ("forward", "bert_hf_op20", ["fp32", "bf16"]),
        ("train", "mlp784", ["fp32", "bf16", "fp16"]),
    ],
)
def test_table(kind, name, engines):
    if not os.access(MP_RUN, os.X_OK):
        pytest.skip("mp-run is not built")
    other = "train" if kind == "forward" else "forward"
    done = run_script(f"--{kind}={name}", f"--{other}=none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch is left out; to install it: python3 -m venv" in done.stderr
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in done.stdout.splitlines()
        if line.startswith(f"| {name} ")
    ]
    titles = next(l for l in done.stdout.splitlines() if "range" in l)
    assert {len(row) for row in rows} == {titles.count("|") - 1}
    labels = [row[2] for row in rows]
    assert labels[:-1] == [f"mp-run {precision}" for precision in engines]
    assert labels[-1].startswith("onnxruntime")
    # Nothing fails, and mp-run takes as long as itself.
    assert all(float(row[3]) > 0 for row in rows)
    assert rows[0][8] == rows[1][9] == "1.00"


def test_names_are_checked():
    done = run_script("--train=mlp783")
    assert done.returncode == 1 and "unknown: mlp783" in done.stderr


def test_results_are_compared():
    made = compiled_models.Measurement.__new__(compiled_models.Measurement)
    errors = {"torch eager fp32": 1e-3, "torch eager autocast": 1e-3}
    made.error = errors.get
    assert made.is_wrong("torch eager fp32")
    assert not made.is_wrong("torch eager autocast")
    assert not made.is_wrong("not compared")
    errors["torch eager autocast"] = float("nan")
    assert made.is_wrong("torch eager autocast")


SCRIPTS = [
    path
    for path in sorted(BENCHMARKS.rglob("*.py"))
    if "__main__" in path.read_text(encoding="utf-8")
]


def test_there_are_scripts():
    assert len(SCRIPTS) > 8


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_take_help(script):
    done = support.attempt(
        "-B", script, "--help", program=sys.executable, code=0
    )
    assert done.stdout.startswith(f"usage: {script.name}")
    # Their purpose is said, beyond the flags.
    purpose = re.search(r'"""(.*)\n', script.read_text(encoding="utf-8"))[1]
    assert purpose in done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_refuse_unknown_flags(script):
    done = support.attempt(
        "-B", script, "--no-such-flag", program=sys.executable
    )
    assert done.returncode == 2 and "usage:" in done.stderr, done.stderr
