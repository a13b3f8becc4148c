# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models that default flags must convert to right numbers.

Each (models/numbers/*.onnxtxt) is the smallest form of what users of mixed
precision have met: an input at a high level, a grid of constants, phases and
indices that a product makes, the nearest of some centres, a running sum.
"""

import pathlib

import numpy as np
import onnx
import pytest
from graphs import run
from support import DTYPES, MP_OPT, UNIT_ROUNDOFF, attempt, run_mp_opt

MODELS = pathlib.Path(__file__).parents[1] / "models" / "numbers"
MP_RUN = pathlib.Path(MP_OPT).with_name("mp-run")
# A product rounds its operands and its result.
GROWTH = 4

F = np.float32
FEATURE = np.array(
    [[101338.82], [101357.87], [101338.22], [101272.875], [101361.21],
     [101342.85], [101303.52], [101348.24]], F,
)
STANDARDIZED = (FEATURE.astype(np.float64) - 101325) / 40
TIMES = np.array([[998.39], [937.5], [501.7], [77.3]], F)
POSITIONS = np.array([257, 1001, 1499, 2047])
FREQUENCIES = np.array([[1, 0.1]], F).astype(np.float64)
LEVELS = np.array([[7, 4, 4, 4], [3, 2, 1, 4], [1, 1, 1, 3]], F)
IMAGE = np.arange(700, dtype=F)[None] / 700

# Inputs and right outputs.
CASES = {
    "centred_input": ({"x": FEATURE}, [STANDARDIZED]),
    "normalized_input": ({"x": FEATURE}, [STANDARDIZED]),
    "constant_grid": (
        {"x": np.full((4, 1), 0.5, F), "image": IMAGE},
        [0.5 * IMAGE[:, [301, 402, 503, 604]].astype(np.float64)],
    ),
    "phase_of_product": ({"t": TIMES}, [np.sin(TIMES * FREQUENCIES)]),
    "positions_input": (
        {"p": POSITIONS}, [np.sin(POSITIONS[:, None] * FREQUENCIES)],
    ),
    "index_of_product": (
        {"level": LEVELS}, [LEVELS.astype(int) @ [[1], [8], [40], [200]]],
    ),
    "nearest": (
        {"x": np.array([[20.02], [20.52], [20.98], [21.45]], F)},
        [np.array([0, 1, 2, 3])],
    ),
    "running_sum": (
        {"x": np.ones((1000, 1), F), "s0": np.zeros(1, F)},
        [np.array([1000.0]), np.arange(1, 1001.0)[:, None]],
    ),
}


def test_every_model_has_a_case():
    names = {path.stem for path in MODELS.glob("*.onnxtxt")}
    assert names == {*CASES, "if_two_results"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_numbers(name, dtype, tmp_path):
    feed, right = CASES[name]
    mixed = tmp_path / "mixed.onnx"
    source = MODELS / f"{name}.onnxtxt"
    run_mp_opt(source, f"--mixed-{dtype}", "--emulate", "-o", mixed)
    for got, want in zip(run(str(mixed), feed), right, strict=True):
        assert got.shape == want.shape
        if got.dtype == np.int64:
            assert (got == want).all(), f"{got.ravel()} instead of {want.ravel()}"
            continue
        bound = GROWTH * UNIT_ROUNDOFF[dtype] * np.abs(want).max()
        error = np.abs(got - want).max()
        assert error <= bound


@pytest.mark.parametrize("taken", [True, False])
def test_branch_that_yields_one_value_twice(taken, tmp_path):
    """Compiled: two results of an If never share memory."""
    data, results = tmp_path / "data.npz", tmp_path / "results.npz"
    x = np.ones(2, F)
    np.savez(data, x=x, c=np.array(taken))
    model = MODELS / "if_two_results.onnxtxt"
    attempt(
        "run", model, data, "-o", results, program=MP_RUN, code=0
    )
    got = np.load(results)
    want = [np.tanh(x), 1 / (1 + np.exp(-x))] if taken else [0 * x, 0 * x]
    for name, value in zip(("y", "z"), want, strict=True):
        np.testing.assert_allclose(got[name], value, rtol=1e-5)


def test_models_are_right_in_fp32():
    for name, (feed, right) in CASES.items():
        model = onnx.parser.parse_model((MODELS / f"{name}.onnxtxt").read_text())
        for got, want in zip(run(model, feed), right, strict=True):
            if got.dtype == np.int64:
                assert (got == want).all()
            np.testing.assert_allclose(got, want, atol=1e-3 * np.abs(want).max())
