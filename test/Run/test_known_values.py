# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small integers of any rank, and floats that sizes are computed with, are
computed while compiling: as the nodes would do it, and so that what is made of
them has known sizes."""

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_models import describe, make_model, parse
from runs import compute

A = np.arange(24, dtype=np.int64).reshape(2, 3, 4) - 5
V = np.array([7, -3, 0, 12], np.int64)
I = np.int64
F = np.float32


def ints(*values):
    return np.array(values, I)


# Operator, operands, attributes, number of results.
CASES = {
    "concat": ("Concat", [A, A[:, :1]], dict(axis=-2)),
    "concat_last": ("Concat", [A, A * 2], dict(axis=2)),
    "expand": ("Expand", [A[:, :1], ints(2, 2, 3, 4)], {}),
    "expand_none": ("Expand", [A[:, :0], ints(2, 1, 1, 4)], {}),
    "flatten": ("Flatten", [A], dict(axis=2)),
    "flatten_front": ("Flatten", [A], dict(axis=0)),
    "flatten_back": ("Flatten", [A], dict(axis=-1)),
    "gather": ("Gather", [A, np.array([[0, -1], [2, 1]], I)], dict(axis=1)),
    "gather_one": ("Gather", [A, np.array(-2, I)], dict(axis=-1)),
    "reshape": ("Reshape", [A, ints(0, -1, 2)], {}),
    "reshape_none": ("Reshape", [A[:0], ints(0, 5, 0)], dict(allowzero=1)),
    "slice": ("Slice", [A, ints(-1, 5), ints(-99, -9), ints(2, 0),
                        ints(-2, -1)], {}),
    "slice_front": ("Slice", [A, ints(1, 1), ints(2**63 - 1, -1)], {}),
    "slice_far": ("Slice", [V, ints(-1), ints(-(2**63) + 1), ints(0),
                            ints(-1)], {}),
    "slice_step": ("Slice", [V, ints(0), ints(99), ints(0),
                             ints(2**63 - 1)], {}),
    "slice_none": ("Slice", [A[:, :0], ints(2), ints(-4), ints(1),
                             ints(-1)], {}),
    "squeeze": ("Squeeze", [A[:, :1], ints(-2)], {}),
    "squeeze_all": ("Squeeze", [A[:1, :1]], {}),
    "tile": ("Tile", [A[:1, :2], ints(2, 1, 2)], {}),
    "transpose": ("Transpose", [A], dict(perm=[1, 2, 0])),
    "transpose_all": ("Transpose", [A], {}),
    "unsqueeze": ("Unsqueeze", [V, ints(2, 0)], {}),
    "split": ("Split", [A], dict(axis=2, num_outputs=3), 3),
    "split_sizes": ("Split", [A, ints(1, 0, 2)], dict(axis=-2), 3),
    "add": ("Add", [A, V], {}),
    "sub": ("Sub", [V.reshape(4, 1), V], {}),
    "mul": ("Mul", [A, A[:1, :, :1]], {}),
    "div": ("Div", [A, np.array(-3, I)], {}),
    "mod": ("Mod", [A, np.array(5, I)], {}),
    "mod_below": ("Mod", [A, np.array(-5, I)], {}),
    "max": ("Max", [A, V, np.array(3, I)], {}),
    "min": ("Min", [V], {}),
    "equal": ("Equal", [A, V.reshape(1, 4)], {}),
    "less": ("Less", [A, np.array(2, I)], {}),
    "and": ("And", [A > 0, A < 9], {}),
    "not": ("Not", [A > 0], {}),
    "where": ("Where", [A[:1] > 0, A, V], {}),
    "neg": ("Neg", [A], {}),
    "abs": ("Abs", [A], {}),
    "narrow": ("Cast", [A], dict(to=onnx.TensorProto.INT8)),
    "wide_bytes": ("Add", [np.array([100, 27], np.int8),
                           np.array([27, -28], np.int8)], {}),
    "wraps": ("Add", [np.array([100, 27], np.int8),
                      np.array([100, 27], np.int8)], {}),
    "to_float": ("Cast", [A], dict(to=onnx.TensorProto.FLOAT)),
    "sum": ("ReduceSum", [A, ints(0, -1)], dict(keepdims=0)),
    "sum_all": ("ReduceSum", [A], {}),
    "sum_none": ("ReduceSum", [A], dict(noop_with_empty_axes=1)),
    "prod": ("ReduceProd", [A, ints(1)], {}),
    "reduce_max": ("ReduceMax", [A, ints(1, 2)], {}),
    "reduce_min": ("ReduceMin", [A, ints(0)], dict(keepdims=0)),
    "nonzero": ("NonZero", [A % 3], {}),
    "range": ("Range", [np.array(9, I), np.array(-4, I), np.array(-3, I)],
              {}),
    "identity": ("Identity", [A], {}),
    "float_div": ("Div", [np.array([7, 1], F), np.array([3, 3], F)], {}),
    "float_round": ("Round", [np.array([0.5, 1.5, -2.5, 2.6], F)], {}),
    "float_clip": ("Clip", [np.array([-1, 0.5, 9], F), np.array(0, F),
                            np.array(2, F)], {}),
    "float_no_bound": ("Clip", [np.array([-1, 0.5, 9], F)], {}),
    "float_inf": ("Div", [np.array([1, 0], F), np.array([0, 0], F)], {}),
    "float_sqrt": ("Sqrt", [np.array([2, 3], F)], {}),
    "float_reciprocal": ("Reciprocal", [np.array([3, 7], F)], {}),
    "float_max": ("Max", [np.array([3, 7], F), np.array([4], F)], {}),
    "float_to_int": ("Cast", [np.array([3.9, -3.9], F)],
                     dict(to=onnx.TensorProto.INT64)),
    "float_ceil": ("Ceil", [np.array([[3.1, -3.9]], F)], {}),
    "float_concat": ("Concat", [np.array([3.1], F), np.array([2, 1], F)],
                     dict(axis=0)),
}


def build():
    """All cases in one model, their operands as initializers."""
    nodes, weights, outputs = [], {}, []
    for name, (op, operands, attributes, *count) in CASES.items():
        names = [f"{name}_{index}" for index, _ in enumerate(operands)]
        weights.update(zip(names, operands))
        results = [f"{name}_y{index}" for index in range(*count or [1])]
        nodes.append(helper.make_node(op, names, results, name, **attributes))
        outputs += results
    # The reference states the types of computed values.
    unknown = [onnx.ValueInfoProto(name=name) for name in outputs]
    model = make_model(nodes, [], unknown, weights, 21, 10)
    with np.errstate(all="ignore"):
        values = ReferenceEvaluator(model).run(None, {})
    values = dict(zip(outputs, map(np.asarray, values)))
    del model.graph.output[:]
    model.graph.output.extend(describe(n, v.dtype) for n, v in values.items())
    return model, values


def test_as_the_nodes_would():
    model, expected = build()
    found = compute(model, {})
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


PAD = """
g (float[n, 3, h, w] x) => (float[n, 3, oh, ow] y)
<int64 two = {2}, int64 three = {3}, int64[1] zero = {0}, int64[1] one = {1},
 int64[2] pairs = {-1, 2}, int64[1] minus = {-1}, int64 eight = {8},
 int64[1] far = {-9223372036854775807}, float stride = {2.0}, float low = {0.0}>
{
    shape = Shape (x)
    h0 = Gather (shape, two)
    w0 = Gather (shape, three)
    hf = Cast <to = 1> (h0)
    hd = Div (hf, stride)
    hc = Ceil (hd)
    hm = Mul (hc, stride)
    hs = Sub (hm, hf)
    hp = Clip (hs, low)
    hu = Unsqueeze (hp, zero)
    hi = Cast <to = 7> (hu)
    wm = Mod (w0, eight)
    ws = Sub (eight, wm)
    wu = Unsqueeze (ws, zero)
    front = Concat <axis = 0> (one, wu, zero, hi)
    count = Shape (front)
    rest = Sub (eight, count)
    zeros = ConstantOfShape <value = int64[1] {0}> (rest)
    all = Concat <axis = 0> (front, zeros)
    rows = Reshape (all, pairs)
    turned = Slice (rows, minus, far, zero, minus)
    columns = Transpose <perm = [1, 0]> (turned)
    list = Reshape (columns, minus)
    pads = Cast <to = 7> (list)
    padded = Pad (x, pads)
    y = Identity (padded)
}
"""


@pytest.mark.parametrize("sizes", [(1, 3, 5, 6), (2, 3, 8, 16)])
def test_pads_of_torch(sizes):
    x = np.random.default_rng(0).standard_normal(sizes).astype(F)
    height, width = sizes[2:]
    pads = [(0, 0), (0, 0), (0, height % 2), (1, 8 - width % 8)]
    found = compute(parse(PAD, 17, 8), {"x": x})
    np.testing.assert_array_equal(found["y"], np.pad(x, pads))
