# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What gradients of control flow and functions cannot do, they say."""

import pytest

from rules import error_of

SUM = "loss = ReduceSum<keepdims=0>(y)"

# Inputs, nodes, and the message.
ERRORS = {
    "random-in-scan": (
        "float[3] a, float[2, 3] x",
        """
        y = Scan<num_scan_inputs=1, body = b
          (float[3] s, float[3] e) => (float[3] t) {
            r = RandomNormalLike(e) t = Mul(s, r) }>(a, x)
        """,
        "(Scan-23): its backward pass would compute node "
        "'y_grad/RandomNormalLike' (RandomNormalLike-22) again, with other random numbers",
    ),
    "random-in-if": (
        "float[3] a, bool c",
        """
        y = If(c) <
          then_branch = t () => (float[3] t) {
            r = RandomUniformLike(a) t = Mul(a, r) },
          else_branch = e () => (float[3] e) { e = Add(a, a) }>
        """,
        "again, with other random numbers",
    ),
    "shape-of-state": (
        "float[3] a",
        """
        n = Constant<value_int=2>()
        y = Loop<body = b
          (int64 i, bool c, float[3] s) => (bool d, float[6] t) {
            d = Identity(c) p = Mul(s, s) t = Concat<axis=0>(p, p) }>(n, , a)
        """,
        "state #0 changes its shape from one iteration to the next",
    ),
    "axis-of-scan": (
        "float[3] a, float[2, 3] x",
        """
        y = Scan<num_scan_inputs=1, scan_input_axes=[5], body = b
          (float[3] s, float[3] e) => (float[3] t) { t = Mul(s, e) }>(a, x)
        """,
        "attribute 'scan_input_axes': expected",
    ),
    "inputs-of-scan": (
        "float[3] a, float[2, 3] x",
        """
        y = Scan<num_scan_inputs=7, body = b
          (float[3] s, float[3] e) => (float[3] t) { t = Mul(s, e) }>(a, x)
        """,
        "attribute 'num_scan_inputs': expected",
    ),
    "inputs-of-loop": (
        "float[3] a",
        """
        n = Constant<value_int=2>()
        y = Loop<body = b
          (int64 i, bool c) => (bool d, float[3] t) {
            d = Identity(c) t = Mul(a, a) }>(n, , a)
        """,
        "attribute 'body': expected a graph with",
    ),
    "no-rule-in-body": (
        "float[2, 2] a, bool c",
        """
        y = If(c) <
          then_branch = t () => (float t) { t = Det(a) },
          else_branch = e () => (float e) { e = ReduceSum<keepdims=0>(a) }>
        """,
        "(Det-22): there is no gradient for this operator",
    ),
    "sequence": (
        "float[3] a, int64 i",
        "s = SequenceConstruct(a, a) y = SequenceAt(s, i)",
        "(SequenceAt-11): there is no gradient for this operator",
    ),
    "sequence-in-branch": (
        "float[3] a, int64 i, bool c",
        """
        s = SequenceConstruct(a, a)
        y = If(c) <
          then_branch = t () => (float[3] t) { t = SequenceAt(s, i) },
          else_branch = e () => (float[3] e) { e = Add(a, a) }>
        """,
        "(SequenceAt-11): there is no gradient for this operator",
    ),
    "sequence-as-state": (
        "float[3] a",
        """
        n = Constant<value_int=2>() s0 = SequenceConstruct(a)
        s = Loop<body = b
          (int64 i, bool c, seq(float[3]) p) => (bool d, seq(float[3]) t) {
            d = Identity(c) t = SequenceInsert(p, a) }>(n, , s0)
        y = ConcatFromSequence<axis=0>(s)
        """,
        "(ConcatFromSequence-11): there is no gradient for this operator",
    ),
    "unknown-type": (
        "float[2, 3] a",
        "u = custom.Make(a) y = LayerNormalization(a, u)",
        "(custom.Make): there is no gradient for this operator",
    ),
    "sequence-map": (
        "float[3] a",
        """
        s = SequenceConstruct(a, a)
        t = SequenceMap<body = b (float[3] p) => (float[3] q) {
          q = Mul(p, p) }>(s)
        y = ConcatFromSequence<axis=0>(t)
        """,
        "(ConcatFromSequence-11): there is no gradient for this operator",
    ),
    "unknown-result": (
        "float[2, 3] a",
        "u = custom.Make(a) v = Relu(u) y = Mul(a, v)",
        "(custom.Make): there is no gradient for this operator",
    ),
    "rounding": (
        "float[2, 3] a, float s",
        "q = QuantizeLinear(a, s) y = DequantizeLinear(q, s)",
        "(DequantizeLinear-23): rounding has no gradient; --straight-through "
        "passes that of the result where nothing is clipped",
    ),
    "transform-of-parts": (
        "float[2, 3, 1] a",
        "n = Constant<value_int=-1>() y = DFT(a, , n)",
        "(DFT-20): axis attribute value -1 is invalid",
    ),
    "scale-of-integers": (
        "float a, uint8[2, 3] x",
        "y = DequantizeLinear(x, a)",
        "(DequantizeLinear-23): there is no gradient for its scale",
    ),
    "precision-of-attention": (
        "float[2, 2, 3, 4] a",
        "y = Attention<softmax_precision=7>(a, a, a)",
        "(Attention-23): ONNX defines the operator by a function, but not for "
        "these operands and attributes",
    ),
}

# The same with straight-through gradients.
ROUNDING_ERRORS = {
    "rounding-in-blocks": (
        "float[2, 4] a, float[2, 2] s",
        """
        q = QuantizeLinear<block_size=2>(a, s)
        y = DequantizeLinear<block_size=2>(q, s)
        """,
        "(DequantizeLinear-23): there is no gradient for scales of blocks",
    ),
    "rounding-of-any-rank": (
        "float[] a, float s",
        "q = QuantizeLinear(a, s) y = DequantizeLinear(q, s)",
        "(DequantizeLinear-23): the types of its operands are unknown",
    ),
}


@pytest.mark.parametrize("name", [*ERRORS, *ROUNDING_ERRORS])
def test_error(name):
    inputs, nodes, message = {**ERRORS, **ROUNDING_ERRORS}[name]
    options = "straight-through=true" if name in ROUNDING_ERRORS else ""
    text = error_of(
        inputs, f"{nodes} {SUM}", "float loss",
        f"--mp-differentiate=loss=loss outputs=true wrt=a {options}",
        domains=["custom"],
    )  # fmt: skip
    assert message in text
