# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps: loops of one's own, states, checkpoints of mp-run."""

import copy
import math
import os
import pickle
import subprocess
import sys
import warnings

import mp_opt
import numpy
import pytest
from models import CLASSIFIER, write_classifier

MP_RUN = os.environ.get("MP_RUN", "mp-run")
ROWS = 8


def make_batch(seed=1, rows=ROWS):
    x = numpy.random.default_rng(seed).normal(size=(rows, 4)).astype("float32")
    return {"x": x, "labels": x[:, :3].argmax(1)}


@pytest.fixture(scope="module")
def step_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("step")
    output = folder / "step.onnx"
    mp_opt.train_step(
        write_classifier(folder), "softmax-cross-entropy", optimizer="adamw",
        lr=0.05, precision="fp16", output=output,
    )  # fmt: skip
    return output


@pytest.fixture
def step(step_path):
    return mp_opt.TrainingStep(step_path, dim={"batch": ROWS})


def test_it_learns(step):
    batch = make_batch()
    first = step.step(batch)
    assert set(first) >= {"loss", "scores"}
    for _ in range(60):
        last = step(batch)
    assert last["loss"] < first["loss"] / 4
    assert step.count == 61 and step.lr == pytest.approx(0.05)
    assert (last["scores"].argmax(1) == batch["labels"]).mean() > 0.8


def test_names_of_arguments(step):
    batch = make_batch()
    step.step(x=batch["x"], labels=batch["labels"])
    step.step({"x": batch["x"]}, labels=batch["labels"])
    assert step.count == 2
    assert {value.name for value in step.inputs} == {"x", "labels"}


def test_state_dicts(step):
    for _ in range(3):
        step.step(make_batch())
    parameters = step.state_dict()
    assert list(parameters) == [
        f"{layer}.{kind}"
        for layer in ("features.0", "features.1", "head")
        for kind in ("weight", "bias")
    ]
    optimizer = step.optimizer_state_dict()
    assert optimizer["step"] == 3
    assert set(optimizer["state"]["head.bias"]) == {"exp_avg", "exp_avg_sq"}
    scaler = step.scaler_state_dict()
    assert scaler == {"scale": 65536.0, "_growth_tracker": 3, "skipped_steps": 0}
    states = step.all_states()
    assert set(states) == {value.name for value in step.states}
    # Copies.
    parameters["head.bias"][:] = 9
    assert not (step.state_dict()["head.bias"] == 9).any()


def test_states_go_on_to_the_same_bits(step, step_path):
    batch = make_batch()
    for _ in range(3):
        step.step(batch)
    states = step.all_states()
    expected = [step.step(batch)["loss"] for _ in range(5)]
    other = mp_opt.TrainingStep(step_path, dim={"batch": ROWS})
    other.load_state_dict(states, strict=True, count=3)
    assert [other.step(batch)["loss"] for _ in range(5)] == expected
    assert other.count == 8


def test_load_state_dict_takes_a_part(step):
    weight = numpy.full((8, 3), 0.5, "float32")
    step.load_state_dict({"head.weight": weight})
    assert (step.state_dict()["head.weight"] == 0.5).all()
    with pytest.raises(mp_opt.Error, match="is missing"):
        step.load_state_dict({"head.weight": weight}, strict=True)
    with pytest.raises(mp_opt.Error, match="no state 'head.wieght'"):
        step.load_state_dict({"head.wieght": weight})
    for wrong in (weight[:2].copy(), weight.astype("float64")):
        with pytest.raises(mp_opt.Error, match="state 'head.weight': expected"):
            step.load_state_dict({"head.weight": wrong})
    assert (step.state_dict()["head.weight"] == 0.5).all()


@pytest.mark.parametrize("name", ["run", "states.safetensors", "states.npz"])
def test_files(step, step_path, tmp_path, name):
    path = tmp_path / name
    batch = make_batch()
    for _ in range(3):
        step.step(batch)
    step.save(path)
    expected = step.step(batch)["loss"]
    other = mp_opt.TrainingStep(step_path, dim={"batch": ROWS})
    other.load(path)
    assert other.step(batch)["loss"] == expected
    assert other.count == (4 if name == "run" else 1)
    shown = subprocess.run(
        [MP_RUN, "show", path], capture_output=True, text=True, check=True
    ).stdout
    assert "head.weight.exp_avg_sq" in shown


def test_checkpoints_are_kept(step, tmp_path):
    for _ in range(4):
        step.step(make_batch())
        step.save(tmp_path / "run", keep=2)
    assert sorted(os.listdir(tmp_path / "run")) == [
        "step-0000000003", "step-0000000004",
    ]  # fmt: skip


def test_goes_on_where_mp_run_stopped(step_path, tmp_path):
    """And mp-run starts with what was trained here."""
    batch = make_batch(rows=64)
    numpy.savez(tmp_path / "data.npz", **batch)
    arguments = [
        MP_RUN, "train", step_path, f"--data={tmp_path / 'data.npz'}",
        f"--batch={ROWS}", "--no-shuffle", "--quiet",
    ]  # fmt: skip

    def run(*more):
        subprocess.run([*arguments, *more], check=True, capture_output=True)

    run("--steps=5", f"--checkpoint={tmp_path / 'run'}")
    run("--steps=8", "-o", tmp_path / "end.safetensors")
    step = mp_opt.TrainingStep(step_path, dim={"batch": ROWS})
    step.load(tmp_path / "run")
    assert step.count == 5
    for place in range(5, 8):
        rows = slice(place * ROWS, (place + 1) * ROWS)
        step.step({name: value[rows] for name, value in batch.items()})
    other = mp_opt.TrainingStep(step_path)
    other.load(tmp_path / "end.safetensors")
    for name, value in other.all_states().items():
        assert numpy.array_equal(value, step.all_states()[name]), name
    step.save(tmp_path / "here.safetensors")
    run("--steps=1", f"--init={tmp_path / 'here.safetensors'}")


def test_schedules(step_path):
    step = mp_opt.TrainingStep(
        step_path, dim={"batch": ROWS}, lr=0.5, lr_schedule="cosine", steps=10,
        warmup=2,
    )  # fmt: skip
    rates = []
    for _ in range(10):
        step.step(make_batch())
        rates.append(step.lr)
    assert max(rates) == pytest.approx(0.5) and rates[-1] < 0.05
    step.step(make_batch(), lr=0.125)
    assert step.lr == 0.125
    with pytest.raises(mp_opt.UsageError, match=" steps"):
        mp_opt.TrainingStep(step_path, lr_schedule="linear")
    for wrong in (-1, math.inf, math.nan):
        with pytest.raises(mp_opt.Error, match="lr"):
            step.step(make_batch(), lr=wrong)


@pytest.mark.parametrize("change, message", [
    ({"labels": None}, "TypeError"),
    ({"x": numpy.ones((ROWS, 5), "float32")}, "expected float32[8,4], found"),
    ({"x": numpy.ones((ROWS, 4), "complex64")}, 'x.astype("float32")'),
    ({"x": numpy.full((ROWS, 4), 1e300)}, "with 1e+300 in row 0, column 0"),
    ({"x": numpy.ones((ROWS, 4)).astype(str)}, "TypeError"),
    ({"x": numpy.ones((ROWS, 2, 2), "float32")}, "x.reshape(-1, 4)"),
    ({"x": numpy.ones((2 * ROWS, 4), "float32")}, "x[:8] has the model's number of rows"),
    ({"x": numpy.ones((ROWS, 4, 1), "float32")}, "x.squeeze(2)"),
    ({"x": numpy.ones((4, ROWS), "float32")}, "x.T"),
    ({"labels": numpy.full(ROWS, 0.5)}, 'labels.astype("int64") rounds'),
    ({"labels": numpy.full(ROWS, numpy.nan)}, "with NaN in row 0"),
    ({"labels": numpy.eye(3)[numpy.zeros(ROWS, int)]}, "labels.argmax(1)"),
    ({"labels": numpy.zeros((ROWS, 1), int)}, "labels[:, 0]"),
    ({"labels": numpy.zeros(ROWS - 1, int)}, "expected int64[8], found int64[7]"),
    ({"labels": numpy.arange(ROWS) * 33 % 100}, "outside of the classes 0 to 2"),
    ({"labels": numpy.full(ROWS, -7)}, "the first is -7 in row 0"),
    ({"y": numpy.ones(3, "float32")}, "there is no input 'y'"),
    ({"head.bias": numpy.ones(3, "float32")}, "there is no input 'head.bias'"),
])  # fmt: skip
def test_wrong_batches(step, change, message):
    before = step.all_states()
    with pytest.raises((mp_opt.Error, TypeError)) as caught:
        step.step({**make_batch(), **change})
    if message != "TypeError":
        assert message in str(caught.value)
    with pytest.raises(mp_opt.Error):
        step.step({})
    assert step.count == 0
    # No step has begun.
    after = step.all_states()
    assert all(numpy.array_equal(before[n], after[n]) for n in before)
    step.step(make_batch())
    assert step.count == 1


def test_sizes_that_do_not_go_together(step_path):
    """Where they are open, a step shows it; its states are put back."""
    step = mp_opt.TrainingStep(step_path)
    batch = make_batch()
    step.step(batch)
    before = step.all_states()
    with pytest.raises(mp_opt.Error, match="batch is 8 in 'labels' and 3 in 'x'"):
        step.step(x=batch["x"][:3], labels=batch["labels"])
    after = step.all_states()
    assert all(numpy.array_equal(before[n], after[n]) for n in before)
    step.step(batch)
    assert step.count == 2


@pytest.mark.parametrize("kind", ["float64", "float16", "int8", "uint64", "bool"])
@pytest.mark.parametrize("name", ["x", "labels"])
def test_types_become_those_of_inputs(step_path, name, kind):
    ends = []
    batch = make_batch()
    batch["x"] = numpy.sign(numpy.abs(batch["x"]) - 0.5).clip(0)
    batch["labels"] = batch["labels"].clip(0, 1)
    for given in (batch, batch | {name: batch[name].astype(kind)}):
        step = mp_opt.TrainingStep(step_path, dim={"batch": ROWS})
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                step.step(given)
        ends.append(step.all_states())
        # Once for each input.
        to = {"x": "float32", "labels": "int64"}[name]
        expected = [f"'{name}': {kind} becomes {to}"] if given is not batch else []
        assert [str(w.message).split("onnx: ")[-1] for w in told] == expected
    assert all(numpy.array_equal(ends[0][n], ends[1][n]) for n in ends[0])


def test_copies_of_what_is_compiled(step):
    program = mp_opt.compile(CLASSIFIER)
    for made, text in ((step, "keep the step's path and all_states"),
                       (program, "keep the model")):  # fmt: skip
        for call in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match=text):
                call(made)
    assert copy.copy(program).inputs == program.inputs


def test_a_batch_is_forgotten(step):
    step.step(make_batch())
    with pytest.raises(mp_opt.Error, match="is missing"):
        step.step(x=make_batch()["x"])


def test_no_training_step():
    with pytest.raises(mp_opt.Error, match="it is not a training step"):
        mp_opt.TrainingStep(CLASSIFIER)


def test_checkpoints_of_others(step, step_path, tmp_path):
    step.step(make_batch())
    step.save(tmp_path / "run")
    other = mp_opt.train_step(CLASSIFIER, "mse").SerializeToString()
    with pytest.raises(mp_opt.Error, match="belongs to another model"):
        mp_opt.TrainingStep(other).load(tmp_path / "run")
    for name, content in (("a.npz", b"PK"), ("b.safetensors", b"\xff" * 64)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(mp_opt.Error, match=name):
            step.load(tmp_path / name)
    manifest = tmp_path / "run/step-0000000001/manifest.json"
    manifest.write_text("{")
    with pytest.raises(mp_opt.Error, match="corrupt checkpoint"):
        step.load(tmp_path / "run")
    with pytest.raises(mp_opt.Error):
        step.save("/proc/no/such")
    with pytest.raises(mp_opt.UsageError):
        step.save(tmp_path / "run", keep=0)
    assert step.count == 1


MAPPED = """
import ctypes
import sys

import mp_opt

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, *3 * [ctypes.c_int], ctypes.c_long
]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def reserve(size):
    private, anonymous, without_swap = 0x2, 0x20, 0x4000
    return libc.mmap(None, size, 0, private | anonymous | without_swap, -1, 0)


giga, kilo = 1 << 30, 1 << 10
lowest = reserve(3 * giga)
for size in (1024, 256, 64, 16, 4):
    while (at := reserve(size * kilo)) > lowest:
        pass
    libc.munmap(at, size * kilo)
for size in 12 * (32, 64):
    at = reserve(3 * giga + size * kilo)
    libc.munmap(at + 3 * giga, size * kilo)
step = mp_opt.TrainingStep(sys.argv[1], dim={"batch": 8})
print(len(step.state_dict()))
"""


def test_room_in_pieces(step_path, tmp_path):
    """Where the gaps between what a process has mapped are small, and 3 GB apart,
    the parts of a program reach each other."""
    done = subprocess.run(
        [sys.executable, "-c", MAPPED, step_path], capture_output=True, text=True,
        env={**os.environ, "MPOPT_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4
