# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What gradient rules and decompositions cannot do, they say."""

import pytest

from rules import error_of

SUM = "loss = ReduceSum<keepdims=0>(y)"

# Inputs, nodes, and the message.
RULES = {
    "no-rule": (
        "float[2, 2] a",
        "y = Det(a)",
        "(Det-22): there is no gradient for this operator; it is on the path ",
    ),
    "transpose": (
        "float[] a",
        "y = Transpose<perm=[0, 2]>(a)",
        "(Transpose-21): its attribute 'perm' is not a permutation",
    ),
    "tile": (
        "float[] a, int64[N] n",
        "y = Tile(a, n)",
        "(Tile-13): the rank of its operand is unknown",
    ),
    "topk": (
        "float[4] a",
        "k = Constant<value_ints=[2]>() y, absent = TopK(a, k)",
        "(TopK-11): its indices are left out",
    ),
    "scatter": (
        "float[4] a, int64[1] i, float[1] u",
        'y = ScatterND<reduction="mean">(a, i, u)',
        "(ScatterND-18): attribute 'reduction': expected one of",
    ),
    "col2im": (
        "float[1, 4, 4] a, int64[2] n, int64[2] b",
        "y = Col2Im(a, n, b)",
        "(Col2Im-18): its block shape is not constant",
    ),
    "einsum-text": (
        "float[2, 2] a",
        'y = Einsum<equation="i1->i">(a)',
        "(Einsum-12): its equation 'i1->i' cannot be read",
    ),
    "einsum-result": (
        "float[2, 2] a",
        'y = Einsum<equation="ij->k">(a)',
        "(Einsum-12): equation output contains a label",
    ),
    "einsum-ellipsis": (
        "float[2, 2] a",
        'y = Einsum<equation="...i->i">(a)',
        "(Einsum-12): its equation sums over an ellipsis",
    ),
    "fused-rank": (
        "float[] a, float[2, 2] b",
        "y = com.microsoft.FusedMatMul(a, b)",
        "(com.microsoft.FusedMatMul-1): the ranks of its operands are unknown",
    ),
    "fused-vector": (
        "float[2] a, float[2, 2] b",
        "y = com.microsoft.FusedMatMul(a, b)",
        "(com.microsoft.FusedMatMul-1): an operand is not a matrix",
    ),
    "matmul-rank": (
        "float[] a, float[2, 2] b",
        "y = MatMul(a, b)",
        "(MatMul-13): the ranks of its operands are unknown",
    ),
    "depth-to-space": (
        "float[] b, int64[3] n",
        "a = Reshape(b, n) "
        'y = DepthToSpace<blocksize=2, mode="CRD">(a)',
        "(DepthToSpace-13): input tensor must be 4-dimensional",
    ),
    "concat": (
        "float[2] a, float[2] b",
        "y = Concat<axis=3>(a, b)",
        "(Concat-13): attribute 'axis': expected an axis",
    ),
    "split": (
        "float[2] a",
        "y, absent = Split<num_outputs=2>(a)",
        "(Split-18): one of its results is left out",
    ),
}

# The opset, inputs, nodes, and the message.
DECOMPOSITIONS = {
    "softmax-rank": (
        17,
        "float[] a, float[] b",
        "y = com.microsoft.SoftmaxGrad(a, b)",
        "SoftmaxGrad-1): the rank of its operands is unknown",
    ),
    "softmax-axis": (
        17,
        "float[2, 2] a, float[2, 2] b",
        "y = com.microsoft.SoftmaxGrad<axis=5>(a, b)",
        "SoftmaxGrad-1): its attribute 'axis' is out of range",
    ),
    "mixed-scale": (
        17,
        "float s, float[2] a",
        "y = com.microsoft.MixedPrecisionScale<to=7>(s, a)",
        "MixedPrecisionScale-1): its attribute 'to' is not a float type",
    ),
    "fused": (
        17,
        "float[] a, float[2, 2] b",
        "y = com.microsoft.FusedMatMul<transA=1>(a, b)",
        "FusedMatMul-1): the rank of an operand is unknown",
    ),
    "elements": (
        15,
        "float[2] a, int64[1] n, int64[2] i",
        "y = com.microsoft.GatherElementsGrad(a, n, i)",
        "GatherElementsGrad-1): sums of scattered elements need opset 16",
    ),
    "nd": (
        15,
        "int64[1] n, int64[2, 1] i, float[2] a",
        "y = com.microsoft.GatherNDGrad(n, i, a)",
        "GatherNDGrad-1): sums of scattered elements need opset 16",
    ),
    "view": (
        17,
        "float[2] a, int64[1] n",
        "y, z = com.microsoft.View(a, n)",
        "View-1): there is a result without a shape",
    ),
    "pass": (
        17,
        "float[2] a",
        "z, y = com.microsoft.PassThrough(a)",
        "PassThrough-1): there is a result without an operand",
    ),
    "finite": (
        17,
        "float[2] a",
        "b = com.microsoft.IsAllFinite<isinf_only=1, isnan_only=1>(a) "
        "y = Cast<to=1>(b)",
        "IsAllFinite-1): both 'isinf_only' and 'isnan_only' are set",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    inputs, nodes, message = RULES[name]
    wrt = "b" if " a" not in inputs else "a"
    flag = f"--mp-differentiate=loss=loss wrt={wrt}"
    text = error_of(inputs, f"{nodes} {SUM}", "float loss", flag, opset=22)
    assert message in text, text


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_decomposition(name):
    opset, inputs, nodes, message = DECOMPOSITIONS[name]
    flag = "--onnx-decompose-gradients"
    text = error_of(inputs, nodes, "float[] y", flag, opset=opset)
    assert message in text, text
