# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""training_info, expanded to one step, against its specification."""

import numpy as np
import onnx
import pytest
from onnx import helper

from onnx_models import describe, parse, tensors_of
from steps import Step, run_mp_opt, scratch_dir
from support import MODELS

FOLDERS = sorted(p.parent for p in MODELS.glob("traininfo/*/model.onnx"))
PREVIEW = "ai.onnx.preview.training"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
@pytest.mark.parametrize("flags", [[], ["--loss-scale=1024"]], ids=str)
def test_stored_trajectories(folder, flags):
    """Every variable after every step that was stored, and all losses."""
    data, expected = np.load(folder / "data.npz"), np.load(folder / "traj.npz")
    step = Step(folder / "model.onnx", *flags)
    checked = 0
    for index, loss in enumerate(expected["loss"]):
        feeds = {n: data[n][index % len(data[n])] for n in data.files}
        results = step.run(feeds)
        (name,) = [n for n in results if n in ("loss", "L", "mse")] or [None]
        np.testing.assert_allclose(results[name], loss, rtol=1e-4, atol=1e-6)
        for key in expected.files:
            when, _, variable = key.partition(":")
            if when == f"step{index}":
                np.testing.assert_allclose(
                    step.state[variable], expected[key], rtol=1e-3, atol=1e-5
                )
                checked += 1
    assert checked >= 10


def make_model(optimizer, states, attributes, extra=(), start=0):
    """y = x w, with the mean square of y - t as loss."""
    rng = np.random.default_rng(3)
    w = rng.normal(size=(4, 2)).astype(np.float32)
    model = parse(
        "g (float[N,4] x) => (float[N,2] y) { y = MatMul(x, w) }", 18, 9,
        [PREVIEW], w=w,
    )  # fmt: skip
    algorithm = onnx.parser.parse_graph(
        "a (float[N,2] t) => (float loss, float[4,2] w_out) {"
        "d = Sub(y, t) s = Mul(d, d) loss = ReduceMean<keepdims=0>(s)"
        f'dw = {PREVIEW}.Gradient<xs=["w"], zs=["x", "t"], y="loss">(w, x, t)'
        "n = Add(count, one) }"
    )
    names = [f"state{i}" for i in range(states)]
    made = ["w_out", *[n + "_out" for n in names]]
    algorithm.node.append(
        helper.make_node(
            optimizer, ["rate", "count", "w", "dw", *names], made,
            domain=PREVIEW, **attributes,
        )
    )  # fmt: skip
    one = np.array(1, np.int64)
    initial = {"rate": np.float32(0.1), "count": one * start, "one": one}
    initial.update({n: np.full((4, 2), 0.25, np.float32) for n in names})
    algorithm.initializer.extend(tensors_of(initial))
    algorithm.output.extend(
        describe(n + "_out", shape=[4, 2]) for n in names
    )
    algorithm.output.append(describe("n", np.int64, []))
    info = model.training_info.add()
    info.algorithm.CopyFrom(algorithm)
    for key, value in [("w", "w_out"), ("count", "n")] + [
        (n, n + "_out") for n in names
    ]:
        info.update_binding.add(key=key, value=value)
    return model


OPTIMIZERS = [
    ("Adagrad", 1, {"decay_factor": 0.5, "epsilon": 1e-3}),
    ("Adagrad", 1, {"norm_coefficient": 0.1}),
    ("Adam", 2, {}),
    ("Adam", 2, {"alpha": 0.5, "beta": 0.75, "epsilon": 0.01,
                 "norm_coefficient": 0.1, "norm_coefficient_post": 0.05}),
    ("Momentum", 1, {"alpha": 0.9, "beta": 0.5, "mode": "standard",
                     "norm_coefficient": 0.0}),
    ("Momentum", 1, {"alpha": 0.9, "beta": 0.5, "mode": "nesterov",
                     "norm_coefficient": 0.1}),
]


def numpy_update(optimizer, attributes, rate, count, x, g, states):
    """The formulas in the operators' documentation."""
    a = {"norm_coefficient": 0.0, "epsilon": 1e-6, "alpha": 0.9, "beta": 0.999,
         "decay_factor": 0.0, "norm_coefficient_post": 0.0, **attributes}
    g = a["norm_coefficient"] * x + g
    if optimizer == "Adagrad":
        r = rate / (1 + count * a["decay_factor"])
        h = states[0] + g * g
        return x - r * g / (np.sqrt(h) + a["epsilon"]), [h]
    if optimizer == "Momentum":
        v = a["alpha"] * states[0] + (a["beta"] if count > 0 else 1) * g
        step = g + a["alpha"] * v if a["mode"] == "nesterov" else v
        return x - rate * step, [v]
    v = a["alpha"] * states[0] + (1 - a["alpha"]) * g
    h = a["beta"] * states[1] + (1 - a["beta"]) * g * g
    if count > 0:
        rate *= np.sqrt(1 - a["beta"] ** count) / (1 - a["alpha"] ** count)
    new = x - rate * v / (np.sqrt(h) + a["epsilon"])
    return (1 - a["norm_coefficient_post"]) * new, [v, h]


@pytest.mark.parametrize("optimizer, states, attributes", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("start", [0, 1])
def test_optimizers(optimizer, states, attributes, start):
    model = make_model(optimizer, states, attributes, start=start)
    step = Step(model)
    rng = np.random.default_rng(0)
    w = np.asarray(step.state["w"], np.float64)
    slots = [np.full((4, 2), 0.25)] * states
    for count in range(start, start + 4):
        x = rng.normal(size=(5, 4)).astype(np.float32)
        t = rng.normal(size=(5, 2)).astype(np.float32)
        results = step.run({"x": x, "t": t})
        error = x @ w - t
        np.testing.assert_allclose(
            results["loss"], np.mean(error**2), rtol=1e-5
        )
        gradient = x.T @ error * (2 / error.size)
        w, slots = numpy_update(
            optimizer, attributes, 0.1, count, w, gradient, slots
        )
        np.testing.assert_allclose(step.state["w"], w, rtol=1e-4, atol=1e-5)
        for index, slot in enumerate(slots):
            np.testing.assert_allclose(
                step.state[f"state{index}"], slot, rtol=1e-4, atol=1e-5
            )
        assert step.state["count"] == count + 1


def test_gradient_at_another_point():
    """Operands that are not the named values: the same function elsewhere."""
    model = make_model("Momentum", 1, OPTIMIZERS[4][2])
    algorithm = model.training_info[0].algorithm
    (gradient,) = [n for n in algorithm.node if n.op_type == "Gradient"]
    gradient.input[1] = "x_twice"
    algorithm.node.insert(0, helper.make_node("Add", ["x", "x"], ["x_twice"]))
    step = Step(model)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 4)).astype(np.float32)
    t = rng.normal(size=(5, 2)).astype(np.float32)
    w = step.state["w"]
    step.run({"x": x, "t": t})
    g = (2 * x).T @ (2 * x @ w - t) * (2 / t.size)
    expected = w - 0.1 * (0.9 * 0.25 + g)
    np.testing.assert_allclose(step.state["w"], expected, rtol=1e-4, atol=1e-5)


def two_entries():
    """A second entry trains b by another loss, with its own optimizer."""
    model = make_model("Momentum", 1, OPTIMIZERS[4][2])
    graph = model.graph
    graph.node.append(helper.make_node("Mul", ["x", "b"], ["z"]))
    graph.output.append(helper.make_tensor_value_info("z", 1, ["N", 4]))
    b = np.arange(1, 5, dtype=np.float32)
    graph.initializer.append(onnx.numpy_helper.from_array(b, "b"))
    algorithm = onnx.parser.parse_graph(
        "a2 (float u) => (float loss2, float[4] b_out)"
        "<float r2 = {0.1}, int64 c2 = {0}, float[4] v2 = {0, 0, 0, 0}> {"
        "p = Mul(z, u) loss2 = ReduceMean<keepdims=0>(p)"
        f'db = {PREVIEW}.Gradient<xs=["b"], zs=["x", "u"], y="loss2">(b, x, u)'
        f"b_out, v_out = {PREVIEW}.Momentum<alpha=0.9, beta=1.0, "
        'mode="standard", norm_coefficient=0.0>(r2, c2, b, db, v2) }'
    )
    algorithm.output.append(helper.make_tensor_value_info("v_out", 1, [4]))
    info = model.training_info.add()
    info.algorithm.CopyFrom(algorithm)
    info.update_binding.add(key="b", value="b_out")
    info.update_binding.add(key="v2", value="v_out")
    return model


def test_two_optimizers_are_skipped_one_by_one():
    """One bad gradient: the other optimizer steps, the scale falls once."""
    step = Step(two_entries(), "--loss-scale=dynamic:init=1024")
    x, t = np.ones((5, 4), np.float32), np.zeros((5, 2), np.float32)
    before = dict(step.state)
    # The second loss is finite; its gradient is not after scaling by 1024.
    results = step.run({"x": x, "t": t, "u": np.array(3e36, np.float32)})
    assert np.isfinite(results["loss2"])
    changed = {n for n in before if before[n].tobytes() != step.state[n].tobytes()}
    assert {"w", "state0", "count"} <= changed
    assert not {"b", "v2"} & changed
    assert step.state["loss_scale"] == 512
    assert step.state["loss_scale.skipped_steps"] == 1


@pytest.mark.parametrize(
    "edit, message",
    [
        (lambda i: i.update_binding.add(key="nobody", value="w_out"),
         "update_binding: the model has no initializer 'nobody'"),
        (lambda i: i.update_binding.add(key="w", value="nothing"),
         "update_binding of 'w': the algorithm has no output 'nothing'"),
        (lambda i: i.algorithm.node[0].input.__setitem__(0, "q"),
         "the algorithm takes 'q', which the model does not define"),
        (lambda i: set_attribute(i, "xs", ["q"]),
         "the model defines no value 'q'"),
        (lambda i: set_attribute(i, "y", "d"),
         "expected a scalar float to differentiate, got 'd'"),
        (lambda i: i.ClearField("update_binding"),
         "no update_binding: nothing would be trained"),
        (lambda i: i.ClearField("algorithm"), "it has no algorithm"),
    ],
)
def test_errors(edit, message):
    model = make_model("Momentum", 1, OPTIMIZERS[4][2])
    edit(model.training_info[0])
    folder = scratch_dir("bad")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(AssertionError, match="exit code 1") as caught:
        run_mp_opt(folder / "m.onnx", "--train", "-o", folder / "out.onnx")
    assert message in str(caught.value)
    assert not (folder / "out.onnx").exists()


def set_attribute(info, name, value):
    (gradient,) = [n for n in info.algorithm.node if n.op_type == "Gradient"]
    (old,) = [a for a in gradient.attribute if a.name == name]
    old.CopyFrom(helper.make_attribute(name, value))
