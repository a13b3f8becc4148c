# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions on a device, in one stage or two: each point counts
once. Sums of small integers are exact in any order."""

import itertools
import re

import numpy as np
import pytest

from runs import BAD_INPUT, DEVICE, compute, fail, run_mp_opt, write_model

# Sizes around the limits of one block, of one warp, and of split sums; sizes
# with and without divisors.
COLUMNS = [
    ((511, 33), (0,)),
    ((512, 32), (0,)),
    ((521, 31), (0,)),
    ((1009, 100), (0,)),
    ((2048, 64), (0,)),
    ((63, 40), (0,)),
    ((65, 40), (0,)),
    ((33, 70, 9), (0, 1)),
    ((3, 700, 33), (1,)),
    ((24, 5, 50, 7), (0, 2)),
    ((4097, 1), (0,)),
    # One block computes all of them.
    ((32, 32), (0,)),
    ((40, 24), (0,)),
    ((2, 70, 8), (0, 1)),
]
ROWS = [
    ((16383,), (0,)),
    ((16384,), (0,)),
    ((32771,), (0,)),
    ((3, 16411), (1,)),
    ((16, 5, 40, 41), (0, 2, 3)),
    ((2, 3, 131, 130), (2, 3)),
]
FUNCTIONS = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceProd": np.prod}


TYPES = {"float32": "float"}


class Net:
    """A model of many nodes, with data, and values of results."""

    def __init__(self):
        self.takes, self.gives, self.nodes, self.constants = [], [], [], []
        self.data, self.expected = {}, {}

    def take(self, name, array):
        kind = array.dtype.name
        self.takes.append(f"{TYPES.get(kind, kind)}{list(array.shape)} {name}")
        self.data[name] = array

    def give(self, name, element, shape, expected=None):
        self.gives.append(f"{element}{list(shape) or ''} {name}")
        self.expected[name] = expected

    def write(self, folder):
        constants = f"<{', '.join(self.constants)}>" if self.constants else ""
        return write_model(
            folder,
            f"net ({', '.join(self.takes)}) => ({', '.join(self.gives)})\n"
            + constants + " {\n" + "\n".join(self.nodes) + "\n}\n",
        )  # fmt: skip

    def check(self, folder):
        found = compute(self.write(folder), self.data, DEVICE)
        for key, value in self.expected.items():
            np.testing.assert_array_equal(found[key], value, err_msg=key)


def make_data(name, shape, generator):
    if name == "ReduceProd":
        # The product of a few twos and of signs.
        x = generator.choice([-1.0, 1.0], shape)
        x.flat[generator.choice(x.size, 8, replace=False)] *= 2
        return x.astype(np.float32)
    x = generator.integers(-8, 9, shape).astype(np.float32)
    return -np.abs(x) - 1 if name == "ReduceMax" else x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_reductions(tmp_path, name):
    generator = np.random.default_rng(1)
    net = Net()
    for number, (shape, axes) in enumerate(COLUMNS + ROWS):
        kept = [size for axis, size in enumerate(shape) if axis not in axes]
        axis_list = ", ".join(map(str, axes))
        net.constants.append(f"int64[{len(axes)}] a{number} = {{{axis_list}}}")
        node = f"{name}<keepdims = 0>(x{number}, a{number})"
        net.nodes.append(f"y{number} = {node}")
        x = make_data(name, shape, generator)
        net.take(f"x{number}", x)
        y = FUNCTIONS[name](x.astype(np.float64), axis=axes)
        net.give(f"y{number}", "float", kept, y)
    net.check(tmp_path)


# Rows of fewer and of more points than a block has threads, and columns.
SELECTIONS = {"rows": (5, 700), "few": (3, 65), "line": (1, 3001), "many": (300, 2)}


def select(x, greatest, last):
    """The number of the greatest, or the least; of a NaN if there is one."""
    order = x if greatest else -x
    return x.size - 1 - np.argmax(order[::-1]) if last else np.argmax(order)


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_where_the_greatest_is(tmp_path, name):
    """Elements are few numbers, so that many are equal."""
    generator = np.random.default_rng(2)
    net = Net()
    for key, shape in SELECTIONS.items():
        for kind, last in itertools.product(("float", "int32"), (0, 1)):
            own = f"{key}_{kind}_{last}"
            flags = f"axis = 1, keepdims = 0, select_last_index = {last}"
            net.nodes.append(f"y_{own} = {name}<{flags}>(x_{own})")
            x = generator.integers(-3, 4, shape)
            x = x.astype(np.float32 if kind == "float" else np.int32)
            if kind == "float":
                x[0, shape[1] // 2 :] = np.nan
                x[-1] = -np.inf if name == "ArgMax" else np.inf
            net.take(f"x_{own}", x)
            rows = [select(row, name == "ArgMax", last) for row in x]
            net.give(f"y_{own}", "int64", shape[:1], np.array(rows))
    net.check(tmp_path)


# Data, indices, updates, node; indices name places up to many times, from the
# front and from the back.
SCATTERS = {
    "rows": ((50, 24), (300, 1), (300, 24), "ScatterND{}"),
    "long_rows": ((40, 700), (16, 9, 1), (16, 9, 700), "ScatterND{}"),
    "many_rows": ((5000, 3), (700, 1), (700, 3), "ScatterND{}"),
    "of_two": ((9, 7, 33), (200, 2), (200, 33), "ScatterND{}"),
    "of_all": ((19, 70), (2000, 2), (2000,), "ScatterND{}"),
    "line": ((3000,), (2500,), (2500,), "ScatterElements{}"),
    "few_places": ((70,), (9001,), (9001,), "ScatterElements{}"),
    "columns": ((60, 40), (90, 40), (90, 40), "ScatterElements{}"),
    "last": ((30, 50), (30, 77), (30, 77), "ScatterElements{axis=1}"),
    "middle": ((6, 21, 11), (5, 64, 11), (5, 64, 11), "ScatterElements{axis=1}"),
    # Each index of the axes before and after has its own blocks.
    "planes": ((6, 500), (6, 2700), (6, 2700), "ScatterElements{axis=1}"),
    "long_planes": ((2, 70001), (2, 400), (2, 400), "ScatterElements{axis=1}"),
    "between": ((4, 90, 5), (3, 300, 5), (3, 300, 5), "ScatterElements{axis=1}"),
}
REDUCTIONS = ["none", "add", "mul", "max", "min"]


def make_scatter(name, reduction, generator):
    shape, index_shape, update_shape, node = SCATTERS[name]
    op, _, axis = node.rstrip("}").partition("{")
    if op == "ScatterND":
        limits = np.array(shape[: index_shape[-1]])
    else:
        limits = np.array(shape[int(axis[5:] or 0)])
    indices = generator.integers(-limits, limits, index_shape)
    attributes = [f'reduction = "{reduction}"', *([axis] if axis else [])]
    x = generator.standard_normal(shape).astype(np.float32)
    u = generator.standard_normal(update_shape).astype(np.float32)
    return f"{op}<{', '.join(attributes)}>", x, indices, u


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatters(tmp_path, reduction):
    """The processor's order, and with it the same bits."""
    generator = np.random.default_rng(2)
    net = Net()
    for number, name in enumerate(SCATTERS):
        node, *arrays = make_scatter(name, reduction, generator)
        for key, array in zip("xiu", arrays):
            net.take(f"{key}{number}", array)
        net.give(f"y{number}", "float", arrays[0].shape)
        net.nodes.append(f"y{number} = {node}(x{number}, i{number}, u{number})")
    model = net.write(tmp_path)
    expected = compute(model, net.data)
    found = compute(model, net.data, DEVICE)
    for key, value in expected.items():
        np.testing.assert_array_equal(
            found[key].view(np.uint32), value.view(np.uint32), err_msg=key
        )


def test_scattered_out_of_range(tmp_path):
    model = write_model(
        tmp_path,
        "net (float[5000,3] x, int64[700,1] i, float[700,3] u) =>"
        ' (float[5000,3] y) { [far] y = ScatterND<reduction = "add">(x, i, u) }',
    )
    i = np.zeros((700, 1), np.int64)
    i[333] = -5001
    np.savez(
        tmp_path / "in.npz",
        x=np.zeros((5000, 3), np.float32),
        i=i,
        u=np.zeros((700, 3), np.float32),
    )
    error = fail(BAD_INPUT, "run", model, tmp_path / "in.npz", DEVICE)
    assert "node 'far'" in error
    assert "index -5001 is out of range for size 5000" in error


# Products with few results and long sums: m, n, k, and the sizes that k is the
# product of.
PRODUCTS = [
    (16, 144, (8192,)),
    (64, 64, (4096,)),
    (33, 17, (3000,)),
    (8, 40, (16, 510)),
    (1, 24, (6, 1111)),
    (20, 20, (4099,)),
    (128, 96, (64, 32)),
]


@pytest.mark.parametrize("element", ["float", "float16"])
def test_products(tmp_path, element):
    """In pieces; their sum, a bias and a ReLU in a second kernel."""
    generator = np.random.default_rng(3)
    dtype = {"float": np.float32, "float16": np.float16}[element]
    net = Net()
    for number, (m, n, k) in enumerate(PRODUCTS):
        arrays = {"x": (*k, m), "w": (*k, n), "b": (n,)}
        for key, shape in arrays.items():
            value = generator.integers(-2, 3, shape).astype(dtype)
            arrays[key] = value.astype(np.float64)
            net.take(f"{key}{number}", value)
        dims = "pq"[: len(k)]
        net.nodes += [
            f'p{number} = Einsum<equation = "{dims}m,{dims}n->mn">'
            f"(x{number}, w{number})",
            f"s{number} = Add(p{number}, b{number})",
            f"y{number} = Relu(s{number})",
        ]
        x, w = arrays["x"].reshape(-1, m), arrays["w"].reshape(-1, n)
        y = np.maximum(x.T @ w + arrays["b"], 0).astype(dtype)
        net.give(f"y{number}", element, (m, n), y)
    net.check(tmp_path)


# The columns of a factor whose rows are not multiples of 16 bytes.
@pytest.mark.parametrize("columns", [66, 77, 129, 1031])
@pytest.mark.parametrize("element", ["float", "float16"])
@pytest.mark.parametrize("staged", [False, True])
def test_padded_rows(tmp_path, element, columns, staged):
    """A product whose result others read, along its rows and across them, stored
    from registers or, with an operand to add, from shared memory. What is after
    a row (NaN in the emulator) is in no result."""
    generator = np.random.default_rng(4)
    dtype = {"float": np.float32, "float16": np.float16}[element]
    shapes = {
        "x": (40, 24), "w": (24, columns), "v": (columns, 16),
        "r": (40, columns),
    }
    net, values = Net(), {}
    for key, shape in shapes.items():
        value = generator.integers(-1, 2, shape).astype(dtype)
        values[key] = value.astype(np.float64)
        net.take(key, value)
    net.nodes += [
        "xw = MatMul(x, w)", "h = Add(xw, r)" if staged else "h = Neg(xw)",
        "y = MatMul(h, v)",
        'z = Einsum<equation = "mi,mj->ij">(h, h)',
        'row = Einsum<equation = "mi,k->i">(h, ones)',
    ]
    net.take("ones", np.ones(16, dtype))
    h = values["x"] @ values["w"]
    h = h + values["r"] if staged else -h
    net.give("y", element, (40, 16), (h @ values["v"]).astype(dtype))
    net.give("z", element, (columns, columns), (h.T @ h).astype(dtype))
    net.give("row", element, (columns,), (16 * h.sum(0)).astype(dtype))
    net.check(tmp_path)


RECURRENT = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers(tmp_path, name):
    """Their products are kernels, one for each step."""
    steps, batch, size, hidden = 7, 16, 24, 160 if name == "RNN" else 96
    if name == "RNN":
        batch = 48
    rows = RECURRENT[name] * hidden
    model = write_model(
        tmp_path,
        f"net (float[{steps},{batch},{size}] x, float[2,{rows},{size}] w,"
        f" float[2,{rows},{hidden}] r)"
        f" => (float[{steps},2,{batch},{hidden}] y)\n"
        f'{{ y = {name}<hidden_size = {hidden}, direction = "bidirectional">'
        "(x, w, r) }\n",
    )
    generator = np.random.default_rng(4)
    data = {
        "x": generator.standard_normal((steps, batch, size)),
        "w": generator.normal(0, 0.1, (2, rows, size)),
        "r": generator.normal(0, 0.1, (2, rows, hidden)),
    }
    data = {name: array.astype(np.float32) for name, array in data.items()}
    expected, found = compute(model, data), compute(model, data, DEVICE)
    np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-5, atol=2e-6)
    path = tmp_path / "plan.mlir"
    lowering = ("--convert-onnx-to-linalg", "--mp-lower-to-gpu=in-place")
    run_mp_opt(model, *lowering, "--emit=mlir", "-o", path)
    launches = re.findall(r"device\.launch @kernels::@(\w+)_\d", path.read_text())
    assert launches.count("contract") >= 2 * steps
    assert len(launches) <= 2 * 5 * steps
    # Most steps use the same kernels.
    assert path.read_text().count("gpu.func") < len(launches) // 2
