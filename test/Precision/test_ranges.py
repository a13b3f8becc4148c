# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that 16 bit does not hold: masks, epsilons, products, special values.

Every case forces what would break it into 16 bit by name. With the analyses
the numbers are those of the fp32 model, in the strict reference evaluator and,
with storage rounded (--emulate), in onnxruntime; without them the case breaks,
or it would test nothing.
"""

import dataclasses
import functools

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
import onnx_models
from onnx_models import make_model, parse, rewritten
from support import DTYPES, ELEMENT_TYPE, UNIT_ROUNDOFF, run_mp_opt

NUMPY = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}
W = "0.126,-0.132,0.64,0.105,-0.536,0.362,1.304,0.947,-0.704,-1.265,-0.623,0.041,-2.325,-0.219,-1.246,-0.732"
LOWEST = "-3.4028235e+38"
# The second row is masked as a whole.
MASK = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], bool)


@dataclasses.dataclass(frozen=True)
class Case:
    """A model: inputs, initializers and body in ONNX text."""

    inputs: str
    constants: str
    body: str
    allow: str
    # The types in which it breaks without the analyses.
    breaks: tuple = ("fp16",)
    # Constants that are clamped to 16 bit, in the types in which it breaks.
    clamped: str = ""
    size: float = 1.0

    def model(self):
        return parse(
            f"g ({self.inputs}) => (float[4,4] y)\n"
            f"<float[4,4] w = {{{W}}}, {self.constants}>\n"
            f"{{ a = MatMul (x, w) {self.body} }}",
            opset=17, ir=8,
        )

    def feed(self):
        rng = np.random.default_rng(1)
        feed = {"x": rng.standard_normal((4, 4)).astype(np.float32) * self.size}
        if "bool[4,4] m" in self.inputs:
            feed["m"] = MASK
        elif "float[4,4] m" in self.inputs:
            feed["m"] = MASK.astype(np.float32)
        return feed


def where_mask(value, breaks):
    return Case(
        "float[4,4] x, bool[4,4] m", f"float low = {{{value}}}",
        "b = Where (m, a, low) y = Softmax (b)",
        "Softmax", breaks, "low",
    )


def product_mask(value, breaks, clamped="low"):
    return Case(
        "float[4,4] x, bool[4,4] m",
        f"float one = {{1}}, float low = {{{value}}}",
        "f = Cast <to = 1> (m) i = Sub (one, f) n = Mul (i, low)"
        " b = Add (a, n) y = Softmax (b)",
        "Add,Mul,Softmax,Sub", breaks, clamped,
    )


def tensor_mask(value, breaks):
    rows = ",".join("0" if bit else value for bit in MASK.ravel())
    return Case(
        "float[4,4] x",
        f"float[4,4] low = {{{rows}}}, float four = {{4}}",
        "b = Add (a, low) m = ReduceMax <axes = [-1]> (b) d = Sub (b, m)"
        " e = Exp (d) u = ReduceMean <axes = [-1]> (e) t = Mul (u, four)"
        " y = Div (e, t)",
        "Add,Div,Exp,ReduceMax,ReduceMean,Sub", breaks, "low",
    )


CASES = {
    "where_1e9": where_mask("-1e9", ("fp16",)),
    "where_lowest": where_mask(LOWEST, ("fp16", "bf16")),
    "where_1e30": where_mask("-1e30", ("fp16",)),
    "product_1e9": product_mask("-1e9", ("fp16",)),
    "product_lowest": product_mask(LOWEST, ("fp16", "bf16")),
    "product_1e4": product_mask("-1e4", (), ""),
    "tensor_1e9": tensor_mask("-1e9", ("fp16",)),
    "tensor_lowest": tensor_mask(LOWEST, ("fp16", "bf16")),
    # The lowest fp16 fits, but not in a sum with a score below -16.
    "edge": Case(
        "float[4,4] x, bool[4,4] m",
        "float zero = {0}, float low = {-65504}, float thirty = {30}",
        "c = Sub (a, thirty) n = Where (m, zero, low) b = Add (c, n)"
        " y = Softmax (b)",
        "Add,Softmax,Sub,Where", ("fp16",), "low",
    ),
    # The range of a mask that is an input is unknown.
    "unknown_mask": Case(
        "float[4,4] x, float[4,4] m",
        f"float one = {{1}}, float low = {{{LOWEST}}}",
        "i = Sub (one, m) n = Mul (i, low) b = Add (a, n) y = Softmax (b)",
        "Add,Mul,Softmax,Sub", ("fp16", "bf16"),
    ),
    # The sum of two masks must be finite, too.
    "two_masks": Case(
        "float[4,4] x, bool[4,4] m",
        "float low = {-40000}, float zero = {0}",
        "n = Where (m, zero, low) c = Add (a, n) d = Add (c, n)"
        " y = Softmax (d)",
        "Add,Softmax,Where", ("fp16",), "low",
    ),
    "mask_and_bias": Case(
        "float[4,4] x, bool[4,4] m",
        "float low = {-1e9}, float big = {1e9}",
        "b = Where (m, a, low) s = Softmax (b) c = Add (a, low)"
        " d = Add (c, big) y = Add (s, d)",
        "Add,Softmax,Where",
    ),
    "epsilon": Case(
        "float[4,4] x", "float zero = {0}, float eps = {1e-12}",
        "z = Mul (a, zero) e = Add (z, eps) y = Div (z, e)",
        "Add,Div",
    ),
    "epsilon_max": Case(
        "float[4,4] x", "float zero = {0}, float eps = {2e-8}",
        "z = Mul (a, zero) q = Abs (z) e = Max (q, eps) y = Div (z, e)",
        "Abs,Div,Max",
    ),
    "inverse_root": Case(
        "float[4,4] x",
        "float zero = {0}, float eps = {1e-12}, float h = {-0.5}",
        "z = Mul (a, zero) e = Add (z, eps) r = Pow (e, h) y = Mul (z, r)",
        "Add,Mul,Pow",
    ),
    "below_one": Case(
        "float[4,4] x",
        "float one = {1}, float lo = {1e-7}, float hi = {0.9999999}",
        "p = Sigmoid (a) c = Clip (p, lo, hi) d = Sub (one, c) y = Log (d)",
        "Clip,Log,Sub", ("fp16", "bf16"), size=3000.0,
    ),
    "product": Case(
        "float[4,4] x", "float k = {300}, float s = {1e-4}",
        "v = Mul (w, k) u = Mul (v, k) c = MatMul (a, u) y = Mul (c, s)",
        "MatMul,Mul",
    ),
}


def passes(dtype, allow):
    """The pipeline without its analyses."""
    return [
        f"--mp-set-policy=precision={dtype} allow={allow}", "--mp-classify",
        "--onnx-raise-opset",
        "--mp-assign", "--mp-insert-casts", "--mp-simplify-casts",
        "--mp-convert-weights", "--mp-verify-precision",
    ]


@functools.lru_cache(maxsize=None)
def convert(name, dtype, *, analyses=True, emulate=False):
    case = CASES[name]
    flags = passes(dtype, case.allow)
    if analyses:
        flags = [f"--mixed-{dtype}", f"--allow={case.allow}"]
    if emulate:
        flags.append("--emulate" if analyses else "--mp-emulate")
    return rewritten(case.model(), *flags)


def run_ort(model, feed):
    return onnx_models.run_ort(model, feed, optimize=False)[0]


def run_reference(model, feed):
    return ReferenceEvaluator(model).run(None, feed)[0].astype(np.float32)


def differences(name, dtype, want, got):
    """What is wrong with the result, as words."""
    bound = 8 * UNIT_ROUNDOFF[dtype]
    if (np.isfinite(want) != np.isfinite(got)).any():
        return "not finite"
    if "Softmax" in CASES[name].allow or "Exp" in CASES[name].allow:
        if name != "mask_and_bias":
            if ((want == 0) != (got == 0)).any():
                return "other zeros"
            if np.abs(got.sum(axis=-1) - 1).max() > bound:
                return "no softmax"
            # Adding -1e9 to all scores of a row rounds them away, in fp32 as
            # well; such a row must not be NaN. test_masked_rows.py tests its
            # values.
            want, got = want[MASK.any(axis=-1)], got[MASK.any(axis=-1)]
    size = max(1.0, np.abs(want).max())
    error = np.abs(want - got).max()
    return "far off" if error > bound * size else ""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_numbers(name, dtype):
    case = CASES[name]
    want = run_ort(case.model(), case.feed())
    assert np.isfinite(want).all()
    emulated = run_ort(convert(name, dtype, emulate=True), case.feed())
    assert differences(name, dtype, want, emulated) == ""
    mixed = run_reference(convert(name, dtype), case.feed())
    assert differences(name, dtype, want, mixed) == ""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_twice_is_once(name, dtype):
    once, allow = convert(name, dtype), f"--allow={CASES[name].allow}"
    assert rewritten(once, f"--mixed-{dtype}", allow) == once


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, case in CASES.items() for dtype in case.breaks],
)
def test_breaks_without_analyses(name, dtype):
    case = CASES[name]
    want = run_ort(case.model(), case.feed())
    model = convert(name, dtype, analyses=False, emulate=True)
    got = run_ort(model, case.feed())
    assert differences(name, dtype, want, got) != ""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name, case in CASES.items()
        for dtype in case.breaks
        if case.clamped
    ],
)
def test_masks_are_16_bit(name, dtype):
    model = convert(name, dtype)
    tensors = {i.name: i for i in model.graph.initializer}
    mask = tensors[CASES[name].clamped]
    assert mask.data_type == ELEMENT_TYPE[dtype]
    values = numpy_helper.to_array(mask).astype(np.float64)
    assert np.isfinite(values).all()
    limit = float(ml_dtypes.finfo(NUMPY[dtype]).max)
    assert -limit / 2 <= values.min() <= -limit / 8


SPECIALS = np.array(
    [np.inf, -np.inf, np.nan, 1e-9, -1e-9, 0.0, -0.0, 1.0], np.float32
)


def special_model(values):
    """x @ w + k, with `values` as k, repeated until they are stored apart."""
    width = 8 * 64
    return make_model(
        [
            onnx.helper.make_node("MatMul", ["x", "w"], ["a"]),
            onnx.helper.make_node("Add", ["a", "k"], ["y"]),
        ],
        {"x": [4, 4]}, {"y": [4, width]},
        {"w": np.ones((4, width), np.float32), "k": np.resize(values, width)}
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("overflow", [False, True])
def test_special_values(dtype, overflow, tmp_path):
    values = SPECIALS.copy()
    if overflow:
        values[-3:-1] = 70000, -70000
    source, output = tmp_path / "source.onnx", tmp_path / "mixed.onnx"
    onnx.save(special_model(values), source)
    done = run_mp_opt(
        source, f"--mixed-{dtype}", "--remarks-filter=mp-precision",
        "-o", output,
    )
    mixed = onnx.load(output)
    k = {i.name: i for i in mixed.graph.initializer}["k"]
    got = numpy_helper.to_array(k)
    want = np.resize(values, got.shape)
    if overflow and dtype == "fp16":
        assert k.data_type == onnx.TensorProto.FLOAT
        assert "of 512 elements 128 overflow, 128 become zero" in done.stderr
    else:
        want = want.astype(NUMPY[dtype])
        assert k.data_type == ELEMENT_TYPE[dtype]
        if dtype == "fp16":
            assert (
                "of 512 elements 128 became zero, the largest of them 1e-09"
                in done.stderr
            )
            assert "weights rounded to zero               128" in done.stderr
    got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_array_equal(got, want)
    assert (np.signbit(got) == np.signbit(want)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stays_f32", [False, True])
def test_big_mask_is_clamped_while_written(dtype, stays_f32, tmp_path):
    size = 64
    mask = np.triu(np.full((size, size), np.float32(LOWEST)), 1)
    mask[3] = np.float32(LOWEST)
    mask[5, 9] = -np.inf
    source = make_model(
        [
            onnx.helper.make_node("MatMul", ["x", "x"], ["a"]),
            onnx.helper.make_node("Add", ["a", "k"], ["b"]),
            onnx.helper.make_node("Softmax", ["b"], ["y"]),
        ],
        {"x": [size, size]}, {"y": [size, size]}, {"k": mask}
    )
    paths = [tmp_path / f"{i}.onnx" for i in range(4)]
    onnx.save(source, paths[0])
    flags = [f"--mixed-{dtype}", "--allow=Softmax"]
    if stays_f32:
        # Values computed from the mask become 16 bit all the same.
        flags.append("--deny=Add")
    done = run_mp_opt(
        paths[0], *flags, "--remarks-filter=mp-precision",
        "--verify-roundtrip", "-o", paths[1],
    )
    bound = {"bf16": "1.69477e+38", "fp16": "32752"}[dtype]
    assert f"-3.40282e+38 became -{bound}" in done.stderr
    mixed = onnx.load(paths[1])
    (k,) = mixed.graph.initializer
    kind = onnx.TensorProto.FLOAT if stays_f32 else ELEMENT_TYPE[dtype]
    assert k.data_type == kind
    got = numpy_helper.to_array(k).astype(np.float64)
    assert np.isneginf(got[5, 9])
    assert f"{got[5, 10]:g}" == f"-{bound}"
    assert np.unique(got[np.isfinite(got)]).size == 2
    # Through bytecode the same; once more, nothing.
    run_mp_opt(paths[0], *flags, "-o", tmp_path / "mixed.mlirbc")
    run_mp_opt(tmp_path / "mixed.mlirbc", "--emit=onnx", "-o", paths[2])
    run_mp_opt(paths[1], *flags, "-o", paths[3])
    for path in paths[2:]:
        assert path.read_bytes() == paths[1].read_bytes()
    x = np.random.default_rng(1).standard_normal((size, size)) / 8
    feed = {"x": x.astype(np.float32)}
    run_mp_opt(paths[0], *flags, "--emulate", "-o", tmp_path / "emulated.onnx")
    want = run_ort(source, feed)
    emulated = run_ort(onnx.load(tmp_path / "emulated.onnx"), feed)
    for got in (emulated, run_reference(mixed, feed)):
        assert ((got == 0) == (want == 0)).all()
        assert np.abs(got - want).max() <= 8 * UNIT_ROUNDOFF[dtype]


@pytest.mark.parametrize("name", ["where_lowest", "epsilon", "product"])
def test_deny_all_is_untouched(name, tmp_path):
    model = CASES[name].model()
    source, output = tmp_path / "source.onnx", tmp_path / "mixed.onnx"
    onnx.save(model, source)
    ops = ",".join(sorted({node.op_type for node in model.graph.node}))
    run_mp_opt(source, "--mixed-fp16", f"--deny={ops}", "-o", output)
    assert output.read_bytes() == source.read_bytes()
