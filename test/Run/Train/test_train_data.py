# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mp-run train is trained on: names, types, and whether a run that goes on
has the data that it began with."""

import json
import os

import numpy as np
import pytest

from runs import BAD_INPUT, USAGE, attempt, fail, load_safetensors, make_step
from runs import mp_run, train_folder, write_model

NAME = "mlp784"


@pytest.fixture
def arrays():
    with np.load(train_folder(NAME) / "data.npz") as file:
        return dict(file)


def save(folder, arrays, name="data.npz"):
    np.savez(folder / name, **arrays)
    return folder / name


def train(data, *flags, steps=10):
    step = make_step(NAME)
    return ["train", step, f"--data={data}", f"--steps={steps}", *flags]


def labels_of(arrays):
    (name,) = (n for n, a in arrays.items() if a.dtype == np.int64)
    return name


# -----------------------------------------------------------------------------
# Names
# -----------------------------------------------------------------------------


def test_what_is_not_used_is_said(tmp_path, arrays):
    out = tmp_path / "end.safetensors"
    more = {**arrays, "ids": np.arange(3), "learning_rat": np.zeros(3)}
    more["fc1.weight"] = np.zeros((64, 784), np.float32)
    done = mp_run(*train(save(tmp_path, more), "-o", out))
    warning = "mp-run train: warning: " + str(tmp_path / "data.npz")
    assert f"{warning}: 'ids' is not used: the step has no such" in done.stderr
    assert "'learning_rat' is not used" in done.stderr
    assert "did you mean 'learning_rate'?" in done.stderr
    assert "'fc1.weight' is not used: it is a state" in done.stderr
    plain = tmp_path / "plain.safetensors"
    mp_run(*train(save(tmp_path, arrays), "-o", plain))
    assert out.read_bytes() == plain.read_bytes()


def test_tensors_without_names(tmp_path, arrays):
    np.save(tmp_path / "data.npy", arrays[labels_of(arrays)])
    message = fail(BAD_INPUT, *train(tmp_path / "data.npy"))
    assert "its tensors have no names" in message


# -----------------------------------------------------------------------------
# Integers
# -----------------------------------------------------------------------------


FORMS = {
    "batches": (),
    "rows": ("--batch=8",),
    "rows in order": ("--batch=8", "--no-shuffle"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.int32, np.uint8])
def test_labels_of_another_integer_type(tmp_path, arrays, kind, form):
    labels, flags = labels_of(arrays), FORMS[form]
    if flags:
        arrays = {k: a.reshape(-1, *a.shape[2:]) for k, a in arrays.items()}
    ends = []
    for name, given in (("wide", np.int64), ("narrow", kind)):
        arrays[labels] = arrays[labels].astype(given)
        out = tmp_path / f"{name}.safetensors"
        done = mp_run(*train(save(tmp_path, arrays), *flags, "-o", out))
        note = f"'{labels}': {np.dtype(kind).name} becomes int64"
        assert (note in done.stderr) == (name == "narrow")
        ends.append(out.read_bytes())
    assert ends[0] == ends[1]


NARROW = """
step (int8[n] x, int32 total) => (float loss, int32 total_new)
<int32 total = {0}>
{
  wide = Cast<to = 6>(x)
  sum = ReduceSum<keepdims = 0>(wide)
  total_new = Add(total, sum)
  loss = Cast<to = 1>(sum)
}
"""


def test_integers_that_do_not_fit(tmp_path):
    step = write_model(tmp_path, NARROW)
    out = tmp_path / "end.safetensors"
    for last, code in ((127, 0), (128, BAD_INPUT), (-129, BAD_INPUT)):
        x = np.array([1, -2, 3, last], np.int64)
        data = save(tmp_path, {"x": x})
        flags = (f"--data={data}", "--batch=2", "-o", out)
        done = attempt("train", step, *flags)
        assert done.returncode == code, done.stderr
        if code:
            assert f"with {last} in row 3, which is not a number of int8" in done.stderr
        else:
            assert load_safetensors(out)["total"] == x.sum()


# -----------------------------------------------------------------------------
# Other types and forms
# -----------------------------------------------------------------------------


STEP = """
step (float[n,4] x, int64[n] labels, float[4,3] w) => (float loss, float[4,3] w_new)
<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float rate = {0.125}>
{
  y = MatMul(x, w)
  loss, p = SoftmaxCrossEntropyLoss(y, labels)
  t = Transpose<perm = [1, 0]>(x)
  e = Exp(p)
  g = MatMul(t, e)
  u = Mul(g, rate)
  w_new = Sub(w, u)
}
"""
ROWS = np.arange(32, dtype=np.float32).reshape(8, 4) % 5 % 2
LABELS = np.arange(8) % 2


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("small"), STEP)


def of_small(small, folder, *flags, **changed):
    data = save(folder, {"x": ROWS, "labels": LABELS, **changed})
    return ["train", small, f"--data={data}", "--batch=4", "--no-shuffle", *flags]


@pytest.mark.parametrize("kind", ["f8", "f2", "?", "u1", "i4", "u8"])
@pytest.mark.parametrize("name", ["x", "labels"])
def test_types_become_those_of_inputs(tmp_path, small, name, kind):
    """One note for each input; the states are the same."""
    given = {"x": ROWS, "labels": LABELS}[name].astype(kind)
    ends = []
    for changed in ({}, {name: given}):
        out = tmp_path / "out.safetensors"
        done = mp_run(*of_small(small, tmp_path, "-o", out, **changed))
        to = {"x": "float32", "labels": "int64"}[name]
        note = f"'{name}': {given.dtype.name} becomes {to}"
        assert done.stderr.count(note) == len(changed)
        ends.append(out.read_bytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("changed, text", [
    ({"labels": np.eye(3, dtype="f4")[LABELS]}, "labels.argmax(1)"),
    ({"labels": LABELS[:, None]}, "labels[:, 0]"),
    ({"x": ROWS[:, :, None]}, "x.squeeze(2)"),
    ({"x": ROWS.reshape(8, 2, 2)}, "x.reshape(-1, 4)"),
    ({"x": ROWS[:, :, None], "labels": LABELS[:, None]}, "x.squeeze(2)"),
    ({"x": ROWS[:, :3]}, "expected float32[n,4], found float32[4,3]"),
    ({"x": ROWS + 0j}, 'x.astype("float32") converts it'),
    ({"labels": LABELS / 3}, "with 0.333333 in row 1, which is not a number of"),
    ({"x": ROWS.astype("f8") * 1e60}, "not finite as float32, the first is 1e+60 in row 0"),
    ({"labels": LABELS + 2.0}, "the classes 0 to 2"),
], ids=str)  # fmt: skip
def test_other_forms_say_what_to_do(tmp_path, small, changed, text):
    message = fail(BAD_INPUT, *of_small(small, tmp_path, **changed))
    assert text in message and str(tmp_path / "data.npz") in message


def test_init_from_a_folder(tmp_path, small):
    runs, other, out = (tmp_path / name for name in ("runs", "other", "out.npz"))
    mp_run(*of_small(small, tmp_path, f"--checkpoint={runs}", "-o", out))
    ends = []
    for init in (out, runs, *runs.glob("step-*2")):
        end = tmp_path / "end.npz"
        mp_run(*of_small(small, tmp_path, f"--init={init}", "-o", end))
        ends.append(np.load(end)["w"])
    assert len(ends) == 3 and all(np.array_equal(ends[0], end) for end in ends)
    other.mkdir()
    message = fail(BAD_INPUT, *of_small(small, tmp_path, f"--init={other}"))
    assert "expected a file with states or a folder with checkpoints" in message
    flags = (f"--checkpoint={runs}", "--resume", "--seed=7", "--steps=9")
    message = fail(BAD_INPUT, *of_small(small, tmp_path, *flags))
    assert "was made with seed = 0, now it is 7" in message
    assert f"--init={runs} and another --checkpoint begin a run" in message


def test_data_where_they_are_not_looked_for(tmp_path, small):
    data = save(tmp_path, {"x": ROWS})
    text = f"did you mean --data={data}?"
    assert text in fail(USAGE, "train", small, data)
    text = "is 'data.npz', which it has, meant?"
    assert text in fail(BAD_INPUT, "train", small, f"--data={tmp_path}")
    csv = tmp_path / "d.csv"
    csv.write_text("1,2\n")
    text = "numpy.loadtxt('d.csv', delimiter=',', dtype='float32')"
    assert text in fail(BAD_INPUT, "train", small, f"--data={csv}")
    message = fail(USAGE, *of_small(small, tmp_path, "-o", tmp_path / "out.pt"))
    assert "expected .safetensors or .npz, which safetensors.torch" in message


# -----------------------------------------------------------------------------
# Data of a resumed run
# -----------------------------------------------------------------------------


def manifest(folder):
    (path,) = (folder / "checkpoints").glob("step-*/manifest.json")
    return path, json.loads(path.read_text())


def run(folder, data, *flags, steps=10):
    checkpoints = f"--checkpoint={folder / 'checkpoints'}"
    return train(data, checkpoints, "--keep=1", *flags, steps=steps)


def change(arrays):
    name = next(n for n, a in arrays.items() if a.dtype == np.float32)
    changed = arrays[name].copy()
    changed.flat[-1] += 1
    return name, {**arrays, name: changed}


def test_other_data_are_refused(tmp_path, arrays):
    data = save(tmp_path, arrays)
    mp_run(*run(tmp_path, data))
    name, changed = change(arrays)
    save(tmp_path, changed)
    message = fail(BAD_INPUT, *run(tmp_path, data, "--resume"))
    assert "the checkpoint was made with other data" in message
    assert f"'{name}' has the same sizes" in message
    # The same elements in another file, of another time.
    mp_run(*run(tmp_path, save(tmp_path, arrays, "copy.npz"), "--resume"))
    os.utime(save(tmp_path, arrays), (1, 1))
    mp_run(*run(tmp_path, data, "--resume"))


def test_raw_data_are_compared(tmp_path):
    step = write_model(tmp_path, NARROW)
    raw = tmp_path / "x.bin"
    flags = (
        *("train", step, f"--raw=x:{raw}:int8[?]", "--batch=2", "--resume"),
        f"--checkpoint={tmp_path / 'checkpoints'}",
    )
    raw.write_bytes(bytes([1, 2, 3, 4]))
    mp_run(*flags)
    mp_run(*flags, "--steps=3")
    raw.write_bytes(bytes([1, 2, 3, 5]))
    assert "made with other data: 'x'" in fail(BAD_INPUT, *flags, "--steps=4")


def test_files_that_have_not_changed_are_not_read_again(tmp_path, arrays):
    """A file that hides its change shows that."""
    data = save(tmp_path, arrays)
    mp_run(*run(tmp_path, data))
    known = manifest(tmp_path)[1]
    status = data.stat()
    assert known["data_version"] == (
        f"{status.st_size}:{status.st_ino}:{status.st_mtime_ns}"
    )
    name, changed = change(arrays)
    save(tmp_path, changed)
    os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert data.stat().st_ino == status.st_ino
    mp_run(*run(tmp_path, data, "--resume", steps=11))
    assert manifest(tmp_path)[1]["data_blake3"] == known["data_blake3"]
    os.utime(data, (1, 1))
    message = fail(BAD_INPUT, *run(tmp_path, data, "--resume", steps=12))
    assert "made with other data" in message
