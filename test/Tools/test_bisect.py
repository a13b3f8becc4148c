# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt bisect finds the nodes that a check needs in fp32."""

import json
import math
import os
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
import searches
from searches import run
from support import MP_OPT

LAYERS = 300


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    path = tmp_path_factory.mktemp("chain") / "chain.onnx"
    searches.make_chain(LAYERS, path)
    return path


def bisect(model, check, *flags, code=0, **options):
    return run("bisect", model, "--fp16", f"--check={check}", *flags, code=code,
               **options)


@pytest.mark.parametrize("culprits", [[177], [17, 200, 201]])
def test_planted_nodes_are_found(culprits, chain, tmp_path):
    names = [f"layer{index}" for index in culprits]
    check = searches.write_check(tmp_path, searches.fail_for(*([n] for n in names)))
    policy = tmp_path / "policy.yaml"
    found = json.loads(
        bisect(chain, check + " {}", "-o", policy, "--json").stdout)
    assert found["nodes"] == names and found["minimal"]
    assert found["candidates"] == LAYERS
    runs = searches.count_runs(tmp_path)
    assert found["runs"] == runs
    count = len(names)
    bound = count * (math.ceil(math.log2(LAYERS)) + math.ceil(math.log2(count)) + 3)
    # Three models at the beginning, two runs at the end.
    assert runs <= bound + 5
    low = tmp_path / "low.onnx"
    run(chain, f"--policy={policy}", "-o", low)
    assert subprocess.run(f"{check} {low}", shell=True).returncode == 0
    run(chain, "--fp16", "-o", low)
    assert subprocess.run(f"{check} {low}", shell=True).returncode == 1


def test_nodes_that_fail_together(chain, tmp_path):
    check = searches.write_check(
        tmp_path, searches.fail_for(["layer3", "layer250"]))
    found = json.loads(bisect(chain, check, "--json").stdout)
    assert found["nodes"] in (["layer3"], ["layer250"])


def test_nodes_without_names(tmp_path):
    """The conversion renames the output of the last node, which names it."""
    model = tmp_path / "m.onnx"
    searches.make_chain(4, model)
    changed = onnx.load(model)
    for node in changed.graph.node:
        node.name = ""
    onnx.save(changed, model)
    # The conversion keeps the names of weights, and their bytes have types.
    check = searches.write_check(tmp_path, searches.fail_for(["layer3"]))
    policy = tmp_path / "policy.yaml"
    found = json.loads(bisect(model, check, "-o", policy, "--json").stdout)
    assert found["nodes"] == ["y3"]
    run(model, f"--policy={policy}", "-o", tmp_path / "low.onnx")


def test_a_policy_of_the_user_stays_in_force(chain, tmp_path):
    """Rules by patterns, for the culprit too, and a list."""
    mine = tmp_path / "mine.yaml"
    mine.write_text("nodes:\n  - class: allow\n    regex: 'layer1.*'\n"
                    "  - class: deny\n    name: layer20\n")
    check = searches.write_check(tmp_path, searches.fail_for(["layer17"]))
    policy = tmp_path / "policy.yaml"
    done = bisect(chain, check, f"--policy={mine}", "--allow=Gelu", "-o", policy)
    assert "1 of 299 nodes must stay fp32" in done.stdout
    printed = run("--print-config", f"--policy={policy}").stdout
    assert "layer1.*" in printed and "name: layer20" in printed
    assert "name: layer17" in printed and "Gelu" in printed


def test_tolerance_on_data(tmp_path):
    """One weight that fp16 flushes, which the user allows nevertheless."""
    model = tmp_path / "m.onnx"
    searches.make_chain(12, model)
    changed = onnx.load(model)
    tiny = onnx.numpy_helper.to_array(changed.graph.initializer[7]) * 1e-9
    changed.graph.initializer[7].CopyFrom(
        onnx.numpy_helper.from_array(tiny, "w7"))
    onnx.save(changed, model)
    data = tmp_path / "data.npz"
    np.savez(data, x=np.ones((2, 8), np.float32))
    allow = "--allow-node=layer.*"
    done = run("bisect", model, "--bf16", "--tolerance=0.2", f"--data={data}", allow)
    assert "nothing to find" in done.stdout
    done = run("bisect", model, "--bf16", "--tolerance=0", f"--data={data}", allow)
    assert "12 of 12 nodes must stay fp32" in done.stdout
    assert "random" not in done.stderr
    done = run("bisect", model, "--bf16", "--tolerance=0.5", allow)
    assert "--data=DATA takes real ones" in done.stderr


def test_a_killed_search_goes_on(chain, tmp_path):
    check = searches.write_check(
        tmp_path, searches.fail_for(["layer17"], ["layer200"]))
    state = tmp_path / "state"
    with subprocess.Popen(
        [MP_OPT, "bisect", chain, "--fp16", f"--check={check}", f"--state={state}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        # The killed process leaves its temporary files.
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        end = time.monotonic() + searches.TIMEOUT
        while not state.exists() or state.read_text().count("\n") < 6:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.02)
        process.kill()
    first = state.read_text().count("\n") - 1
    # A line that was cut off counts as no answer.
    with state.open("a") as file:
        file.write('{"model":"12')
    searches.count_runs(tmp_path)
    done = bisect(chain, check, f"--state={state}")
    assert "layer17'" in done.stdout and "layer200'" in done.stdout
    second = searches.count_runs(tmp_path)
    searches.count_runs(tmp_path)
    bisect(chain, check, f"--state={state}")
    # All answers are known; the two runs that confirm the result remain.
    assert searches.count_runs(tmp_path) == 2
    answers = state.read_text().count("\n") - 1
    # The command that was running when its parent was killed may have noted its
    # run afterwards.
    assert first + second - 2 - answers in (0, 1)


def test_a_signal_keeps_the_answers(chain, tmp_path):
    check = searches.write_check(tmp_path, "import time; time.sleep(0.2)\n"
                                 + searches.fail_for(["layer17"]))
    state, policy = tmp_path / "state", tmp_path / "policy.yaml"
    policy.write_text("old")
    with subprocess.Popen(
        [MP_OPT, "bisect", chain, "--fp16", f"--check={check}",
         f"--state={state}", "-o", policy],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:
        while not state.exists() or state.read_text().count("\n") < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=searches.TIMEOUT)
    assert process.returncode == 130
    assert "stopped by a signal" in errors and "goes on" in errors
    assert policy.read_text() == "old"
    bisect(chain, check, f"--state={state}")


@pytest.mark.parametrize("flags, words", [
    (["--bf16"], "of a search with other flags"),
    (["--fp16", "--check=false"], "of a search with another check"),
    (["other.onnx", "--fp16"], "of a search with another model"),
])
def test_states_of_other_searches_are_refused(flags, words, tmp_path):
    for name, count in (("m.onnx", 2), ("other.onnx", 3)):
        searches.make_chain(count, tmp_path / name)
    run("bisect", "m.onnx", "--fp16", "--check=true", "--state=s", cwd=tmp_path)
    if "--check=false" not in flags:
        flags = [*flags, "--check=true"]
    if "other.onnx" not in flags:
        flags = ["m.onnx", *flags]
    before = (tmp_path / "s").read_bytes()
    done = run("bisect", *flags, "--state=s", code=1, cwd=tmp_path)
    assert words in done.stderr
    assert (tmp_path / "s").read_bytes() == before


@pytest.mark.parametrize("content", ["hello", "{}\n", '{"mp-opt":"reduce"}\n'])
def test_other_files_are_no_states(content, tmp_path):
    searches.make_chain(2, tmp_path / "m.onnx")
    (tmp_path / "s").write_text(content)
    done = run("bisect", "m.onnx", "--fp16", "--check=true", "--state=s", code=1,
               cwd=tmp_path)
    assert "is not a state of mp-opt bisect" in done.stderr
    assert (tmp_path / "s").read_text() == content


MISTAKES = {
    "false": (3, "fails on the unchanged model (exit status 1)"),
    "echo why; exit 2 #": (3, "the check prints: why"),
    "kill -SEGV $$ #": (3, "signal 11 (Segmentation fault)"),
    "no-such-program {}": (1, "the command cannot be started (exit status 127)"),
    " ": (2, "--check: expected a command"),
}


@pytest.mark.parametrize("check", MISTAKES)
def test_checks_that_do_not_work(check, tmp_path):
    code, words = MISTAKES[check]
    searches.make_chain(3, tmp_path / "m.onnx")
    done = bisect(tmp_path / "m.onnx", check, "-o", tmp_path / "p", code=code)
    assert words in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_command_that_takes_too_long_fails(tmp_path):
    searches.make_chain(3, tmp_path / "m.onnx")
    begin = time.monotonic()
    done = bisect(tmp_path / "m.onnx", "sleep 50 #", "--timeout=1", code=3)
    assert "no answer in time" in done.stderr
    assert time.monotonic() - begin < 30


def test_an_answer_that_varies(tmp_path):
    """The unchanged model passes, then one run in two."""
    searches.make_chain(3, tmp_path / "m.onnx")
    check = searches.write_check(tmp_path, (
        f"runs = len(open({str(tmp_path / 'log')!r}).readlines())\n"
        # 1: unchanged, 2: all in 16 bit, 3: all in fp32, then it turns over.
        "sys.exit([0, 1, 0, 0, 0, 0, 0, 0][min(runs, 8) - 1])"))
    done = bisect(tmp_path / "m.onnx", check, "-o", tmp_path / "p", code=3)
    assert "two answers for the same model" in done.stderr
    assert not (tmp_path / "p").exists()


def test_nothing_to_find(tmp_path):
    searches.make_chain(3, tmp_path / "m.onnx")
    done = bisect(tmp_path / "m.onnx", "true", "-o", tmp_path / "p")
    assert "the check passes with all 3 nodes in 16 bit" in done.stdout
    assert not (tmp_path / "p").exists()
    done = bisect(tmp_path / "m.onnx", "true", "--policy=float32", code=1)
    assert "the precision is fp16 in --mixed-fp16 and float32" in done.stderr
    done = run("bisect", tmp_path / "m.onnx", "--fp16", "--deny-node=.*",
               "--check=true")
    assert "makes no node 16 bit" in done.stdout


def test_runs_that_are_used_up(chain, tmp_path):
    check = searches.write_check(tmp_path, searches.fail_for(["layer100"]))
    policy = tmp_path / "p.yaml"
    done = bisect(chain, check, "--max-runs=6", "-o", policy)
    assert "fewer nodes in fp32 may do" in done.stderr
    assert "nodes suffice in fp32 (6 runs)" in done.stdout
    low = tmp_path / "low.onnx"
    run(chain, f"--policy={policy}", "-o", low)
    assert subprocess.run(f"{check} {low}", shell=True).returncode == 0
    done = bisect(chain, check, "--max-runs=1", code=3)
    assert "--max-runs are used up before there is a result" in done.stderr


def test_usage(tmp_path):
    model = tmp_path / "m.onnx"
    searches.make_chain(2, model)
    for flags, words in (
        (["--fp16"], "expected --check=COMMAND or --tolerance=X"),
        (["--check=true"], "expected --mixed-bf16, --mixed-fp16 or --policy"),
        (["--fp16", "--check=true", "--tolerance=1"], "exclude each other"),
        (["--fp16", "--check=true", "--data=x.npz"], "--data is for --tolerance"),
        (["--fp16", "--tolerance=1", "--timeout=3"], "--timeout is for the command"),
        (["--fp16", "--tolerance=-1"], "--tolerance"),
        (["--fp16", "--check=true", "-o", model], "is read by this run"),
        (["--fp16", "--check=true", "--max-runs=0"], "--max-runs"),
        (["--fp16", "--bf16", "--check=true"], "exclude each other"),
    ):
        before = model.read_bytes()
        assert words in run("bisect", model, *flags, code=2).stderr, flags
        assert model.read_bytes() == before
    assert "got 0" in run("bisect", "--fp16", "--check=true", code=2).stderr
    missing = run("bisect", tmp_path / "none.onnx", "--fp16", "--check=true", code=1)
    assert "cannot read it" in missing.stderr


def test_nothing_is_left(chain, tmp_path):
    """Temporary files, also after an error."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for check in ("true", "false"):
        bisect(chain, check, code=3 * (check == "false"), env=environment)
    assert not list(tmp_path.iterdir())
