# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a random model is made of: one function adds one construct.

A function takes a GraphMaker and gives up by returning when nothing visible
suits it. `@op(weight, first_opset, of)` puts it into the table; `of` picks an
operand that it takes, too: without one it is not called.
"""

import numpy as np
from model_maker import (
    BATCH,
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    FLOAT16,
    INT64,
    Function,
    GraphMaker,
    Scope,
    Value,
)
from onnx import helper

TABLE = []
MAX_ELEMENTS = 400


def op(weight, first_opset=11, of=None):
    def register(function):
        def add(g):
            operand = of(g)
            if operand is not None:
                function(g, operand)

        TABLE.append((weight, first_opset, add if of else function))
        return function

    return register


def elements(shape):
    return int(np.prod(shape, dtype=np.int64))


def some(g):
    return g.pick()


def some_sequence(g):
    return g.pick(kind="sequence")


def such(accept):
    return lambda g: g.pick(accept=accept)


def matrix_of(*ranks):
    return such(lambda v: len(v.shape) in ranks)


matrix = matrix_of(2, 3, 4)


def small(value, factor=1):
    return elements(value.shape) * factor <= MAX_ELEMENTS


def some_index(g):
    """Integers that are 0 or 1."""
    return g.pick(INT64, accept=lambda v: v.size <= 1 and v.name[0] == "i")


def over_axis(g, first_opset, name, x, axis, result, **attributes):
    """Axes are an operand from that opset on, and an attribute before."""
    if g.opset >= first_opset:
        return g.node(name, [x, g.integers([axis])], result, **attributes)
    return g.node(name, [x], result, axes=[axis], **attributes)


# Contractions ----------------------------------------------------------------


def linear_weight(g, rows, columns):
    """A weight: a new one, one in use already, its transpose, a parameter."""
    accept = lambda v: v.shape == (rows, columns)  # noqa: E731
    tied = [v for v in g.visible(accept=accept) if v.name[0] in "wp"]
    if tied and g.chance(0.4):
        return g.rng.choice(tied)
    back = g.visible(accept=lambda v: v.shape == (columns, rows))
    back = [v for v in back if v.name[0] in "wp"]
    if back and g.chance(0.4):
        weight = g.rng.choice(back)
        result = (FLOAT, (rows, columns), weight.size)
        return g.node("Transpose", [weight], [result], perm=[1, 0])
    weight = g.weight(g.array((rows, columns), 1.7 / np.sqrt(rows)))
    if g.chance(0.5):
        g.scopes[0].values.append(weight) if any(
            w.name == weight.name for w in g.scopes[0].weights
        ) else None
    return weight


@op(9, of=matrix)
def matmul(g, x):
    x = g.tame(x)
    columns = g.rng.choice([2, 4, 6, x.shape[-1]])
    weight = linear_weight(g, x.shape[-1], columns)
    shape = (*x.shape[:-1], columns)
    g.node("MatMul", [x, weight], [(FLOAT, shape, x.size * 1.5)])


@op(3, of=matrix_of(2))
def gemm(g, x):
    x = g.tame(x)
    rows, columns = x.shape[1], g.rng.choice([2, 4])
    transposed = g.chance(0.5)
    shape = (columns, rows) if transposed else (rows, columns)
    inputs = [x, linear_weight(g, *shape)]
    if g.chance(0.6):
        inputs.append(g.weight(g.array((columns,)), "b"))
    size = x.size * 1.5 + 1
    result = (FLOAT, (x.shape[0], columns), size)
    g.node("Gemm", inputs, [result], transB=int(transposed))


@op(4, of=matrix_of(4))
def conv(g, x):
    x = g.tame(x)
    kernel = g.rng.choice([1, 3])
    channels = g.rng.choice([2, 4])
    scale = 1.7 / np.sqrt(x.shape[1] * kernel * kernel)
    shape = (channels, x.shape[1], kernel, kernel)
    inputs = [x, g.weight(g.array(shape, scale))]
    if g.chance(0.5):
        inputs.append(g.weight(g.array((channels,)), "b"))
    result = (FLOAT, (x.shape[0], channels, *x.shape[2:]), x.size * 1.5 + 1)
    g.node("Conv", inputs, [result], pads=[kernel // 2] * 4)


@op(1, of=matrix_of(4))
def conv_transpose(g, x):
    weight = g.weight(g.array((x.shape[1], 2, 1, 1)))
    shape = (x.shape[0], 2, *x.shape[2:])
    g.node("ConvTranspose", [x, weight], [(FLOAT, shape, x.size * 2)])


@op(1, 12, of=matrix_of(2))
def einsum(g, x):
    weight = linear_weight(g, x.shape[1], 4)
    result = (FLOAT, (x.shape[0], 4), x.size * 1.5)
    g.node("Einsum", [x, weight], [result], equation="ij,jk->ik")


@op(1, of=matrix_of(3))
def recurrent(g, x):
    if not all(x.shape):
        return
    hidden, (steps, batch, width) = 2, x.shape
    weights = [g.weight(g.array((1, 4 * hidden, n))) for n in (width, hidden)]
    state = (FLOAT, (1, batch, hidden), 1.0)
    results = [
        (FLOAT, (steps, 1, batch, hidden), 1.0),
        state if g.chance(0.5) else None,
    ]
    g.node("LSTM", [g.tame(x), *weights], results, hidden_size=hidden)


# Element by element ----------------------------------------------------------

SAFE_UNARY = ["Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Identity", "Erf"]
SAFE_UNARY += ["Elu", "LeakyRelu", "HardSigmoid", "Selu", "Softsign", "Sin"]


@op(10, of=some)
def unary(g, x):
    name = g.rng.choice(SAFE_UNARY)
    bounded = {"Tanh", "Sigmoid", "Erf", "HardSigmoid", "Softsign", "Sin"}
    g.unary(name, x, 1.0 if name in bounded else x.size)


@op(2, of=some)
def steep(g, x):
    x = g.tame(x, 2.0)
    name = g.rng.choice(["Exp", "Softplus", "Sqrt", "Log", "Reciprocal"])
    if name in ("Sqrt", "Log", "Reciprocal"):
        x = g.unary("Abs", x)
        one = g.constant(np.float32(1))
        x = g.node("Add", [x, one], [(FLOAT, x.shape, x.size + 1)])
    g.unary(name, x, 8.0 if name == "Exp" else 3.0)


@op(2, of=some)
def step(g, x):
    """What is not continuous."""
    g.is_numeric = False
    name = g.rng.choice(["Floor", "Ceil", "Round", "Sign", "ArgMax", "Random"])
    if name == "ArgMax":
        if x.shape:
            shape = (*x.shape[:-1], 1)
            g.node(name, [x], [(INT64, shape, 1)], axis=len(x.shape) - 1)
    elif name == "Random":
        result = [(FLOAT, x.shape, 3.0)]
        dtype = {"dtype": FLOAT} if g.chance(0.5) else {}
        g.node("RandomNormalLike", [x], result, **dtype)
    else:
        g.unary(name, x, x.size + 1)


@op(9, of=some)
def binary(g, x):
    y = g.pick(accept=lambda v: v.shape == x.shape)
    if g.chance(0.4):
        shape = g.rng.choice([(), x.shape[-1:], x.shape])
        y = g.constant(g.array(shape))
    name = g.rng.choice(["Add", "Sub", "Mul", "Min", "Max", "Sum", "Mean"])
    if name == "Mul":
        x, y = g.tame(x, 3.0), g.tame(y, 3.0)
    size = x.size * y.size if name == "Mul" else x.size + y.size
    operands = [x, y] if g.chance(0.8) else [y, x]
    g.node(name, operands, [(FLOAT, x.shape, size)])


@op(2, of=some)
def divide(g, x):
    name = g.rng.choice(["Div", "Pow"])
    if name == "Pow":
        x = g.tame(x, 3.0)
        y = g.constant(np.float32(2))
    else:
        y = g.constant(np.float32(g.rng.choice([1.5, 2, 8])))
    g.node(name, [x, y], [(FLOAT, x.shape, x.size**2 + 1)])


@op(2, of=some)
def wide(g, x):
    """There and back by a constant that fp16 does not have."""
    x = g.tame(x)
    factor = np.float32(g.rng.choice([1e5, -1e5, 1e-9]))
    there = g.node("Mul", [x, g.constant(factor)], [(FLOAT, x.shape, 1e9)])
    g.scope.values.remove(there)
    g.node("Div", [there, g.constant(factor)], [(FLOAT, x.shape, x.size)])


@op(2, of=some)
def clip(g, x):
    low = g.constant(np.float32(-1)) if g.chance(0.5) else ""
    high = g.constant(np.float32(0.75)) if g.chance(0.7) else ""
    inputs = [x, low, high] if high else [x, low] if low else [x]
    g.node("Clip", inputs, [(FLOAT, x.shape, x.size)])


@op(2, of=some)
def choose(g, x):
    y = g.of_shape(x)
    condition = g.pick(BOOL, accept=lambda v: v.shape in ((), x.shape))
    if condition is None or y is None:
        return
    if g.chance(0.2):
        y = g.constant(np.float32(g.rng.choice([0.0, -1e9, -np.inf])))
        size = 1e9
        x = g.node("Where", [condition, x, y], [(FLOAT, x.shape, size)])
        if x.shape:
            g.unary("Softmax", x, 1.0, axis=len(x.shape) - 1)
        x.size = 1e9
        g.scope.values.remove(x)
        return
    result = (FLOAT, x.shape, max(x.size, y.size))
    g.node("Where", [condition, x, y], [result])


@op(2, of=some)
def compare(g, x):
    g.is_numeric = False
    y = g.of_shape(x)
    name = g.rng.choice(["Greater", "Less"])
    if y is not None:
        flag = g.node(name, [x, y], [(BOOL, x.shape, 1)])
        if g.chance(0.3):
            g.unary("Not", flag)


@op(2, of=some)
def dropout(g, x):
    inputs = [x]
    if g.opset >= 12 and g.chance(0.5):
        inputs.append(g.constant(np.float32(0.3)))
    results = [(FLOAT, x.shape, x.size)]
    if g.chance(0.3):
        results.append((BOOL, x.shape, 1))
    g.node("Dropout", inputs, results)


# Reductions and normalizations -----------------------------------------------


@op(4, of=such(lambda v: len(v.shape) > 1))
def reduce(g, x):
    name = g.rng.choice(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"])
    axis, keep = g.rng.randrange(1, len(x.shape)), g.rng.randrange(2)
    shape = list(x.shape)
    size = x.size * (shape[axis] if name in ("ReduceSum", "ReduceL2") else 1)
    shape[axis : axis + 1] = [1] * keep
    result = [(FLOAT, tuple(shape), size)]
    first = 13 if name == "ReduceSum" else 18
    over_axis(g, first, name, x, axis, result, keepdims=keep)


@op(3, of=matrix)
def softmax(g, x):
    name = g.rng.choice(["Softmax", "Softmax", "LogSoftmax", "Hardmax"])
    g.is_numeric &= name != "Hardmax"
    size = x.size * 2 + 2 if name == "LogSoftmax" else 1.0
    g.unary(name, x, size, axis=len(x.shape) - 1)


@op(2, 17, of=matrix)
def layer_normalization(g, x):
    if elements(x.shape[-1:]) < 4:
        return
    x = g.node("Add", [x, ramp(g, x)], [(FLOAT, x.shape, x.size + 2)])
    inputs = [x, g.weight(g.array(x.shape[-1:]), "w")]
    if g.chance(0.6):
        inputs.append(g.weight(g.array(x.shape[-1:]), "b"))
    results = [(FLOAT, x.shape, 3.0)]
    if g.chance(0.2):
        statistics = (FLOAT, (*x.shape[:-1], 1), 3.0)
        results += [statistics, statistics]
    g.node("LayerNormalization", inputs, results, axis=-1)


def ramp(g, x):
    """Keeps the variance away from 0, where nothing is well conditioned."""
    count = x.shape[-1]
    return g.weight(np.linspace(-2, 2, count).astype(np.float32), "k")


@op(2, of=matrix_of(2, 3))
def decomposed_normalization(g, x):
    if x.shape[-1] < 4:
        return
    x = g.node("Add", [x, ramp(g, x)], [(FLOAT, x.shape, x.size + 2)])
    reduced = [(FLOAT, (*x.shape[:-1], 1), x.size)]

    def mean(value):
        return over_axis(g, 18, "ReduceMean", value, -1, reduced)

    centered = g.node("Sub", [x, mean(x)], [(FLOAT, x.shape, x.size)])
    two = g.constant(np.float32(2))
    square = g.node("Pow", [centered, two], [(FLOAT, x.shape, x.size**2)])
    epsilon = g.constant(np.float32(g.rng.choice([1e-5, 1e-12])))
    variance = g.node("Add", [mean(square), epsilon], reduced)
    deviation = g.unary("Sqrt", variance)
    g.node("Div", [centered, deviation], [(FLOAT, x.shape, 3.0)])


@op(2, of=matrix_of(2, 4))
def batch_normalization(g, x):
    shape = x.shape[1:2]
    parameters = [g.array(shape), g.array(shape), g.array(shape)]
    parameters.append(np.abs(g.array(shape)) + 0.5)
    inputs = [x] + [g.weight(p, "w") for p in parameters]
    result = [(FLOAT, x.shape, x.size * 1.5 + 2)]
    g.node("BatchNormalization", inputs, result)


@op(2, of=matrix_of(4))
def pool(g, x):
    if min(x.shape[2:]) < 2:
        return
    name = g.rng.choice(["MaxPool", "AveragePool", "GlobalAveragePool"])
    shape = (*x.shape[:2], 1, 1)
    if name == "GlobalAveragePool":
        g.node(name, [x], [(FLOAT, shape, x.size)])
        return
    shape = (*x.shape[:2], x.shape[2] - 1, x.shape[3] - 1)
    g.node(name, [x], [(FLOAT, shape, x.size)], kernel_shape=[2, 2])


@op(1, of=matrix_of(2))
def cumsum(g, x):
    result = (FLOAT, x.shape, x.size * x.shape[1])
    g.node("CumSum", [x, g.integers(1)], [result])


@op(1, of=matrix_of(2))
def topk(g, x):
    k = g.integers([1])
    shape = (x.shape[0], 1)
    results = [(FLOAT, shape, x.size), (INT64, shape, 1)]
    _, indices = g.node("TopK", [x, k], results, axis=1)
    # Nearby values may change places.
    if g.chance(0.5):
        g.scope.values.remove(indices)
    else:
        g.is_numeric = False


# Data movement ---------------------------------------------------------------


@op(4, of=matrix)
def transpose(g, x):
    perm = list(range(len(x.shape)))
    if not (g.is_dynamic and g.depth) or g.chance(0.5):
        perm[-2:] = perm[-1], perm[-2]
    shape = tuple(x.shape[p] for p in perm)
    g.node("Transpose", [x], [(x.dtype, shape, x.size)], perm=perm)


@op(3, of=matrix)
def reshape(g, x):
    shape = g.integers([0, -1])
    result = (x.shape[0], elements(x.shape[1:]))
    name = g.rng.choice(["Reshape", "Flatten"])
    if name == "Flatten":
        g.node("Flatten", [x], [(x.dtype, result, x.size)], axis=1)
    else:
        g.node("Reshape", [x, shape], [(x.dtype, result, x.size)])


@op(3, of=such(lambda v: len(v.shape) in (1, 2, 3)))
def unsqueeze(g, x):
    axis = g.rng.randrange(len(x.shape) + 1)
    shape = list(x.shape)
    shape.insert(axis, 1)
    for name, size in (("Unsqueeze", tuple(shape)), ("Squeeze", x.shape)):
        result = [(x.dtype, size, x.size)]
        x = over_axis(g, 13, name, x, axis, result)
        if g.chance(0.7):
            return


@op(3, of=matrix)
def concat(g, x):
    if not small(x, 2):
        return
    y = g.of_shape(x)
    if y is None:
        return
    shape = (*x.shape[:-1], 2 * x.shape[-1])
    size = max(x.size, y.size)
    g.node("Concat", [x, y], [(x.dtype, shape, size)], axis=len(shape) - 1)


@op(2, of=such(lambda v: len(v.shape) > 1 and v.shape[-1] % 2 == 0))
def split(g, x):
    half = x.shape[-1] // 2
    result = (x.dtype, (*x.shape[:-1], half), x.size)
    axis = len(x.shape) - 1
    if g.opset >= 13:
        sizes = g.integers([half, half])
        g.node("Split", [x, sizes], [result, result], axis=axis)
    else:
        both = [result, result]
        g.node("Split", [x], both, axis=axis, split=[half, half])


@op(2, of=such(lambda v: len(v.shape) > 1 and v.shape[-1] > 1))
def slice_(g, x):
    one = [g.integers([n]) for n in (1, 9999, -1)]
    shape = (*x.shape[:-1], x.shape[-1] - 1)
    g.node("Slice", [x, *one], [(x.dtype, shape, x.size)])


@op(2, of=such(lambda v: len(v.shape) > 1 and v.shape[-1] > 1))
def gather(g, x):
    index = some_index(g)
    if index is None:
        index = g.integers([1, 0])
    axis = len(x.shape) - 1
    shape = (*x.shape[:-1], *index.shape)
    g.node("Gather", [x, index], [(x.dtype, shape, x.size)], axis=axis)


@op(1, of=some_index)
def embedding(g, index):
    """Rows of a table by integers of the model."""
    table = g.weight(g.array((3, 4)))
    g.node("Gather", [table, index], [(FLOAT, (*index.shape, 4), 1.0)])


@op(2)
def expand(g):
    x = g.pick(accept=lambda v: 1 in v.shape and len(v.shape) > 1)
    if x is None:
        x = matrix_of(2)(g)
        if x is None or not small(x, 2):
            return
        repeats = g.integers([1, 2])
        shape = (x.shape[0], 2 * x.shape[1])
        g.node("Tile", [x, repeats], [(x.dtype, shape, x.size)])
        return
    axis = len(x.shape) - 1 - list(x.shape)[::-1].index(1)
    target = [1] * len(x.shape)
    target[axis] = 2
    shape = list(x.shape)
    shape[axis] = 2
    size = g.integers(target)
    g.node("Expand", [x, size], [(x.dtype, tuple(shape), x.size)])


@op(1, of=matrix_of(2))
def pad(g, x):
    pads = g.integers([0, 1, 0, 0])
    inputs = [x, pads]
    if g.chance(0.5):
        inputs.append(g.constant(np.float32(0.5)))
    shape = (x.shape[0], x.shape[1] + 1)
    g.node("Pad", inputs, [(x.dtype, shape, x.size)])


@op(2, of=matrix_of(4))
def resize(g, x):
    if not small(x, 4):
        return
    shape = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    roi = "" if g.opset >= 13 else g.constant(np.zeros((0,), np.float32))
    mode = {"coordinate_transformation_mode": "asymmetric"}
    result = [(x.dtype, shape, x.size)]
    g.node("Resize", [x, roi, scales], result, mode="nearest", **mode)
    if g.chance(0.3):
        # The same constant as data.
        y = g.pick(accept=lambda v: v.shape[-1:] == (4,) and v.size < 3)
        if y is not None:
            g.node("Mul", [y, scales], [(FLOAT, y.shape, 2 * y.size)])


# Types -----------------------------------------------------------------------


@op(3, of=some)
def user_cast(g, x):
    """The model's own rounding, or an island of float64."""
    dtypes = [FLOAT16, DOUBLE]
    if g.opset >= 13:
        dtypes.append(BFLOAT16)
    dtype = g.rng.choice(dtypes)
    x = g.tame(x)
    there = g.node("Cast", [x], [(dtype, x.shape, x.size)], to=dtype)
    for _ in range(g.rng.randrange(3)):
        if dtype == BFLOAT16:
            break
        there = g.unary(g.rng.choice(["Tanh", "Neg", "Abs"]), there)
    g.node("Cast", [there], [(FLOAT, x.shape, x.size)], to=FLOAT)


@op(2)
def from_other_type(g):
    """Graph inputs of other types come into play."""
    dtype = g.rng.choice([FLOAT16, DOUBLE, BFLOAT16, BOOL, INT64])
    x = g.pick(dtype)
    if x is None or x.size > 100:
        return
    if dtype == DOUBLE and g.chance(0.5):
        big = g.constant(np.float64(1e9))
        for name in ("Add", "Sub"):
            x = g.node(name, [x, big], [(DOUBLE, x.shape, x.size)])
    g.node("Cast", [x], [(FLOAT, x.shape, x.size)], to=FLOAT)


@op(2, of=matrix_of(2, 3))
def shape_arithmetic(g, x):
    """Half of an axis, computed in float."""
    if x.shape[-1] < 2 or x.shape[-1] == BATCH:
        return
    rank = len(x.shape)
    shape = g.node("Shape", [x], [(INT64, (rank,), 999)])
    last = g.integers([rank - 1])
    last = g.node("Gather", [shape, last], [(INT64, (1,), 999)])
    count = g.node("Cast", [last], [(FLOAT, (1,), 999)], to=FLOAT)
    half = g.constant(np.float32(0.5))
    count = g.node("Mul", [count, half], [(FLOAT, (1,), 999)])
    count = g.unary(g.rng.choice(["Floor", "Ceil"]), count)
    count = g.node("Cast", [count], [(INT64, (1,), 999)], to=INT64)
    floats = [v for v in g.scope.values if v.size == 999]
    for value in floats:
        g.scope.values.remove(value)
    zero = g.integers([0])
    axis = g.integers([rank - 1])
    # Floor and Ceil agree on even sizes only.
    if x.shape[-1] % 2 == 0:
        result = (x.dtype, (*x.shape[:-1], x.shape[-1] // 2), x.size)
        g.node("Slice", [x, zero, count, axis], [result])


@op(2)
def source(g):
    """Values out of nothing, or of a shape."""
    kind = g.rng.choice(["ConstantOfShape", "EyeLike", "Range", "OneHot"])
    if kind == "ConstantOfShape":
        shape = g.integers([2, 4])
        value = {}
        if g.chance(0.6):
            fill = helper.make_tensor("value", FLOAT, [1], [0.25])
            value = {"value": fill}
        g.node(kind, [shape], [(FLOAT, (2, 4), 1.0)], **value)
    elif kind == "EyeLike":
        x = matrix_of(2)(g)
        # ONNX's checker crashes on an EyeLike of unknown shape.
        if x is not None and not g.has_foreign:
            dtype = {"dtype": FLOAT} if g.chance(0.5) else {}
            g.node(kind, [x], [(FLOAT, x.shape, 1.0)], **dtype)
    elif kind == "Range":
        limits = [g.constant(np.float32(n)) for n in (0, 4, 1)]
        g.node(kind, limits, [(FLOAT, (4,), 4.0)])
    else:
        index = some_index(g)
        if index is None or not index.shape:
            return
        depth = g.integers(4)
        values = g.constant(np.array([0, 1], np.float32))
        result = (FLOAT, (*index.shape, 4), 1.0)
        g.node(kind, [index, depth, values], [result])


@op(1, of=matrix_of(2))
def foreign(g, x):
    """Ops of com.microsoft, and of a domain that nobody knows."""
    if g.chance(0.5):
        g.domains["com.microsoft"] = 1
        name = g.rng.choice(["FusedMatMul", "Gelu", "BiasGelu", "FastGelu"])
        inputs, shape = [x], x.shape
        if name == "FusedMatMul":
            inputs.append(linear_weight(g, x.shape[1], 4))
            shape = (x.shape[0], 4)
        elif name == "BiasGelu":
            inputs.append(g.weight(g.array(x.shape[1:]), "b"))
        domain = "com.microsoft"
    else:
        g.domains["my.domain"] = 1
        name, domain, shape = "Mystery", "my.domain", x.shape
        inputs = [x, g.integers([1])]
    g.is_numeric = False
    g.has_foreign = True
    g.node(name, inputs, [(FLOAT, shape, x.size * 2)], domain=domain)


# Sequences and optionals -----------------------------------------------------


@op(2, of=some)
def sequence(g, x):
    result = [(x.dtype, x.shape, x.size)]
    kind = g.rng.choice(["construct", "empty", "split"])
    if kind == "split":
        if not x.shape or x.shape[-1] < 2:
            return
        shape = (*x.shape[:-1], 1)
        rank = len(x.shape)
        made = g.node(
            "SplitToSequence", [x], [(x.dtype, shape, x.size)], axis=rank - 1
        )
    elif kind == "empty":
        dtype = {} if g.chance(0.5) else {"dtype": FLOAT}
        empty = g.node("SequenceEmpty", [], result, **dtype)
        g.scope.values.remove(empty)
        made = g.node("SequenceInsert", [empty, x], result)
    else:
        others = [g.of_shape(x) for _ in range(g.rng.randrange(3))]
        items = [x, *[v for v in others if v is not None]]
        made = g.node("SequenceConstruct", items, result)
    made.kind = "sequence"


@op(3, of=some_sequence)
def from_sequence(g, s):
    kind = g.rng.choice(["at", "length", "concat", "insert"])
    if kind == "at":
        zero = g.integers(0)
        g.node("SequenceAt", [s, zero], [(s.dtype, s.shape, s.size)])
    elif kind == "length":
        g.node("SequenceLength", [s], [(INT64, (), 999)])
    elif kind == "insert":
        g.reinsert(s)
    else:
        # The number of elements is unknown here: their sum has one shape.
        shape = (999, *s.shape)
        all_of = g.node(
            "ConcatFromSequence", [s], [(FLOAT, shape, s.size)], axis=0, new_axis=1
        )
        g.scope.values.remove(all_of)
        reduced = [(FLOAT, s.shape, s.size)]
        over_axis(g, 18, "ReduceMean", all_of, 0, reduced, keepdims=0)


@op(1, 15, of=some)
def optional(g, x):
    result = (x.dtype, x.shape, x.size)
    wrapped = g.node("Optional", [x], [result])
    wrapped.kind = "optional"
    if g.chance(0.5):
        g.node("OptionalHasElement", [wrapped], [(BOOL, (), 1)])
    g.node("OptionalGetElement", [wrapped], [result])


# Control flow ----------------------------------------------------------------


def fill(g, count):
    """Random nodes of the innermost graph."""
    for _ in range(count):
        add_random(g)


def room(g):
    """Not too deep for one more body."""
    return True if g.depth < 3 else None


def state_of(g, value, base="st"):
    """The body's parameter for a state."""
    size = max(value.size, 2.0)
    name = g.new_name(base)
    return Value(name, value.dtype, value.shape, size, value.kind)


def some_values(g):
    """One or two, and perhaps a sequence, for a node with a body."""
    values = [g.pick() for _ in range(g.rng.choice([1, 1, 2]))]
    if g.opset >= 14 and g.chance(0.2):
        values.append(some_sequence(g))
    return [v for v in values if v is not None]


def next_state(g, state):
    """What the state becomes: of its type, and not growing."""
    value = g.of_shape(state)
    if value is None:
        value = g.unary("Identity", state)
        value.kind = state.kind
    if value.kind == "tensor" and value.size > 2 and value.dtype == FLOAT:
        value = g.unary("Tanh", value, 1.0)
    return value


@op(3, of=room)
def if_(g, _):
    likes = some_values(g)
    if not likes:
        return
    condition = g.some_bool()

    def make():
        fill(g, g.rng.randrange(4))
        return [g.of_shape(v) for v in likes]

    then, ones = g.body("then", [], make)
    other, twos = g.body("else", [], make)
    if then is None or other is None:
        return
    results = [
        (v.dtype, v.shape, max(a.size, b.size))
        for v, a, b in zip(likes, ones, twos)
    ]
    made = g.node(
        "If", [condition], results, then_branch=then, else_branch=other
    )
    for value, like in zip(made if len(likes) > 1 else [made], likes):
        value.kind = like.kind


@op(3, of=room)
def loop(g, _):
    starts = some_values(g)
    if not starts:
        return
    count = g.rng.choice([1, 2, 3])
    trips = g.integers(count)
    step_name, go = g.new_name("it"), g.new_name("go")
    states = [state_of(g, v) for v in starts]
    head = [Value(step_name, INT64, (), 999), Value(go, BOOL, ())]
    scans = g.chance(0.4)

    def make():
        fill(g, g.rng.randrange(1, 4))
        ends = [g.unary("Identity", head[1])]
        ends += [next_state(g, s) for s in states]
        return ends + ([g.of_shape(states[0])] if scans else [])

    body, ends = g.body("body", [*head, *states], make)
    if body is None:
        return
    results = [(v.dtype, v.shape, max(v.size, 2.0)) for v in starts]
    if scans:
        last = ends[-1]
        results.append((last.dtype, (count, *last.shape), last.size))
    made = g.node("Loop", [trips, "", *starts], results, body=body)
    for value, start in zip(made if len(results) > 1 else [made], starts):
        value.kind = start.kind


@op(2, of=room)
def scan(g, _):
    x = matrix_of(2, 3)(g)
    start = g.pick()
    if x is None or start is None:
        return
    state = state_of(g, start)
    part = Value(g.new_name("el"), FLOAT, x.shape[1:], x.size)

    def make():
        fill(g, g.rng.randrange(1, 4))
        return [next_state(g, state), g.of_shape(part)]

    body, ends = g.body("body", [state, part], make)
    if body is None:
        return
    results = [
        (FLOAT, start.shape, max(start.size, 2.0)),
        (FLOAT, x.shape, ends[1].size),
    ]
    g.node("Scan", [start, x], results, body=body, num_scan_inputs=1)


# Functions -------------------------------------------------------------------


@op(3)
def call(g):
    if not g.functions:
        return
    f = g.rng.choice(g.functions)
    dtype = g.rng.choice([FLOAT, FLOAT, FLOAT, DOUBLE])
    x = g.pick(dtype if f.any_type else FLOAT, accept=lambda v: len(v.shape) > 1)
    if x is None:
        return
    inputs = [g.tame(x) if x.dtype == FLOAT else x]
    if f.form == "linear":
        inputs.append(linear_weight(g, x.shape[-1], x.shape[-1]))
    attributes = {f.attribute: 0.125} if f.attribute else {}
    result = (x.dtype, x.shape, x.size * 2 + 1)
    g.node(f.name, inputs, [result], domain="local", **attributes)


def make_function(g, index):
    name = f"Block{index}"
    form = g.rng.choice(["unary", "linear"])
    inputs = ["p", "q"] if form == "linear" else ["p"]
    nodes, last, attribute, any_type = [], "p", "", True
    if form == "linear":
        nodes.append(helper.make_node("MatMul", ["p", "q"], ["t"], name="mm"))
        last, any_type = "t", False
    for number in range(g.rng.randrange(1, 4)):
        kind = g.rng.choice(["Tanh", "Relu", "Sigmoid", "add", "leaky", "call"])
        out, more = f"v{number}", [last]
        if kind == "add":
            value = {"value": helper.make_tensor("one", FLOAT, [], [1.0])}
            if g.opset >= 12:
                value = {"value_float": 1.0}
            if not any(n.output[0] == "one" for n in nodes):
                nodes.append(helper.make_node("Constant", [], ["one"], **value))
            kind, more, any_type = "Add", [last, "one"], False
        callee = None
        if kind == "call":
            kind = "Tanh"
            unaries = [f for f in g.functions if f.form == "unary"]
            callee = g.rng.choice(unaries) if unaries else None
        if callee is not None:
            extra = {callee.attribute: 0.5} if callee.attribute else {}
            node = helper.make_node(
                callee.name, more, [out], domain="local", **extra
            )
            any_type &= callee.any_type
        elif kind == "leaky":
            node = helper.make_node("LeakyRelu", more, [out])
            attribute = "slope"
            reference = node.attribute.add()
            reference.name, reference.ref_attr_name = "alpha", "slope"
            reference.type = 1
            any_type &= g.opset >= 6
        else:
            node = helper.make_node(kind, more, [out], name=kind.lower())
        nodes.append(node)
        last = out
    opsets = [helper.make_opsetid("", g.opset)]
    opsets.append(helper.make_opsetid("local", 1))
    attributes = [attribute] if attribute else []
    proto = helper.make_function(
        "local", name, inputs, [last], nodes, opsets, attributes
    )
    return Function(name, proto, form, any_type, attribute)


# All of it -------------------------------------------------------------------


def add_random(g):
    usable = [(w, f) for w, first, f in TABLE if g.opset >= first]
    weights = [w for w, _ in usable]
    g.rng.choices([f for _, f in usable], weights)[0](g)


def fill_model(g):
    if g.chance(0.3):
        g.domains["local"] = 1
        for index in range(g.rng.choice([1, 2, 3])):
            g.functions.append(make_function(g, index))
    g.add_inputs()
    g.add_parameters()
    fill(g, g.rng.choice([2, 5, 8, 12, 16, 24]))


def make_model(seed):
    g = GraphMaker(seed)
    g.has_foreign = False
    g.scopes.append(Scope([]))
    fill_model(g)
    model = g.finish()
    model.has_foreign = g.has_foreign
    return model
