# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTMTraining, GRUTraining and their gradients against the kernels of
onnxruntime-training, in float32."""

import numpy as np
import pytest

import training
from decompositions import by_kernels, decomposed, node_model
from onnx_models import run_ort

pytestmark = training.needs_runtime

STEPS, BATCH, INPUT, HIDDEN = 4, 3, 2, 5


def make(op, inputs, outputs, attributes, opset):
    """Absent inputs are None, absent outputs an empty name."""
    outputs = [(name, np.float32, None) for name in outputs]
    return node_model(
        op, inputs, outputs, opset, hidden_size=HIDDEN, **attributes
    )


def by_training(op, inputs, outputs, attributes):
    (result,) = by_kernels([make(op, inputs, outputs, attributes, 17)])
    assert "error" not in result, result["error"]
    return [result[name] for name in filter(None, outputs)]


def by_decomposition(op, inputs, outputs, attributes, opset):
    model, feeds = make(op, inputs, outputs, attributes, opset)
    return run_ort(decomposed(model), feeds)


def compare(op, inputs, outputs, attributes, expected=None):
    if expected is None:
        expected = by_training(op, inputs, outputs, attributes)
    for opset in (15, 17, 18):
        actual = by_decomposition(op, inputs, outputs, attributes, opset)
        for value, right in zip(actual, expected, strict=True):
            assert value.shape == right.shape, opset
            np.testing.assert_allclose(
                value, right, rtol=2e-5, atol=2e-6, err_msg=f"opset {opset}"
            )
    return expected


def uniform(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def operands(gates, states, bias=True, initial=True):
    rng = np.random.default_rng(gates)
    x = uniform(rng, STEPS, BATCH, INPUT)
    w = uniform(rng, 1, gates * HIDDEN, INPUT)
    r = uniform(rng, 1, gates * HIDDEN, HIDDEN)
    b = uniform(rng, 1, 2 * gates * HIDDEN) if bias else None
    first = [
        uniform(rng, 1, BATCH, HIDDEN) if initial else None
        for _ in range(states)
    ]
    return x, w, r, b, first


EACH = pytest.mark.parametrize(
    "bias, initial", [(True, True), (True, False), (False, True)]
)


@EACH
def test_lstm(bias, initial):
    x, w, r, b, first = operands(4, 2, bias, initial)
    names = ["y", "h", "c", "cells", "gates"]
    found = compare("LSTMTraining", [x, w, r, b, None, *first], names, {})
    y, h, c, cells, gates = found
    rng = np.random.default_rng(7)
    gradients = [uniform(rng, *value.shape) for value in (y, h, c)]
    compare(
        "LSTMGrad",
        [x, w, r, None, *first, y, cells, gates, *gradients],
        ["dx", "dw", "dr", "db", "dh", "dc"],
        {},
    )


@EACH
@pytest.mark.parametrize("linear", [0, 1])
def test_gru(bias, initial, linear):
    x, w, r, b, first = operands(3, 1, bias, initial)
    attributes = {"linear_before_reset": linear}
    names = ["y", "h", "gates"]
    inputs = [x, w, r, b, None, *first]
    found = compare("GRUTraining", inputs, names, attributes)
    y, h, gates = found
    rng = np.random.default_rng(8)
    gradients = [uniform(rng, *value.shape) for value in (y, h)]
    compare(
        "GRUGrad",
        [x, w, r, b, None, *first, y, gates, *gradients],
        ["dx", "dw", "dr", "db", "dh"],
        attributes,
    )


def test_peepholes():
    x, w, r, b, first = operands(4, 2)
    peepholes = uniform(np.random.default_rng(9), 1, 3 * HIDDEN)
    compare(
        "LSTMTraining",
        [x, w, r, b, None, *first, peepholes],
        ["y", "h", "c", "cells", "gates"],
        {},
    )


def flip(values, sequences):
    return [v[::-1] if i in sequences else v for i, v in enumerate(values)]


# The kernels know one direction; the other one is the same backwards.
@pytest.mark.parametrize(
    "op, gates, states, sequences",
    [("LSTM", 4, 2, (0, 6, 7, 8, 9)), ("GRU", 3, 1, (0, 6, 7, 8))],
)
def test_directions(op, gates, states, sequences):
    x, w, r, b, first = operands(gates, states)
    names = {
        "LSTM": ["y", "h", "c", "cells", "gates"],
        "GRU": ["y", "h", "zrh"],
    }
    results = ["dx", "dw", "dr", "db", "dh", "dc"][: 4 + states]
    rng = np.random.default_rng(10)

    def gradient(x):
        values = by_training(
            f"{op}Training", [x, w, r, b, None, *first], names[op], {}
        )
        if op == "LSTM":
            y, h, c, cells, iofc = values
            kept = [x, w, r, None, *first, y, cells, iofc]
        else:
            y, h, zrh = values
            kept = [x, w, r, b, None, *first, y, zrh]
        seeds = [y, h, c] if op == "LSTM" else [y, h]
        return kept + [uniform(rng, *v.shape) for v in seeds]

    forward, backward = gradient(x), gradient(x[::-1])
    grad = f"{op}Grad"
    one = by_training(grad, forward, results, {})
    other = by_training(grad, backward, results, {})
    other = flip(other, (0,))
    backward = flip(backward, sequences)
    compare(grad, backward, results, {"direction": "reverse"}, other)
    joined = [
        a
        if a is None or i == 0
        else np.concatenate([a, b], 1 if i in sequences else 0)
        for i, (a, b) in enumerate(zip(forward, backward, strict=True))
    ]
    expected = [one[0] + other[0]] + [
        np.concatenate(pair) for pair in zip(one[1:], other[1:], strict=True)
    ]
    compare(grad, joined, results, {"direction": "bidirectional"}, expected)


def operands_of_gradient():
    x, w, r, _, first = operands(4, 2)
    states = np.zeros((STEPS, 1, BATCH, HIDDEN), np.float32)
    gates = np.zeros((STEPS, 1, BATCH, 4 * HIDDEN), np.float32)
    return [x, w, r, None, *first, states, states, gates, states]


@pytest.mark.parametrize(
    "change, attributes, message",
    [
        ({3: np.array([1, 2, 3], np.int32)}, {}, "lengths of sequences are"),
        ({}, {"clip": 0.5}, "clipping is not supported"),
        ({}, {"input_forget": 1}, "coupled gates are not supported"),
        (
            {},
            {"activations": ["Sigmoid", "Relu", "Tanh"]},
            "activation 'Relu' is not supported",
        ),
        ({7: None}, {}, "the states and gates of all steps are needed"),
    ],
)
def test_errors(change, attributes, message):
    inputs = operands_of_gradient()
    for index, value in change.items():
        inputs[index] = value
    with pytest.raises(AssertionError, match=message):
        by_decomposition("LSTMGrad", inputs, ["dx"], attributes, 17)


def test_no_gradient_of_peepholes():
    inputs = operands_of_gradient()
    outputs = ["dx", "", "", "", "", "", "dp"]
    with pytest.raises(AssertionError, match="peepholes is not supported"):
        by_decomposition("LSTMGrad", inputs, outputs, {}, 17)
