# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on rows on a device, in registers of a part of a warp, of a warp,
of several warps, or in loops: right at the edges of vectors, warps and blocks,
for all alignments of rows."""

import itertools
import json
import re

import ml_dtypes
import numpy as np
import onnx
import pytest

from runs import DEVICE, compute, mp_run, run_mp_opt, write_model

LENGTHS = [
    *range(1, 34), 63, 64, 65, 127, 128, 129, 255, 256, 257, 768, 1000, 1023,
    1024, 1025, 4096, 5000,
]  # fmt: skip
# The last one is longer than all registers of a row's threads.
LONG = [33001, 50264]
ROWS = [1, 2, 3, 17]
TYPES = {
    "float": (np.float32, 2.0**-24),
    "bfloat16": (ml_dtypes.bfloat16, 2.0**-8),
    "float16": (np.float16, 2.0**-11),
}


def shifted(x):
    return x - x.max(-1, keepdims=True)


def softmax(x):
    e = np.exp(shifted(x))
    return e / e.sum(-1, keepdims=True)


def normalize(x, scale, shift):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * scale + shift


def gradient(g, x):
    y = softmax(x)
    return y * (g - (g * y).sum(-1, keepdims=True))


# Nodes of a row of x, with r and a mask of the same shape, and a scale and a
# shift of its length; what they compute; and the largest rounding error in unit
# roundoffs of the largest result, but for that of sums.
FORMS = {
    "softmax": ("y = Softmax(x)", lambda x, r, m, s, t: softmax(x), 4),
    "logsoftmax": (
        "y = LogSoftmax(x)",
        lambda x, r, m, s, t: shifted(x)
        - np.log(np.exp(shifted(x)).sum(-1, keepdims=True)),
        4,
    ),
    "normalization": (
        "y = LayerNormalization(x, s, t)",
        lambda x, r, m, s, t: normalize(x, s, t),
        8,
    ),
    "residual": (
        "a = Add(x, r) y = LayerNormalization(a, s, t)",
        lambda x, r, m, s, t: normalize(x + r, s, t),
        16,
    ),
    "masked": (
        "z = Sub(x, x) a = Where(m, x, z) y = Softmax(a)",
        lambda x, r, m, s, t: softmax(np.where(m, x, 0)),
        4,
    ),
    "squares": (
        "q = Mul(x, x) n = ReduceMean<keepdims = 1>(q, axes) o = Sqrt(n)"
        " d = Div(x, o) y = Mul(d, s)",
        lambda x, r, m, s, t: x
        / np.sqrt((x * x).mean(-1, keepdims=True)) * s,
        16,
    ),
    "gradient": (
        "p = Softmax(x) q = Mul(r, p) n = ReduceSum<keepdims = 1>(q, axes)"
        " d = Sub(r, n) y = Mul(d, p)",
        lambda x, r, m, s, t: gradient(r, x),
        16,
    ),
}  # fmt: skip


class Rows:
    """A model of many forms and shapes, with data and results in float64."""

    def __init__(self, element):
        self.element = element
        self.dtype, self.unit = TYPES[element]
        self.generator = np.random.default_rng(7)
        self.takes, self.gives, self.nodes = [], [], []
        self.data, self.expected = {}, {}

    def take(self, name, shape):
        x = self.generator.standard_normal(shape).astype(self.dtype)
        self.takes.append(f"{self.element}[{shape_text(shape)}] {name}")
        self.data[name] = x
        return x.astype(np.float64)

    def add(self, form, shape):
        own = f"{form}_{'x'.join(map(str, shape))}"
        text, function, units = FORMS[form]
        used = [n for n in "xrst" if re.search(rf"[ (]{n}[,)]", text)]
        arrays = {n: None for n in "xrmst"}
        for name in used:
            size = shape if name in "xr" else shape[-1:]
            arrays[name] = self.take(f"{name}_{own}", size)
        if "(m," in text:
            arrays["m"] = self.generator.integers(0, 2, shape).astype(bool)
            self.takes.append(f"bool[{shape_text(shape)}] m_{own}")
            self.data[f"m_{own}"] = arrays["m"]
        renamed = re.sub(
            r"\b([a-z])\b(?= =[^=]|[,)])(?! = [0-9])", rf"\1_{own}", text
        )
        self.nodes += re.split(r"(?<=\)) ", renamed)
        self.gives.append(f"{self.element}[{shape_text(shape)}] y_{own}")
        self.expected[f"y_{own}"] = function(**arrays), units

    def write(self, folder):
        return write_model(
            folder,
            f"net ({', '.join(self.takes)}) => ({', '.join(self.gives)})\n"
            "<int64[1] axes = {-1}> {\n" + "\n".join(self.nodes) + "\n}\n",
        )

    def check(self, folder):
        model = self.write(folder)
        data = {
            k: v.astype(np.float32) if v.dtype == ml_dtypes.bfloat16 else v
            for k, v in self.data.items()
        }
        found = compute(model, data, DEVICE)
        for name, (value, units) in self.expected.items():
            y = found[name]
            if y.dtype.kind in "Vu":
                y = y.view(np.uint16).view(ml_dtypes.bfloat16)
            # Sums are in fp32: pairs of threads, and few terms of each.
            bound = units * self.unit + 2.0**-24 * value.shape[-1] ** 0.5 * 8
            error = np.abs(y.astype(np.float64) - value).max()
            assert error <= bound * max(1, np.abs(value).max()), name


def shape_text(shape):
    return ",".join(map(str, shape))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("element", TYPES)
def test_lengths(tmp_path, element, form):
    rows = Rows(element)
    for length, count in zip(LENGTHS, itertools.cycle(ROWS)):
        rows.add(form, (count, length))
    for length in LONG:
        rows.add(form, (2, length))
    rows.check(tmp_path)


# Rows of blocks that add up columns as well: more and fewer columns than a warp
# has lanes, and than all warps of a block keep; numbers of rows with different
# divisors.
SUMS = [(1024, 5), (1040, 33), (1536, 64), (2050, 127), (1152, 200), (1024, 768)]
SUM_NODES = """
m = ReduceMean<keepdims = 1>(x, last)
c = Sub(x, m)
q = Mul(c, c)
v = ReduceMean<keepdims = 1>(q, last)
d = Sqrt(v)
h = Div(c, d)
t = Mul(g, h)
a = ReduceMean<keepdims = 1>(t, last)
b = Mul(h, a)
y = Sub(g, b)
scale = ReduceSum<keepdims = 0>(t, first)
shift = ReduceMax<keepdims = 0>(g, first)
bias = ReduceSum<keepdims = 0>(y, first)
"""


def sums_of_columns(x, g):
    c = x - x.mean(-1, keepdims=True)
    h = c / np.sqrt((c * c).mean(-1, keepdims=True))
    t = g * h
    y = g - h * t.mean(-1, keepdims=True)
    return {"y": y, "scale": t.sum(0), "shift": g.max(0), "bias": y.sum(0)}


def write_sums(folder, shape, element):
    text = shape_text(shape)
    gives = f"{element}[{text}] y, " + ", ".join(
        f"{element}[{shape[1]}] {name}" for name in ("scale", "shift", "bias")
    )
    return write_model(
        folder,
        f"net ({element}[{text}] x, {element}[{text}] g) => ({gives})\n"
        "<int64[1] last = {-1}, int64[1] first = {0}> {" + SUM_NODES + "}\n",
    )


@pytest.mark.parametrize("shape", SUMS, ids=lambda shape: f"{shape[0]}x{shape[1]}")
@pytest.mark.parametrize("element", ["float", "float16"])
def test_sums_of_columns(tmp_path, element, shape):
    """Sums over the rows, in the kernel of the rows and in a second stage."""
    dtype, unit = TYPES[element]
    generator = np.random.default_rng(5)
    data = {n: generator.standard_normal(shape).astype(dtype) for n in "xg"}
    model = write_sums(tmp_path, shape, element)
    found = compute(model, data, DEVICE)
    again = compute(model, data, DEVICE)
    expected = sums_of_columns(*(data[n].astype(np.float64) for n in "xg"))
    for name, value in expected.items():
        # Elements are rounded, and so are sums of these; sums are in fp32.
        rows = 1 if name == "y" else shape[0] ** 0.5
        bound = rows * 8 * unit + np.abs(value).max() * (unit + 2.0**-20)
        error = np.abs(found[name].astype(np.float64) - value).max()
        assert error <= bound, name
        np.testing.assert_array_equal(found[name], again[name])


def test_launches_of_sums(tmp_path):
    """The rows and all first stages are one kernel, which reads the data once."""
    model = write_sums(tmp_path, (2048, 512), "float")
    done = mp_run(
        "bench", model, "--random", "--device=cuda:h200", "--dry-run", "--json"
    )
    launches = json.loads(done.stdout)["launches"]
    rows, *others = launches
    assert rows["kernel"].startswith("rows")
    size = 2048 * 512 * 4
    assert rows["read_bytes"] < 2.01 * size
    # The rows of partial results: one of each block, of each sum.
    assert size < rows["written_bytes"] < size * (1 + 3.1 / 16)
    assert sum(launch["read_bytes"] for launch in others) < 0.2 * size


def test_steps_are_right(tmp_path):
    """A normalization after a residual, with dropout, in a training step of
    enough rows: gradients as on the processor."""
    path = tmp_path / "net.onnxtxt"
    path.write_text(
        '<ir_version: 9, opset_import: ["" : 21]>\n'
        "net (float[batch,64] x) => (float[batch,4] y)\n"
        "<float[64] s = {%s}, float[64] t = {%s}, float[64,64] w = {%s},"
        " float[64,4] v = {%s}, float ratio = {0.1}, bool yes = {1}> {\n"
        "a = MatMul(x, w)\nr, k = Dropout<seed = 1>(a, ratio, yes)\n"
        "b = Add(r, x)\nh = LayerNormalization(b, s, t)\ny = MatMul(h, v)\n}"
        % tuple(
            ", ".join(
                f"{value:.3f}"
                for value in np.random.default_rng(size).normal(1, 0.5, size)
            )
            for size in (64, 64, 64 * 64, 256)
        )
    )
    step = tmp_path / "step.onnx"
    run_mp_opt(
        path, "--train", "--loss=mse", "--optimizer=sgd", "--lr=0.1",
        "--summary=none", "-o", step,
    )  # fmt: skip
    generator = np.random.default_rng(6)
    data = {
        "x": generator.standard_normal((1024, 64)).astype(np.float32),
        "labels": generator.standard_normal((1024, 4)).astype(np.float32),
    }
    expected, found = compute(step, data), compute(step, data, DEVICE)
    for name in ("s_new", "t_new", "w_new", "v_new"):
        value = expected[name].astype(np.float64)
        error = np.abs(found[name] - value).max()
        assert error <= 2.0**-18 * np.abs(value).max(), name


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_cross_entropy(tmp_path, precision):
    """Of an odd number of classes, more than registers hold: one kernel has
    the maxima and sums, and gradients are written in vectors."""
    rows, width, classes = 320, 16, 16997
    text = f"""<ir_version: 9, opset_import: ["" : 21]>
net (float[{rows},{width}] x) => (float[{rows},{classes}] y) {{ y = MatMul(x, w) }}"""
    model = onnx.parser.parse_model(text)
    generator = np.random.default_rng(7)
    w = generator.normal(0, 0.7, (width, classes)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(model, tmp_path / "net.onnx")
    step = tmp_path / "step.onnx"
    flags = [] if precision == "fp32" else ["--mixed-bf16"]
    run_mp_opt(
        tmp_path / "net.onnx", "--train", "--loss=softmax-cross-entropy",
        "--optimizer=sgd", "--lr=1", *flags, "--summary=none", "-o", step,
    )  # fmt: skip
    data = {
        "x": generator.standard_normal((rows, width)).astype(np.float32),
        "labels": generator.integers(0, classes, rows),
    }
    data["labels"][:2] = 0, classes - 1
    found = compute(step, data, DEVICE)
    x, wide = data["x"].astype(float), w.astype(float)
    p = softmax(x @ wide)
    picked = p[np.arange(rows), data["labels"]]
    p[np.arange(rows), data["labels"]] -= 1
    gradient_of_w = x.T @ p / rows
    bound = 2.0**-18 if precision == "fp32" else 2.0**-6
    error = np.abs(wide - found["w_new"] - gradient_of_w).max()
    # The weights that the gradient changes are rounded as well.
    rounding = np.spacing(np.abs(w).max()) / 2
    assert error <= bound * np.abs(gradient_of_w).max() + rounding
    assert abs(found["loss"] + np.log(picked).mean()) <= bound * 10
    done = mp_run(
        "bench", step, "--random", "--device=cuda:h200", "--dry-run", "--json"
    )
    size = rows * classes * (4 if precision == "fp32" else 2)
    readers = [
        launch["kinds"][0] for launch in json.loads(done.stdout)["launches"]
        if "loss/" in launch["node"] and launch["read_bytes"] >= size
    ]
    assert readers == ["rows", "map"]
