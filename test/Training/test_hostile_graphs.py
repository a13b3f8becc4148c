# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward models that contradict themselves: one error from --train."""

import pytest

from onnx_models import parse
from test_hostile_training import check_error

OWN, OF_W = "--loss=output:loss", "--train-only=w"
MSE = "--loss=mse"
LIST = "com.microsoft.MixedPrecisionScale<to=1,fuse_outputs=1>"
# A graph, the message, and the flags.
CASES = {
    # The labels are the model's own, as the loss is.
    "labels that nobody knows": (
        "(float[N,4] x) => (float loss) <float[4,3] w = {1, 2, 3, 4, 5, 6,"
        " 7, 8, 9, 10, 11, 12}> { y = MatMul(x, w) t = acme.Mystery(x)"
        " loss = SoftmaxCrossEntropyLoss(y, t) }",
        "the type of its operand #2 is unknown", OWN,
    ),
    # The model declares a scalar, which Resize never makes of a vector: what
    # it makes counts.
    "result of another rank": (
        "() => (float loss) <float[5] w = {1, 2, 3, 4, 5}, float[1] s = {2}>"
        ' { loss = Resize<mode="nearest">(w, , s) }',
        "loss 'loss': expected a scalar, got 'tensor<10xf32>'", OWN, OF_W,
    ),
    "scores without classes": (
        "(int64[3] t) => (float loss) <float[3] w = {1, 2, 3}>"
        " { loss = SoftmaxCrossEntropyLoss(w, t) }",
        "its scores have no axis of classes", OWN, OF_W,
    ),
    "equation with other axes": (
        "(float[4,4] x) => (float[4,4] y) <float[2] w = {1, 2}>"
        ' { y = Einsum<equation="ij,jk->ik">(x, w) }',
        "rank of input 1 (1) does not match the equation", MSE,
    ),
    "product with a scalar": (
        "(float s) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}>"
        " { y = MatMul(w, s) }",
        "input tensors of wrong rank (0)", MSE,
    ),
    "list of nothing": (
        f"() => (float[1] y) <float[1] w = {{1}}> {{ y = {LIST}(w) }}",
        "expected at least 2 inputs", MSE, OF_W,
    ),
    "list with nothing in it": (
        f"() => (float[1] y) <float[1] w = {{1}}> {{ y = {LIST}(w, , w) }}",
        "operand #1 is absent", MSE, OF_W,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_error(name):
    text, message, *flags = CASES[name]
    model = parse(f"g {text}", ir=9, domains=["acme", "com.microsoft"])
    check_error(model, message, *flags)
