# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What onnx-fold-constants takes for known is what ONNX's evaluator computes.

Each case computes a tensor of integers or booleans `t`. A branch compares it
with what the evaluator says: it is decided, and rightly so, or stays.
"""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from onnx_models import parse, rewritten, tensors_of

X = np.ones([2, 1, 3], np.float32)

# Constants that cases use, by name.
CONSTANTS = {
    "zero": np.int64(0),
    "one": np.int64(1),
    "two": np.int64(2),
    "ten": np.int64(10),
    "no": np.bool_(False),
    "v0": np.array([0]),
    "v1": np.array([1]),
    "v3": np.array([3]),
    "last": np.array([-1]),
    "far": np.array([2**63 - 1]),
    "v213": np.array([2, 1, 3]),
    "v321": np.array([[3, 2, 1], [4, 5, 6]]),
    "pair": np.array([[0, 2]]),
    "small": np.array([3, 250, 7], np.uint8),
    "truths": np.array([True, False, True]),
}

CASES = {
    "shape": "t = Shape(x)",
    "shape-part": "t = Shape<start=-2>(x)",
    "shape-end": "t = Shape<end=-1>(x)",
    "size": "t = Size(x)",
    "add": "t = Add(v321, v213)",
    "sub": "t = Sub(v213, v321)",
    "mul-broadcast": "a = Unsqueeze(v213, last) t = Mul(a, v213)",
    "div": "t = Div(v321, v213)",
    "mod": "t = Mod(v321, v213)",
    "max": "t = Max(v321, v213, one)",
    "min": "t = Min(v321, v213)",
    "less": "t = Less(v321, v213)",
    "less-or-equal": "t = LessOrEqual(v321, v213)",
    "greater": "t = Greater(v321, v213)",
    "greater-or-equal": "t = GreaterOrEqual(v321, v213)",
    "and": "t = And(truths, no)",
    "or": "t = Or(truths, no)",
    "xor": "t = Xor(truths, truths)",
    "not": "t = Not(truths)",
    "neg": "t = Neg(v321)",
    "abs": "a = Neg(v321) t = Abs(a)",
    "sign": "a = Sub(v321, v213) t = Sign(a)",
    "where": "t = Where(truths, v321, one)",
    "cast-to-bool": "a = Sub(v213, one) t = Cast<to=9>(a)",
    "cast-from-bool": "t = Cast<to=7>(truths)",
    "cast-like": "t = CastLike(truths, v0)",
    "cast-of-bytes": "t = Cast<to=7>(small)",
    "sum": "t = ReduceSum<keepdims=0>(v213)",
    "product": "t = ReduceProd(v321)",
    "greatest": "t = ReduceMax(v213, v0)",
    "least": "t = ReduceMin<keepdims=0>(v321)",
    "gather": "t = Gather(v213, one)",
    "gather-negative": "t = Gather(v213, last)",
    "gather-axis": "t = Gather<axis=1>(v321, pair)",
    "slice": "t = Slice(v213, v1, far)",
    "slice-axis": "t = Slice(v321, v1, v3, last)",
    "slice-back": "a = Neg(far) t = Slice(v213, last, a, v0, last)",
    "slice-step": "a = Add(v1, v1) t = Slice(v321, v0, far, v1, a)",
    "slice-huge-step": "t = Slice(v213, v0, far, v0, far)",
    "slice-nothing": "t = Slice(v213, v3, v1)",
    "concat": "t = Concat<axis=0>(v213, v0, v3)",
    "concat-axis": "t = Concat<axis=1>(v321, v321)",
    "concat-rows": "t = Concat<axis=-2>(v321, v321)",
    "reshape": "t = Reshape(v321, last)",
    "flatten": "t = Flatten<axis=0>(v321)",
    "squeeze": "t = Squeeze(v3)",
    "transpose": "t = Transpose(v321)",
    "transpose-axes": """
        a = Unsqueeze(v321, v0) t = Transpose<perm=[2, 0, 1]>(a)
    """,
    "identity": "t = Identity(v321)",
    "expand": "t = Expand(v0, v213)",
    "expand-rows": "a = Unsqueeze(v213, v1) t = Expand(a, v213)",
    "filled": "t = ConstantOfShape<value = int64[1] {-7}>(v213)",
    "range": "t = Range(one, ten, two)",
    "range-back": "a = Neg(two) t = Range(ten, one, a)",
    "range-empty": "t = Range(ten, one, two)",
    "size-chain": """
        s = Shape(x) d = Gather(s, two) e = Mul(d, two) u = Unsqueeze(e, v0)
        t = Concat<axis=0>(u, last)
    """,
}

# Undecided cases: runtimes disagree on the results, or results do not fit.
OPEN = {
    "div-of-negative": "a = Neg(v321) t = Div(a, v213)",
    "mod-of-negative": "a = Neg(v321) t = Mod(a, v213)",
    "overflow": "t = Add(far, one)",
    "narrowed": "a = Mul(far, one) t = Cast<to=6>(a)",
    "floats": "a = Cast<to=1>(v213) b = Floor(a) t = Cast<to=7>(b)",
    "too-large": "a = Mul(v213, ten) b = Mul(a, ten) t = Expand(v0, b)",
}


def make_model(body, comparison=""):
    body += comparison or " y = Identity(x)"
    return parse(
        f"g (float[2, 1, 3] x) => (float[2, 1, 3] y) {{ {body} }}", **CONSTANTS
    )


def fold(body):
    """The folded model, whose branch takes Exp where `t` is as expected."""
    model = make_model(body)
    model.graph.output.append(onnx.ValueInfoProto(name="t"))
    expected = ReferenceEvaluator(model).run(["t"], {"x": X})[0]
    model = make_model(
        body,
        """
        q = Cast<to=7>(t) r = Equal(q, expected)
        i = Cast<to=7>(r) p = ReduceProd<keepdims=0>(i) c = Cast<to=9>(p)
        y = If(c) <then_branch = yes () => (float[2, 1, 3] a) { a = Exp(x) },
          else_branch = no () => (float[2, 1, 3] b) { b = Neg(x) }>
        """,
    )
    expected = np.asarray(expected).astype(np.int64)
    model.graph.initializer.extend(tensors_of({"expected": expected}))
    return rewritten(model, "--onnx-fold-constants"), expected


def kinds(model):
    return {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("name", CASES)
def test_known(name):
    model, expected = fold(CASES[name])
    # The product of no elements is not folded.
    if expected.size == 0:
        assert "If" in kinds(model)
        return
    assert "If" not in kinds(model)
    assert "Exp" in kinds(model)
    assert np.array_equal(
        ReferenceEvaluator(model).run(["y"], {"x": X})[0], np.exp(X)
    )


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.filterwarnings("ignore")
def test_not_known(name):
    model, _ = fold(OPEN[name])
    assert "If" in kinds(model)
