# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/runtimes.py: checks and tables, on small models, with a program that
stands for AutoCast."""

import json
import os
import stat
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnx_models
import support
from runs import ROOT

BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import runtimes  # noqa: E402

# Writes the source with some pairs of casts before its first node.
PEER = """#!{python}
import json, sys
import onnx
from onnx import helper
_, script, flag, job = sys.argv
job = json.loads(open(job).read())
assert flag == "--convert" and "softmax" in job["nodes"], job
if {pairs} < 0:
    sys.exit("error: no idea")
model = onnx.load(job["source"])
last = "x"
for i in range({pairs}):
    for to in (10, 1):
        node = helper.make_node("Cast", [last], [last + str(to)], to=to)
        model.graph.node.insert(len(model.graph.node) - 4, node)
        last = node.output[0]
model.graph.node[-4].input[0] = last
if {marked}:
    model.graph.initializer.append(helper.make_tensor("h", 10, [1], [1.0]))
onnx.save(model, job["target"])
print(json.dumps({{"seconds": 0.5}}))
"""


@pytest.fixture
def peer(tmp_path):
    def make(pairs, marked=False):
        path = tmp_path / "peer"
        text = PEER.format(python=sys.executable, pairs=pairs, marked=marked)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def add_entry(zoo, name, last="Softmax", family="package", shape=(8, 64)):
    """Two products, Relu, and another operator."""
    folder = zoo / name
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    weights = {
        n: random.standard_normal((64, 64)).astype(np.float32) / 8
        for n in "vw"
    }
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("MatMul", ["b", "w"], ["c"], "second"),
        helper.make_node(last, ["c"], ["y"], last.lower()),
    ]
    model = onnx_models.make_model(
        nodes, [onnx_models.describe("x", shape=shape)],
        [onnx_models.describe("y", shape=None)],
        onnx_models.tensors_of(weights), opset=17,
    )  # fmt: skip
    onnx.save(model, folder / "model.onnx")
    x = random.standard_normal(shape).astype(np.float32)
    np.savez(folder / "batch0.npz", x=x)
    entry = {
        "name": name, "nodes": 4, "kinks": {}, "family": family,
        "outputs": {"model": "model.onnx", "data": ["batch0.npz"]},
    }  # fmt: skip
    (folder / "zoo.json").write_text(json.dumps(entry))


def run(zoo, *flags):
    done = support.attempt(
        "-B", BENCHMARKS / "runtimes.py", zoo, "--results", zoo.parent / "kept",
        f"--mp-opt={support.MP_OPT}", *flags, program=sys.executable,
        timeout=200, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in done.stdout.splitlines()
        if line.startswith("|")
    ]
    titles, *rows = [row for row in rows if not row[0].startswith("--")]
    return done, [dict(zip(titles, row)) for row in rows]


def test_checks_pass(tmp_path):
    add_entry(tmp_path / "zoo", "good")
    add_entry(tmp_path / "zoo", "left-out", family="planted")
    done, rows = run(tmp_path / "zoo")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {(row["runtime"], row["precision"]): row for row in rows}
    assert ("tensorrt", "bf16") in found and ("openvino", "bf16") not in found
    for (_, precision), row in found.items():
        assert row["models"] == row["valid"] == "1" and row["refused"] == "0"
        ran = row["run, within bounds"]
        assert ran == ("1" if precision == "fp16" else "-")


def test_a_runtime_refuses_the_source(tmp_path):
    add_entry(tmp_path / "zoo", "square", last="Det", shape=(64, 64))
    done, (row,) = run(
        tmp_path / "zoo", "--runtime=tensorrt", "--precision=fp16"
    )
    assert done.returncode == 0 and row["refused"] == "1", done.stdout
    assert "refused: exit code 4" in done.stdout
    assert "has no kernel for Det-11" in done.stdout


@pytest.mark.parametrize(
    "pairs, marked, column, code",
    [
        (3, False, "fewer casts than AutoCast", 0),
        (1, False, "as many", 0),
        (0, True, "more", 1),
        (0, False, "nothing", 0),
        (-1, False, "AutoCast fails", 0),
    ],
)
def test_casts_are_compared(tmp_path, peer, pairs, marked, column, code):
    add_entry(tmp_path / "zoo", "good")
    done, (row,) = run(
        tmp_path / "zoo", "--runtime=tensorrt", "--precision=fp16",
        f"--peer-python={peer(pairs, marked)}",
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    columns = [
        "fewer casts than AutoCast", "as many", "more", "AutoCast fails",
        "nothing",
    ]  # fmt: skip
    assert {c: row[c] for c in columns} == {
        c: str(int(c == column)) for c in columns
    }


def test_what_is_wrong_is_said():
    beyond = {"errors": {"y": 0.02, "z": 0.001},
              "allowed": {"y": 1.0, "z": 1.0}, "beyond": ["y"]}
    assert runtimes.failures_of(beyond) == ["'y' off by 2 %, 1 allowed"]
    beyond["allowed"] = {}
    assert runtimes.failures_of(beyond) == ["'y' off by 2 %, no bound"]
    assert runtimes.failures_of({"invalid": "x: y"}) == ["invalid: x: y"]
    assert runtimes.failures_of({"error": "exit code 1: z"}) == [
        "exit code 1: z"
    ]
    assert not runtimes.failures_of({"invalid": None, "beyond": []})


def test_bounds_are_read():
    text = (
        "output     max abs     max rel  1 - cosine  RMSE / RMS     allowed\n"
        "a b          0.139        83.3    1.38e-05      0.53 %       1.1 %\n"
        "y              117        16.7       0.291        71 %       3.7 %"
        "  outside\n\n"
        "nodes that add most to the outputs    alone   added   error\n"
        "node 'k' (MatMul-13)                  0.2 %   0.29 %  0.29 %\n"
    )
    assert runtimes.BOUND.findall(text) == [("a b", "1.1"), ("y", "3.7")]


def test_16_bit_is_found(tmp_path):
    path = tmp_path / "m.onnx"
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    for to, expected in ((TensorProto.FLOAT16, True), (TensorProto.DOUBLE, False)):
        node = helper.make_node("Cast", ["x"], ["y"], to=to)
        graph = helper.make_graph([node], "g", [info], [
            helper.make_tensor_value_info("y", to, [2])
        ])  # fmt: skip
        onnx.save(helper.make_model(graph), path)
        assert runtimes.has_16bit(path) == expected
