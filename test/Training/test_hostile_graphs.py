# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward models that contradict themselves: one error from --train."""

import onnx
import pytest

from test_hostile_training import check_error


def test_labels_that_nobody_knows():
    """Where the loss is the model's own, so are the labels."""
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18, "acme": 1]>'
        "g (float[N,4] x) => (float loss) <float[4,3] w = {1, 2, 3, 4, 5, 6,"
        " 7, 8, 9, 10, 11, 12}> { y = MatMul(x, w) t = acme.Mystery(x)"
        " loss = SoftmaxCrossEntropyLoss(y, t) }"
    )
    check_error(model, "the type of its operand #2 is unknown", "--loss=output:loss")


def test_result_of_another_rank():
    """The model declares a scalar, which Resize never makes of a vector: what
    it makes counts."""
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]>'
        "g () => (float loss) <float[5] w = {1, 2, 3, 4, 5},"
        ' float[1] s = {2}> { loss = Resize<mode="nearest">(w, , s) }'
    )
    message = "loss 'loss': expected a scalar, got 'tensor<10xf32>'"
    check_error(model, message, "--loss=output:loss", "--train-only=w")


def test_scores_without_classes():
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]>'
        "g (int64[3] t) => (float loss) <float[3] w = {1, 2, 3}> {"
        " loss = SoftmaxCrossEntropyLoss(w, t) }"
    )
    message = "its scores have no axis of classes"
    check_error(model, message, "--loss=output:loss", "--train-only=w")


def test_equation_with_other_axes():
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]>'
        "g (float[4,4] x) => (float[4,4] y) <float[2] w = {1, 2}> {"
        ' y = Einsum<equation="ij,jk->ik">(x, w) }'
    )
    check_error(model, "rank of input 1 (1) does not match the equation", "--loss=mse")


def test_product_with_a_scalar():
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]>'
        "g (float s) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
        " y = MatMul(w, s) }"
    )
    check_error(model, "input tensors of wrong rank (0)", "--loss=mse")


@pytest.mark.parametrize(
    "operands, message",
    [("w", "expected at least 2 inputs"), ("w, , w", "operand #1 is absent")],
)
def test_lists_of_nothing(operands, message):
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18, "com.microsoft": 1]>'
        "g () => (float[1] y) <float[1] w = {1}> {"
        f" y = com.microsoft.MixedPrecisionScale<to=1,fuse_outputs=1>({operands})"
        " }"
    )
    check_error(model, message, "--loss=mse", "--train-only=w")
