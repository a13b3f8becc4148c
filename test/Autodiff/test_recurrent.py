# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTM, GRU and RNN as Scan compute what onnxruntime's kernels compute.

ONNX's reference evaluator ignores lengths of sequences, directions and most
activations; onnxruntime (float32) is the judge.
"""

import itertools

import numpy as np
import pytest
from onnx import helper

import onnx_models
from onnx_models import inputs_of, rewritten
from onnx_models import run_ort as run

STEPS, BATCH, INPUT, HIDDEN = 4, 3, 2, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def feeds_of(op, operands, directions, layout):
    rng = np.random.default_rng(len(operands) * 10 + directions)
    gates = GATES[op]
    shapes = {
        "X": (STEPS, BATCH, INPUT),
        "W": (directions, gates * HIDDEN, INPUT),
        "R": (directions, gates * HIDDEN, HIDDEN),
        "B": (directions, 2 * gates * HIDDEN),
        "H0": (directions, BATCH, HIDDEN),
        "C0": (directions, BATCH, HIDDEN),
        "P": (directions, 3 * HIDDEN),
    }
    if layout:
        for name in ("X", "H0", "C0"):
            first, second, last = shapes[name]
            shapes[name] = (second, first, last)
    feeds = {}
    for name in operands:
        if name == "L":
            feeds[name] = np.array([2, 4, 1], np.int32)
        else:
            value = rng.uniform(-1, 1, shapes[name])
            feeds[name] = value.astype(np.float32)
    return feeds


def make_model(op, feeds, unknown=False, opset=22, domain="", **attributes):
    order = ["X", "W", "R", "B", "L", "H0"]
    results = ["Y", "Y_h"]
    if op.startswith("LSTM"):
        order += ["C0", "P"]
        results += ["Y_c"]
    node = helper.make_node(
        op, [name if name in feeds else "" for name in order], results,
        name="cell", domain=domain, hidden_size=HIDDEN, **attributes,
    )  # fmt: skip
    return onnx_models.make_model(
        [node], inputs_of(feeds, unknown), " ".join(results), opset=opset, ir=10
    )


def decompose(model):
    made = rewritten(model, "--onnx-decompose-recurrent")
    ops = {node.op_type for node in made.graph.node}
    assert "Scan" in ops and not ops & GATES.keys()
    return made


def check(op, operands="X W R", direction="forward", **more):
    directions = 2 if direction == "bidirectional" else 1
    layout = more.get("layout", 0)
    feeds = feeds_of(op, operands.split(), directions, layout)
    # onnxruntime has no kernel for the other layout, but one for the usual.
    plain = {**more, "layout": 0}
    expected = run(
        make_model(op, turn(feeds, layout), direction=direction, **plain),
        turn(feeds, layout),
    )
    expected = [turn_result(value, layout) for value in expected]
    for unknown in (False, True):
        model = make_model(op, feeds, unknown, direction=direction, **more)
        for value, right in zip(run(decompose(model), feeds), expected):
            np.testing.assert_allclose(value, right, rtol=2e-5, atol=2e-6)


def turn(feeds, layout):
    return {
        name: value.swapaxes(0, 1)
        if layout and name in ("X", "H0", "C0")
        else value
        for name, value in feeds.items()
    }


def turn_result(value, layout):
    if not layout:
        return value
    axes = (2, 0, 1, 3) if value.ndim == 4 else (1, 0, 2)
    return value.transpose(axes)


EACH_DIRECTION = pytest.mark.parametrize(
    "direction", ["forward", "reverse", "bidirectional"]
)


@EACH_DIRECTION
@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("operands", ["", " B", " B L", " B H0", " L H0"])
def test_operands(op, operands, direction):
    if op == "LSTM" and "H0" in operands:
        operands += " C0"
    check(op, "X W R" + operands, direction)


@EACH_DIRECTION
@pytest.mark.parametrize("op", GATES)
def test_batch_first(op, direction):
    check(op, "X W R B L H0", direction, layout=1)


@EACH_DIRECTION
@pytest.mark.parametrize("operands", [" P", " B P L", " B H0 C0 P"])
def test_peepholes(operands, direction):
    check("LSTM", "X W R" + operands, direction)


@EACH_DIRECTION
@pytest.mark.parametrize("operands", ["", " B", " B L H0"])
def test_linear_before_reset(operands, direction):
    check("GRU", "X W R" + operands, direction, linear_before_reset=1)


@pytest.mark.parametrize("op", GATES)
def test_clip(op):
    operands = "X W R B P" if op == "LSTM" else "X W R B"
    check(op, operands, clip=0.3)


def test_clip_linear_before_reset():
    check("GRU", "X W R B", clip=0.3, linear_before_reset=1)


@pytest.mark.parametrize("operands", ["X W R B", "X W R B P"])
def test_input_forget(operands):
    check("LSTM", operands, input_forget=1)


# The default alpha of ThresholdedRelu is 1 in ONNX, but 0 in onnxruntime.
ACTIVATIONS = [
    ("Relu", [], []),
    ("Tanh", [], []),
    ("Sigmoid", [], []),
    ("Affine", [0.7], [0.2]),
    ("LeakyRelu", [0.1], []),
    ("LeakyRelu", [], []),
    ("ThresholdedRelu", [0.2], []),
    ("ScaledTanh", [0.8], [1.3]),
    ("HardSigmoid", [0.3], [0.4]),
    ("HardSigmoid", [], []),
    ("Elu", [0.6], []),
    ("Elu", [], []),
    ("Softsign", [], []),
    ("Softplus", [], []),
]


@pytest.mark.parametrize("name, alpha, beta", ACTIVATIONS)
def test_activations(name, alpha, beta):
    parameters = {"activation_alpha": alpha, "activation_beta": beta}
    parameters = {key: value for key, value in parameters.items() if value}
    check("RNN", "X W R B", activations=[name], **parameters)


def test_activations_of_directions():
    check(
        "LSTM",
        "X W R B",
        "bidirectional",
        activations=["HardSigmoid", "Tanh", "Elu", "LeakyRelu", "relu", "Tanh"],
        activation_alpha=[0.3, 0.7, 0.05],
        activation_beta=[0.4],
    )


def test_old_opset():
    for op, opset in itertools.product(GATES, (13, 14, 17)):
        feeds = feeds_of(op, ["X", "W", "R", "B", "L"], 1, 0)
        model = make_model(op, feeds, opset=opset)
        for value, right in zip(
            run(decompose(model), feeds), run(model, feeds)
        ):
            np.testing.assert_allclose(value, right, rtol=2e-5, atol=2e-6)
