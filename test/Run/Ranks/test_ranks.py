# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpiexec -n N mp-run train: N ranks come to the bits of one that accumulates
N batches, and whatever one of them meets ends all of them."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import onnx
import onnx_models
import pytest
from onnx import helper, numpy_helper
from ranks import ENVIRONMENT, LAUNCHERS, find_launcher, launch, launcher, lose_rank
from ranks import make_data, make_model, make_steps, refuse, train
from runs import BAD_INPUT, MP_RUN, attempt, command, load_safetensors
from runs import mp_run, read_log
from support import MP_OPT, run_mp_opt

# EX_TEMPFAIL, of a rank that waits in vain.
TIMED_OUT = 75

CASES = {
    "sgd": (),
    "adamw": ("--optimizer=adamw",),
    "clipped": ("--optimizer=momentum", "--clip-norm=0.1"),
    "bf16": ("--optimizer=adamw", "--mixed-bf16"),
    "fp16": ("--optimizer=adamw", "--mixed-fp16"),
    "dropout": ("--optimizer=adamw",),
}


@pytest.mark.parametrize("case", CASES)
def test_bits_of_one(tmp_path, launcher, case):
    """In fp16 one rank's batch overflows: all skip that step."""
    ranks, steps = 4, 200
    model = make_model(tmp_path, dropout=case == "dropout")
    step, one = make_steps(tmp_path, model, ranks, *CASES[case])
    data = make_data(
        tmp_path, 10 * ranks, overflow=[3 * ranks + 1] if case == "fp16" else []
    )
    threads = 1 + (case in ("adamw", "dropout"))
    found = train(
        launcher, ranks, step, data, tmp_path / "r.safetensors", "--quiet",
        f"--steps={steps}", f"--threads={threads}", f"--log={tmp_path / 'log'}",
    )
    mp_run(
        "train", one, f"--data={data}", f"--steps={ranks * steps}", "--quiet",
        "-o", tmp_path / "o.safetensors",
    )
    expected = load_safetensors(tmp_path / "o.safetensors")
    assert len(found) >= 4
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    log = read_log(tmp_path / "log")
    assert len(log) == steps
    assert log[-1]["loss"] < log[0]["loss"]
    if case == "fp16":
        assert log[-1]["skipped"] >= 1


def test_accumulation(tmp_path, launcher):
    """Ranks add up batches, and reduce the sum where they make an update."""
    model, data = make_model(tmp_path), make_data(tmp_path, 16)
    results, sent = [], []
    for ranks, accumulate in ((2, 4), (1, 8)):
        step = tmp_path / ("two.mlirbc" if ranks == 2 else "one.mlirbc")
        run_mp_opt(
            model, "--train", "--loss=softmax-cross-entropy", "--optimizer=adamw",
            "--summary=none", "--mixed-fp16", f"--accumulate={accumulate}",
            "--distribute", "-o", step,
        )
        out = tmp_path / "o.safetensors"
        done = launch(
            launcher, ranks, "train", step, f"--data={data}", "-o", out, "--quiet",
            "--json", f"--steps={6 * accumulate}",
        )
        assert done.returncode == 0, done.stderr
        results.append(load_safetensors(out))
        sent.append(json.loads(done.stdout).get("sent_bytes"))
    # Within a window, each rank has its own sums until they are saved.
    for steps in (7, 24):
        resumed = train(
            launcher, 2, tmp_path / "two.mlirbc", data, tmp_path / "r.safetensors",
            "--quiet", f"--checkpoint={tmp_path / 'c'}", "--resume", f"--steps={steps}",
        )
    for name, value in resumed.items():
        np.testing.assert_allclose(
            value, results[0][name], rtol=1e-5, atol=1e-7, err_msg=name
        )
    # Sums of sums: as near as another order of terms.
    for name, value in results[0].items():
        np.testing.assert_allclose(
            value, results[1][name], rtol=1e-4, atol=1e-5, err_msg=name
        )
    # The loss in each step, gradients in six of them.
    gradients = 4 * (4 * 16 + 16 + 16 * 3)
    assert 6 * gradients < sent[0] < 6 * gradients + 24 * 64


def test_running_statistics(tmp_path, launcher):
    """Are the means over ranks: of two ranks with the same rows, what one has,
    and of others, the mean of what each alone would have."""
    text = """
<ir_version: 9, opset_import: ["" : 21]>
net (float[n,3,4,4] x) => (float[n,2] y)
<float[3] scale = {1, 1, 1}, float[3] bias = {0, 0, 0}, float[3] mean = {0, 0, 0},
 float[3] var = {1, 1, 1}, float[3,2] w = {1, 2, 3, 4, 5, 6}>
{
  z, mean_out, var_out = BatchNormalization<training_mode = 1>(x, scale, bias, mean, var)
  p = GlobalAveragePool(z)
  f = Flatten(p)
  y = MatMul(f, w)
}
"""
    model, step = tmp_path / "m.onnxtxt", tmp_path / "step.mlirbc"
    model.write_text(text)
    run_mp_opt(
        model, "--train", "--loss=mse", "--distribute", "--summary=none", "-o", step
    )
    x = np.random.default_rng(3).standard_normal((2, 8, 3, 4, 4)).astype("f") * 2 + 1
    labels = np.zeros((2, 8, 2), "f")
    found = {}
    for name, ranks, batches in (("both", 2, x), ("0", 1, x[:1]), ("1", 1, x[1:])):
        data, out = tmp_path / f"{name}.npz", tmp_path / f"{name}.safetensors"
        np.savez(data, x=batches, labels=labels[: len(batches)])
        done = launch(
            launcher, ranks, "train", step, f"--data={data}", "-o", out, "--quiet"
        )
        assert done.returncode == 0, done.stderr
        found[name] = load_safetensors(out)
    for name in ("mean", "var"):
        mean = (found["0"][name] + found["1"][name]) / 2
        np.testing.assert_allclose(found["both"][name], mean, rtol=1e-6)
        assert (found["0"][name] != found["1"][name]).all()


def test_rows_are_shared(tmp_path, launcher):
    """Each rank has rows of its own, in one order for all, and the loss is the
    mean."""
    model = make_model(tmp_path)
    step, _ = make_steps(tmp_path, model, 2)
    one = tmp_path / "alone.onnx"
    run_mp_opt(
        model, "--train", "--loss=softmax-cross-entropy", "--summary=none",
        "-o", one,
    )
    random = np.random.default_rng(2)
    x = random.standard_normal((67, 4)).astype("f")
    np.savez(tmp_path / "rows.npz", x=x, labels=x[:, :3].argmax(1))
    common = (f"--data={tmp_path / 'rows.npz'}", "--epochs=3", "--quiet", "--lr=0")
    logs = {}
    for name, ranks, file, batch in (("two", 2, step, 8), ("one", 1, one, 16)):
        logs[name] = tmp_path / f"{name}.log"
        done = launch(
            launcher, ranks, "train", file, *common, f"--batch={batch}",
            f"--log={logs[name]}",
        )
        assert done.returncode == 0, done.stderr
    found, expected = (read_log(logs[name]) for name in ("two", "one"))
    assert len(found) == len(expected) == 3 * 4
    np.testing.assert_allclose(
        [r["loss"] for r in found], [r["loss"] for r in expected], rtol=1e-5
    )


def test_overlap(tmp_path):
    """While the backward pass goes on, gradients are sent, though the network
    is slower than memory."""
    launcher = find_launcher("openmpi")
    random, layers, size = np.random.default_rng(0), 12, 1024
    nodes, weights = [], []
    for i in range(layers):
        value = random.standard_normal((size, size)).astype("f") / 32
        weights.append(numpy_helper.from_array(value, f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [f"a{i}", f"w{i}"], [f"h{i}"]),
            helper.make_node("Relu", [f"h{i}"], [f"a{i + 1}"]),
        ]
    sizes = ["batch", size]
    onnx.save(
        onnx_models.make_model(
            nodes, {"a0": sizes}, {f"a{layers}": sizes}, weights, opset=21, ir=9
        ),
        tmp_path / "m.onnx",
    )
    step = tmp_path / "step.mlirbc"
    run_mp_opt(
        tmp_path / "m.onnx", "--train", "--loss=mse", "--distribute",
        "--summary=none", "-o", step,
    )
    x = random.standard_normal((2048, size)).astype("f")
    np.savez(tmp_path / "data.npz", a0=x, labels=np.abs(x))
    shares = []
    # Others use the machine, too.
    for _ in range(3):
        done = launch(
            launcher, 2, "train", step, f"--data={tmp_path / 'data.npz'}",
            "--batch=512", "--steps=6", "--threads=1", "--json", "--quiet",
            env={**ENVIRONMENT, "MPOPT_TEST_SECONDS_PER_BYTE": "5e-10"},
        )
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        bytes_sent = 6 * layers * size * size * 4
        assert bytes_sent < result["sent_bytes"] < 1.01 * bytes_sent
        assert result["ranks"] == 2 and result["send_seconds"] > 5e-10 * bytes_sent
        shares.append(result["exposed_seconds"] / result["send_seconds"])
        if shares[-1] < 0.4:
            return
    assert min(shares) < 0.4, shares


def test_bf16_between_ranks(tmp_path, launcher):
    """Half of the bytes, and what rounding explains: two roundings of 2^-9 of
    each gradient."""
    model = make_model(tmp_path)
    step, _ = make_steps(tmp_path, model, 2, "--optimizer=momentum:momentum=0")
    data = make_data(tmp_path, 2)
    results, sent = {}, {}
    for wire in ("fp32", "bf16"):
        out = tmp_path / f"{wire}.safetensors"
        done = launch(
            launcher, 2, "train", step, f"--data={data}", "-o", out, "--quiet",
            "--json", f"--wire={wire}",
        )
        assert done.returncode == 0, done.stderr
        results[wire] = load_safetensors(out)
        sent[wire] = json.loads(done.stdout)["sent_bytes"]
    assert sent["bf16"] < 0.6 * sent["fp32"]
    # After one step, the velocity equals the gradient.
    for name in ("w1.velocity", "w2.velocity"):
        exact, found = results["fp32"][name], results["bf16"][name]
        error = np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2))
        assert 0 < error < 3e-3


def test_one_rank_needs_no_mpi(tmp_path):
    """A distributed step trains alone, too."""
    model = make_model(tmp_path)
    step, _ = make_steps(tmp_path, model, 2, "--optimizer=adamw")
    alone = tmp_path / "alone.onnx"
    run_mp_opt(
        model, "--train", "--loss=softmax-cross-entropy", "--summary=none",
        "--optimizer=adamw", "-o", alone,
    )
    data = make_data(tmp_path, 10)
    results = []
    for file in (step, alone):
        out = tmp_path / "o.safetensors"
        mp_run("train", file, f"--data={data}", "-o", out, "--quiet")
        results.append(load_safetensors(out))
    for name, value in results[0].items():
        np.testing.assert_array_equal(value, results[1][name])


def test_resume(tmp_path, launcher):
    """With as many ranks, to the same bits; only the first one writes."""
    model = make_model(tmp_path, dropout=True)
    step, _ = make_steps(tmp_path, model, 2, "--optimizer=adamw")
    data = make_data(tmp_path, 12)
    whole = train(
        launcher, 2, step, data, tmp_path / "w.safetensors", "--steps=9", "--quiet"
    )
    for steps in (4, 9):
        resumed = train(
            launcher, 2, step, data, tmp_path / "r.safetensors", "--quiet",
            f"--checkpoint={tmp_path / 'c'}", "--resume", f"--steps={steps}",
        )
    for name, value in whole.items():
        np.testing.assert_array_equal(value, resumed[name])


def test_resume_elsewhere(tmp_path):
    """What four ranks have begun, two go on with that accumulate two batches,
    and one that accumulates four: the same rows in each update."""
    launcher = find_launcher("openmpi")
    model = make_model(tmp_path)
    random = np.random.default_rng(2)
    x = random.standard_normal((130, 4)).astype("f")
    np.savez(tmp_path / "rows.npz", x=x, labels=x[:, :3].argmax(1))
    steps = {}
    for accumulate in (1, 2, 4):
        steps[accumulate] = tmp_path / f"{accumulate}.mlirbc"
        run_mp_opt(
            model, "--train", "--loss=softmax-cross-entropy", "--summary=none",
            "--optimizer=adamw", "--clip-norm=0.1", f"--accumulate={accumulate}",
            "--distribute", "-o", steps[accumulate],
        )

    def go_on(folder, accumulate, count, batch=4):
        return launch(
            launcher, 4 // accumulate, "train", steps[accumulate], f"--batch={batch}",
            f"--data={tmp_path / 'rows.npz'}", f"--steps={count}", "--quiet",
            f"--checkpoint={folder}", "--resume", "-o", tmp_path / "o.safetensors",
        )

    results = {}
    for accumulate in (1, 2, 4):
        folder = tmp_path / f"c{accumulate}"
        for many, count in ((1, 5), (accumulate, 20 * accumulate)):
            done = go_on(folder, many, count)
            assert done.returncode == 0, done.stderr
        said = "the checkpoint was made with another step, of 16 rows; this one takes"
        assert (said in done.stderr) == (accumulate > 1)
        results[accumulate] = load_safetensors(tmp_path / "o.safetensors")
    for accumulate in (2, 4):
        for name, value in results[1].items():
            np.testing.assert_allclose(
                value, results[accumulate][name], rtol=1e-4, atol=1e-6, err_msg=name
            )
    # A step of more rows is refused if its count would not match the
    # checkpoint: within a window, if epochs have other rows, or for another
    # model.
    assert go_on(tmp_path / "within", 2, 3).returncode == 0
    # All steps are done: the current states are written.
    done = go_on(tmp_path / "c2", 2, 40)
    assert done.returncode == 0, done.stderr
    run_mp_opt(
        make_model(tmp_path, "other.onnx", hidden=17), "--train", "--distribute",
        "--loss=softmax-cross-entropy", "--optimizer=adamw", "--summary=none",
        "-o", tmp_path / "other.mlirbc",
    )
    steps[0.5] = tmp_path / "other.mlirbc"
    for folder, accumulate, batch, message in (
        ("within", 1, 4, "within a window of accumulated batches"),
        ("c4", 1, 4, "steps of 16 rows do not continue with the same rows; expected a"),
        ("c1", 2, 5, "do not continue with the same rows"),
        ("c1", 0.5, 4, "belongs to another model"),
    ):
        ranks = {1: 4, 2: 2, 0.5: 2}[accumulate]
        done = launch(
            launcher, ranks, "train", steps[accumulate], f"--batch={batch}", "--steps=50",
            f"--data={tmp_path / 'rows.npz'}", f"--checkpoint={tmp_path / folder}",
            "--resume", "--quiet",
        )
        assert done.returncode == BAD_INPUT
        assert done.stderr.count(message) == 1, done.stderr


def test_averages(tmp_path, launcher):
    """What the first rank alone writes is no difference between ranks."""
    step, _ = make_steps(
        tmp_path, make_model(tmp_path), 2, "--average=ema:decay=0.5"
    )
    data = make_data(tmp_path, 8)
    plain, averages = (
        train(launcher, 2, step, data, tmp_path / "o.safetensors", "--quiet", *flags)
        for flags in ((), ("--average", f"--validation={data}"))
    )
    np.testing.assert_array_equal(averages["w1"], plain["w1.ema"])
    assert (averages["w1"] != plain["w1"]).any()


def test_stop_file(tmp_path, launcher):
    """All ranks end after the same step, with a checkpoint."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data, folder = make_data(tmp_path, 10), tmp_path / "c"
    common = ("train", step, f"--data={data}", f"--checkpoint={folder}", "--quiet")
    with subprocess.Popen(
        [launcher, "-n", "2", *command(*common, "--steps=10000000")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
    ) as run:
        deadline = time.time() + 60
        while time.time() < deadline and not list(folder.glob("*")):
            time.sleep(0.1)
        (folder / "stop").touch()
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    assert not (folder / "stop").exists()
    again = launch(launcher, 2, *common, "--resume", "--steps=1", "--json")
    assert again.returncode == 0, again.stderr


def test_steps_that_reduce_nothing(tmp_path, launcher):
    step, one = make_steps(tmp_path, make_model(tmp_path), 2)
    data = make_data(tmp_path, 4)
    message = refuse(launcher, 2, "train", one, f"--data={data}")
    assert "reduces nothing over ranks" in message and "--distribute" in message


def test_wrong_usage(tmp_path, launcher):
    """Said once, though all have the same command line."""
    done = launch(launcher, 2, "train", "step.mlirbc", "--data=x.npz", "--tiemout=3")
    lines = [l for l in done.stderr.splitlines() if l.startswith("mp-run train:")]
    assert done.returncode != 0 and len(lines) == 1 and "--timeout" in lines[0]


def test_too_few_rows(tmp_path, launcher):
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data = make_data(tmp_path, 1)
    message = refuse(launcher, 2, "train", step, f"--data={data}")
    assert "1 batches, less than one for each of 2 ranks" in message


def test_ranks_that_differ(tmp_path, launcher):
    """Another step, other data, or none: one message, before the first step."""
    model = make_model(tmp_path)
    step, _ = make_steps(tmp_path, model, 2)
    other = tmp_path / "other"
    other.mkdir()
    other_step, _ = make_steps(other, model, 2, "--weight-decay=0.1")
    data = make_data(tmp_path, 4)
    other_data = make_data(other, 4, overflow=[2])
    missing = other / "missing.npz"
    for file, values, expected in (
        (f"{step} --wire=bf16", data, "something else: wire = bf16; rank 0 has wire = fp32"),
        (other_step, data, "rank 1 is about to do something else: training step"),
        (step, other_data, "something else: elements of 'x'"),
        (step, missing, "rank 1: "),
    ):
        text = (
            'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; '
            f"then exec {MP_RUN} train {file} --data={values}; "
            f"else exec {MP_RUN} train {step} --data={data}; fi"
        )
        done = subprocess.run(
            [launcher, "-n", "2", "sh", "-c", text], capture_output=True,
            text=True, timeout=60, env=ENVIRONMENT,
        )
        lines = [l for l in done.stderr.splitlines() if l.startswith("mp-run train:")
                 and "error" in l]
        assert done.returncode == BAD_INPUT and len(lines) == 1, done.stderr
        assert expected in lines[0]


def test_torchrun(tmp_path):
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data = make_data(tmp_path, 4)
    environment = {
        **os.environ, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"
    }
    done = attempt("train", step, f"--data={data}", env=environment)
    assert done.returncode == BAD_INPUT and "mpiexec -n N" in done.stderr
    mp_run("train", step, f"--data={data}", "--ranks=1", env=environment)
    done = attempt("train", step, f"--data={data}", "--ranks=3")
    assert done.returncode == BAD_INPUT and "mpiexec -n 3" in done.stderr


def test_other_library(tmp_path):
    """Of another MPI than the launcher's, each process is a run of its own."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data = make_data(tmp_path, 4)
    for name, library in (
        ("openmpi", "libmpich.so.12"), ("mpich", "libmpi.so.40")
    ):
        launcher = find_launcher(name)
        message = refuse(
            launcher, 2, "train", step, f"--data={data}",
            env={**ENVIRONMENT, "MPOPT_MPI_LIBRARY": library},
        )
        assert "the launcher has started 2 processes" in message
        assert "sees 1" in message
    message = refuse(
        launcher, 2, "train", step, f"--data={data}",
        env={**ENVIRONMENT, "MPOPT_MPI_LIBRARY": "libnone.so.1"},
    )
    assert "there is no MPI library (libnone.so.1)" in message


def test_onnx_has_no_collectives(tmp_path):
    model = make_model(tmp_path)
    out = tmp_path / "step.onnx"
    done = subprocess.run(
        [MP_OPT, model, "--train", "--loss=softmax-cross-entropy", "--distribute",
         "-o", out],
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 1 and "--optimizer=none" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    "rank, number", [(0, signal.SIGKILL), (2, signal.SIGKILL), (1, signal.SIGSTOP)]
)
def test_lost_ranks(tmp_path, launcher, rank, number):
    """All others end, within the time limit and some seconds."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 3)
    data = make_data(tmp_path, 30)
    errors = lose_rank(launcher, 3, step, data, rank, number)
    if number == signal.SIGSTOP:
        assert "no answer from other ranks for 3 s (--timeout)" in errors


def test_states_that_part(tmp_path, launcher):
    """A flipped bit on one rank is found, and named."""
    step, _ = make_steps(tmp_path, make_model(tmp_path), 2)
    data = make_data(tmp_path, 10)
    environment = {**ENVIRONMENT, "MPOPT_TEST_FLIP": "rank=1,step=37,state=w2"}
    message = refuse(
        launcher, 2, "train", step, f"--data={data}", "--steps=150", "--quiet",
        env=environment,
    )
    # The end of an epoch, at which states may be kept.
    assert "after step 40, rank 1 has other states than rank 0: 'w2'" in message
