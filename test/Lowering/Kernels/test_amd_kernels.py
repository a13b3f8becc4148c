# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of contractions for AMD's GPUs, on the processor."""

import dataclasses
import tempfile

import pytest

import amd_kernels
from test_gpu_kernels import NAMES, TYPES, check_integers
from test_kernels import CASES


@pytest.mark.parametrize("types", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("chip", amd_kernels.CHIPS)
def test_cases(chip, types):
    contractions = [
        (dataclasses.replace(CASES[name][0], types=TYPES[types],
                             epilogue=f"kernel.yield %sum : {TYPES[types][2]}"),
         CASES[name][1])
        for name in NAMES]
    text = "".join(
        dataclasses.replace(contraction, static=True).text(shapes, f"f{number}")
        for number, (contraction, shapes) in enumerate(contractions))
    with tempfile.TemporaryDirectory() as folder:
        library = amd_kernels.Kernels(text, folder, chip)
    for number, (contraction, shapes) in enumerate(contractions):
        check_integers(library, number, contraction, shapes)
