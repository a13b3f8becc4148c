# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions compute what they say, to the bit where that can be."""

import dataclasses
import functools
import pathlib
import sys
import tempfile

import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Support"))
import kernels
import sweeps
from kernels import Contraction, DTYPES

CPU_FLAGS = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()


def skip_without(words):
    """Where the processor has not what a form needs."""
    needed = {"dot": "avx512_bf16", "amx": "amx_bf16"}
    for word, flag in needed.items():
        if word in words and flag not in CPU_FLAGS:
            pytest.skip(f"no {flag}")


MATMUL = Contraction("m n k", "m, k", "k, n", "m, n")
CONV = Contraction("n f i j c k l", "n, c, i+k-1, j+l-1", "f, c, k, l", "n, f, i, j")
CONV_GROUPED = Contraction("n g f i j c k l", "n, g, c, i+k-1, j+l-1", "g, f, c, k, l", "n, g, f, i, j")
# The gradient of a convolution's image.
CONV_INPUT = Contraction("n c i j f k l", "n, f, i-k+1, j-l+1", "f, c, k, l", "n, c, i, j")


# A depthwise convolution, and the gradient of its image.
DEPTHWISE = Contraction("n c i j k l", "n, c, i+k-1, j+l-1", "c, k, l", "n, c, i, j")
DEPTHWISE_INPUT = Contraction("n c i j k l", "n, c, i-k+1, j-l+1", "c, k, l", "n, c, i, j")

# The same with channels last in memory.
DEPTHWISE_LAST = Contraction("n c i j k l", "n, i+k-1, j+l-1, c", "c, k, l", "n, i, j, c")
WEIGHTS_LAST = Contraction("n i j k l c", "n, i, j, c", "n, i+k-1, j+l-1, c", "c, k, l")
CONV_LAST = Contraction("n i j f k l c", "n, i+k-1, j+l-1, c", "f, c, k, l", "n, i, j, f")


def of(contraction, *shapes, **changes):
    """The contraction with other maps, and the shapes of a, b and c."""
    return dataclasses.replace(contraction, **changes), shapes


def known(contraction, *shapes, **changes):
    """The same with known sizes, for which convolutions are transformed."""
    return of(contraction, *shapes, static=True, **changes)


CASES = {
    "matmul": of(MATMUL, (37, 300), (300, 45), (37, 45)),
    "matmul_blocks": of(MATMUL, (500, 520), (520, 550), (500, 550)),
    # Rows are packed some of the sum at a time.
    "matmul_slabs": of(MATMUL, (20, 40000), (40000, 50), (20, 50)),
    # A product by tiles: smaller steps and blocks, and slabs of them.
    "matmul_deep": of(MATMUL, (520, 9000), (9000, 40), (520, 40)),
    "matmul_one": of(MATMUL, (1, 1), (1, 1), (1, 1)),
    "matmul_empty_sum": of(MATMUL, (5, 0), (0, 7), (5, 7)),
    "matmul_empty": of(MATMUL, (0, 3), (3, 7), (0, 7)),
    "matmul_row": of(MATMUL, (1, 70), (70, 100), (1, 100)),
    "matmul_column": of(MATMUL, (100, 70), (70, 1), (100, 1)),
    "transposed_a": of(MATMUL, (300, 37), (300, 45), (37, 45), a="k, m"),
    "transposed_b": of(MATMUL, (37, 300), (45, 300), (37, 45), b="n, k"),
    "transposed_c": of(MATMUL, (37, 300), (300, 45), (45, 37), c="n, m"),
    "batched": of(
        Contraction("b m n k", "b, m, k", "b, k, n", "b, m, n"), (3, 20, 70),
        (3, 70, 40), (3, 20, 40)),
    "batched_transposed": of(
        Contraction("b h m n k", "b, m, h, k", "b, n, h, k", "b, h, m, n"),
        (2, 20, 3, 16), (2, 35, 3, 16), (2, 3, 20, 35)),
    "broadcast_b": of(
        Contraction("b m n k", "b, m, k", "k, n", "b, m, n"), (3, 20, 70),
        (70, 40), (3, 20, 40)),
    "broadcast_a": of(
        Contraction("b m n k", "m, k", "b, k, n", "b, m, n"), (20, 70),
        (3, 70, 40), (3, 20, 40)),
    "vector": of(Contraction("m k", "m, k", "k", "m"), (50, 33), (33,), (50,)),
    "dot": of(Contraction("k", "k", "k", ""), (50,), (50,), ()),
    "outer": of(Contraction("m n", "m", "n", "m, n"), (50,), (33,), (50, 33)),
    "products": of(Contraction("m", "m", "m", "m"), (50,), (50,), (50,)),
    "summed_alone": of(
        Contraction("m n k l", "m, k, l", "k, n", "m, n"), (9, 8, 7), (8, 20),
        (9, 20)),
    "conv": of(CONV, (2, 5, 12, 20), (7, 5, 3, 3), (2, 7, 12, 20)),
    "conv_blocks": of(CONV, (2, 40, 12, 20), (14, 40, 3, 3), (2, 14, 12, 20)),
    "conv_valid": of(
        CONV, (2, 5, 12, 20), (7, 5, 3, 3), (2, 7, 10, 18), a="n, c, i+k, j+l"),
    "conv_pointwise": of(
        CONV, (2, 5, 12, 20), (7, 5, 1, 1), (2, 7, 12, 20), a="n, c, i+k, j+l"),
    "conv_strided": of(
        CONV, (2, 5, 13, 20), (7, 5, 3, 3), (2, 7, 7, 10),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "conv_pointwise_strided": of(
        CONV, (2, 5, 12, 20), (7, 5, 1, 1), (2, 7, 6, 10),
        a="n, c, 2*i+k, 2*j+l"),
    "conv_dilated": of(
        CONV, (2, 5, 12, 20), (7, 5, 3, 3), (2, 7, 12, 20),
        a="n, c, i+2*k-2, j+3*l-3"),
    "conv_1d": of(
        Contraction("n f i c k", "n, c, i+k-2", "f, c, k", "n, f, i"),
        (2, 5, 40), (7, 5, 5), (2, 7, 40)),
    "conv_grouped": of(
        CONV_GROUPED, (2, 3, 4, 9, 20), (3, 5, 4, 3, 3), (2, 3, 5, 9, 20)),
    "conv_grouped_by_factors": of(
        Contraction("n g f i j c k l", "n, g*4+c, i+k-1, j+l-1",
                    "g*5+f, c, k, l", "n, g*5+f, i, j", sizes=(3, 5)),
        (2, 12, 9, 20), (15, 4, 3, 3), (2, 15, 9, 20)),
    "conv_depthwise": of(DEPTHWISE, (2, 4, 9, 20), (4, 3, 3), (2, 4, 9, 20)),
    "conv_depthwise_strided": of(
        DEPTHWISE, (2, 4, 9, 40), (4, 3, 3), (2, 4, 5, 20),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    # A few columns remain after whole panels.
    "tail": known(
        CONV, (1, 70, 14, 14), (33, 70, 3, 3), (1, 33, 7, 7),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "tail_of_four": known(
        CONV, (1, 5, 28, 28), (19, 5, 3, 3), (1, 19, 14, 14),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "tail_of_images": known(
        CONV, (3, 7, 13, 14), (9, 7, 3, 3), (3, 9, 7, 7),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "tail_alone": known(
        CONV, (1, 40, 3, 3), (17, 40, 3, 3), (1, 17, 2, 2),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    # Packed ahead of tasks: 70 rows and more, two panels at most.
    "ahead": known(
        CONV, (1, 61, 14, 14), (97, 61, 3, 3), (1, 97, 7, 7),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "ahead_whole": known(MATMUL, (130, 600), (600, 32), (130, 32)),
    "ahead_turned": known(
        Contraction("m n k l", "m, k, l", "k, n, l", "m, n"), (75, 16, 40),
        (16, 17, 40), (75, 17)),
    "tail_turned": known(
        Contraction("m n k l", "m, k, l", "k, n, l", "m, n"), (35, 16, 40),
        (16, 50, 40), (35, 50)),
    "tail_of_batches": known(
        Contraction("b m n k l", "b, m, k, l", "b, l, k, n", "b, m, n"),
        (3, 21, 5, 9), (3, 9, 5, 97), (3, 21, 97)),
    "conv_slid": known(DEPTHWISE, (3, 5, 40, 57), (5, 3, 3), (3, 5, 40, 57)),
    "conv_slid_small": known(
        DEPTHWISE, (2, 70, 7, 7), (70, 3, 3), (2, 70, 7, 7)),
    "conv_slid_wide": known(
        DEPTHWISE, (2, 6, 14, 14), (6, 5, 5), (2, 6, 14, 14),
        a="n, c, i+k-2, j+l-2"),
    "conv_slid_strided": known(
        DEPTHWISE, (2, 4, 37, 113), (4, 3, 3), (2, 4, 19, 57),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "conv_slid_strided_wide": known(
        DEPTHWISE, (2, 5, 28, 28), (5, 5, 5), (2, 5, 14, 13),
        a="n, c, 2*i+k-2, 2*j+l-1"),
    "conv_slid_strided_small": known(
        DEPTHWISE, (1, 9, 7, 6), (9, 7, 7), (1, 9, 4, 3),
        a="n, c, 2*i+k-3, 2*j+l-3"),
    "conv_slid_valid": known(
        DEPTHWISE, (2, 3, 21, 35), (3, 3, 5), (2, 3, 19, 31),
        a="n, c, i+k, j+l"),
    "conv_slid_dilated": known(
        DEPTHWISE, (2, 3, 21, 40), (3, 3, 3), (2, 3, 21, 20),
        a="n, c, i+3*k-3, 2*j+2*l-2"),
    # Rows by stride 3; windows that begin and end outside of the image.
    "conv_slid_outside": known(
        DEPTHWISE, (2, 3, 11, 9), (3, 3, 4), (2, 3, 8, 20),
        a="n, c, 3*i+k-5, j+l-6"),
    "conv_slid_input": known(
        DEPTHWISE_INPUT, (2, 5, 30, 20), (5, 3, 3), (2, 5, 30, 20)),
    "conv_slid_input_wide": known(
        DEPTHWISE_INPUT, (2, 5, 9, 33), (5, 7, 5), (2, 5, 9, 33),
        a="n, c, i-k+3, j-2*l+4"),
    "conv_slid_rows": known(
        DEPTHWISE, (2, 5, 19, 33), (5, 5, 1), (2, 5, 19, 33),
        a="n, c, i+k-2, j+l"),
    "conv_slid_columns": known(
        DEPTHWISE, (2, 5, 19, 33), (5, 1, 5), (2, 5, 19, 17),
        a="n, c, i+k, 2*j+l-2"),
    "conv_slid_1d": known(
        Contraction("n c i k", "n, c, i+k-3", "c, k", "n, c, i"), (3, 40, 51),
        (40, 7), (3, 40, 51)),
    "conv_slid_alone": known(
        Contraction("i j k l", "i+k-1, j+l-1", "k, l", "i, j"), (40, 70),
        (3, 3), (40, 70)),
    "conv_last": known(
        DEPTHWISE_LAST, (3, 40, 57, 35), (35, 3, 3), (3, 40, 57, 35)),
    "conv_last_small": known(
        DEPTHWISE_LAST, (2, 7, 7, 70), (70, 3, 3), (2, 7, 7, 70)),
    "conv_last_few": known(
        DEPTHWISE_LAST, (2, 9, 14, 3), (3, 3, 3), (2, 9, 14, 3)),
    "conv_last_wide": known(
        DEPTHWISE_LAST, (2, 15, 15, 33), (33, 7, 7), (2, 15, 15, 33),
        a="n, i+k-3, j+l-3, c"),
    "conv_last_strided": known(
        DEPTHWISE_LAST, (2, 28, 29, 20), (20, 5, 5), (2, 14, 14, 20),
        a="n, 2*i+k-2, 2*j+l-1, c"),
    "conv_last_valid": known(
        DEPTHWISE_LAST, (2, 21, 35, 16), (16, 3, 5), (2, 19, 31, 16),
        a="n, i+k, j+l, c"),
    "conv_last_dilated": known(
        DEPTHWISE_LAST, (2, 21, 40, 17), (17, 3, 3), (2, 21, 14, 17),
        a="n, i+3*k-3, 3*j+2*l-2, c"),
    # Windows that begin and end outside of the image.
    "conv_last_outside": known(
        DEPTHWISE_LAST, (2, 11, 9, 18), (18, 3, 4), (2, 8, 20, 18),
        a="n, 3*i+k-5, j+l-6, c"),
    "conv_last_input": known(
        DEPTHWISE_LAST, (2, 9, 33, 21), (21, 7, 5), (2, 9, 33, 21),
        a="n, i-k+3, j-2*l+4, c"),
    "conv_last_1d": known(
        Contraction("n c i k", "n, i+k-3, c", "k, c", "n, i, c"), (3, 51, 40),
        (7, 40), (3, 51, 40)),
    # Rows are windows of an image, read in place.
    "conv_rows": known(
        CONV_LAST, (2, 12, 20, 19), (50, 19, 3, 3), (2, 12, 20, 50)),
    "conv_rows_small": known(
        CONV_LAST, (3, 5, 4, 9), (7, 9, 5, 5), (3, 3, 4, 7),
        a="n, i+k-3, j+l-2, c"),
    "conv_rows_valid": known(
        CONV_LAST, (2, 12, 20, 16), (17, 16, 3, 2), (2, 10, 19, 17),
        a="n, i+k, j+l, c"),
    "conv_rows_strided": known(
        CONV_LAST, (2, 13, 20, 33), (24, 33, 3, 3), (2, 7, 10, 24),
        a="n, 2*i+k-1, 2*j+l-1, c"),
    "conv_rows_dilated": known(
        CONV_LAST, (2, 11, 23, 12), (24, 12, 3, 3), (2, 11, 16, 24),
        a="n, i+2*k-2, j+3*l+1, c"),
    # More rows and columns than the image has.
    "conv_rows_outside": known(
        CONV_LAST, (2, 11, 9, 5), (20, 5, 3, 4), (2, 8, 20, 20),
        a="n, 3*i+k-5, j+l-6, c"),
    "conv_rows_input": known(
        CONV_LAST, (2, 12, 20, 19), (50, 19, 3, 3), (2, 12, 20, 50),
        a="n, i-k+1, j-l+1, c"),
    "conv_rows_grouped": known(
        Contraction("n i j g f k l c", "n, i+k-1, j+l-1, g, c", "g, f, c, k, l", "n, i, j, g, f"),
        (2, 7, 9, 3, 8), (3, 20, 8, 3, 3), (2, 7, 9, 3, 20)),
    "conv_rows_colours": known(
        CONV_LAST, (2, 3, 30, 41), (24, 3, 3, 3), (2, 15, 21, 24),
        a="n, c, 2*i+k-1, 2*j+l-1"),
    "conv_weights": of(
        CONV, (2, 7, 12, 20), (2, 5, 12, 20), (7, 5, 3, 3), a="n, f, i, j",
        b="n, c, i+k-1, j+l-1", c="f, c, k, l"),
    "conv_weights_strided": of(
        CONV, (2, 7, 6, 10), (2, 5, 12, 20), (7, 5, 3, 3), a="n, f, i, j",
        b="n, c, 2*i+k-1, 2*j+l-1", c="f, c, k, l"),
    "conv_weights_depthwise": of(
        Contraction("n c i j k l", "n, c, i, j", "n, c, i+k-1, j+l-1", "c, k, l"),
        (2, 4, 9, 20), (2, 4, 9, 20), (4, 3, 3)),
    "conv_last_weights": known(
        WEIGHTS_LAST, (3, 20, 29, 35), (3, 20, 29, 35), (35, 3, 3)),
    "conv_last_weights_small": known(
        WEIGHTS_LAST, (2, 7, 7, 300), (2, 7, 7, 300), (300, 3, 3)),
    "conv_last_weights_few": known(
        WEIGHTS_LAST, (2, 9, 14, 3), (2, 9, 14, 3), (3, 3, 3)),
    "conv_last_weights_wide": known(
        WEIGHTS_LAST, (2, 15, 15, 33), (2, 15, 15, 33), (33, 7, 7),
        b="n, i+k-3, j+l-3, c"),
    "conv_last_weights_strided": known(
        WEIGHTS_LAST, (2, 14, 14, 20), (2, 28, 29, 20), (20, 5, 5),
        b="n, 2*i+k-2, 2*j+l-1, c"),
    "conv_last_weights_valid": known(
        WEIGHTS_LAST, (2, 19, 31, 16), (2, 21, 35, 16), (16, 3, 5),
        b="n, i+k, j+l, c"),
    "conv_last_weights_dilated": known(
        WEIGHTS_LAST, (2, 21, 14, 17), (2, 21, 40, 17), (3, 3, 17),
        b="n, i+3*k-3, 3*j+2*l-2, c", c="k, l, c"),
    # Windows that begin and end outside of the image.
    "conv_last_weights_outside": known(
        WEIGHTS_LAST, (2, 8, 20, 18), (2, 11, 9, 18), (18, 3, 4),
        b="n, 3*i+k-5, j+l-6, c"),
    "conv_last_weights_back": known(
        WEIGHTS_LAST, (2, 9, 33, 21), (2, 9, 33, 21), (21, 7, 5),
        b="n, i-k+3, j-2*l+4, c"),
    "conv_last_weights_1d": known(
        Contraction("n i k c", "n, i, c", "n, i+k-3, c", "c, k"), (3, 51, 40),
        (3, 51, 40), (40, 7)),
    "conv_input": of(CONV_INPUT, (2, 7, 12, 20), (7, 5, 3, 3), (2, 5, 12, 20)),
    "conv_transformed": known(
        CONV, (2, 40, 12, 20), (41, 40, 3, 3), (2, 41, 12, 20)),
    "conv_transformed_short": known(
        CONV, (5, 17, 7, 7), (64, 17, 3, 3), (5, 64, 7, 7)),
    "conv_transformed_image": known(
        CONV, (1, 16, 9, 40), (33, 16, 3, 3), (1, 33, 9, 40)),
    "conv_transformed_valid": known(
        CONV, (2, 16, 10, 17), (40, 16, 3, 3), (2, 40, 8, 15),
        a="n, c, i+k, j+l"),
    "conv_transformed_pads": known(
        CONV, (2, 16, 10, 17), (40, 16, 3, 3), (2, 40, 11, 21),
        a="n, c, i+k-2, j+l-3"),
    "conv_transformed_grouped": known(
        CONV_GROUPED, (2, 3, 20, 9, 20), (3, 35, 20, 3, 3), (2, 3, 35, 9, 20)),
    "conv_transformed_input": known(
        CONV_INPUT, (2, 33, 11, 20), (33, 50, 3, 3), (2, 50, 11, 20)),
    # The number of tiles is large enough for 4 x 4 results of 16-bit tiles.
    "conv_transformed_tiles": known(
        CONV, (6, 17, 12, 21), (35, 17, 3, 3), (6, 35, 14, 21),
        a="n, c, i+k-2, j+l-1"),
    "conv_transformed_tiles_input": known(
        CONV_INPUT, (2, 33, 34, 40), (33, 19, 3, 3), (2, 19, 34, 40)),
    "conv_transformed_weights": known(
        CONV, (8, 40, 17, 20), (8, 50, 17, 20), (40, 50, 3, 3), a="n, f, i, j",
        b="n, c, i+k-1, j+l-1", c="f, c, k, l"),
    "conv_transformed_weights_valid": known(
        CONV, (9, 65, 15, 20), (9, 35, 14, 17), (35, 65, 3, 3),
        a="n, c, i+k, j+l-2", b="n, f, i, j", c="f, c, k, l"),
    # The last channel is not there: not transformed.
    "conv_beyond_channels": known(
        CONV, (2, 16, 9, 20), (33, 16, 3, 3), (2, 33, 9, 20),
        a="n, c+1, i+k-1, j+l-1"),
    "conv_transformed_many_rows": known(
        CONV, (1, 16, 8, 8), (600, 16, 3, 3), (1, 600, 8, 8)),
    # The even rows and odd columns of the gradient of a convolution of stride 2.
    "conv_input_phase": of(
        Contraction("n c i j f k l", "n, f, i-k, j-l", "f, c, 2*k, 2*l+1",
                    "n, c, 2*i, 2*j+1", sizes=(6, 10, 2, 1)),
        (2, 7, 6, 10), (7, 5, 3, 3), (2, 5, 12, 20)),
    # The same of single channels; the last has a single filter position.
    "conv_slid_phase": known(
        DEPTHWISE, (2, 5, 7, 33), (5, 3, 3), (2, 5, 14, 33),
        a="n, c, i-k+1, j+l-1", b="c, 2*k, l", c="n, c, 2*i+1, j",
        sizes=(7, 2)),
    "conv_last_phase": known(
        DEPTHWISE_LAST, (2, 7, 10, 20), (20, 3, 3), (2, 14, 20, 20),
        a="n, i-k+1, j-l, c", b="c, 2*k, 2*l+1", c="n, 2*i+1, 2*j, c",
        sizes=(7, 10, 2, 1)),
    "conv_last_phase_position": known(
        DEPTHWISE_LAST, (2, 7, 10, 20), (20, 3, 3), (2, 14, 20, 20),
        a="n, i-k, j-l, c", b="c, 2*k+1, 2*l+1", c="n, 2*i, 2*j, c",
        sizes=(7, 10, 1, 1)),
}


def make(shape, dtype, generator, integers):
    if integers:
        values = generator.integers(-8, 9, shape)
    else:
        values = generator.standard_normal(shape)
    return numpy.asarray(values, dtype=numpy.float32).astype(DTYPES[dtype])


@functools.lru_cache(maxsize=None)
def build(names, types, static=False, epilogue="", extras=(), **options):
    """Cases with these types, as functions of one library."""
    text = ""
    for name in names:
        contraction, shapes = CASES[name]
        contraction = adapt(contraction, types, static, epilogue, extras)
        shapes = [*shapes[:2], *(extra_shape(m, shapes[2]) for m, _ in extras), shapes[2]]
        text += contraction.text(shapes, name)
    # The folder may go: a loaded library stays.
    with tempfile.TemporaryDirectory() as folder:
        return kernels.compile_text(text, folder, **options)


def adapt(contraction, types, static=False, epilogue="", extras=()):
    epilogue = epilogue or f"kernel.yield %sum : {types[2]}"
    return dataclasses.replace(
        contraction, types=types, epilogue=epilogue,
        static=static or contraction.static,
        extras=tuple((contraction.c, t) if m == "c" else ("", t) for m, t in extras))


def extra_shape(where, shape):
    return shape if where == "c" else ()


@functools.lru_cache(maxsize=None)
def sums_of(name, types):
    """What `kernels.reference` says of the numbers that `compute` takes; of
    integers, which are the same in all types, where there are none."""
    contraction, shapes = CASES[name]
    generator = numpy.random.default_rng(7)
    factors = [make(s, t, generator, not types)
               for s, t in zip(shapes, types or ("f32", "f32"))]
    return kernels.reference(contraction, [*factors, numpy.empty(shapes[2])])


def compute(name, types, integers, static=False, epilogue="", extras=(),
            names=tuple(CASES), **options):
    """The arrays of a run, the sums that c should have, and their scale. It is
    compiled with the cases of `names`, once for all of them."""
    contraction, shapes = CASES[name]
    contraction = adapt(contraction, types, static, epilogue, extras)
    shapes = [*shapes[:2], *(extra_shape(m, shapes[2]) for m, _ in extras), shapes[2]]
    generator = numpy.random.default_rng(7)
    arrays = [kernels.guarded(make(s, t, generator, integers))
              for s, t in zip(shapes, contraction.all_types())]
    sums, scale, count = sums_of(name, () if integers else types[:2])
    expected = kernels.at_output(contraction, arrays, sums)
    scale = kernels.at_output(contraction, arrays, scale)
    library = build(names, types, static, epilogue, extras, **options)
    kernels.call(library, name, *arrays)
    return arrays, expected, scale, count


OPTIONS = {
    "f32": dict(types=("f32", "f32", "f32")),
    "f32-static": dict(types=("f32", "f32", "f32"), static=True),
    "f32-small-blocks": dict(
        types=("f32", "f32", "f32"),
        tuning="kc=32 mc=16 nc=48"),
    "f32-avx2": dict(types=("f32", "f32", "f32"), isa="avx2"),
    "f32-avx2-static": dict(
        types=("f32", "f32", "f32"), isa="avx2", static=True),
    "f32-neon": dict(types=("f32", "f32", "f32"), isa="neon"),
    "f32-direct": dict(types=("f32", "f32", "f32"), form="direct"),
    "bf16": dict(types=("bf16", "bf16", "f32")),
    "mixed": dict(types=("f16", "bf16", "f32")),
    "f64": dict(types=("f64", "f64", "f64")),
    "dot": dict(types=("bf16", "bf16", "f32"), form="dot"),
    "dot-static": dict(
        types=("bf16", "bf16", "f32"), form="dot", static=True),
    "amx": dict(types=("bf16", "bf16", "f32"), form="amx"),
    "amx-small-blocks": dict(
        types=("bf16", "bf16", "f32"), form="amx",
        tuning="kc=32 mc=32 nc=32"),
}


FUSED = {
    "bf16": ("widen", "bf16"),
    "f16": ("widen", "f16"),
    "dot": ("dot", "bf16"),
    "amx": ("amx", "bf16"),
}
# In a sample, these ways to compile run all cases. The other ways take turns:
# each runs one of three neighbouring cases, which are similar.
WHOLE = {"f32", "bf16", "dot", "amx", "fused bf16", "fused amx"}


def make_pairs():
    names, ways = list(CASES), [*OPTIONS, *(f"fused {way}" for way in FUSED)]
    for turn, way in enumerate(ways):
        for first in range(3):
            for name in names[(turn + first) % 3 :: 3]:
                yield way, name


def classes(pair):
    way, name = pair
    return [(way, name if way in WHOLE else list(CASES).index(name) // 3)]


PAIRS = sweeps.sample("Lowering/test_kernels.py", make_pairs(), classes)


def names_of(way):
    """The cases that one library has."""
    return tuple(name for name in CASES if (way, name) in PAIRS)


@pytest.mark.parametrize("options, name", [p for p in PAIRS if p[0] in OPTIONS])
def test_integers(name, options):
    """Sums of small integers are exact in f32, whatever the order is."""
    skip_without(options)
    arrays, expected, _, _ = compute(
        name, integers=True, names=names_of(options), **OPTIONS[options])
    result = arrays[-1].astype(numpy.float64)
    numpy.testing.assert_array_equal(result, expected)


# out = relu(sum + x0 + 0.5 * x1), stored in 16 bit.
def fused(dtype):
    return f"""
      %half = arith.constant 5.0e-01 : f32
      %zero = arith.constant 0.0 : f32
      %wide = arith.extf %x1 : {dtype} to f32
      %scaled = arith.mulf %wide, %half : f32
      %0 = arith.addf %sum, %x0 : f32
      %1 = arith.addf %0, %scaled : f32
      %2 = arith.maximumf %1, %zero : f32
      %out = arith.truncf %2 : f32 to {dtype}
      kernel.yield %out : {dtype}"""


def fused_options(dtype, form="widen"):
    return dict(types=(dtype, dtype, dtype), epilogue=fused(dtype),
                extras=(("", "f32"), ("c", dtype)), form=form)


UNIT = {"f32": 2.0**-24, "bf16": 2.0**-8, "f16": 2.0**-11}


def check_fused(name, dtype, form="widen", **wrong):
    arrays, sums, scale, count = compute(
        name, integers=False, **{**fused_options(dtype, form), **wrong})
    bias, residual = (a.astype(numpy.float64) for a in arrays[2:4])
    exact = numpy.maximum(sums + bias + 0.5 * residual, 0)
    scale = scale + abs(bias) + abs(0.5 * residual)
    bound = UNIT[dtype] * abs(exact) + 2 * (count + 2) * UNIT["f32"] * scale
    # Below the normal numbers, f16 has a fixed step.
    bound += 2.0**-25 if dtype == "f16" else 2.0**-134
    contraction = CASES[name][0]
    if "2*i" in contraction.c:  # the rest of c is not written
        return True
    return bool((abs(arrays[-1].astype(numpy.float64) - exact) <= bound).all())


@pytest.mark.parametrize(
    "way, name", [p for p in PAIRS if p[0] not in OPTIONS])
def test_fused(name, way):
    """Bias, residual, activation and rounding, in the store of the sums."""
    form, dtype = FUSED[way.removeprefix("fused ")]
    skip_without(form)
    assert check_fused(name, dtype, form, names=names_of(way))


# Kernels with forbidden operations.
WRONG = {
    "truncated": lambda t: t.replace("%out = arith.truncf %2 : f32 to bf16", """
      %bits = arith.bitcast %2 : f32 to i32
      %mask = arith.constant -65536 : i32
      %cut = arith.andi %bits, %mask : i32
      %low = arith.bitcast %cut : i32 to f32
      %out = arith.truncf %low : f32 to bf16"""),
    "bias dropped": lambda t: t.replace(
        "arith.addf %sum, %x0 : f32", "arith.addf %sum, %zero : f32"),
    "sum in 16 bit": lambda t: t.replace("%0 = arith.addf %sum, %x0", """
      %narrow = arith.truncf %sum : f32 to bf16
      %again = arith.extf %narrow : bf16 to f32
      %0 = arith.addf %again, %x0"""),
}


MADE_WRONG = ("matmul_blocks", "conv_transformed", "conv_transformed_tiles")


@pytest.mark.parametrize("name", MADE_WRONG)
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_kernels_fail(wrong, name):
    epilogue = WRONG[wrong](fused("bf16"))
    assert epilogue != fused("bf16")
    assert not check_fused(name, "bf16", epilogue=epilogue, names=MADE_WRONG)


def test_wrong_accumulator_fails():
    """A kernel whose steps are summed up in 16 bit: what T1 must find."""
    arrays, expected, _, _ = compute(
        "matmul_blocks", integers=True, **OPTIONS["bf16"])
    a, b = (x.astype(numpy.float32) for x in arrays[:2])
    wrong = numpy.zeros_like(arrays[-1])
    for k in range(a.shape[1]):
        wrong += a[:, k : k + 1] * b[k : k + 1]
        wrong = wrong.astype(DTYPES["bf16"]).astype(numpy.float32)
    assert not numpy.array_equal(wrong, expected)


# One for each way in which elements are read: along lanes and depth, in place
# (where sizes are known), gathered, from several lines, with padding,
# transformed.
ROUNDED = {"matmul": ["a", "b", "ab"], "matmul_row": ["a", "b", "ab"]}
ROUNDED.update(dict.fromkeys(
    ["transposed_a", "transposed_b", "batched_transposed", "conv", "conv_strided",
     "conv_weights_strided", "conv_depthwise", "conv_last", "conv_last_weights", "conv_transformed",
     "conv_transformed_weights"], ["ab"]))


@functools.lru_cache(maxsize=None)
def build_rounded(dtype, form):
    """Contractions by name: of 16 bit, and of f32 rounded to it, in a, in b or
    in both."""
    text = ""
    for name, roundings in ROUNDED.items():
        contraction, shapes = CASES[name]
        for sides in ["", *roundings]:
            rounding = tuple(dtype if n in sides else "" for n in "ab")
            types = (*("f32" if r else dtype for r in rounding), "f32")
            adapted = adapt(contraction, types, static=name in ("matmul_row", "conv_last"))
            text += dataclasses.replace(adapted, rounding=rounding).text(
                shapes, f"{name}_{sides}")
    with tempfile.TemporaryDirectory() as folder:
        return kernels.compile_text(text, folder, form=form)


def make_unrounded(shape, generator):
    """Numbers of f32, every other one between two neighbours of bf16 and of
    f16."""
    values = make(shape, "f32", generator, integers=False)
    bits = values.reshape(-1)[::2].view(numpy.uint32)
    halfway = {0: 0x8000, 1: 0x1000}
    for i, low in halfway.items():
        bits[i::2] = bits[i::2] & ~numpy.uint32(2 * low - 1) | low
    return values


@pytest.mark.parametrize("dtype, form", [
    ("bf16", "widen"), ("bf16", "dot"), ("bf16", "amx"), ("f16", "widen")])
def test_rounding_while_reading(dtype, form):
    """Gives the bits that rounding beforehand gives."""
    skip_without(form)
    library = build_rounded(dtype, form)
    for name, roundings in ROUNDED.items():
        generator = numpy.random.default_rng(3)
        *shapes, out = CASES[name][1]
        wide = [make_unrounded(s, generator) for s in shapes]
        low = [x.astype(DTYPES[dtype]) for x in wide]
        assert not numpy.array_equal(low[0].astype(numpy.float32), wide[0])
        expected = numpy.zeros(out, dtype=numpy.float32)
        kernels.call(library, f"{name}_", *low, expected)
        for sides in roundings:
            factors = [w if n in sides else l for n, w, l in zip("ab", wide, low)]
            result = numpy.zeros(out, dtype=numpy.float32)
            kernels.call(library, f"{name}_{sides}", *factors, result)
            numpy.testing.assert_array_equal(
                result.view(numpy.uint32), expected.view(numpy.uint32),
                err_msg=f"{name}, rounded: {sides}")


def test_equal_contractions_share_a_function():
    text = "".join(
        MATMUL.text(shapes, f"f{i}")
        for i, shapes in enumerate([[(4, 5), (5, 6), (4, 6)]] * 3))
    text += dataclasses.replace(MATMUL, static=True).text(
        [(40, 500), (500, 60), (40, 60)], "f3")
    lowered = kernels.lower_text(text)
    assert lowered.count("func.func private @kernel_contract") == 1
    text += dataclasses.replace(MATMUL, rounding=("", "bf16")).text(
        [(4, 5), (5, 6), (4, 6)], "f4")
    lowered = kernels.lower_text(text)
    assert lowered.count("func.func private @kernel_contract") == 2
