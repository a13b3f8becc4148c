# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long attention on processors: some queries at a time, in which matrices of
queries by keys are never in memory. Its errors are those of float64's values,
rounded as the model says."""

import json

import numpy as np
import onnx
import pytest

import attention_models
from attention_models import (
    Attention, data, make, reference, relative, weights,
)
from runs import mp_run, run_mp_opt

# Enough scores for blocks, with as little arithmetic as that allows.
LONG = {"batch": 4, "heads": 4, "head": 16}


def long(queries, keys=0, **options):
    return Attention(queries, keys, **(LONG | options))


def results(*arguments):
    return attention_models.results(*arguments, rate=2.0**14)


def arena(model):
    """Bytes of temporaries."""
    return json.loads(
        mp_run("bench", model, "--random", "--repeat=1", "--warmup=0", "--json").stdout
    )["arena_bytes"]


def matrix(case):
    """Bytes of the scores of all heads."""
    return 4 * case.batch * case.heads * case.queries * case.keys


def remarks(model):
    """The remarks on attention that is computed matrix by matrix."""
    done = run_mp_opt(
        model, "--emit=llvm", "--remarks-filter=mp-codegen", "-o",
        f"{model}.ll",
    )
    return [line for line in done.stderr.splitlines() if "attention-in-memory" in line]


CASES = {
    "plain": long(512), "odd": long(521), "other-keys": long(300, 901),
    "few-queries": long(67, 4001), "few-keys": long(4099, 65),
    "head-17": long(515, head=17), "value-head": long(520, head=24, value_head=40),
    "one-head": Attention(1451, heads=1, head=16, batch=1),
    "thirteen-heads": Attention(520, heads=13, head=16, batch=1),
    "padding": long(520, mask="padding"), "boolean": long(520, mask="bool"),
    "full": long(520, mask="full"), "causal": long(570, shift=0),
    "causal-finite": long(570, shift=0, infinity=-1e38),
    "causal-padding": long(570, shift=0, mask="padding"),
    "causal-shift": long(400, 700, shift=300),
    "causal-more-keys": long(400, 700, shift=0),
    "grouped": long(520, key_heads=2), "one-key-head": long(520, key_heads=1),
}
# Steps whose gradients have axes of one element in other places.
IN_MEMORY = "boolean", "one-head"
# Roundings to 16 bit are in the same places as in the forms of fp32.
NARROW = (
    ("odd", "fp16"), ("boolean", "fp16"), ("causal", "bf16"), ("grouped", "bf16"),
    ("value-head", "bf16"),
)
# Errors of the result, and of gradients, in which digits cancel: some units
# of roundoff, for means of about 512 values of both signs.
BOUNDS = {
    "fp32": (2.0**-20, 2.0**-18), "bf16": (2.0**-7, 2.0**-4.5),
    "fp16": (2.0**-10, 2.0**-7.5),
}


@pytest.mark.parametrize(
    "name, precision",
    [(name, "fp32") for name in CASES]
    + list(NARROW),
)
def test_against_float64(tmp_path, name, precision):
    case = CASES[name]
    inputs = data(case)
    exact = reference(case, inputs)
    for train in (False, True):
        model = make(tmp_path, case, precision, train)
        assert len(remarks(model)) == (train and name in IN_MEMORY)
        found = results(tmp_path, model, case, inputs)
        for key, value in found.items():
            bound = BOUNDS[precision][key != "y"] * max(case.keys / 512, 1) ** 0.5
            assert relative(value, exact[key]) <= bound, (key, train)


def test_same_bits(tmp_path):
    """Threads share blocks in other ways, but add in one order."""
    case = long(570, shift=0, mask="padding")
    inputs = data(case)
    model = make(tmp_path, case, "fp32")
    one, *others = (
        results(tmp_path, model, case, inputs, f"--threads={threads}")
        for threads in (1, 2, 4, 2)
    )
    for other in others:
        for key, value in one.items():
            assert value.tobytes() == other[key].tobytes(), key


def test_dropout(tmp_path):
    """The weights that are dropped forward are dropped backward: probabilities
    that are a result, and thus in memory, give the same gradients."""
    case = long(520, dropout=True)
    inputs = data(case)
    model = make(tmp_path, case, "fp32")
    assert not remarks(model)
    found = results(tmp_path, model, case, inputs)
    proto = onnx.load(model)
    source = next(n.input[0] for n in proto.graph.node if n.op_type == "Dropout")
    proto.graph.output.append(onnx.ValueInfoProto(name=source))
    onnx.save(proto, tmp_path / "kept.onnx")
    kept = results(tmp_path, tmp_path / "kept.onnx", case, inputs)
    for key, value in found.items():
        assert relative(value, kept[key]) < 2.0**-17, key


def test_masked_rows(tmp_path):
    """A query without keys has no result."""
    case = long(570, shift=-3)
    model = make(tmp_path, case, "fp32", train=False)
    inputs = data(case)
    found = results(tmp_path, model, case, inputs)["y"]
    assert np.isnan(found[:, :3]).all() and np.isfinite(found[:, 3:]).all()
    exact = reference(case, inputs)["y"]
    assert relative(found[:, 3:], exact[:, 3:]) < 2.0**-20


def test_memory_of_results(tmp_path):
    """Probabilities that are a result of the model are in memory."""
    case = long(520)
    make(tmp_path, case, "fp32", train=False)
    proto = onnx.load(tmp_path / "model.onnx")
    softmax = next(n for n in proto.graph.node if n.op_type == "Softmax")
    shape = (case.batch, case.heads, case.queries, case.keys)
    proto.graph.output.append(
        onnx.helper.make_tensor_value_info(softmax.output[0], 1, shape)
    )
    onnx.save(proto, tmp_path / "kept.onnx")
    inputs = data(case)
    np.savez(tmp_path / "data.npz", x=inputs["x"])
    mp_run("run", tmp_path / "kept.onnx", tmp_path / "data.npz", "-o",
           tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as read:
        np.testing.assert_allclose(read[softmax.output[0]].sum(-1), 1, rtol=1e-5)
        assert relative(read["y"], reference(case, inputs)["y"]) < 2.0**-20


def test_memory(tmp_path):
    """Of the matrices of long attention, a small part is in memory."""
    for precision in ("fp32", "bf16"):
        case = Attention(2048, heads=4, head=16, batch=2, shift=0)
        model = make(tmp_path, case, precision)
        assert not remarks(model)
        assert arena(model) < matrix(case) / 5


def test_short_attention(tmp_path):
    """Matrices that the caches hold are computed as a whole."""
    model = make(tmp_path, Attention(128, batch=2), "fp32", train=False)
    assert "its matrices fit the caches" in remarks(model)[0]
    model = make(tmp_path, Attention(40, 8192, batch=8), "fp32", train=False)
    assert "it has fewer than 64 queries" in remarks(model)[0]


OPERATOR = """<ir_version: 11, opset_import: ["" : VERSION]>
net (float[4,520,64] x MASK) => (float[4,520,64] y)
{
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  y = Attention<q_num_heads = 4, kv_num_heads = KEYHEADS, is_causal = CAUSAL>(q, k, v INPUT)
}
"""


@pytest.mark.parametrize("version", [23, 24])
@pytest.mark.parametrize("form", ["plain", "causal", "mask", "grouped"])
def test_operator(tmp_path, version, form):
    """ONNX's Attention, whose rows without keys give zeros."""
    key_heads = 2 if form == "grouped" else 4
    case = long(520, key_heads=key_heads, shift=0 if form == "causal" else None)
    text = OPERATOR
    for name, value in {
        "VERSION": version, "KEYHEADS": key_heads, "CAUSAL": int(form == "causal"),
        "MASK": ", bool[520,520] mask" if form == "mask" else "",
        "INPUT": ", mask" if form == "mask" else "",
    }.items():
        text = text.replace(name, str(value))
    model = onnx.parser.parse_model(text)
    for name, value in weights(case).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    assert not remarks(path)
    inputs = data(case)
    if form == "mask":
        mask = np.random.default_rng(2).random((520, 520)) < 0.5
        inputs["mask"] = mask[None, None]
        exact = reference(
            Attention(**{**case.__dict__, "mask": "bool"}), inputs
        )["y"]
        inputs["mask"] = mask
        inputs["mask"][3] = False
        exact[:, 3] = 0
    else:
        exact = reference(case, inputs)["y"]
    found = results(tmp_path, path, case, inputs)["y"]
    if form == "mask":
        assert not found[:, 3].any()
    assert relative(found, exact) < 2.0**-20
