# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run run: data in every form, and what does not fit the model."""

import json

import numpy as np
import pytest
from onnx import numpy_helper

from runs import BAD_INPUT, MODELS, NOT_COMPILED, OUTSIDE, USAGE, attempt
from runs import fail, mp_run, write_model

# Each input counts, and each place in it.
MODEL = """
weigh (float[n,3] alpha, float[3] beta) => (float[n,3] y, float[n] sum)
<int64[1] axes = {1}>
{
  y = Mul(alpha, beta)
  sum = ReduceSum<keepdims = 0>(y, axes)
}
"""
ALPHA = np.arange(6, dtype=np.float32).reshape(2, 3)
BETA = np.array([1, 10, 100], np.float32)
Y = ALPHA * BETA


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path, MODEL)


def outputs(*arguments, tmp_path):
    mp_run("run", *arguments, "-o", tmp_path / "out.npz")
    return dict(np.load(tmp_path / "out.npz"))


def check(found):
    assert list(found) == ["y", "sum"]
    np.testing.assert_array_equal(found["y"], Y)
    np.testing.assert_array_equal(found["sum"], Y.sum(1))
    assert found["y"].dtype == np.float32


@pytest.mark.parametrize("prefix", ["", "in:"])
def test_npz(tmp_path, model, prefix):
    data = {prefix + "beta": BETA, prefix + "alpha": ALPHA}
    np.savez(tmp_path / "in.npz", **data)
    check(outputs(model, tmp_path / "in.npz", tmp_path=tmp_path))


def test_single_files(tmp_path, model):
    np.save(tmp_path / "a.npy", np.asfortranarray(ALPHA))
    BETA.tofile(tmp_path / "b.bin")
    flags = (
        f"--input=alpha={tmp_path / 'a.npy'}",
        f"--raw=beta:{tmp_path / 'b.bin'}:float32[?]",
    )
    check(outputs(model, *flags, tmp_path=tmp_path))


def write_test_data(folder, y=Y):
    folder.mkdir()
    for name, array in {
        "input_0": ALPHA,
        "input_1": BETA,
        "output_0": y,
        "output_1": Y.sum(1),
    }.items():
        tensor = numpy_helper.from_array(array.astype(np.float32))
        (folder / f"{name}.pb").write_bytes(tensor.SerializeToString())


def test_test_data_set(tmp_path, model):
    folder = tmp_path / "test_data_set_0"
    write_test_data(folder)
    check(outputs(model, folder, "--check=0,0", tmp_path=tmp_path))


def test_a_difference(tmp_path, model):
    wrong = Y.copy()
    wrong[1, 2] += 1
    write_test_data(tmp_path / "data", wrong)
    done = attempt("run", model, tmp_path / "data", "--check", "--json")
    assert done.returncode == OUTSIDE
    first, second = json.loads(done.stdout)["differences"]
    assert (first["outside"], second["outside"]) == (1, 0)
    assert first["max_abs"] == 1 and first["worst_index"] == "[1, 2]"
    assert first["max_rel"] == pytest.approx(1 / 501)
    assert first["rmse"] == pytest.approx(1 / np.sqrt(6))
    mp_run("run", model, tmp_path / "data", "--check=1e-2")
    mp_run("run", model, tmp_path / "data", "--check=0,1")
    fail(OUTSIDE, "run", model, tmp_path / "data", "--check=0,0.99")


def test_a_nan_is_no_small_difference(tmp_path, model):
    wrong = Y.copy()
    wrong[0, 0] = np.nan
    write_test_data(tmp_path / "data", wrong)
    fail(OUTSIDE, "run", model, tmp_path / "data", "--check=1e9,1e9")


def test_expected_file(tmp_path, model):
    np.savez(tmp_path / "in.npz", alpha=ALPHA, beta=BETA)
    np.savez(tmp_path / "out.npz", y=Y)
    flags = ("run", model, tmp_path / "in.npz")
    mp_run(*flags, f"--expected={tmp_path / 'out.npz'}", "--check=0,0")
    np.savez(tmp_path / "out.npz", y=Y + 1)
    fail(OUTSIDE, *flags, f"--expected={tmp_path / 'out.npz'}")
    message = fail(BAD_INPUT, *flags, "--check")
    assert "in.npz: there are no expected outputs" in message
    assert "out:NAME" in message and "--expected=FILE" in message


def test_a_model_is_no_command(model):
    message = fail(USAGE, model, "x.npz")
    assert f"did you mean 'mp-run run {model}'?" in message
    assert "did you mean 'run'?" in fail(USAGE, "runn", model)


def test_random_numbers_are_asked_for(tmp_path, model):
    assert "input 'alpha' is missing" in fail(BAD_INPUT, "run", model)
    done = mp_run("run", model, "--random")
    assert "n=32" in done.stderr and "--dim" in done.stderr
    found = [
        outputs(model, "--random=" + seed, "--dim=n=4", tmp_path=tmp_path)
        for seed in ("1", "1", "2")
    ]
    assert found[0]["y"].shape == (4, 3)
    np.testing.assert_array_equal(found[0]["y"], found[1]["y"])
    assert (found[0]["y"] != found[2]["y"]).all()


@pytest.mark.parametrize(
    "change, text",
    [
        ({"alpah": ALPHA}, "'alpha' is missing: expected float32[n,3], found 'al"),
        ({"alpha": ALPHA.astype("c8")}, "expected float32[n,3], found complex64[2,3"),
        ({"alpha": ALPHA[:, :2]}, "expected float32[n,3], found float32[2,2]"),
        ({"alpha": ALPHA[0]}, "expected float32[n,3], found float32[3]: alpha[None] is"),
        ({"alpha": None}, "input 'alpha' is missing: expected float32[n,3]"),
    ],
)
def test_data_that_do_not_fit(tmp_path, model, change, text):
    data = {"alpha": ALPHA, "beta": BETA}
    if "alpah" in change:
        del data["alpha"]
    data.update(change)
    data = {name: array for name, array in data.items() if array is not None}
    np.savez(tmp_path / "in.npz", **data)
    message = fail(BAD_INPUT, "run", model, tmp_path / "in.npz")
    assert text in message and "in.npz" in message


@pytest.mark.parametrize("kind", ["f8", "f2", "u1", "i8", "?"])
def test_types_become_those_of_inputs(tmp_path, model, kind):
    """In all forms of data; a note says so."""
    alpha = (ALPHA > 1).astype(kind)
    np.savez(tmp_path / "in.npz", alpha=alpha, beta=BETA)
    np.save(tmp_path / "a.npy", alpha)
    np.savez(tmp_path / "b.npz", beta=BETA)
    for data in (["in.npz"], ["b.npz", f"--input=alpha={tmp_path / 'a.npy'}"]):
        out = tmp_path / "out.npz"
        done = mp_run("run", model, tmp_path / data[0], *data[1:], "-o", out)
        note = f"note: 'alpha': {alpha.dtype.name} becomes float32\n"
        assert done.stderr.count(note) == 1
        np.testing.assert_array_equal(np.load(out)["y"], alpha * BETA)
    np.savez(tmp_path / "in.npz", alpha=ALPHA.astype("f8") * 1e60, beta=BETA)
    message = fail(BAD_INPUT, "run", model, tmp_path / "in.npz")
    assert "with 1e+60 in row 0, column 1, which is not a number of f" in message


def test_flags_without_effect_are_told(tmp_path, model):
    np.savez(tmp_path / "in.npz", alpha=ALPHA, beta=BETA)
    flags = (tmp_path / "in.npz", "--random", "--threads=60000")
    told = mp_run("run", model, *flags).stderr
    assert "random numbers are not used: the data have all inputs" in told
    assert "note: --threads=60000: " in told and " used, one per proc" in told


# The number of axes is known at run time only.
AXES = """
reduce (float[a,b,c] x, bool[d] which, int64 shift) => (float[e,f,g] sum, float[h,i,j] most)
<int64[1] line = {-1}>
{
  found = NonZero(which)
  listed = Reshape(found, line)
  axes = Add(listed, shift)
  sum = ReduceSum(x, axes)
  most = ReduceMax<noop_with_empty_axes = 1>(x, axes)
}
"""


@pytest.mark.parametrize("axes", [(0, 2), (1,), (), (0, 1, 2)])
@pytest.mark.parametrize("shift", [0, -3])
def test_axes_that_are_computed(tmp_path, axes, shift):
    x = np.random.default_rng(0).integers(-9, 9, (3, 4, 5)).astype(np.float32)
    data = {"x": x, "which": np.isin(np.arange(3), axes), "shift": shift}
    np.savez(tmp_path / "in.npz", **data)
    model = write_model(tmp_path, AXES)
    found = outputs(model, tmp_path / "in.npz", tmp_path=tmp_path)
    expected = x.sum(axes or None, keepdims=True)
    np.testing.assert_array_equal(found["sum"], expected)
    most = x.max(axes, keepdims=True) if axes else x
    np.testing.assert_array_equal(found["most"], most)


def test_computed_axes_that_are_none(tmp_path):
    data = {"x": np.ones((3, 4, 5), np.float32), "which": np.ones(3, bool)}
    np.savez(tmp_path / "in.npz", shift=1, **data)
    model = write_model(tmp_path, AXES)
    message = fail(BAD_INPUT, "run", model, tmp_path / "in.npz")
    assert "ReduceSum" in message
    assert "one of 3 axes is none of a tensor of rank 3" in message


def test_computed_axes_that_are_dropped(tmp_path):
    text = AXES.replace("ReduceSum(", "ReduceSum<keepdims = 0>(")
    data = {"x": np.ones((3, 4, 5), np.float32), "which": np.ones(3, bool)}
    np.savez(tmp_path / "in.npz", shift=0, **data)
    model = write_model(tmp_path, text)
    message = fail(NOT_COMPILED, "run", model, tmp_path / "in.npz")
    assert "'sum' (ReduceSum-13)" in message and message.count("\n") == 1
    assert "the number of axes is known at run time only" in message


@pytest.mark.parametrize("command", ["run", "bench", "compare"])
def test_inputs_that_are_no_tensors(tmp_path, command):
    text = "at (seq(float[n]) s, int64 i) => (float[n] y) { y = SequenceAt(s, i) }"
    model = write_model(tmp_path, text)
    flags = [model, model] if command == "compare" else [model]
    message = fail(NOT_COMPILED, command, *flags, "--random=1")
    assert "input 's' has the type '!onnx.seq<" in message
    assert "expected a tensor" in message and message.count("\n") == 1


def test_outputs_are_written_whole_or_not_at_all(tmp_path, model):
    np.savez(tmp_path / "in.npz", alpha=ALPHA, beta=BETA)
    (tmp_path / "out.npy").write_text("old")
    output = ("-o", tmp_path / "out.npy")
    message = fail(BAD_INPUT, "run", model, tmp_path / "in.npz", *output)
    assert "holds one tensor, not 2" in message
    assert (tmp_path / "out.npy").read_text() == "old"


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["rnu"], "did you mean 'run'"),
        (["run"], "expected a model"),
        (["run", "m", "--chek"], "did you mean '--check'"),
        (["run", "m", "--check=a"], "--check: expected RTOL,ATOL, got 'a'"),
        (["run", "m", "--json=yes"], "--json: expected true or false, got 'yes'"),
        (["run", "m", "--json", "--json"], "--json: given twice"),
        (["run", "m", "-o"], "-o: expected a file name"),
        (["run", "m", "--kernels=dott"], "did you mean 'dot'"),
        (["run", "m", "--random=x"], "--random: expected a number"),
        (["run", "m", "--dim=n"], "--dim"),
        (["run", "m", "--mixed-bf16", "--mixed-fp16"], "exclude each other"),
    ],
)
def test_usage(arguments, text):
    assert text in fail(USAGE, *arguments)


@pytest.mark.parametrize(
    "command", ["run", "bench", "compare", "train", "show"]
)
def test_help_fits_a_screen(command):
    lines = mp_run(command, "--help").stdout.splitlines()
    assert lines[0].startswith(f"mp-run {command}: ")
    assert 5 < len(lines) <= 48 and max(map(len, lines)) <= 80
    assert command in mp_run("--help").stdout


@pytest.mark.parametrize(
    "name", sorted(p.parent.name for p in MODELS.glob("fwd/*/io0.npz"))
)
def test_stored_models(name):
    folder = MODELS / "fwd" / name
    mp_run("run", folder / "model.onnx", folder / "io0.npz", "--check=1e-3,1e-4")
