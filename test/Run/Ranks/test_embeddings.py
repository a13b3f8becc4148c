# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of tables for lookups: rows are sent between ranks, and lazy
optimizers leave the others alone."""

import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ranks import find_launcher, launch, train
from runs import load_safetensors, mp_run
from support import run_mp_opt

ROWS, WIDTH = 5000, 16


def make_table(folder):
    random = np.random.default_rng(0)
    weights = {
        "table": random.standard_normal((ROWS, WIDTH)),
        "w": random.standard_normal((WIDTH, 3)) / 4,
    }
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["e"]),
        helper.make_node("ReduceMean", ["e", "axes"], ["p"], keepdims=0),
        helper.make_node("MatMul", ["p", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("ids", 7, ["batch", 4])],
        [helper.make_tensor_value_info("y", 1, ["batch", 3])],
        [
            *(numpy_helper.from_array(w.astype("f"), n) for n, w in weights.items()),
            numpy_helper.from_array(np.array([1]), "axes"),
        ],
    )
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx"


def make_ids(folder, batches, rows=8):
    """Some twice, and some from the end."""
    random = np.random.default_rng(1)
    ids = random.integers(-ROWS, ROWS, (batches, rows, 4))
    ids[:, 0] = 7
    np.savez(folder / "ids.npz", ids=ids, labels=random.integers(0, 3, (batches, rows)))
    return folder / "ids.npz", ids


@pytest.mark.parametrize(
    "flags", [(), ("--mixed-bf16",), ("--mixed-fp16",), ("--clip-norm=0.01",)],
    ids=["fp32", "bf16", "fp16", "clipped"],
)
def test_rows_are_sent(tmp_path, flags):
    """To the bits of one rank, in few bytes."""
    launcher, ranks, steps = find_launcher("openmpi"), 3, 8
    common = (
        make_table(tmp_path), "--train", "--loss=softmax-cross-entropy",
        "--summary=none", "--optimizer=adamw", *flags,
    )
    run_mp_opt(*common, "--distribute", "-o", tmp_path / "ranks.mlirbc")
    run_mp_opt(*common, f"--accumulate={ranks}", "-o", tmp_path / "one.onnx")
    data, _ = make_ids(tmp_path, ranks * steps)
    out = tmp_path / "r.safetensors"
    done = launch(
        launcher, ranks, "train", tmp_path / "ranks.mlirbc", f"--data={data}",
        f"--steps={steps}", "-o", out, "--quiet", "--json",
    )
    assert done.returncode == 0, done.stderr
    mp_run(
        "train", tmp_path / "one.onnx", f"--data={data}", "--quiet",
        f"--steps={ranks * steps}", "-o", tmp_path / "o.safetensors",
    )
    found, expected = load_safetensors(out), load_safetensors(tmp_path / "o.safetensors")
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    # At most 32 rows of a batch are sent, with their indices; all rows would be
    # 320 KB.
    assert json.loads(done.stdout)["sent_bytes"] / steps < (ranks - 1) * 3000


def test_sharded_tables(tmp_path):
    """There, ranges are sent."""
    launcher = find_launcher("openmpi")
    step = tmp_path / "step.mlirbc"
    run_mp_opt(
        make_table(tmp_path), "--train", "--loss=softmax-cross-entropy",
        "--summary=none", "--optimizer=adamw", "--distribute", "-o", step,
    )
    data, _ = make_ids(tmp_path, 12)
    plain, sharded = (
        train(
            launcher, 2, step, data, tmp_path / "o.safetensors", "--quiet",
            f"--shard={shard}",
        )
        for shard in ("none", "optimizer")
    )
    for name, value in plain.items():
        np.testing.assert_array_equal(value, sharded[name], err_msg=name)


def test_lazy_adam(tmp_path):
    """torch.optim.SparseAdam's rule for rows that are looked up; the others, and
    their moments, stay. Parameters that are no tables have Adam."""
    data, ids = make_ids(tmp_path, 6)
    results = {}
    for name in ("lazy-adam", "adam"):
        step, out = tmp_path / f"{name}.onnx", tmp_path / f"{name}.safetensors"
        run_mp_opt(
            make_table(tmp_path), "--train", "--loss=softmax-cross-entropy",
            f"--optimizer={name}", "--lr=0.01", "--summary=none", "-o", step,
        )
        mp_run("train", step, f"--data={data}", "-o", out, "--quiet")
        results[name] = load_safetensors(out)
    table = numpy_helper.to_array(onnx.load(tmp_path / "m.onnx").graph.initializer[0])
    touched = np.zeros(ROWS, bool)
    touched[ids.reshape(-1)] = True
    lazy, eager = results["lazy-adam"], results["adam"]
    np.testing.assert_array_equal(lazy["table"][~touched], table[~touched])
    assert not lazy["table.exp_avg"][~touched].any()
    assert (lazy["table"][touched] != table[touched]).any(1).all()
    # A row of each batch has no step left out; it is the same in both.
    for state in ("table", "table.exp_avg", "table.exp_avg_sq"):
        np.testing.assert_allclose(lazy[state][7], eager[state][7], rtol=2e-3, atol=1e-7)
    # Rows that only the first batch has are one step of Adam away: lr, except
    # for eps.
    once = np.setdiff1d(ids[0] % ROWS, ids[1:] % ROWS)
    moved = np.abs(lazy["table"][once] - table[once])
    np.testing.assert_allclose(moved[moved > 1e-3], 0.01, rtol=1e-3)
    assert (np.abs(eager["table"][once] - table[once]).max(1) > 0.02).all()
