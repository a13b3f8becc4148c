# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch's modules say beside what they compute, against numpy."""

import numpy as np
import onnx
import pytest

from onnx_models import parse
from steps import Step, scratch_dir
from support import run_mp_opt
from test_parameters import fails_with, summary_of, with_metadata

RNG = np.random.default_rng(3)
W = RNG.normal(size=(3, 4)).astype(np.float32)
X = RNG.normal(size=(5, 3)).astype(np.float32)


def build(text, **weights):
    """A graph in text, with initializers."""
    model = parse(f"main_graph {text}", 20, **weights)
    model.producer_name = "pytorch"
    return model


def gradients(model, *flags, **feeds):
    step = Step(model, "--loss=mse", "--optimizer=none", *flags)
    return step.run(feeds), step


# ---- Ends of gradients -----------------------------------------------------

PRODUCT = """(float[5,3] x) => (float[5,4] y) {
  a = MatMul(x, w)
  b = MatMul(x, w)
  [node_detach] detach = Identity(b)
  y = Mul(a, detach)
}"""


def slope(y, labels):
    return 2 * (y - labels) / y.size


def product_gradient(labels):
    a = X.astype(np.float64) @ W
    return X.T.astype(np.float64) @ (slope(a * a, labels) * a)


def test_no_gradient_passes_detach():
    labels = RNG.normal(size=(5, 4)).astype(np.float32)
    results, _ = gradients(build(PRODUCT, w=W), x=X, labels=labels)
    expected = product_gradient(labels)
    np.testing.assert_allclose(results["w_grad"], expected, rtol=1e-5, atol=1e-6)


def test_values_of_the_users_choice():
    labels = RNG.normal(size=(5, 4)).astype(np.float32)
    plain = PRODUCT.replace("[node_detach] detach", "[copy] c").replace(
        "detach", "c"
    )
    feeds = {"x": X, "labels": labels}
    whole, _ = gradients(build(plain, w=W), **feeds)
    half, step = gradients(build(plain, w=W), "--stop-gradient=b", **feeds)
    expected = product_gradient(labels)
    np.testing.assert_allclose(half["w_grad"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        whole["w_grad"], 2 * expected, rtol=1e-5, atol=1e-6
    )
    assert "y" in step.outputs
    message = fails_with(build(plain, w=W), "--stop-gradient=cc")
    assert "'cc' matches no value" in message
    message = fails_with(build(plain, w=W), "--stop-gradient=w")
    assert "--freeze" in message


def test_what_no_gradient_reaches_is_not_trained():
    text = """(float[5,3] x) => (float[5,4] y) {
      a = MatMul(x, w)
      b = MatMul(x, t)
      [node_detach] detach = Identity(b)
      y = Sub(a, detach)
    }"""
    model = build(text, w=W, t=W + 1)
    rows = summary_of(model)
    assert rows["w"]["state"] == "trained"
    assert rows["t"]["state"] == "not a parameter"
    assert "no gradient passes" in rows["t"]["reason"]
    # torch's optimizers do not change parameters without a gradient.
    rows = summary_of(with_metadata(model, parameters=["w", "t"]))
    assert rows["t"]["state"] == "frozen"
    assert "no gradient" in fails_with(model, "--train-only=t")


def test_the_row_of_padding_stays():
    text = """(int64[2,3] i) => (float[2,4] y) {
      e = Gather <axis: int = 0> (t, i)
      h = Tanh(e)
      axes = Constant <value_ints = [1]> ()
      y = ReduceSum <keepdims: int = 0> (h, axes)
    }"""
    table = RNG.normal(size=(6, 4)).astype(np.float32)
    table[0] = 0
    ids = np.array([[0, 2, 2], [0, 0, 5]])
    labels = RNG.normal(size=(2, 4)).astype(np.float32)
    results, step = gradients(build(text, t=table), i=ids, labels=labels)
    assert "row 0 of 't' is zero" in step.messages
    h = np.tanh(table[ids].astype(np.float64))
    each = slope(h.sum(1), labels)[:, None] * (1 - h * h)
    expected = np.zeros(table.shape)
    np.add.at(expected, ids.ravel(), each.reshape(-1, 4))
    assert abs(expected[0]).max() > 0.1
    expected[0] = 0
    np.testing.assert_allclose(results["t_grad"], expected, rtol=1e-5, atol=1e-6)


# ---- Lists and buffers -----------------------------------------------------

SHARED = """(float[5,3] x) => (float[5,4] y) {
  a = MatMul(x, w)
  c = Add(a, b)
  t = Tanh(c)
  d = MatMul(t, v)
  e = Add(d, b)
  y = Tanh(e)
}"""


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("listed", [True, False])
def test_one_parameter_of_equal_elements_stays_one(value, listed):
    v = RNG.normal(size=(4, 4)).astype(np.float32)
    b = np.full(4, value, np.float32)
    model = build(SHARED, w=W, v=v, b=b)
    if listed:
        with_metadata(model, parameters=["b", "w", "v"], buffers=[])
    labels = RNG.normal(size=(5, 4)).astype(np.float32)
    results, _ = gradients(model, x=X, labels=labels)
    inner = np.tanh(X.astype(np.float64) @ W + b)
    outer = np.tanh(inner @ v + b)
    back = slope(outer, labels) * (1 - outer**2)
    expected = back.sum(0) + ((back @ v.T) * (1 - inner**2)).sum(0)
    np.testing.assert_allclose(results["b_grad"], expected, rtol=1e-5, atol=1e-6)
    assert {n for n in results if n.endswith("_grad")} == {
        "b_grad", "w_grad", "v_grad"
    }  # fmt: skip


def test_vectors_of_a_power_iteration_are_no_parameters():
    text = """(float[5,3] x) => (float[5,4] y) {
      u1 = Identity(u)
      m = MatMul(w, v)
      s = MatMul(u1, m)
      n = Div(w, s)
      y = MatMul(x, n)
    }"""
    u, _, v = np.linalg.svd(W)
    model = build(text, w=W, u=u[:, 0].copy(), v=v[0].copy())
    rows = summary_of(model)
    assert rows["w"]["state"] == "trained"
    for name in "uv":
        assert "power iteration" in rows[name]["reason"]


def tables():
    """Sines and cosines of a grid, as rotary embeddings store them."""
    rows, columns = np.divmod(np.arange(12), 4)
    scale = 1 / 10.0 ** np.arange(4)
    angles = np.concatenate(
        [np.outer(p - 1.3, scale) for p in (rows, columns)], axis=1
    )
    sin, cos = np.sin(angles), np.cos(angles)
    stacked = np.stack([sin, cos], axis=-1)
    return {
        "halves": np.concatenate([sin, cos], axis=1),
        "interleaved": stacked.reshape(12, 16),
        "repeated": np.concatenate(
            [sin.repeat(2, axis=1), cos.repeat(2, axis=1)], axis=1
        ),
        "stacked": np.stack([cos, -sin]),
        "permuted": np.concatenate([cos, sin], axis=1)[:, ::-1].T,
        "scaled": 1.2 * np.concatenate([sin, cos], axis=1),
        "padded": np.pad(np.concatenate([sin, cos], axis=1), ((1, 0), (0, 2))),
    }


def weights():
    return {
        "normal": RNG.normal(size=(12, 16)) * 0.5,
        "uniform": RNG.uniform(-1, 1, size=(12, 16)),
        "ternary": RNG.integers(-1, 2, size=(12, 16)) * 0.7,
        "orthogonal": np.linalg.qr(RNG.normal(size=(16, 16)))[0],
        "near ones": 1 + RNG.normal(size=(12, 16)) * 1e-3,
    }


def scaling(table):
    sizes = ",".join(map(str, table.shape))
    text = f"""(float[{sizes}] x) => (float[{sizes}] y) {{
      h = Relu(x)
      k = Mul(h, k_weight)
      y = Add(k, pos)
    }}"""
    weight = RNG.normal(size=table.shape).astype(np.float32)
    return build(text, pos=table.astype(np.float32), k_weight=weight)


@pytest.mark.parametrize("name", tables())
def test_tables_of_sines_and_cosines_are_no_parameters(name):
    rows = summary_of(scaling(tables()[name]))
    assert rows["pos"]["reason"] == "sampled sines and cosines"
    assert rows["k_weight"]["state"] == "trained"
    half = tables()[name].astype(np.float16)
    rows = summary_of(scaling(half.astype(np.float32)))
    assert rows["k_weight"]["state"] == "trained"


@pytest.mark.parametrize("name", weights())
def test_weights_are_no_tables(name):
    assert summary_of(scaling(weights()[name]))["pos"]["state"] == "trained"


def test_matched_and_not_trained():
    model = scaling(tables()["halves"])
    rows = summary_of(model, "--train-only=.*")
    assert rows["pos"]["note"] == "matched, not trained"
    assert "note" not in rows["k_weight"]
    folder = scratch_dir("matched")
    onnx.save(model, folder / "net.onnx")
    flags = ["--train", "--loss=mse", "--train-only=k.*|pos"]
    done = run_mp_opt(folder / "net.onnx", *flags, "-o", folder / "step.onnx")
    assert "matched, not trained: pos" in done.stdout + done.stderr
