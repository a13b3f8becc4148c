# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loss scaling where other scalers go wrong, by running steps."""

import numpy as np
import pytest
from onnx import TensorProto

from steps import SCALE, SKIPPED, Step, batch, make_net, same_bits

MSE = ["--loss=mse", "--lr=0.01"]
ADAM = [*MSE, "--optimizer=adamw:eps=1e-6", "--weight-decay=0.01"]
FP16 = ["--mixed-fp16", "--emulate"]


def dynamic(**settings):
    text = ",".join(f"{k.replace('_', '-')}={v}" for k, v in settings.items())
    return "--loss-scale=dynamic" + (":" + text if text else "")


def bad_batch(value=np.inf):
    feeds = batch()
    feeds["x"][3, 1] = value
    return feeds


def huge_gradients():
    """A finite loss whose gradients leave fp32: some 1e17 away, times 1e22."""
    feeds = batch()
    feeds["x"] = np.full_like(feeds["x"], 1e22)
    return feeds


def with_small_weights():
    net = make_net((4, 3))
    for tensor in net.graph.initializer:
        tensor.raw_data = (
            np.frombuffer(tensor.raw_data, np.float32) * 1e-4
        ).tobytes()
    return net


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("flags", [[], FP16], ids=["fp32", "fp16"])
def test_a_bad_step_changes_no_bit(value, flags):
    step = Step(make_net(), *ADAM, *flags, dynamic(init=64))
    step.run(batch())
    before = step.trained()
    assert before["step"] == 1 and before["w0.exp_avg"].any()
    step.run(bad_batch(value))
    assert same_bits(before, step.trained())
    assert step.state[SKIPPED] == 1
    step.run(batch())
    assert step.state["step"] == 2 and not same_bits(before, step.trained())


def test_a_loss_that_is_not_finite_leaves_the_scale():
    """No scale would help: halving it for ever would only ruin it."""
    step = Step(make_net(), *ADAM, dynamic(init=64))
    for count in range(1, 4):
        results = step.run(bad_batch())
        assert not np.isfinite(results["loss"])
        assert step.state[SCALE] == 64 and step.state[SKIPPED] == count


def test_overflowing_gradients_halve_the_scale_down_to_the_floor():
    step = Step(
        with_small_weights(), *ADAM, dynamic(init=8, floor=2), "--clip-norm=1"
    )
    before, scales = step.trained(), []
    for _ in range(5):
        results = step.run(huge_gradients())
        assert np.isfinite(results["loss"])
        scales.append(float(step.state[SCALE]))
    assert scales == [4, 2, 2, 2, 2]
    assert same_bits(before, step.trained())


def test_gradients_are_tested_after_unscaling_too():
    """Finite while scaled by 2^-40, infinite when it is divided out."""
    flags = [*ADAM, dynamic(init=2.0**-40, floor=2.0**-60)]
    step = Step(with_small_weights(), *flags)
    assert "makes gradients smaller" in step.messages
    before = step.trained()
    step.run(huge_gradients())
    assert same_bits(before, step.trained()) and step.state[SKIPPED] == 1
    assert 0 < step.state[SCALE] < 2.0**-40


def test_growth_is_that_of_torch():
    """Doubles after exactly three clean steps: 4 4 8 8 8 16 16."""
    step = Step(make_net(), *MSE, dynamic(init=4, growth_interval=3))
    seen = []
    for _ in range(7):
        step.run(batch())
        seen.append(float(step.state[SCALE]))
    assert seen == [4, 4, 8, 8, 8, 16, 16]


def test_growth_ends_at_the_cap():
    flags = dynamic(init=2**23, growth_interval=1)
    step = Step(make_net(), *MSE, flags)
    for _ in range(4):
        step.run(batch())
        assert step.state[SCALE] == 2**24
        assert step.state["loss_scale.clean_steps"] == 0


def test_hysteresis():
    """The scale falls at the second bad step in a row, and at each after."""
    flags = ["--loss=mse", "--lr=1e-12", dynamic(init=64, hysteresis=2)]
    step, seen = Step(with_small_weights(), *flags), []
    for feeds in "bad good bad bad bad good bad".split():
        step.run(huge_gradients() if feeds == "bad" else batch((4, 3)))
        seen.append(float(step.state[SCALE]))
    assert seen == [64, 64, 64, 32, 16, 16, 16]


def test_a_bad_step_starts_the_clean_ones_again():
    step = Step(with_small_weights(), *MSE, dynamic(init=64, growth_interval=3))
    for feeds in (batch((4, 3)), batch((4, 3)), huge_gradients()):
        step.run(feeds)
    assert step.state["loss_scale.clean_steps"] == 0


def test_a_window_with_a_bad_step_is_skipped_whole():
    flags = [*ADAM, "--accumulate=3", dynamic(init=64)]
    step = Step(with_small_weights(), *flags)
    before, good = step.trained(), batch((4, 3))
    scales = []
    for feeds in (huge_gradients(), good, good):
        step.run(feeds)
        scales.append(float(step.state[SCALE]))
    # Constant within the window; it falls once, at the end.
    assert scales == [64, 64, 32]
    assert step.state[SKIPPED] == 1 and step.state["accumulated_steps"] == 0
    assert same_bits(before, step.trained())
    for _ in range(3):
        step.run(good)
    assert step.state["step"] == 1 and step.state[SKIPPED] == 1
    assert not step.state["w0.accumulated"].any()
    assert not np.array_equal(before["w0"], step.state["w0"])


def test_an_accumulated_step_is_one_of_the_whole_batch():
    feeds = batch(count=12)
    parts = [{n: v[i : i + 4] for n, v in feeds.items()} for i in (0, 4, 8)]
    whole = Step(make_net(), *ADAM)
    whole.run(feeds)
    windows = Step(make_net(), *ADAM, "--accumulate=3", dynamic())
    for part in parts:
        windows.run(part)
    for name in whole.state:
        np.testing.assert_allclose(
            windows.state[name], whole.state[name], rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("scale", ["1024", "dynamic:init=1024"])
def test_clipping_sees_unscaled_gradients(scale):
    flags = [*ADAM, "--clip-norm=0.01"]
    plain = Step(make_net(), *flags)
    scaled = Step(make_net(), *flags, f"--loss-scale={scale}")
    for _ in range(3):
        plain.run(batch())
        scaled.run(batch())
    # Powers of two divide out exactly.
    assert same_bits(plain.trained(), scaled.trained())


def test_clip_norm_bounds_the_norm_of_all_gradients():
    flags = ["--loss=mse", "--lr=1"]
    free, clipped = Step(make_net(), *flags), Step(
        make_net(), *flags, "--clip-norm=0.125"
    )
    before = free.state
    free.run(batch())
    clipped.run(batch())
    names = [n for n in before if n != "step"]
    moves = {n: before[n] - free.state[n] for n in names}
    norm = np.sqrt(sum((m.astype(np.float64) ** 2).sum() for m in moves.values()))
    assert norm > 1
    for name in names:
        expected = moves[name] * (0.125 / norm)
        actual = before[name] - clipped.state[name]
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6)


def test_the_loss_is_the_true_one():
    step = Step(make_net(), *MSE, "--loss-scale=4096")
    feeds = batch()
    results = step.run(feeds)
    expected = np.mean((results["y"] - feeds["labels"]) ** 2)
    np.testing.assert_allclose(results["loss"], expected, rtol=1e-6)


def test_a_scale_that_is_no_power_of_two_warns():
    assert "not a power of two" in Step(
        make_net(), *MSE, "--loss-scale=1000"
    ).messages
    assert "warning" not in Step(make_net(), *MSE, "--loss-scale=1024").messages


def test_a_static_scale_skips_bad_steps_too():
    step = Step(make_net(), *ADAM, "--loss-scale=128")
    before = step.trained()
    step.run(bad_batch())
    assert same_bits(before, step.trained())
    assert step.state[SKIPPED] == 1
    step.run(batch())
    assert step.state[SKIPPED] == 1 and not same_bits(before, step.trained())


def test_a_static_scale_counts_windows_of_batches():
    step = Step(make_net(), *ADAM, "--loss-scale=128", "--accumulate=2")
    counts = []
    for feeds in (bad_batch(), batch(), batch(), batch()):
        step.run(feeds)
        counts.append(int(step.state[SKIPPED]))
    assert counts == [0, 1, 1, 1]


def test_bf16_has_no_scaling():
    default = Step(make_net(), *ADAM, "--mixed-bf16", "--emulate")
    none = Step(
        make_net(), *ADAM, "--mixed-bf16", "--emulate", "--loss-scale=none"
    )
    assert default.model == none.model
    assert not any(SCALE in name for name in default.state)
    assert SCALE in Step(make_net(), *ADAM, *FP16).state


def test_an_unused_parameter_is_left_alone():
    step = Step(make_net(unused=True), *ADAM, dynamic())
    results = step.run(batch())
    assert "unused" not in step.state and step.state[SKIPPED] == 0
    np.testing.assert_array_equal(results["aside"], [2, 2, 2])


def test_the_scale_is_multiplied_in_fp32():
    """A scale beyond fp16 and a loss near its end do not meet in fp16."""
    step = Step(make_net(), *MSE, *FP16, dynamic(init=2**24))
    results = step.run(batch(scale=100.0))
    assert results["loss"] > 1000
    model = Step(make_net(), *MSE, "--mixed-fp16", "--loss-scale=4096").model
    types = {
        v.name: v.type.tensor_type.elem_type for v in model.graph.value_info
    }
    users = [n for n in model.graph.node if "loss_scale" in n.input]
    assert users
    for node in users:
        for name in [*node.input, *node.output]:
            assert types.get(name, TensorProto.FLOAT) == TensorProto.FLOAT


def underflowing_losses(*flags):
    """A mean over 65,536 errors of 2e-4: each has a gradient of 6e-9, below
    what fp16 holds; their sums are what moves the weights."""
    sizes, count = (4, 16), 4096
    net = make_net(sizes)
    for tensor in net.graph.initializer:
        values = np.frombuffer(tensor.raw_data, np.float32)
        tensor.raw_data = (values * 1e-5).astype(np.float32).tobytes()
    step = Step(net, "--loss=mse", "--lr=4", *flags)
    feeds = batch(sizes, count)
    target = np.random.default_rng(2).normal(size=sizes) * 1e-4
    feeds["labels"] = (feeds["x"] @ target).astype(np.float32)
    return [float(step.run(feeds)["loss"]) for _ in range(40)]


def test_scaling_is_what_helps():
    fp32 = underflowing_losses()
    scaled = underflowing_losses(*FP16)
    unscaled = underflowing_losses(*FP16, "--loss-scale=none")
    assert fp32[-1] < 0.5 * fp32[0]
    assert scaled[-1] < 0.5 * scaled[0]
    assert unscaled[-1] > 0.9 * unscaled[0]
