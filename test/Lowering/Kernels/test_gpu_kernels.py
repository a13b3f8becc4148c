# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of contractions for GPUs, in the emulator, which finds races, what is
read before it has arrived, and what lies behind shared memory."""

import dataclasses
import functools
import random
import re
import tempfile

import numpy
import pytest

import gpu_kernels
import kernels
from kernels import Contraction, DTYPES
from test_kernels import CASES, MATMUL, fused, make, make_unrounded

# MLIR has no bare pointers to memory without elements.
NAMES = [name for name in CASES if "empty" not in name]
TYPES = {
    "bf16": ("bf16", "bf16", "f32"),
    "f16": ("f16", "f16", "f32"),
    "f32": ("f32", "f32", "f32"),
    "f64": ("f64", "f64", "f64"),
    "mixed": ("f16", "bf16", "f32"),
}


def build(contractions, tf32=False):
    """Of (contraction, shapes, tile or none)."""
    text = ""
    for number, (contraction, shapes, tile) in enumerate(contractions):
        own = dataclasses.replace(contraction, static=True).text(shapes, f"f{number}")
        if tile:
            own = own.replace("{indexing_maps", f"{{tile = {tile}, indexing_maps")
        text += own
    attributes = "device.target = #device.target<fp32_products = tf32>" if tf32 else ""
    # The folder may go: a loaded library stays.
    with tempfile.TemporaryDirectory() as folder:
        return gpu_kernels.Kernels(text, folder, attributes)


def place(array):
    """A copy at a multiple of 16 bytes, as devices' memory is, that ends near a
    page that no one may touch."""
    pad = -array.nbytes % 16 // array.itemsize
    flat = kernels.guarded(numpy.concatenate(
        [numpy.ravel(array), numpy.zeros(pad, array.dtype)]))
    return flat[: array.size].reshape(array.shape)


def check_integers(library, number, contraction, shapes):
    """Sums of small integers are exact, whatever the order is."""
    generator = numpy.random.default_rng(number)
    arrays = [place(make(s, t, generator, True))
              for s, t in zip(shapes, contraction.all_types())]
    sums, _, _ = kernels.reference(contraction, arrays)
    expected = kernels.at_output(contraction, arrays, sums)
    library.call(number, *arrays)
    numpy.testing.assert_array_equal(
        arrays[-1].astype(numpy.float64), expected,
        err_msg=f"{contraction} {shapes} {library.launches[number]}")


@pytest.mark.parametrize("types", [*TYPES, "tf32"])
def test_cases(types):
    tf32 = types == "tf32"
    types = TYPES["f32" if tf32 else types]
    contractions = [
        (dataclasses.replace(CASES[name][0], types=types,
                             epilogue=f"kernel.yield %sum : {types[2]}"),
         CASES[name][1], None)
        for name in NAMES]
    library = build(contractions, tf32)
    for number, (contraction, shapes, _) in enumerate(contractions):
        check_integers(library, number, contraction, shapes)


# (rows, columns, step, those of a part, stages)
MMA_TILES = [
    (128, 128, 32, 64, 64, 4), (128, 128, 32, 64, 32, 4), (64, 128, 32, 32, 64, 4),
    (64, 64, 32, 32, 32, 4), (16, 64, 32, 16, 16, 4), (32, 16, 32, 16, 16, 4),
    (64, 64, 64, 32, 32, 2), (64, 32, 16, 32, 16, 3), (96, 96, 64, 48, 48, 3),
    (128, 96, 64, 64, 48, 2, 2), (96, 192, 64, 96, 48, 2, 2),
    (64, 48, 32, 32, 48, 3, 2), (32, 96, 64, 32, 32, 3, 2),
]
TF32_TILES = [
    (128, 128, 16, 64, 64, 4), (64, 128, 16, 32, 64, 4), (64, 64, 16, 32, 32, 4),
    (16, 64, 16, 16, 16, 4), (32, 16, 16, 16, 16, 4), (64, 64, 32, 32, 32, 4),
    (32, 32, 64, 16, 16, 2), (64, 32, 32, 32, 16, 3), (96, 96, 32, 48, 48, 3),
    (64, 96, 32, 32, 48, 3, 2),
]
FMA_TILES = [
    (128, 128, 8, 8, 8, 3), (64, 128, 8, 4, 8, 3), (64, 64, 16, 4, 4, 3),
    (32, 32, 16, 4, 2, 3), (16, 16, 16, 2, 2, 3), (32, 128, 4, 2, 16, 4),
    (256, 16, 8, 8, 1, 3),
]
EDGES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 130]


def make_product(generator):
    """A product of matrices: any sizes, batches, and transposes."""
    b = generator.choice([0, 0, 1, 2, 3])
    m, n, k = (generator.choice(EDGES) for _ in range(3))
    batch, front = ("b, ", (b,)) if b else ("", ())
    a, rhs, c = (generator.random() < share for share in (0.5, 0.5, 0.2))
    contraction = Contraction(
        f"{'b ' if b else ''}m n k", batch + ("k, m" if a else "m, k"),
        batch + ("n, k" if rhs else "k, n"), batch + ("n, m" if c else "m, n"))
    return contraction, [front + ((k, m) if a else (m, k)),
                         front + ((n, k) if rhs else (k, n)),
                         front + ((n, m) if c else (m, n))]


def make_window(generator):
    """A convolution, or the gradient of its weights: any strides, dilations,
    pads and groups."""
    def pick(*choices):
        return generator.choice(choices)

    n, c, f, g = pick(1, 2, 3), pick(1, 3, 8, 17), pick(1, 3, 8, 20), pick(1, 1, 2, 3)
    places, filter_dims, sizes, results, kernel = [], "kl", [], [], []
    for dim, filter_dim in zip("ij", filter_dims):
        size, window = pick(7, 8, 12, 17), pick(1, 2, 3, 5)
        stride, dilation, pad = pick(1, 1, 2, 3), pick(1, 1, 2), pick(0, 1, 2)
        result = (size + 2 * pad - dilation * (window - 1) - 1) // stride + 1
        if result < 1:
            return make_window(generator)
        places.append(f"{stride}*{dim}+{dilation}*{filter_dim}-{pad}")
        sizes.append(size)
        results.append(result)
        kernel.append(window)
    group, front = ("g, ", (g,)) if g > 1 else ("", ())
    x = (f"n, {group}c, {', '.join(places)}", (n, *front, c, *sizes))
    w = (f"{group}f, c, k, l", (*front, f, c, *kernel))
    y = (f"n, {group}f, i, j", (n, *front, f, *results))
    order = generator.choice([(x, w, y), (w, x, y), (y, x, w), (x, y, w)])
    dims = f"n {'g ' if g > 1 else ''}f i j c k l"
    return (Contraction(dims, *(maps for maps, _ in order)),
            [shape for _, shape in order])


def make_swept(seed, count, tf32):
    generator = random.Random(seed)
    for _ in range(count):
        make_one = make_product if generator.random() < 0.6 else make_window
        contraction, shapes = make_one(generator)
        types = TYPES["f32" if tf32 else generator.choice(list(TYPES))]
        rounding = ("", "")
        if generator.random() < 0.2 and types[0] == types[1] != "f64" and not tf32:
            low = generator.choice(["bf16", "f16"])
            rounding = (generator.choice([low, ""]), low)
            types = ("f32" if rounding[0] else low, "f32", "f32")
        contraction = dataclasses.replace(
            contraction, types=types, rounding=rounding,
            epilogue=f"kernel.yield %sum : {types[2]}")
        factors = {r or t for r, t in zip(rounding, types)}
        by, tiles = "fma", FMA_TILES[types[0] == "f64" :]
        if factors in ({"bf16"}, {"f16"}) and generator.random() < 0.8:
            by, tiles = "mma", MMA_TILES
        elif tf32 and factors == {"f32"}:
            by, tiles = "mma", TF32_TILES
        m, n, k, part_m, part_n, stages, *slices = generator.choice(tiles)
        tile = (f"#kernel.tile<by = {by}, m = {m}, n = {n}, k = {k}, "
                f"part_m = {part_m}, part_n = {part_n}, stages = {stages}"
                f"{''.join(f', slices = {n}' for n in slices)}>")
        yield contraction, shapes, None if generator.random() < 0.3 else tile


@pytest.mark.parametrize("seed, tf32", [
    *((seed, False) for seed in range(4)), (4, True), (5, True)])
def test_edges_of_tiles(seed, tf32):
    contractions = list(make_swept(seed, 60, tf32))
    library = build(contractions, tf32)
    for number, (contraction, shapes, _) in enumerate(contractions):
        check_integers(library, number, contraction, shapes)


@functools.lru_cache(maxsize=None)
def get_fused(dtype):
    """relu(sum + x0 + 0.5 * x1), stored in 16 bit: x0 is like c or one for all."""
    contractions = []
    for name in NAMES:
        contraction, shapes = CASES[name]
        contractions.append((dataclasses.replace(
            contraction, types=(dtype, dtype, dtype), epilogue=fused(dtype),
            extras=(("", "f32"), (contraction.c, dtype))),
            [*shapes[:2], (), shapes[2], shapes[2]], None))
    return contractions, build(contractions)


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_epilogues(dtype, number):
    contractions, library = get_fused(dtype)
    contraction, shapes, _ = contractions[number]
    generator = numpy.random.default_rng(number)
    arrays = [place(make(s, t, generator, False))
              for s, t in zip(shapes, contraction.all_types())]
    sums, scale, count = kernels.reference(contraction, arrays)
    before = arrays[-1].astype(numpy.float64)
    written = kernels.at_output(
        contraction, [*arrays[:-1], numpy.zeros(shapes[-1])], 1.0) != 0
    added = arrays[2].astype(numpy.float64) + 0.5 * arrays[3].astype(numpy.float64)
    full = kernels.at_output(contraction, arrays, sums) + added
    size = kernels.at_output(contraction, arrays, scale) + numpy.abs(added)
    expected = numpy.where(written, numpy.maximum(full, 0), before)
    library.call(number, *arrays)
    unit = {"bf16": 2.0**-8, "f16": 2.0**-11}[dtype]
    bound = numpy.where(written, (count + 4) * 2.0**-24 * size, 0)
    bound += numpy.where(written, unit * (expected + bound) + 2.0**-25, 0)
    error = numpy.abs(arrays[-1].astype(numpy.float64) - expected)
    assert (error <= bound).all(), (error - bound).max()


def test_rounding_while_reading():
    """Gives the bits that rounding beforehand gives."""
    names = ["matmul", "transposed_a", "transposed_b", "batched_transposed", "conv",
             "conv_strided", "conv_weights_strided", "conv_depthwise"]
    contractions = []
    for name in names:
        contraction, shapes = CASES[name]
        for sides in ("", "a", "b", "ab"):
            rounding = tuple("bf16" if n in sides else "" for n in "ab")
            types = (*("f32" if r else "bf16" for r in rounding), "f32")
            contractions.append((dataclasses.replace(
                contraction, types=types, rounding=rounding), shapes, None))
    library = build(contractions)
    expected = None
    for number, (contraction, shapes, _) in enumerate(contractions):
        generator = numpy.random.default_rng(3)
        wide = [make_unrounded(s, generator) for s in shapes[:2]]
        arrays = [place(w.astype(DTYPES[t])) for w, t in zip(wide, contraction.types)]
        result = place(numpy.zeros(shapes[2], numpy.float32))
        library.call(number, *arrays, result)
        if not any(contraction.rounding):
            expected = result
        numpy.testing.assert_array_equal(
            result.view(numpy.uint32), expected.view(numpy.uint32),
            err_msg=f"{contraction}")


def round_to_tf32(values):
    """To nearest, away from zero where two are as near."""
    bits = values.view(numpy.uint32) + numpy.uint32(0x1000)
    return (bits & ~numpy.uint32(0x1FFF)).view(numpy.float32)


ROUND_TO_TF32 = re.compile(r"nvvm\.convert\.float\.to\.tf32 (%\w+) \{.*\}")


def test_without_rounding_bits_are_dropped(monkeypatch):
    """So that the next test would see it."""
    plain = gpu_kernels.emulate
    monkeypatch.setattr(gpu_kernels, "emulate", lambda text: plain(
        ROUND_TO_TF32.sub(r"llvm.bitcast \1 : f32 to i32", text)))
    with pytest.raises(AssertionError):
        check_rounding(["matmul", "transposed_a"])


def test_tf32_is_rounded():
    """Products are those of rounded factors, bit by bit, and near the exact ones
    of these."""
    check_rounding(["matmul", "transposed_a", "transposed_b", "batched_transposed",
                    "conv", "conv_strided", "conv_weights_strided"])


def check_rounding(names):
    contractions = [
        (dataclasses.replace(CASES[name][0], types=TYPES["f32"]), CASES[name][1], None)
        for name in names]
    library = build(contractions, tf32=True)
    unequal = 0
    for number, (contraction, shapes, _) in enumerate(contractions):
        generator = numpy.random.default_rng(number)
        wide = [make(s, "f32", generator, False) for s in shapes[:2]]
        results = []
        for factors in (wide, [round_to_tf32(w) for w in wide]):
            arrays = [place(f) for f in factors]
            arrays.append(place(numpy.zeros(shapes[2], numpy.float32)))
            library.call(number, *arrays)
            results.append(arrays[-1])
        numpy.testing.assert_array_equal(
            results[0].view(numpy.uint32), results[1].view(numpy.uint32))
        sums, scale, count = kernels.reference(contraction, arrays)
        expected = kernels.at_output(contraction, arrays, sums)
        bound = kernels.at_output(contraction, arrays, scale) * (count + 1) * 2.0**-24
        assert (numpy.abs(results[0] - expected) <= bound).all()
        exact = kernels.reference(contraction, [*wide, arrays[-1]])[0]
        unequal += (numpy.abs(exact - sums) > 2.0**-20 * scale).sum()
    # fp32 products would pass no such test.
    assert unequal


@pytest.mark.parametrize("wrong", ["nvvm.barrier", "nvvm.cp.async.wait.group"])
def test_wrong_kernels_fail(wrong, monkeypatch):
    """Without a barrier there is a race; what has not arrived is NaN."""
    shapes = [(64, 96), (96, 64), (64, 64)]
    contraction = dataclasses.replace(MATMUL, types=TYPES["bf16"])
    check_integers(build([(contraction, shapes, None)]), 0, contraction, shapes)
    plain = gpu_kernels.emulate
    monkeypatch.setattr(gpu_kernels, "emulate", lambda text: plain("\n".join(
        line for line in text.splitlines() if wrong not in line)))
    library = build([(contraction, shapes, None)])
    with pytest.raises(AssertionError):
        check_integers(library, 0, contraction, shapes)
