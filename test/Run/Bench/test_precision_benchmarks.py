# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/attribution.py and targets.py: their statistics, goals and tables,
with answers that a script gives in place of mp-opt."""

import json
import math
import os
import pathlib
import stat
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper

import support
from runs import MP_RUN, ROOT

BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import attribution  # noqa: E402
from zoo import check, figures, graphs, judging, stored  # noqa: E402

# Answers with what answers.json next to the model has for its flags, and notes
# each call.
MP_OPT = """#!{python}
import json, pathlib, sys, time
command, model, *flags = sys.argv[1:]
folder = pathlib.Path(model).parent
with open(folder / "calls", "a") as calls:
    print(*sys.argv[1:], file=calls)
precision = "bf16" if "--mixed-bf16" in flags else "fp16"
kind = "gradients" if "--train" in flags else "outputs"
key = command + "." + precision + "." + kind
answer = json.loads((folder / "answers.json").read_text())[key]
if command == "tune":
    target = next(f for f in flags if f.startswith("--target-error="))
    answer = answer[str(round(float(target.partition("=")[2]), 6))]
time.sleep(answer.get("sleep", 0))
if "stderr" in answer:
    print(answer["stderr"], file=sys.stderr)
if "result" in answer:
    print(json.dumps(answer["result"]))
sys.exit(answer.get("exit", 0))
"""


@pytest.fixture
def mp_opt(tmp_path):
    path = tmp_path / "mp-opt"
    path.write_text(MP_OPT.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def add_entry(zoo, name, answers, nodes=40, kinks=None):
    folder = zoo / name
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"")
    data = ["batch0.npz", "batch1.npz"]
    entry = {
        "name": name, "nodes": nodes, "kinks": kinks or {},
        "outputs": {"model": "model.onnx", "data": data},
        "gradients": {"model": "model.onnx", "data": data, "loss": "mse"},
    }  # fmt: skip
    (folder / "zoo.json").write_text(json.dumps(entry))
    (folder / "answers.json").write_text(json.dumps(answers))
    return folder


def attributed(predicted, measured, reliable=True, nodes=(), **more):
    result = {
        "predicted": predicted,
        "predicted_first_order": predicted and predicted / 4,
        "measured": measured, "reliable": reliable,
        "nodes": [{"node": str(i), "predicted": p, "measured": m}
                  for i, (p, m) in enumerate(nodes)],
        "seconds": {"attribution": 0.8, "plain_run": 0.2}, **more,
    }  # fmt: skip
    return {"result": result}


def run(script, zoo, mp_opt, *flags):
    figures_file = zoo.parent / "figures.json"
    done = support.attempt(
        "-B", BENCHMARKS / script, zoo, f"--mp-opt={mp_opt}",
        f"--json={figures_file}", *flags, program=sys.executable,
        timeout=120, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    made = None
    if figures_file.exists():
        made = json.loads(figures_file.read_text())
        figures_file.unlink()
    return done, made


def calls_of(zoo):
    files = zoo.glob("*/calls")
    return [line for f in files for line in f.read_text().splitlines()]


# ---- Statistics ------------------------------------------------------------


def test_quantiles_are_numpys():
    values = [5.0, 1.0, 4.0, 4.0, 9.0, -2.0]
    for part in (0, 0.1, 0.5, 0.77, 1):
        expected = np.quantile(values, part)
        assert figures.quantile(values, part) == pytest.approx(expected)
    assert math.isnan(figures.median([]))


def test_rank_correlation_of_known_numbers():
    # Sums of squared differences of ranks: 0, 40, 8 of n (n^2 - 1) / 6 = 20.
    assert figures.spearman([1, 2, 3, 4, 5], [2, 4, 8, 16, 99]) == 1
    assert figures.spearman([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]) == -1
    found = figures.spearman([1, 2, 3, 4, 5], [3, 1, 2, 5, 4])
    assert found == pytest.approx(1 - 8 / 20)


def test_equal_values_share_a_rank():
    assert figures.mean_ranks([7, 3, 7, 1]) == [3.5, 2, 3.5, 1]
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
    found = figures.spearman([1, 2, 2, 3], [1, 2, 3, 4])
    assert found == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert math.isnan(figures.spearman([1, 1, 1], [1, 2, 3]))


def test_ratios_of_what_is_not_finite():
    assert figures.ratio(0.5, 0.25) == 2
    assert figures.ratio(0.0, 0.0) == 1
    for pair in ((1, 0.0), (math.inf, 1.0), (1.0, None), (math.nan, 1.0)):
        assert math.isnan(figures.ratio(*pair))
    assert not figures.is_within(math.nan, 0, math.inf)


def judged(predicted, measured, **more):
    case = judging.Case(None, "m", "bf16", "outputs", 40, False, 1, {})
    answer = attributed(predicted, measured, **more)
    return attribution.Judged(case, answer["result"])


def test_negligible_nodes_are_not_judged():
    nodes = [(1e-3, 2e-3), (1e-9, 1e-12), (1e-9, 1e-3), (1e-3, None)]
    found = judged(1e-2, 1e-2, nodes=nodes)
    # The third one is raised to 1e-4 of the total, and remains wrong.
    raised = pytest.approx(1e-6), 1e-3
    assert found.pairs == [(1e-3, 2e-3), raised]
    assert attribution.single_nodes([found]) == {"nodes": 2, "within_2": 0.5}


def test_few_nodes_have_no_rank():
    nodes = [(k * 1e-3, k * 2e-3) for k in range(1, 31)]
    assert judged(1.0, 1.0, nodes=nodes).rank == 1
    assert math.isnan(judged(1.0, 1.0, nodes=nodes[1:]).rank)


def test_reliability_counts():
    cases = [
        judged(1.0, 1.9), judged(1.0, 2.1), judged(1.0, 2.1, reliable=False),
        judged(1.0, math.nan, reliable=False), judged(1.0, 0.9, reliable=False),
        judged(1.0, math.inf),
    ]  # fmt: skip
    found = attribution.reliability(cases)
    assert (found["wrong"], found["found"], len(found["missed"])) == (4, 2, 2)
    assert found["right"] == 2 and found["false_share"] == 0.5
    totals = attribution.totals(cases)
    # NaN and infinity have no ratio: four cases are left.
    assert totals["cases"] == 4
    assert totals["wide"] == 0.5 and totals["narrow"] == 0.25


def test_models_without_16_bit_are_not_judged():
    cases = [judged(0.0, 3e-7), judged(1e-5, 3e-7), judged(0.0, math.nan),
             judged(None, None)]  # fmt: skip
    assert attribution.totals(cases)["cases"] == 1
    found = attribution.reliability(cases)
    assert found["wrong"] == 3 and found["right"] == 0


# ---- attribution.py --------------------------------------------------------


@pytest.fixture
def zoo(tmp_path):
    zoo = tmp_path / "zoo"
    nodes = [(k * 1e-4, (k + 3 * (k % 2)) * 1e-4) for k in range(1, 36)]
    answers = {
        f"attribute.{p}.{k}": attributed(1.1, 1.0, nodes=nodes, flips=0)
        for p in judging.PRECISIONS
        for k in judging.KINDS
    }
    add_entry(zoo, "smooth", answers)
    kinked = {
        **answers,
        "attribute.bf16.gradients": attributed(3.0, 1.0, reliable=False),
        "attribute.fp16.gradients": {
            "exit": 1, "stderr": "warning: w\nm.onnx: error: no rule for Foo",
        },
    }  # fmt: skip
    add_entry(zoo, "kinked", kinked, nodes=300, kinks={"Relu": 3})
    return zoo


def test_attribution_figures(zoo, mp_opt):
    done, made = run("attribution.py", zoo, mp_opt)
    assert done.returncode == 1, done.stderr
    outputs, gradients = made["outputs"], made["gradients"]
    assert outputs["totals"]["all"]["cases"] == 4
    assert outputs["totals"]["all"]["narrow"] == 1
    # 1.1 / 4: first order alone is off by more than 2.
    assert outputs["totals"]["all"]["first_order_wide"] == 0
    assert gradients["totals"]["kinked"] == {
        "cases": 1, "narrow": 0, "wide": 0, "least": 3, "median": 3,
        "greatest": 3, "first_order_wide": 1,
    }  # fmt: skip
    assert gradients["totals"]["smooth"]["narrow"] == 1
    assert gradients["reliability"]["found"] == 1
    assert outputs["ranks"]["all"]["cases"] == 4
    assert 0.95 < outputs["ranks"]["all"]["worst"] < 1
    # Odd nodes are off by 3e-4: only the first is off by more than 2.
    assert outputs["single_nodes"]["within_2"] == pytest.approx(34 / 35)
    assert outputs["costs"]["greatest"] == pytest.approx(4)
    failed = made["failed"]["kinked.fp16.gradients"]
    assert failed == "exit code 1: m.onnx: error: no rule for Foo"
    reached = {(g["goal"], g["of"]): g["reached"] for g in made["goals"]}
    assert reached["totals within [0.8, 1.25]", "outputs"] is True
    assert reached["totals within [0.5, 2]", "gradients"] is False
    assert reached["cost of large models", "outputs"] is None
    row = "| totals within [0.5, 2] | gradients | at least 0.9 |"
    assert row in done.stdout


def test_commands(zoo, mp_opt):
    run("attribution.py", zoo, mp_opt, "--flag=--threads=1")
    calls = calls_of(zoo)
    assert len(calls) == 8
    assert all("--threads=1" in call for call in calls)
    steps = [call for call in calls if "--train" in call]
    assert len(steps) == 4 and all("--loss=mse" in call for call in steps)
    scaled = [call for call in calls if "--loss-scale=4096" in call]
    assert len(scaled) == 2 and all("--mixed-fp16" in call for call in scaled)
    # Runs of all nodes are for small models.
    assert sum("--measure=all" in call for call in calls) == 4
    assert sum("--measure=60" in call for call in calls) == 4
    data = ",".join(str(zoo / "smooth" / f"batch{k}.npz") for k in (0, 1))
    assert sum(f"--data={data}" in call for call in calls) == 4


def test_answers_are_kept(zoo, mp_opt):
    run("attribution.py", zoo, mp_opt, "--every=2", "--limit=3")
    labels = [path.stem for path in zoo.with_name("zoo-attribution").iterdir()]
    assert sorted(labels) == [
        "kinked.bf16.gradients", "smooth.bf16.gradients",
        "smooth.fp16.gradients",
    ]  # fmt: skip
    assert len(calls_of(zoo)) == 3
    run("attribution.py", zoo, mp_opt)
    assert len(calls_of(zoo)) == 8
    done, made = run("attribution.py", zoo, mp_opt, "--retry")
    # The one that has failed.
    assert len(calls_of(zoo)) == 9
    done, again = run("attribution.py", zoo, "/none", "--tables", "--retry")
    assert again == made and len(calls_of(zoo)) == 9


def test_goals_that_are_reached(zoo, mp_opt):
    done, made = run("attribution.py", zoo, mp_opt, "--only=smooth.bf16.out")
    assert done.returncode == 0, done.stdout
    assert made["outputs"]["totals"]["all"]["cases"] == 1
    assert made["gradients"]["totals"]["all"]["cases"] == 0


@pytest.mark.parametrize(
    "answer, expected",
    [
        ({"sleep": 60}, "no answer in 2 s"),
        ({"exit": 0}, "exit code 0, and no JSON object"),
        ({"exit": 2, "stderr": "bad"}, "exit code 2: bad"),
        ({"exit": 5}, "exit code 5: no message"),
    ],
)
def test_commands_that_fail(tmp_path, mp_opt, answer, expected):
    zoo = tmp_path / "zoo"
    add_entry(zoo, "m", {"attribute.bf16.outputs": answer})
    done, made = run("attribution.py", zoo, mp_opt, "--only=bf16.outputs",
                     "--timeout=2")  # fmt: skip
    assert done.returncode == 1
    assert made["failed"] == {"m.bf16.outputs": expected}


def test_messages(tmp_path, mp_opt):
    done, _ = run("attribution.py", tmp_path / "none", mp_opt)
    assert done.returncode == 1 and "no case matches ''" in done.stderr
    zoo = tmp_path / "zoo"
    add_entry(zoo, "m", {})
    done, _ = run("attribution.py", zoo, mp_opt, "--every=0")
    assert "--every: expected at least 1, found 0" in done.stderr
    done, _ = run("attribution.py", zoo, tmp_path / "no-tool")
    assert "no-tool: No such file or directory (--mp-opt)" in done.stderr


# ---- targets.py ------------------------------------------------------------


def tuned(error, runs=2, **more):
    result = {
        "met": True, "error": error, "bytes": 60, "bytes_fp32": 100,
        "runs": runs, "nodes_16bit": 7, "seconds": {"search": 0.5, "runs": 1},
        "baselines": {
            "bisection": {"runs": 50, "bytes": 80, "error": error},
            "list": {"runs": 40, "bytes": 60, "error": error},
        }, **more,
    }  # fmt: skip
    return {"result": result}


def test_target_figures(tmp_path, mp_opt):
    zoo = tmp_path / "zoo"
    answers = {
        "attribute.bf16.outputs": attributed(0.9, 1.0),
        "tune.bf16.outputs": {
            "0.7": tuned(0.69), "0.5": tuned(0.2, runs=4),
            "0.25": tuned(0.3), "0.1": tuned(0.0, nodes_16bit=0, bytes=100),
            "0.03": {"exit": 3, "stderr": "m: error: not met"},
        },
    }  # fmt: skip
    add_entry(zoo, "m", answers, nodes=100)
    done, made = run("targets.py", zoo, mp_opt, "--only=bf16.outputs")
    assert done.returncode == 1
    every = made["all"]
    assert every["cases"] == 4 and every["met"] == 4
    # 0.2 uses less than half of 0.5; 0.3 is more than 0.25.
    assert every["close"] == 1 and every["all_fp32"] == 1
    assert every["false"] == ["m.bf16.outputs"]
    assert every["runs_median"] == 2 and every["runs_greatest"] == 4
    assert made["many_nodes"]["bisection"]["runs_ratio"] == 25
    assert every["bisection"]["bytes_ratio"] == pytest.approx(
        (60 / 80 * 3 + 100 / 80) / 4
    )
    # Without JSON, exit code 3 says nothing about the best that was found.
    assert made["failed"] == {
        "m.bf16.outputs 0.03": "exit code 3, and no JSON object"
    }
    assert made["shares"]["0.7"]["outputs"]["bytes"] == pytest.approx(0.6)


def test_targets_that_are_not_possible(tmp_path, mp_opt):
    zoo = tmp_path / "zoo"
    missed = tuned(0.9, met=False, runs=1)
    answers = {
        "attribute.bf16.outputs": attributed(0.9, 1.0),
        "tune.bf16.outputs": {"0.7": {**missed, "exit": 3}},
        "attribute.fp16.outputs": attributed(0.9, 0.0),
    }
    add_entry(zoo, "m", answers)
    done, made = run("targets.py", zoo, mp_opt, "--of=outputs", "--share=0.7")
    assert done.returncode == 0, done.stdout + done.stderr
    assert made["all"]["not_met"] == 1 and made["all"]["settled"] == 1
    assert "left out: all in 16 bit gives 0.0" in done.stdout
    calls = calls_of(zoo)
    assert [c for c in calls if "--target-error=0.7 --json --baselines" in c]


def test_searches_are_kept(tmp_path, mp_opt):
    zoo = tmp_path / "zoo"
    answers = {
        "attribute.bf16.outputs": attributed(0.9, 1.0),
        "tune.bf16.outputs": {"0.7": tuned(0.69), "0.5": tuned(0.49)},
    }
    add_entry(zoo, "m", answers)
    flags = "--only=bf16.outputs", "--share=0.7"
    run("targets.py", zoo, mp_opt, *flags)
    assert len(calls_of(zoo)) == 2
    done, made = run("targets.py", zoo, mp_opt, *flags, "--share=0.5")
    assert len(calls_of(zoo)) == 3 and made["all"]["cases"] == 2
    assert done.returncode == 0, done.stdout
    _, again = run("targets.py", zoo, "/none", "--tables")
    assert again == made


# ---- The zoo ---------------------------------------------------------------


def test_differences_to_onnxruntime():
    ones, bad = np.ones(4, np.float32), np.array([1, 1, 1, np.nan], np.float32)
    assert check.difference({"y": ones}, {"y": ones}) == 0
    found = {"y": ones, "z": 1.5 * ones}
    assert check.difference(found, {"y": ones, "z": ones}) == 0.5
    # The order of outputs does not hide NaN.
    for first, second in ((bad, ones), (ones, bad)):
        found = {"y": first, "z": second}
        assert math.isnan(check.difference(found, {"y": ones, "z": ones}))
    # A gradient of rounding errors only does not count by itself.
    exact = {"loss": ones, "w_grad": ones, "b_grad": 1e-9 * ones}
    found = {**exact, "b_grad": 9e-9 * ones}
    assert check.difference(found, exact) < 1e-7


def model_of(*nodes, kind=TensorProto.FLOAT):
    value = helper.make_tensor_value_info("x", kind, [4])
    result = helper.make_tensor_value_info("y", kind, [4])
    three = helper.make_tensor("c", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    graph = helper.make_graph(list(nodes), "g", [value], [result], [three])
    return helper.make_model(graph)


def test_kinks_are_found_in_graphs():
    relu = helper.make_node("Relu", ["x"], ["r"])
    fixed = helper.make_node("Abs", ["c"], ["a"])
    smooth = helper.make_node("Mul", ["r", "a"], ["y"])
    assert graphs.jumps_of(model_of(relu, fixed, smooth)) == {"Relu": 1}
    gelu = helper.make_node("Gelu", ["x"], ["y"])
    assert graphs.jumps_of(model_of(gelu)) == {}
    whole = helper.make_node("Max", ["x", "x"], ["y"])
    assert graphs.jumps_of(model_of(whole, kind=TensorProto.INT64)) == {}
    assert graphs.jumps_of(model_of(whole)) == {"Max": 1}


def test_stored_models_become_entries(tmp_path):
    names = []
    for name, kind, write in stored.stored_entries():
        folder = tmp_path / f"{name}.{kind}"
        folder.mkdir()
        facts = write(folder)
        graph = graphs.facts_of(folder / "model.onnx")
        assert graph["nodes"] >= 5 and graph["opset"] >= 13
        for part in ("outputs", "gradients"):
            files = facts.get(part, {}).get("data", [])
            batches = [dict(np.load(folder / file)) for file in files]
            assert len(batches) in (0, 4)
            trains = ["labels" in batch for batch in batches]
            assert trains == [part == "gradients"] * len(batches)
            shapes = [{n: a.shape for n, a in b.items()} for b in batches]
            assert all(shape == shapes[0] for shape in shapes)
        names.append(name)
    assert "resnet18_w8_op20_ext" in names and "train-mlp784" in names


def test_packages_data_are_what_they_say():
    random = np.random.default_rng(0)
    sound = stored.voice(random, 2, 4000)
    assert sound.shape == (2, 4000) and sound.dtype == np.float32
    assert 0.02 < sound.std() < 0.5
    image = stored.picture(random, 1, 48, 96)
    assert image.shape == (1, 3, 48, 96) and abs(image).max() < 1.2
    # Numbers are dark, the ground is bright.
    assert (image < -0.5).mean() > 0.02 and (image > 0.5).mean() > 0.4
    for entry in [*stored.PACKAGED, *stored.PACKAGED_HELD_OUT]:
        first, second = entry.draw(random), entry.draw(random)
        assert all(np.isfinite(v).all() for v in first.values())
        changed = [not np.array_equal(first[n], second[n]) for n in first]
        assert any(changed), entry.name


TORCH_PYTHON = pathlib.Path(
    os.environ.get("MPOPT_TORCH_PYTHON")
    or pathlib.Path("~/.cache/mp-opt/venv-torch/bin/python").expanduser()
)
needs_torch = pytest.mark.skipif(
    not TORCH_PYTHON.exists(), reason=f"{TORCH_PYTHON} is not there"
)


def make_zoo(*arguments):
    done = support.attempt(
        "-B", BENCHMARKS / "precision_zoo.py", *arguments,
        program=TORCH_PYTHON, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_torch
def test_held_out_models_are_others(tmp_path):
    seen = make_zoo(tmp_path, "--list").split()
    others = make_zoo(tmp_path, "--list", "--held-out").split()
    assert len(set(seen)) == len(seen) >= 40
    assert len(set(others)) == len(others) >= 10
    assert not set(seen) & set(others)


@needs_torch
def test_models_are_made_and_checked(tmp_path):
    if not os.access(MP_RUN, os.X_OK):
        pytest.skip("mp-run is not built")
    tools = f"--mp-opt={support.MP_OPT}", f"--mp-run={MP_RUN}"
    make_zoo(tmp_path, "--only=^mlp.trained", "--check", *tools)
    folder = tmp_path / "mlp.trained"
    entry = json.loads((folder / "zoo.json").read_text())
    assert entry["kinks"] == {"Relu": 3} and entry["opset"] == 17
    first, last = entry["loss"]
    # Ten classes: the network has learnt something, and not everything.
    assert 0.05 < last < 1.5 < first
    checked = json.loads((folder / "check.json").read_text())
    for kind in judging.KINDS:
        assert checked[kind]["error"] < 1e-4, checked
    batch = np.load(folder / entry["gradients"]["data"][3])
    assert batch["x"].shape == (8, 1, 12, 12) and batch["labels"].max() < 10
    [case] = judging.cases_of(tmp_path, "bf16.gradients")
    assert case.is_kinked and case.part["loss"] == "softmax-cross-entropy"
    # Entries that exist are kept.
    assert make_zoo(tmp_path, "--only=^mlp.trained") == ""
