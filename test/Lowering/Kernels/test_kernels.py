# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions compute what they say, to the bit where that can be."""

import dataclasses

import numpy
import pytest

import kernels
from kernels import Contraction, DTYPES

ISAS = ["avx512"]
FORMS = ["widen"]


def yield_as(dtype, lines="", value="%sum"):
    if dtype == "f32":
        return f"{lines}\n kernel.yield {value} : f32"
    return f"{lines}\n %out = arith.truncf {value} : f32 to {dtype}\n kernel.yield %out : {dtype}"


MATMUL = Contraction("m n k", "m, k", "k, n", "m, n")
CONV = Contraction("n f i j c k l", "n, c, i+k-1, j+l-1", "f, c, k, l", "n, f, i, j")

# (contraction, shapes of a, b, c)
CASES = {
    "matmul": (MATMUL, [(37, 300), (300, 45), (37, 45)]),
    "matmul_blocks": (MATMUL, [(500, 520), (520, 550), (500, 550)]),
    "matmul_one": (MATMUL, [(1, 1), (1, 1), (1, 1)]),
    "matmul_empty_sum": (MATMUL, [(5, 0), (0, 7), (5, 7)]),
    "matmul_empty": (MATMUL, [(0, 3), (3, 7), (0, 7)]),
    "matmul_row": (MATMUL, [(1, 70), (70, 100), (1, 100)]),
    "matmul_column": (MATMUL, [(100, 70), (70, 1), (100, 1)]),
    "transposed_a": (dataclasses.replace(MATMUL, a="k, m"), [(300, 37), (300, 45), (37, 45)]),
    "transposed_b": (dataclasses.replace(MATMUL, b="n, k"), [(37, 300), (45, 300), (37, 45)]),
    "transposed_c": (dataclasses.replace(MATMUL, c="n, m"), [(37, 300), (300, 45), (45, 37)]),
    "batched": (
        Contraction("b m n k", "b, m, k", "b, k, n", "b, m, n"),
        [(3, 20, 70), (3, 70, 40), (3, 20, 40)],
    ),
    "batched_transposed": (
        Contraction("b h m n k", "b, m, h, k", "b, n, h, k", "b, h, m, n"),
        [(2, 20, 3, 16), (2, 35, 3, 16), (2, 3, 20, 35)],
    ),
    "broadcast_b": (
        Contraction("b m n k", "b, m, k", "k, n", "b, m, n"),
        [(3, 20, 70), (70, 40), (3, 20, 40)],
    ),
    "broadcast_a": (
        Contraction("b m n k", "m, k", "b, k, n", "b, m, n"),
        [(20, 70), (3, 70, 40), (3, 20, 40)],
    ),
    "vector": (Contraction("m k", "m, k", "k", "m"), [(50, 33), (33,), (50,)]),
    "dot": (Contraction("k", "k", "k", ""), [(50,), (50,), ()]),
    "outer": (Contraction("m n", "m", "n", "m, n"), [(50,), (33,), (50, 33)]),
    "products": (Contraction("m", "m", "m", "m"), [(50,), (50,), (50,)]),
    "summed_alone": (Contraction("m n k l", "m, k, l", "k, n", "m, n"), [(9, 8, 7), (8, 20), (9, 20)]),
    "conv": (CONV, [(2, 5, 12, 20), (7, 5, 3, 3), (2, 7, 12, 20)]),
    "conv_blocks": (CONV, [(2, 40, 12, 20), (14, 40, 3, 3), (2, 14, 12, 20)]),
    "conv_valid": (
        dataclasses.replace(CONV, a="n, c, i+k, j+l"),
        [(2, 5, 12, 20), (7, 5, 3, 3), (2, 7, 10, 18)],
    ),
    "conv_pointwise": (
        dataclasses.replace(CONV, a="n, c, i+k, j+l"),
        [(2, 5, 12, 20), (7, 5, 1, 1), (2, 7, 12, 20)],
    ),
    "conv_strided": (
        dataclasses.replace(CONV, a="n, c, 2*i+k-1, 2*j+l-1"),
        [(2, 5, 13, 20), (7, 5, 3, 3), (2, 7, 7, 10)],
    ),
    "conv_pointwise_strided": (
        dataclasses.replace(CONV, a="n, c, 2*i+k, 2*j+l"),
        [(2, 5, 12, 20), (7, 5, 1, 1), (2, 7, 6, 10)],
    ),
    "conv_dilated": (
        dataclasses.replace(CONV, a="n, c, i+2*k-2, j+3*l-3"),
        [(2, 5, 12, 20), (7, 5, 3, 3), (2, 7, 12, 20)],
    ),
    "conv_1d": (
        Contraction("n f i c k", "n, c, i+k-2", "f, c, k", "n, f, i"),
        [(2, 5, 40), (7, 5, 5), (2, 7, 40)],
    ),
    "conv_grouped": (
        Contraction("n g f i j c k l", "n, g, c, i+k-1, j+l-1", "g, f, c, k, l", "n, g, f, i, j"),
        [(2, 3, 4, 9, 20), (3, 5, 4, 3, 3), (2, 3, 5, 9, 20)],
    ),
    "conv_grouped_by_factors": (
        Contraction("n g f i j c k l", "n, g*4+c, i+k-1, j+l-1", "g*5+f, c, k, l",
                    "n, g*5+f, i, j", sizes=(3, 5)),
        [(2, 12, 9, 20), (15, 4, 3, 3), (2, 15, 9, 20)],
    ),
    "conv_depthwise": (
        Contraction("n c i j k l", "n, c, i+k-1, j+l-1", "c, k, l", "n, c, i, j"),
        [(2, 4, 9, 20), (4, 3, 3), (2, 4, 9, 20)],
    ),
    "conv_depthwise_strided": (
        Contraction("n c i j k l", "n, c, 2*i+k-1, 2*j+l-1", "c, k, l", "n, c, i, j"),
        [(2, 4, 9, 40), (4, 3, 3), (2, 4, 5, 20)],
    ),
    "conv_weights": (
        dataclasses.replace(CONV, a="n, f, i, j", b="n, c, i+k-1, j+l-1", c="f, c, k, l"),
        [(2, 7, 12, 20), (2, 5, 12, 20), (7, 5, 3, 3)],
    ),
    "conv_weights_strided": (
        dataclasses.replace(CONV, a="n, f, i, j", b="n, c, 2*i+k-1, 2*j+l-1", c="f, c, k, l"),
        [(2, 7, 6, 10), (2, 5, 12, 20), (7, 5, 3, 3)],
    ),
    "conv_weights_depthwise": (
        Contraction("n c i j k l", "n, c, i, j", "n, c, i+k-1, j+l-1", "c, k, l"),
        [(2, 4, 9, 20), (2, 4, 9, 20), (4, 3, 3)],
    ),
    "conv_input": (
        Contraction("n c i j f k l", "n, f, i-k+1, j-l+1", "f, c, k, l", "n, c, i, j"),
        [(2, 7, 12, 20), (7, 5, 3, 3), (2, 5, 12, 20)],
    ),
    # The even rows and odd columns of the gradient of a convolution of stride 2.
    "conv_input_phase": (
        Contraction("n c i j f k l", "n, f, i-k, j-l", "f, c, 2*k, 2*l+1",
                    "n, c, 2*i, 2*j+1", sizes=(6, 10, 2, 1)),
        [(2, 7, 6, 10), (7, 5, 3, 3), (2, 5, 12, 20)],
    ),
}


def make(shape, dtype, generator, integers):
    if integers:
        values = generator.integers(-8, 9, shape)
    else:
        values = generator.standard_normal(shape)
    return numpy.asarray(values, dtype=numpy.float32).astype(DTYPES[dtype])


def compute(contraction, shapes, integers, **options):
    """The arrays of a run, the sums that c should have, and their scale."""
    generator = numpy.random.default_rng(7)
    types = contraction.all_types()
    arrays = [make(s, t, generator, integers) for s, t in zip(shapes, types)]
    sums, scale, count = kernels.reference(contraction, arrays)
    expected = kernels.at_output(contraction, arrays, sums)
    scale = kernels.at_output(contraction, arrays, scale)
    kernels.run(contraction, arrays, **options)
    return arrays, expected, scale, count


@pytest.mark.parametrize("types", ["f32 f32 f32", "bf16 bf16 f32", "f16 bf16 f32", "f64 f64 f64"])
@pytest.mark.parametrize("name", CASES)
def test_integers(name, types):
    contraction, shapes = CASES[name]
    types = tuple(types.split())
    epilogue = f"kernel.yield %sum : {types[2]}"
    contraction = dataclasses.replace(contraction, types=types, epilogue=epilogue)
    arrays, expected, _, _ = compute(contraction, shapes, True)
    numpy.testing.assert_array_equal(arrays[-1].astype(numpy.float64), expected)


@pytest.mark.parametrize("form", ["dot", "amx"])
@pytest.mark.parametrize("name", CASES)
def test_forms(name, form):
    contraction, shapes = CASES[name]
    types = ("bf16", "bf16", "f32")
    contraction = dataclasses.replace(contraction, types=types)
    arrays, expected, _, _ = compute(contraction, shapes, True, form=form)
    numpy.testing.assert_array_equal(arrays[-1].astype(numpy.float64), expected)


@pytest.mark.parametrize("name", CASES)
def test_static_sizes(name):
    contraction, shapes = CASES[name]
    contraction = dataclasses.replace(contraction, static=True)
    arrays, expected, _, _ = compute(contraction, shapes, True)
    numpy.testing.assert_array_equal(arrays[-1].astype(numpy.float64), expected)
