# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of one node at old opsets, for the tests of onnx-raise-opset.

Each list sweeps what an op's attributes and inputs may be where a newer
version says it differently: values, defaults that are left out, negative axes,
ranks, sizes that are known or not, inputs that are constants or not.
"""

import functools
import itertools
import zlib

import numpy as np
import onnx
from onnx_models import describe, make_model
from onnx import helper, numpy_helper

MARK = "x"


class Case:
    def __init__(self, op, opset, inputs, outputs=("y",), constants=(),
                 dynamic=False, ignored=(), graph=None, **attributes):
        """`inputs`: arrays, None for one left out; those whose index is in
        `constants` become initializers. With `dynamic`, sizes of graph
        inputs are unknown. Outputs in `ignored` have no values that the old
        opset defines."""
        self.op, self.opset, self.ignored = op, opset, ignored
        inputs = [a if a is None else np.asarray(a) for a in inputs]
        self.name = f"{op}-{opset}-{zlib.crc32(repr(attributes).encode()):x}"
        names = [
            "" if array is None else f"{MARK}{i}"
            for i, array in enumerate(inputs)
        ]
        self.feeds = {
            name: array
            for i, (name, array) in enumerate(zip(names, inputs))
            if name and i not in constants
        }
        initializers = [
            numpy_helper.from_array(array, name)
            for i, (name, array) in enumerate(zip(names, inputs))
            if name and i in constants
        ]
        infos = [
            describe(n, a.dtype, [None] * a.ndim if dynamic else a.shape)
            for n, a in self.feeds.items()
        ]
        node = helper.make_node(op, names, list(outputs), op, **attributes)
        if graph:
            node.attribute.append(helper.make_attribute("body", graph))
        self.model = make_model(
            [node], infos, [onnx.ValueInfoProto(name=n) for n in outputs if n],
            initializers, opset=opset
        )
        self.has_subgraph = graph is not None
        self.outputs = [n for n in outputs if n]

    def set_output_types(self, arrays):
        for info, array in zip(self.model.graph.output, arrays):
            shape = [None] * np.ndim(array)
            info.CopyFrom(describe(info.name, np.asarray(array).dtype, shape))


def numbers(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return rng.standard_normal(shape).astype(dtype)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def given(**attributes):
    return {k: v for k, v in attributes.items() if v is not None}


def clip():
    x = numbers(3, 4) * 3
    x[0] = [np.inf, -np.inf, -0.0, 1.0]
    for opset, low, high in itertools.product(
        (7, 8, 9, 10), (None, -1.0, 0.0), (None, 1.5)
    ):
        yield Case("Clip", opset, [x], **given(min=low, max=high))


def softmax():
    shapes = [(3, 4), (2, 3, 4), (2, 3, 1), (2, 3, 1, 1), (2, 3, 2, 2), (5,)]
    for op, opset, shape in itertools.product(
        ("Softmax", "LogSoftmax", "Hardmax"), (7, 9, 11, 12), shapes
    ):
        axes = [None, *range(len(shape))]
        axes += [-1, -2][: len(shape)] if opset >= 11 else []
        for axis in axes:
            if axis is None and len(shape) == 1:
                continue
            dynamic = opset in (9, 12)
            yield Case(
                op, opset, [numbers(*shape)], dynamic=dynamic,
                **given(axis=axis),
            )


def reductions():
    ops = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
    x = np.abs(numbers(2, 3, 4)) + 0.5
    for op, axes, keep in itertools.product(
        ops, (None, [0], [-1], [0, 2], [1, -1]), (None, 0)
    ):
        opsets = (8, 12) if op == "Sum" else (8, 12, 17)
        for opset in opsets:
            if opset < 11 and axes and min(axes) < 0:
                continue
            yield Case(
                f"Reduce{op}", opset, [x], **given(axes=axes, keepdims=keep)
            )


def shapes():
    x = numbers(1, 3, 1, 2)
    for opset in (7, 9, 11, 12):
        for axes in (None, [0], [2], [0, 2], [2, 0]):
            yield Case("Squeeze", opset, [x], **given(axes=axes))
        for axes in ([0], [1, 3], [3, 0], [4]):
            yield Case("Unsqueeze", opset, [x], axes=axes)
        for mode, block in itertools.product(("DCR", "CRD"), (1, 2)):
            old = {} if opset < 11 else {"mode": mode}
            yield Case(
                "DepthToSpace", opset, [numbers(1, 8, 2, 3)],
                blocksize=block, **old,
            )
        for axis in (0, 1, 2):
            yield Case("Flatten", opset, [x], axis=axis)
    yield Case("Squeeze", 11, [x], axes=[-2])
    yield Case("Unsqueeze", 11, [x], axes=[-1, 0])
    for opset, shape in itertools.product((7, 13), ([0, -1], [-1], [3, 0])):
        yield Case("Reshape", opset, [numbers(3, 3), ints(*shape)])
    yield Case("Shape", 12, [x])


def slices():
    x = numbers(4, 5, 6)
    for opset in (7, 9):
        for starts, ends, axes in [
            ([1], [3], None), ([1, 0], [3, 2], None), ([0], [-1], [1]),
            ([-3, 2], [1000, 2**62], [2, 0]), ([0, 0, 0], [0, 1, 2], [2, 1, 0]),
            ([-1000], [-1], [0]), ([5], [2], [1]),
        ]:
            yield Case(
                "Slice", opset, [x], **given(starts=starts, ends=ends, axes=axes)
            )
    for opset, constants in itertools.product((10, 11), ((), (1, 2, 3, 4))):
        yield Case(
            "Slice", opset, [x, ints(4), ints(0), ints(1), ints(-2)],
            constants=constants,
        )


def splits():
    x = numbers(6, 4)
    for opset in (7, 11, 12):
        for axis, sizes, count in [
            (None, None, 2), (0, None, 3), (1, None, 2), (0, [2, 4], 2),
            (1, [1, 1, 2], 3), (None, [6], 1), (0, [0, 6], 2),
        ]:
            names = [f"y{i}" for i in range(count)]
            yield Case(
                "Split", opset, [x], names, **given(axis=axis, split=sizes)
            )
    for opset, sizes in itertools.product((13, 17), (None, ints(2, 4))):
        yield Case(
            "Split", opset, [x] if sizes is None else [x, sizes], ["a", "b"],
            axis=0,
        )
    yield Case("Split", 13, [x, None], ["a", "b"], axis=-1)


def top_k():
    x = numbers(3, 5)
    for k, axis in itertools.product((1, 3), (None, 0, 1, -1)):
        for opset in (7, 9):
            yield Case("TopK", opset, [x], ["v", "i"], **given(k=k, axis=axis))
        yield Case(
            "TopK", 10, [x, ints(k)], ["v", "i"], **given(axis=axis)
        )


def pads():
    x = numbers(1, 2, 3, 4)
    for opset, mode, value in itertools.product(
        (7, 10), (None, "constant", "reflect", "edge"), (None, 0.0, 1.5)
    ):
        for pad in ([0, 0, 1, 2, 0, 0, 1, 0], [0, 0, 0, -1, 0, 0, 2, -1]):
            if mode in ("reflect", "edge") and min(pad) < 0:
                continue
            yield Case("Pad", opset, [x], **given(mode=mode, value=value, pads=pad))
    yield Case("Pad", 10, [numbers(3, dtype=np.float64)], pads=[1, 2], value=0.1)
    for opset, mode in itertools.product((11, 13, 17), ("constant", "edge")):
        yield Case(
            "Pad", opset, [x, ints(0, 0, 1, 2, 0, 0, 1, 0), floats(2)[0]],
            mode=mode,
        )


def upsampling():
    x = numbers(1, 2, 3, 4)
    scales = [(1, 1, 2, 2), (1, 1, 1.5, 2.3), (1, 1, 1, 1), (1, 1, 3, 1)]
    scales = [tuple(map(float, scale)) for scale in scales]
    for mode, scale in itertools.product((None, "nearest", "linear"), scales):
        for opset in (7, 8):
            yield Case("Upsample", opset, [x], **given(mode=mode, scales=scale))
        for constants in ((), (1,)):
            yield Case(
                "Upsample", 9, [x, floats(*scale)], constants=constants,
                **given(mode=mode),
            )
    down = [(1, 1, 0.6, 0.6), (1, 1, 0.5, 2), (1, 1, 1.7, 0.4), (1, 1, 0.3, 1)]
    for mode, scale, constants in itertools.product(
        (None, "nearest", "linear"), scales + down, ((), (1,))
    ):
        yield Case(
            "Resize", 10, [x, floats(*scale)], constants=constants,
            dynamic=not constants, **given(mode=mode),
        )


def resizing():
    x = numbers(1, 1, 4, 6)
    roi = floats(0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9)
    coordinates = (
        None, "half_pixel", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_crop_and_resize",
    )
    roundings = (None, "floor", "ceil", "round_prefer_ceil")
    for opset, coordinate, rounding in itertools.product(
        (11, 12), coordinates, roundings
    ):
        flags = given(
            coordinate_transformation_mode=coordinate, nearest_mode=rounding,
            mode="nearest",
        )
        yield Case(
            "Resize", opset, [x, roi, floats(1, 1, 2, 0.5)], **flags
        )
    for mode, coordinate in itertools.product(("linear", "cubic"), coordinates):
        flags = given(coordinate_transformation_mode=coordinate, mode=mode)
        yield Case("Resize", 11, [x, roi, floats(1, 1, 2, 0.5)], **flags)
        yield Case(
            "Resize", 11, [x, roi, floats(), ints(1, 1, 7, 5)],
            constants=(2, 3), **flags,
        )
    for scale in ((1, 1, 2, 2), (1, 1, 0.5, 0.5), (1, 1, 1.7, 0.6)):
        for rounding in (None, "floor"):
            yield Case(
                "Resize", 11, [x, roi, floats(*scale)], mode="nearest",
                coordinate_transformation_mode="tf_half_pixel_for_nn",
                **given(nearest_mode=rounding),
            )
    for opset in (13, 17, 18):
        yield Case(
            "Resize", opset, [x, None, floats(1, 1, 2, 2)], mode="linear"
        )
        yield Case("Resize", opset, [x, None, None, ints(1, 1, 3, 9)])


def batch_normalization():
    for opset, shape in itertools.product(
        (7, 8, 9, 13, 14), ((2, 3), (2, 3, 4), (2, 3, 2, 2))
    ):
        c = shape[1]
        vectors = [numbers(c, seed=i) for i in range(3)]
        vectors.append(np.abs(numbers(c, seed=4)) + 0.1)
        for epsilon in (None, 0.01):
            yield Case(
                "BatchNormalization", opset, [numbers(*shape), *vectors],
                **given(epsilon=epsilon),
            )
        if opset < 9:
            yield Case(
                "BatchNormalization", opset, [numbers(*shape), *vectors],
                spatial=1,
            )
    for opset, shape, dynamic in itertools.product(
        (7, 8), ((2, 3, 4), (2, 3, 2, 2)), (False, True)
    ):
        vectors = [numbers(*shape[1:], seed=i) for i in range(3)]
        vectors.append(np.abs(numbers(*shape[1:], seed=4)) + 0.1)
        yield Case(
            "BatchNormalization", opset, [numbers(*shape), *vectors],
            spatial=0, dynamic=dynamic,
        )


def normalization():
    for opset, dynamic, groups in itertools.product(
        (18, 20), (False, True), (1, 2, 4)
    ):
        for shape in ((2, 4, 3), (1, 4, 2, 3)):
            yield Case(
                "GroupNormalization", opset,
                [numbers(*shape), numbers(groups), numbers(groups, seed=1)],
                num_groups=groups, dynamic=dynamic,
            )
    x = numbers(1, 4, 3, 3)
    for opset in (7, 12):
        yield Case(
            "InstanceNormalization", opset, [x, numbers(4), numbers(4, seed=1)]
        )
        yield Case("LRN", opset, [x], size=3, alpha=0.1)
        yield Case("LpNormalization", opset, [x], axis=1, p=1)
    yield Case("MeanVarianceNormalization", 9, [x], axes=[0, 2])


def quantization():
    x = numbers(3, 4) * 100
    for kind, scalar in itertools.product((np.uint8, np.int8), (True, False)):
        for opset in (10, 13, 18):
            if opset == 10 and not scalar:
                continue
            scale = np.float32(0.7) if scalar else floats(0.5, 1, 2, 3)
            zero = np.array(3 if scalar else [1, 2, 3, 4], kind)
            scale = np.asarray(scale)
            yield Case("QuantizeLinear", opset, [x, scale, zero])
            if kind == np.uint8 and scalar:
                yield Case("QuantizeLinear", opset, [x, scale])
                yield Case(
                    "QuantizeLinear", opset,
                    [np.array([-5, 0, 9, 260], np.int32), scale, zero],
                )
            yield Case(
                "DequantizeLinear", opset, [x.astype(kind), scale, zero]
            )
        if not scalar:
            yield Case(
                "DequantizeLinear", 13,
                [x.astype(kind), floats(1, 2, 3), np.zeros(3, kind)], axis=-2,
            )


def regions():
    x = numbers(1, 2, 8, 8)
    boxes = floats([0, 0, 4, 4], [1, 1.5, 6, 7.5])
    for mode, size, ratio in itertools.product(
        (None, "avg", "max"), (None, 3), (0, 2)
    ):
        yield Case(
            "RoiAlign", 10, [x, boxes, ints(0, 0)],
            **given(
                mode=mode, output_height=size, output_width=size,
                sampling_ratio=ratio, spatial_scale=0.9,
            ),
        )
    grid = numbers(1, 3, 4, 2) * 0.7
    for mode, padding, corners in itertools.product(
        (None, "bilinear", "nearest", "bicubic"),
        (None, "border", "reflection"), (0, 1),
    ):
        yield Case(
            "GridSample", 16, [x, grid],
            **given(mode=mode, padding_mode=padding, align_corners=corners),
        )
    for opset in (10, 12):
        for options in ([], [ints(2)], [ints(2), floats(0.3), floats(0.1)]):
            yield Case(
                "NonMaxSuppression", opset,
                [numbers(1, 6, 4), np.abs(numbers(1, 2, 6)), *options],
            )


def scattering():
    x = numbers(3, 4)
    indices = np.array([[0, 1, 2, 0], [2, 0, 1, 1]], np.int64)
    updates = numbers(2, 4, seed=3)
    for opset, axis in itertools.product((9, 10), (None, 0)):
        yield Case("Scatter", opset, [x, indices, updates], **given(axis=axis))
    for opset in (9, 10):
        yield Case(
            "Scatter", opset, [x, indices[:, :2], updates[:, :2]], axis=1
        )
    for opset in (11, 13, 15):
        yield Case(
            "ScatterElements", opset, [x, indices, updates], axis=0
        )
        yield Case(
            "ScatterND", opset, [x, ints([0], [2]), numbers(2, 4)]
        )
        yield Case("GatherND", opset, [x, ints([0, 1], [2, 3])])
    for opset, axis in itertools.product((9, 10), (None, 0, 1, -1)):
        yield Case(
            "OneHot", opset,
            [ints(0, 2, 5), ints(4)[0], floats(0.5, 2)], **given(axis=axis),
        )
    for opset, op in itertools.product((7, 11), ("ArgMax", "ArgMin")):
        for axis, keep in itertools.product((None, 0, 1), (None, 0)):
            yield Case(
                op, opset, [np.round(x)], **given(axis=axis, keepdims=keep)
            )


def fourier():
    for opset in (17, 19):
        for axis, onesided in itertools.product((None, 1, 2, -2, -3), (0, 1)):
            yield Case(
                "DFT", opset, [numbers(2, 4, 6, 1)],
                **given(axis=axis, onesided=onesided),
            )
        for axis in (None, 2):
            yield Case(
                "DFT", opset, [numbers(2, 4, 6, 2)],
                **given(axis=axis, inverse=1),
            )
            yield Case(
                "DFT", opset, [numbers(2, 4, 6, 1), ints(5)[0]],
                **given(axis=axis),
            )


def pooling():
    x = numbers(1, 2, 7, 6)
    forms = [
        {"pads": [1, 1, 1, 1]}, {"pads": [0, 0, 1, 1]}, {},
        {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"},
        {"auto_pad": "VALID"},
    ]
    for form, stride in itertools.product(forms, (1, 2, 3)):
        shape = {"kernel_shape": [3, 3], "strides": [stride] * 2, **form}
        for opset, ceil in ((7, None), (10, 1), (11, None), (18, 1)):
            for counted in (0, 1):
                yield Case(
                    "AveragePool", opset, [x],
                    **given(ceil_mode=ceil, count_include_pad=counted), **shape,
                )
            outputs = ["y"] if opset == 7 else ["y", "i"]
            yield Case(
                "MaxPool", opset, [x], outputs, **given(ceil_mode=ceil), **shape
            )
        for opset, p in ((7, 1), (11, 2)):
            yield Case("LpPool", opset, [x], p=p, **shape)
    for opset in (7, 11):
        for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
            yield Case(op, opset, [x])


def convolutions():
    x, w = numbers(1, 2, 5, 6), numbers(2, 3, 3, 2)
    for opset, form in itertools.product((7, 11), (
        {}, {"strides": [2, 2]}, {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"strides": [2, 2], "output_shape": [10, 13]},
        {"strides": [3, 2], "output_padding": [1, 1]}, {"dilations": [2, 1]},
    )):
        yield Case("ConvTranspose", opset, [x, w], **form)
    w = numbers(3, 2, 3, 2)
    for opset, form in itertools.product((7, 11), (
        {}, {"auto_pad": "SAME_LOWER"}, {"pads": [1, 0, 2, 1]},
        {"strides": [2, 3], "dilations": [1, 2]},
    )):
        yield Case("Conv", opset, [x, w], **form)


def recurrent():
    x = numbers(4, 2, 3)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for direction, bias in itertools.product(
            ("forward", "reverse", "bidirectional"), (False, True)
        ):
            n = 2 if direction == "bidirectional" else 1
            inputs = [x, numbers(n, gates * 5, 3), numbers(n, gates * 5, 5)]
            if bias:
                inputs.append(numbers(n, 2 * gates * 5))
                inputs.append(np.array([4, 2], np.int32))
            for opset in (7, 13):
                yield Case(
                    op, opset, inputs, ["y", "h"], hidden_size=5,
                    direction=direction,
                )


def dropout():
    x = numbers(3, 4)
    for opset, ratio in itertools.product((7, 9, 10, 11), (None, 0.25)):
        yield Case("Dropout", opset, [x], **given(ratio=ratio))
        yield Case(
            "Dropout", opset, [x], ["y", "mask"], ignored=("mask",),
            **given(ratio=ratio),
        )


def elementwise():
    x = numbers(3, 4)
    unary = (
        "Abs Neg Exp Floor Ceil Relu Sigmoid Tanh Elu Selu Softplus Softsign "
        "HardSigmoid LeakyRelu Identity Sin Cos Atan"
    ).split()
    for op, opset in itertools.product(unary, (7, 12)):
        yield Case(op, opset, [x])
    for op, opset in itertools.product(
        ("Add", "Sub", "Mul", "Div", "PRelu", "Max", "Min", "Mean", "Sum"),
        (8, 12),
    ):
        yield Case(op, opset, [x, numbers(1 if op == "PRelu" else 4, seed=2)])
    for op, opset in itertools.product(("Greater", "Less"), (9, 12)):
        yield Case(op, opset, [x, np.float32(0.1)[None]])
    for opset in (7, 11):
        yield Case("Equal", opset, [ints(1, 2, 3), ints(2)])
        yield Case("Pow", opset, [np.abs(x), floats(2)])
    for opset, alpha in itertools.product((7, 9), (None, 0.5)):
        yield Case(
            "Gemm", opset, [x, numbers(4, 2), numbers(2)], **given(alpha=alpha)
        )
    for opset, to in itertools.product((7, 9, 13), (1, 7, 9, 10, 11)):
        yield Case("Cast", opset, [np.round(x)], to=to)
    for opset, exclusive in itertools.product((11, 13), (0, 1)):
        yield Case("CumSum", opset, [x, ints(1)[0]], exclusive=exclusive)
    for opset, fmod in itertools.product((10, 12), (0, 1)):
        dtype = np.float32 if fmod else np.int64
        yield Case(
            "Mod", opset, [(x * 10).astype(dtype), np.array([3], dtype)],
            fmod=fmod,
        )
    yield Case("Where", 9, [x > 0, x, -x])
    yield Case("IsNaN", 9, [x])
    yield Case("IsInf", 10, [x])
    yield Case("Range", 11, [ints(1)[0], ints(9)[0], ints(2)[0]])
    yield Case("Einsum", 12, [x, numbers(4, 2)], equation="ij,jk->ik")
    yield Case("BitShift", 11, [ints(1, 2, 3).astype(np.uint8), np.uint8(2)],
               direction="LEFT")  # fmt: skip
    yield Case("Celu", 12, [x], alpha=2.0)
    yield Case("Compress", 11, [x, np.array([1, 0, 1], bool)], axis=0)
    yield Case("SpaceToDepth", 7, [numbers(1, 2, 4, 6)], blocksize=2)
    yield Case("Unique", 11, [np.round(x)], ["y", "i", "j", "n"], axis=0)
    yield Case(
        "ReverseSequence", 10, [x, ints(1, 2, 3)], batch_axis=0, time_axis=1
    )


def scan_body(states):
    """Running sums, and the product of a sum and an element."""
    def typed(name):
        return describe(name, shape=[3])

    nodes = [
        helper.make_node("Add", ["s", "e"] if states else ["e", "e"], ["s2"]),
        helper.make_node("Mul", ["s2", "e"], ["o"]),
    ]
    inputs = [typed("s")] * states + [typed("e")]
    outputs = [typed("s2")] * states + [typed("o")]
    return helper.make_graph(nodes, "body", inputs, outputs)


def scans():
    x = numbers(2, 5, 3)
    for states, direction in itertools.product((0, 1), (None, [0], [1])):
        inputs = [None, *[numbers(2, 3)] * states, x]
        outputs = [*["final"] * states, "all"]
        yield Case(
            "Scan", 8, inputs, outputs, graph=scan_body(states),
            num_scan_inputs=1, **given(directions=direction),
        )


@functools.lru_cache(maxsize=None)
def old_cases():
    families = (
        batch_normalization, clip, convolutions, dropout, elementwise, fourier,
        normalization, pads, pooling, quantization, recurrent, reductions,
        regions, resizing, scans, scattering, shapes, slices, softmax, splits,
        top_k, upsampling,
    )
    return [case for family in families for case in family()]
