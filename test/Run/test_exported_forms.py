# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that exporters write: model-local functions, names of sizes that say
nothing, sequences as states of loops, branches for other inputs."""


import numpy as np
import onnx
import pytest
from onnx import helper

from onnx_models import make_model
import support
from runs import NOT_COMPILED, attempt, fail, mp_run

F = np.float32


def compute(tmp_path, text, **feeds):
    (tmp_path / "model.onnxtxt").write_text(text)
    return run(tmp_path, "model.onnxtxt", **feeds)


def run(folder, model, **feeds):
    np.savez(folder / "in.npz", **feeds)
    files = (folder / model, folder / "in.npz", "-o", folder / "out.npz")
    said = mp_run("run", *files).stderr
    return np.load(files[-1]), said


# Functions -------------------------------------------------------------------

FUNCTIONS = """
<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
g (float[n, 4] x) => (float[n, 4] y, float[n, 4] z, float[n] m)
{
    y = local.Scaled <alpha = 3.0> (x)
    z = local.Scaled (x)
    m = local.Mean <axes = [1], keep = 0> (y)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
Scaled <alpha: float = 0.25> (a) => (b)
{
    factor = Constant <value_float: float = @alpha> ()
    c = local.Times (a, factor)
    b = LeakyRelu <alpha: float = @alpha> (c)
}
<domain: "local", opset_import: ["" : 18]>
Times (p, q) => (r)
{
    r = Mul (p, q)
}
<domain: "local", opset_import: ["" : 18]>
Mean <axes, keep> (a) => (b)
{
    list = Constant <value_ints: ints = @axes> ()
    b = ReduceMean <keepdims: int = @keep> (a, list)
}
"""


def scaled(x, alpha):
    return np.where(x < 0, x * alpha * alpha, x * alpha).astype(F)


def test_functions(tmp_path):
    x = np.linspace(-2, 3, 12, dtype=F).reshape(3, 4)
    found, _ = compute(tmp_path, FUNCTIONS, x=x)
    np.testing.assert_allclose(found["y"], scaled(x, F(3)), rtol=1e-6)
    np.testing.assert_allclose(found["z"], scaled(x, F(0.25)), rtol=1e-6)
    np.testing.assert_allclose(
        found["m"], scaled(x, F(3)).mean(axis=1), rtol=1e-6, atol=1e-6
    )


def test_functions_in_libraries(tmp_path):
    (tmp_path / "model.onnxtxt").write_text(FUNCTIONS)
    support.attempt(
        "model.onnxtxt", "--emit=obj", "-o", "model.o", cwd=tmp_path,
        timeout=120, code=0
    )
    assert (tmp_path / "model.o").stat().st_size > 1000


def test_function_that_calls_itself(tmp_path):
    text = FUNCTIONS.replace("r = Mul (p, q)", "r = local.Times (p, q)")
    text = text.replace('["" : 18]>\nTimes', '["" : 18, "local" : 1]>\nTimes')
    (tmp_path / "model.onnxtxt").write_text(text)
    done = attempt("run", tmp_path / "model.onnxtxt", "--random", "--dim=n=2")
    assert done.returncode == 1
    assert "expected no recursion, found a call of it in itself" in done.stderr


# Names of sizes --------------------------------------------------------------

@pytest.mark.parametrize("name", ["?", "-1", "None"])
def test_names_that_say_nothing(tmp_path, name):
    model = make_model(
        [helper.make_node("ReduceSum", ["x"], ["y"])], {"x": [name, name]},
        {"y": [1, 1]}, opset=18, ir=9
    )
    onnx.save(model, tmp_path / "model.onnx")
    found, said = run(tmp_path, "model.onnx", x=np.ones((2, 5), F))
    assert "warning" not in said and found["y"] == 10


def test_name_of_two_sizes(tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 18]>
    g (float[n, 2] x, float[n] z) => (float[n, 2] y, float[n] w)
    {
        y = Neg (x)
        w = Neg (z)
    }"""
    x, z = np.ones((3, 2), F), np.ones(5, F)
    found, said = compute(tmp_path, text, x=x, z=z)
    assert found["y"].shape == (3, 2) and found["w"].shape == (5,)
    assert "input 'z': size 5 of axis 0 is called 'n', as one of 3: expected " \
        "one size for the name, which is not made use of" in said


# Sequences -------------------------------------------------------------------

LOOP = """<ir_version: 9, opset_import: ["" : 18]>
g (float[4, 3] x) => (float[4, 3] y, float[c] each)
<int64 count = {COUNT}, bool yes = {1}>
{
    none = SequenceEmpty <dtype = 1> ()
    all, each = Loop (count, yes, none) <body = b
        (int64 i, bool go, seq(float[3]) s)
        => (bool next, seq(float[3]) t, float sum)
        <int64 last = {LAST}>
    {
        row = Gather <axis = 0> (x, i)
        f = Cast <to = 1> (i)
        scaled = Mul (row, f)
        t = SequenceInsert (s, scaled)
        sum = ReduceSum <keepdims = 0> (scaled)
        next = Less (i, last)
    }>
    y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
}"""


@pytest.mark.parametrize("count, last, rows", [(4, 9, 4), (99, 2, 3)])
def test_sequence_as_a_state(tmp_path, count, last, rows):
    text = LOOP.replace("COUNT", str(count)).replace("LAST", str(last))
    text = text.replace("float[4, 3] y", "float[r, 3] y")
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(F)
    found, _ = compute(tmp_path, text, x=x)
    expected = (x * np.arange(4, dtype=F)[:, None])[:rows]
    np.testing.assert_array_equal(found["y"], expected)
    np.testing.assert_allclose(
        found["each"], expected.sum(axis=1), rtol=1e-5, atol=1e-6
    )


def test_too_many_iterations(tmp_path):
    text = LOOP.replace("COUNT", str(2**40)).replace("LAST", str(2**41))
    text = text.replace("row = Gather <axis = 0> (x, i)",
                        "row = ReduceSum <keepdims = 0> (x, last0)")
    text = text.replace("<int64 last", "<int64[1] last0 = {0}, int64 last")
    (tmp_path / "model.onnxtxt").write_text(text)
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnxtxt", "--random")
    assert "its iterations, of which each is code of its own, are too many" \
        in message


@pytest.mark.parametrize("count, last, rows", [(0, 9, 0), (3, 9, 3), (9, 1, 2)])
def test_sequence_of_unknown_length(tmp_path, count, last, rows):
    text = LOOP.replace("<int64 count = {COUNT}, bool", "<bool")
    text = text.replace("float[4, 3] x)", "float[4, 3] x, int64 count)")
    text = text.replace("float[4, 3] y", "float[r, 3] y")
    text = text.replace("LAST", str(last))
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(F)
    found, _ = compute(tmp_path, text, x=x, count=np.array(count))
    expected = (x * np.arange(4, dtype=F)[:, None])[:rows]
    np.testing.assert_array_equal(found["y"], expected)
    assert found["each"].shape == (rows,)


def test_sequence_with_an_unknown_end(tmp_path):
    text = LOOP.replace("COUNT", "4").replace("LAST", "9")
    text = text.replace("next = Less (i, last)",
                        "zero = Sub (sum, sum)\nnext = Less (sum, zero)")
    text = text.replace("float[4, 3] y", "float[r, 3] y")
    x = np.ones((4, 3), F)
    found, _ = compute(tmp_path, text, x=x)
    np.testing.assert_array_equal(found["y"], [[0, 0, 0]])


def test_sequence_that_is_read_in_its_loop(tmp_path):
    text = LOOP.replace("<int64 count = {COUNT}, bool", "<bool")
    text = text.replace("float[4, 3] x)", "float[4, 3] x, int64 count)")
    text = text.replace("row = Gather <axis = 0> (x, i)",
                        "row = SequenceAt (s, i)")
    (tmp_path / "model.onnxtxt").write_text(text.replace("LAST", "9"))
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnxtxt", "--random")
    assert "a sequence is its state: expected a number of iterations that is " \
        "known while compiling, or iterations that only append" in message


# Branches --------------------------------------------------------------------

BRANCHES = """<ir_version: 9, opset_import: ["" : 18]>
g (float[m, k] x, int64 rate) => (float[m, c] y)
<int64 wide = {16000}, float[3, 2] w3 = {1, 2, 3, 4, 5, 6},
 float[4, 2] w4 = {1, 2, 3, 4, 5, 6, 7, 8}>
{
    isWide = Equal (rate, wide)
    y = If (isWide) <
        then_branch = a () => (float[m, c] p) { p = MatMul (x, w3) },
        else_branch = b () => (float[m, c] q) { q = MatMul (x, w4) }>
}"""


def test_branch_for_other_sizes(tmp_path):
    """What does not fit the input's sizes fails where it is taken only."""
    x = np.ones((2, 3), F)
    found, said = compute(tmp_path, BRANCHES, x=x, rate=np.int64(16000))
    np.testing.assert_array_equal(found["y"], [[9, 12], [9, 12]])
    assert "ends the run where its else_branch is taken" in said
    np.savez(tmp_path / "in.npz", x=x, rate=np.int64(8000))
    done = attempt("run", tmp_path / "model.onnxtxt", tmp_path / "in.npz")
    assert done.returncode == 1
    assert "inner sizes 3 and 4 differ" in done.stderr.splitlines()[-1]


def test_branches_that_both_fail(tmp_path):
    (tmp_path / "model.onnxtxt").write_text(BRANCHES)
    np.savez(tmp_path / "in.npz", x=np.ones((2, 5), F), rate=np.int64(1))
    message = fail(NOT_COMPILED, "run", tmp_path / "model.onnxtxt",
                   tmp_path / "in.npz")
    assert "inner sizes 5 and 3 differ" in message
