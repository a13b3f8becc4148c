# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules and decompositions of layers refuse, each with one error."""

import pytest

from rules import error_of

RANK = "the rank of its operand is unknown"
POOL = "expected an operand of known rank, and attributes that fit"
CONV = "expected operands of known rank, and attributes that fit"
NORM = "expected operands of known rank, and an axis of them"
SCORES = "the rank of its scores is unknown"

# Inputs in ONNX's text form ("float[]" has no known rank), a node, the error.
RULES = {
    "conv-rank": ("float[] x, float[2,2,3,3] w", "Conv(x, w)", CONV),
    "transposed-rank": (
        "float[] x, float[2,2,3,3] w",
        "ConvTranspose(x, w)",
        CONV,
    ),
    "conv-strides": (
        "float[1,2,A,B] x, float[2,2,C,D] w",
        "Conv<strides=[1]>(x, w)",
        "attribute 'strides': expected 2 values",
    ),
    "max-rank": ("float[] x", "MaxPool<kernel_shape=[2, 2]>(x)", POOL),
    "max-kernel": (
        "float[1,2,A] x",
        "MaxPool<kernel_shape=[2, 2]>(x)",
        "attribute 'kernel_shape': expected 1 value",
    ),
    "average-rank": ("float[] x", "AveragePool<kernel_shape=[2]>(x)", POOL),
    "lp-rank": ("float[] x", "LpPool<kernel_shape=[2]>(x)", POOL),
    "global-average": ("float[] x", "GlobalAveragePool(x)", RANK),
    "global-max": ("float[] x", "GlobalMaxPool(x)", RANK),
    "batch": (
        "float[] x, float[3] s",
        "BatchNormalization(x, s, s, s, s)",
        "expected an operand of known rank, 2 or more",
    ),
    "instance": (
        "float[] x, float[3] s",
        "InstanceNormalization(x, s, s)",
        "expected an operand of known rank, 3 or more",
    ),
    "group": (
        "float[] x, float[4] s",
        "GroupNormalization<num_groups=2>(x, s, s)",
        "expected an operand of known rank, 3 or more",
    ),
    "lrn": ("float[] x", "LRN<size=3>(x)", RANK),
    "layer": (
        "float[] x, float[3] s",
        "LayerNormalization(x, s)",
        "expected an operand of known rank, and an axis of it",
    ),
    "rms": (
        "float[] x, float[3] s",
        "RMSNormalization(x, s)",
        "expected an operand of known rank, and an axis of it",
    ),
    "resize-rank": (
        "float[] x, float[] s",
        "Resize(x, , s)",
        RANK,
    ),
    "sample-rank": (
        "float[] x, float[1,2,2,2] g",
        "GridSample(x, g)",
        "expected an image and a grid of known rank",
    ),
    "resize-mode": (
        "float[2,3] x, float[2] s",
        'Resize<mode="spline">(x, , s)',
        "attribute 'mode': expected one of",
    ),
    "resize-axes": (
        "float[A,B] x, float[1] s",
        "Resize<axes=[5]>(x, , s)",
        "(Resize-19): unexpected",
    ),
    "dft-rank": (
        "float[] x",
        "DFT(x)",
        "expected an operand of known rank, two or more",
    ),
    "dft-axis": (
        "float[2,3,1] x, int64 a",
        "DFT(x, , a)",
        "there is no gradient along an axis that is known at run time only",
    ),
    "stft-rank": (
        "float[] x, int64 s, float[4] w",
        "STFT(x, s, w)",
        "expected a signal of rank 3, and a window or the length of frames",
    ),
    "resize-crop": (
        "float[2,3] x, float[2] s",
        'Resize<coordinate_transformation_mode="tf_crop_and_resize">(x, , s)',
        "expected a region of interest",
    ),
    "resize-roi": (
        "float[4] x, float[2,3] image, float[2] s",
        'Resize<coordinate_transformation_mode="tf_crop_and_resize">'
        "(image, x, s)",
        "there is no gradient for its region of interest",
    ),
    "regions-rank": (
        "float[] x, float[2,4] r, int64[2] i",
        "RoiAlign(x, r, i)",
        "expected an image of known rank, four",
    ),
    "regions-mode": (
        "float[1,2,3,3] x, float[2,4] r, int64[2] i",
        'RoiAlign<mode="max">(x, r, i)',
        "there is a gradient for mode 'avg' only",
    ),
    "softmax": (
        "float[] x, int64[] labels",
        "SoftmaxCrossEntropyLoss(x, labels)",
        SCORES,
    ),
    "likelihood": (
        "float[] x, int64[] labels",
        "NegativeLogLikelihoodLoss(x, labels)",
        SCORES,
    ),
}

DECOMPOSITIONS = {
    "conv": (
        "float[] x, float[] w, float[] g",
        "com.microsoft.ConvGrad(g, x, w)",
        CONV,
    ),
    "transposed": (
        "float[] x, float[] w, float[] g",
        "com.microsoft.ConvTransposeGrad(g, x, w)",
        CONV,
    ),
    **{
        f"{op}-{kind}": (
            "float[1,2,A] g, int64[1,2,A] i",
            f"com.microsoft.{op}<kernel_shape={kernel}>({operands})",
            message,
            result,
        )
        for op, operands in [("MaxPoolGrad", "g, i"), ("AveragePoolGrad", "g")]
        for kind, kernel, result, message in [
            (
                "size",
                "[2]",
                "float[1,2,B] y",
                "the spatial sizes of its result are unknown",
            ),
            (
                "kernel",
                "[2, 2]",
                "float[1,2,8] y",
                "its attributes do not fit its operands",
            ),
        ]
    },
    "batch-internal": (
        "float[] x, float[3] s",
        "com.microsoft.BatchNormInternal(x, s, s, s, s)",
        NORM,
    ),
    "batch": (
        "float[] x, float[3] s",
        "com.microsoft.BatchNormalizationGrad<epsilon=0.1>(x, x, s, s, s)",
        NORM,
    ),
    "layer": (
        "float[] x, float[3] s",
        "com.microsoft.LayerNormalizationGrad(x, x, s, x, x)",
        NORM,
    ),
    "layer-axis": (
        "float[2,3] x, float[3] s, float[2,1] m",
        "com.microsoft.LayerNormalizationGrad<axis=2>(x, x, s, m, m)",
        NORM,
    ),
    "simplified": (
        "float[] x, float[3] s",
        "com.microsoft.SimplifiedLayerNormalizationGrad(x, x, s, x)",
        NORM,
    ),
    "invertible": (
        "float[] x, float[3] s",
        "com.microsoft.InvertibleLayerNormalizationGrad(x, x, s, s, x)",
        NORM,
    ),
    "resize": (
        "float[] x, float[] s",
        "com.microsoft.ResizeGrad(x, x, , s)",
        RANK,
    ),
    "loss-grad": (
        "float g, float[] x, int64[] i",
        "com.microsoft.SoftmaxCrossEntropyLossGrad(g, x, i)",
        SCORES,
    ),
    "loss": (
        "float[] x, int64[] i",
        "com.microsoft.SparseSoftmaxCrossEntropy(x, i)",
        SCORES,
    ),
    "dense-grad": (
        "float g, float[] x",
        "com.microsoft.SoftmaxCrossEntropyGrad(g, x, x)",
        SCORES,
    ),
    "dense": (
        "float[] x",
        "com.microsoft.SoftmaxCrossEntropy(x, x)",
        SCORES,
    ),
}

# The gradients of the parameters are not optional.
RESULTS = {
    "batch": "y, s_grad, b_grad",
    "layer": "y, s_grad, b_grad",
    "layer-axis": "y, s_grad, b_grad",
    "simplified": "y, s_grad",
    "invertible": "y, s_grad, b_grad",
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    inputs, node, message = RULES[name]
    text = error_of(
        inputs, f"y = {node} loss = ReduceSum<keepdims=0>(y)", "float loss",
        "--mp-differentiate=loss=loss wrt=x",
    )  # fmt: skip
    assert message in text


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_decomposition(name):
    inputs, node, message, *output = DECOMPOSITIONS[name]
    results = RESULTS.get(name, "y")
    text = error_of(
        inputs, f"{results} = {node}", *(output or ["float[] y"]),
        "--onnx-decompose-gradients",
    )  # fmt: skip
    assert message in text
