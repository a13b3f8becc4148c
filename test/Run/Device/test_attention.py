# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on devices: one kernel forward and one backward, in which matrices
of queries by keys are never in memory. Its errors against float64 are those of
the processor, which computes each matrix."""

import json

import numpy as np
import onnx
import pytest

from attention_models import (
    Attention, data, make, reference, relative, results, weights,
)
from runs import DEVICE, mp_run, run_mp_opt


def estimate(model, device="h200"):
    return json.loads(
        mp_run("bench", model, "--random", f"--device=cuda:{device}", "--dry-run",
               "--json").stdout
    )


def kernels(model):
    names = {launch["kernel"] for launch in estimate(model)["launches"]}
    return sum(name.startswith("attention") for name in names)


CASES = {
    "tokens-16": Attention(16), "tokens-17": Attention(17),
    "tokens-65": Attention(65), "tokens-128": Attention(128, heads=1),
    "other-keys": Attention(33, 131), "few-keys": Attention(100, 16),
    "head-8": Attention(40, head=8), "head-17": Attention(33, head=17),
    "head-40-24": Attention(40, head=40, value_head=24),
    "head-80": Attention(50, head=80), "head-96": Attention(50, head=96),
    "head-128": Attention(70, head=128), "head-256": Attention(40, head=256),
    "padding": Attention(70, mask="padding"),
    "boolean": Attention(70, mask="bool"), "full": Attention(50, mask="full"),
    "causal": Attention(200, shift=0), "causal-finite": Attention(90, shift=0, infinity=-1e38),
    "causal-padding": Attention(90, shift=0, mask="padding"),
    "causal-shift": Attention(40, 100, shift=60),
    "causal-more-keys": Attention(40, 200, shift=0),
    "causal-head-128": Attention(90, shift=0, head=128),
    "grouped": Attention(50, heads=4, key_heads=2),
    "one-key-head": Attention(50, heads=4, key_heads=1),
    "joined": Attention(50, joined=True), "joined-causal": Attention(70, shift=0, joined=True),
    "joined-head-40": Attention(33, head=40, joined=True),
}


# Kernels of fp16 differ from those of bf16 in the type alone.
FP16 = "tokens-17", "causal", "head-256"


@pytest.mark.parametrize(
    "name, precision",
    [(name, "bf16") for name in CASES] + [(name, "fp16") for name in FP16],
)
def test_against_float64(tmp_path, name, precision):
    case = CASES[name]
    inputs = data(case)
    exact = reference(case, inputs)
    for train in (False, True):
        model = make(tmp_path, case, precision, train)
        assert kernels(model) == 1 + train
        processor = results(tmp_path, model, case, inputs)
        found = results(tmp_path, model, case, inputs, DEVICE)
        for key, value in found.items():
            # The gradient's sums of rows are those of rounded results.
            bound = 1.6 * relative(processor[key], exact[key]) + 1e-6
            assert relative(value, exact[key]) <= bound, (key, train)


def test_same_bits(tmp_path):
    """Gradients are summed in one order."""
    case = Attention(200, shift=0, heads=4, key_heads=2)
    inputs = data(case)
    model = make(tmp_path, case)
    one, other = (results(tmp_path, model, case, inputs, DEVICE) for _ in range(2))
    for key, value in one.items():
        assert value.tobytes() == other[key].tobytes(), key


def test_dropout(tmp_path):
    """The same weights are dropped as on the processor, backward as well."""
    case = Attention(70, dropout=True)
    inputs = data(case)
    model = make(tmp_path, case)
    assert kernels(model) == 2
    processor = results(tmp_path, model, case, inputs)
    found = results(tmp_path, model, case, inputs, DEVICE)
    for key, value in found.items():
        bound = 0.02 if key == "y" else 0.1
        assert relative(value, processor[key]) < bound, key


def test_masked_row(tmp_path):
    """A query without keys has no result, as without fusion."""
    case = Attention(40, shift=-3)
    inputs = data(case)
    model = make(tmp_path, case, train=False)
    assert kernels(model) == 1
    found = results(tmp_path, model, case, inputs, DEVICE)["y"]
    assert np.isnan(found[:, :3]).all() and np.isfinite(found[:, 3:]).all()


@pytest.mark.parametrize("change", [
    {"precision": "fp32"}, {"head": 264}, {"queries": 8},
])
def test_not_fused(tmp_path, change):
    """What kernels do not take is computed matrix by matrix."""
    change = dict(change)
    precision = change.pop("precision", "bf16")
    case = Attention(**{"queries": 40, "heads": 1} | change)
    inputs = data(case)
    model = make(tmp_path, case, precision)
    assert kernels(model) == 0
    exact = reference(case, inputs)
    processor = results(tmp_path, model, case, inputs)
    for key, value in results(tmp_path, model, case, inputs, DEVICE).items():
        bound = 1.3 * relative(processor[key], exact[key]) + 1e-6
        assert relative(value, exact[key]) <= bound, key


def test_joined_product(tmp_path):
    """Queries, keys and values of one product are not moved: neither they nor
    their gradients have maps of their own."""
    model = make(tmp_path, Attention(64, joined=True))
    maps = [
        launch["node"] for launch in estimate(model)["launches"]
        if "map" in launch["kinds"]
    ]
    # Maps of the loss, its rounded gradient and the update are left.
    assert all("loss/" in node or "turned_grad" in node for node in maps), maps


def test_causal_work(tmp_path):
    """Keys behind the diagonal are not multiplied."""
    def count(shift):
        figures = estimate(make(tmp_path, Attention(512, shift=shift)))
        return sum(
            launch["tensor_multiply_adds"] for launch in figures["launches"]
            if launch["kernel"].startswith("attention")
        )

    assert count(0) < 0.6 * count(None)


# Each says that keys up to that of the query's number, plus the shift, count.
@pytest.mark.parametrize("comparison", [
    "a = GreaterOrEqual(row, column)\n scores = Where(a, scores1, least)",
    "a = Greater(column, row)\n scores = Where(a, least, scores1)",
    "a = Less(row, column)\n scores = Where(a, least, scores1)",
    "n = Add(row, one)\n a = Less(column, n)\n scores = Where(a, scores1, least)",
    "n = Sub(column, one)\n a = Greater(row, n)\n scores = Where(a, scores1, least)",
])
def test_causal_forms(tmp_path, comparison):
    case = Attention(150, shift=0, comparison=comparison)
    inputs = data(case)
    model = make(tmp_path, case, train=False)
    products = sum(
        launch["tensor_multiply_adds"] for launch in estimate(model)["launches"]
        if launch["kernel"].startswith("attention")
    )
    # Without the mask, both products are of all pairs.
    assert products < 0.8 * case.batch * case.heads * 150**2 * 2 * case.head
    found = results(tmp_path, model, case, inputs, DEVICE)["y"]
    assert relative(found, reference(case, inputs)["y"]) < 2.0**-7


def test_rows_of_finite_masks(tmp_path):
    """Queries before the tenth have no key that both masks leave: keys that one
    of them leaves share the weight, those behind the query as well."""
    case = Attention(150, shift=0, infinity=-1e38, comparison="""
      nothing = Constant<value_float = 0.0>()
      ten = Constant<value_int = 10>()
      attends = LessOrEqual(column, row)
      behind = Where(attends, nothing, least)
      begins = GreaterOrEqual(column, ten)
      before = Where(begins, nothing, least)
      scores2 = Add(scores1, behind)
      scores = Add(scores2, before)""")
    inputs = data(case)
    model = make(tmp_path, case, train=False)
    assert kernels(model) == 1
    expected = results(tmp_path, model, case, inputs)["y"]
    found = results(tmp_path, model, case, inputs, DEVICE)["y"]
    assert relative(found[:, :10], expected[:, :10]) < 2.0**-6
    assert relative(found, expected) < 2.0**-6


def test_memory(tmp_path):
    """No matrix is in memory: that of one head alone has 2 bytes for each pair
    of a query and a key."""
    tokens = 2048
    figures = estimate(make(tmp_path, Attention(tokens, batch=1)))
    assert figures["arena_bytes"] < 2 * tokens**2


OPERATOR = """<ir_version: 11, opset_import: ["" : 23]>
net (float[2,48,128] x, bool[48,48] mask) => (float[2,48,128] y)
{
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  y = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, mask)
}
"""


def test_operator(tmp_path):
    """ONNX's Attention, whose rows without keys give zeros."""
    model = onnx.parser.parse_model(OPERATOR)
    case = Attention(48)
    for name, value in weights(case).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    onnx.save(model, tmp_path / "net.onnx")
    for flags, count in ((), 1), (("--train", "--loss=mse", "--optimizer=sgd"), 2):
        path = tmp_path / "mixed.onnx"
        run_mp_opt(
            tmp_path / "net.onnx", *flags, "--mixed-bf16", "--summary=none",
            "-o", path,
        )
        assert kernels(path) == count
    run_mp_opt(tmp_path / "net.onnx", "--mixed-bf16", "--summary=none", "-o", path)
    inputs = data(case)
    inputs["mask"] = np.random.default_rng(2).random((48, 48)) < 0.5
    inputs["mask"][3] = False
    expected = results(tmp_path, path, case, inputs)["y"]
    found = results(tmp_path, path, case, inputs, DEVICE)["y"]
    assert not found[:, 3].any() and not expected[:, 3].any()
    assert relative(found, expected) < 2.0**-7
