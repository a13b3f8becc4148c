# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward nodes get the results that their gradients read."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import rules
from onnx_models import parse

MODE = (
    "mode = Constant<value = bool {1}>() "
    "ratio = Constant<value = float {0.5}>() "
)


def differentiate(body, inputs, wrt):
    model = parse(f"g ({inputs}) => (float loss) {{ {body} }}", 22)
    return rules.with_gradients(model, wrt, decompose=False)


def nodes(model, op_type):
    return [n for n in model.graph.node if n.op_type == op_type]


@pytest.mark.parametrize(
    "op_type, node, inputs, results, gradient",
    [
        (
            "MaxPool",
            "y = MaxPool<kernel_shape=[2, 2]>(x)",
            "float[1,1,3,3] x",
            2,
            "MaxPoolGrad",
        ),
        (
            "Dropout",
            MODE + "y = Dropout(x, ratio, mode)",
            "float[3] x",
            2,
            "DropoutGrad",
        ),
        (
            "LayerNormalization",
            "y = LayerNormalization(x, s)",
            "float[2,3] x, float[3] s",
            3,
            "LayerNormalizationGrad",
        ),
        (
            "SoftmaxCrossEntropyLoss",
            "y = SoftmaxCrossEntropyLoss(x, labels)",
            "float[2,3] x, int64[2] labels",
            2,
            "SoftmaxCrossEntropyLossGrad",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_results_are_added(op_type, node, inputs, results, gradient):
    model = differentiate(
        f"{node} loss = ReduceSum<keepdims=0>(y)", inputs, "x"
    )
    (forward,) = nodes(model, op_type)
    (backward,) = nodes(model, gradient)
    assert forward.output[0] == "y"
    assert len(forward.output) == results
    assert set(forward.output[1:]) <= set(backward.input)


def test_stated_results_are_used():
    """Two nodes read the mask that the node had already."""
    model = differentiate(
        MODE + "y, mask = Dropout(x, ratio, mode) "
        "kept = Cast<to=1>(mask) z = Mul(y, kept) "
        "loss = ReduceSum<keepdims=0>(z)",
        "float[3] x",
        "x",
    )
    (forward,) = nodes(model, "Dropout")
    (backward,) = nodes(model, "DropoutGrad")
    assert list(forward.output) == ["y", "mask"]
    assert backward.input[1] == "mask"


def test_inference_has_no_mask():
    model = differentiate(
        "y = Dropout(x) loss = ReduceSum<keepdims=0>(y)", "float[3] x", "x"
    )
    (forward,) = nodes(model, "Dropout")
    assert len(forward.output) == 1
    assert not nodes(model, "DropoutGrad")


def test_replaced_nodes_are_wanted():
    """The gradient of a value whose node has been replaced."""
    case = rules.Case(
        "wanted",
        "z = MaxPool<kernel_shape=[2]>(x) y = Mul(z, z)",
        {"x": (1, 1, 4)},
    )
    values = rules.values_of(case)
    model = rules.with_gradients(rules.make_model(case, values), "z,x")
    (weights,) = rules.weights_of(case)
    evaluator = ReferenceEvaluator(model)
    z_grad, x_grad = evaluator.run(["z_grad", "x_grad"], values)
    x = values["x"]
    z = np.maximum(x[..., 1:], x[..., :-1])
    np.testing.assert_allclose(z_grad, 2 * z * weights)
    np.testing.assert_allclose(x_grad, rules.gradients(case)["x"])
