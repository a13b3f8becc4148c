# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run bench --dry-run: what a model moves and computes on a GPU, counted."""

import json
import os
import re
import sys

import onnx
import pytest

from driver_double import DOUBLE, needs_double
from runs import MODELS, NOT_COMPILED, ROOT, USAGE, attempt, make_step
from runs import mp_run, run_mp_opt, write_model

sys.path.insert(0, str(ROOT / "benchmarks"))
from make_models import encoder  # noqa: E402

DRY = ("--device=cuda:h200", "--dry-run")


def estimate(model, *flags, device="h200"):
    flags = (f"--device=cuda:{device}", "--dry-run", "--json", *flags)
    return json.loads(mp_run("bench", model, *flags).stdout)


def only(figures, kind):
    """What its one launch of this kind counts."""
    assert figures["kinds"].keys() == {kind}
    assert figures["total"]["launches"] == 1 and not figures["total"]["copies"]
    return figures["kinds"][kind]


def test_map(tmp_path):
    """A broadcast operand is read once, whatever reads it again."""
    net = """
    net (float[4,8] x, float[8] b) => (float[4,8] y)
    { sum = Add(x, b)  y = Mul(sum, x) }
    """
    counts = only(estimate(write_model(tmp_path, net)), "map")
    assert counts["read_bytes"] == 4 * 8 * 4 + 8 * 4
    assert counts["written_bytes"] == 4 * 8 * 4
    assert counts["operations"] == 2 * 4 * 8
    assert counts["other_multiply_adds"] == counts["fp64_operations"] == 0


def test_parts_of_tensors(tmp_path):
    """Two columns out of eight are 16 numbers of 64."""
    net = """
    net (float[8,8] x) => (float[8,2] y)
    <int64[1] begin = {2}, int64[1] end = {4}, int64[1] axis = {1}>
    { part = Slice(x, begin, end, axis)  y = Neg(part) }
    """
    counts = only(estimate(write_model(tmp_path, net)), "map")
    assert counts["read_bytes"] == counts["written_bytes"] == 4 * 16
    assert counts["operations"] == 16


def test_rows_that_data_choose(tmp_path):
    """At most those that are read, and not all of the table."""
    net = """
    net (float[1000,16] table, int64[5] ids) => (float[5,16] y)
    { y = Gather(table, ids) }
    """
    total = estimate(write_model(tmp_path, net))["total"]
    assert total["read_bytes"] == 5 * 16 * 4 + 5 * 8
    assert total["written_bytes"] == 5 * 16 * 4


@pytest.mark.parametrize("kind, key", [
    ("float", "other_multiply_adds"),
    ("bfloat16", "tensor_multiply_adds"),
])
def test_product(tmp_path, kind, key):
    net = f"""
    net ({kind}[64,128] x, {kind}[128,32] w) => ({kind}[64,32] y)
    {{ y = MatMul(x, w) }}
    """
    counts = only(estimate(write_model(tmp_path, net)), "product")
    size = 4 if kind == "float" else 2
    assert counts["read_bytes"] == size * (64 * 128 + 128 * 32)
    assert counts["written_bytes"] == size * 64 * 32
    assert counts[key] == 64 * 128 * 32
    keys = {"other_multiply_adds", "tensor_multiply_adds"} - {key}
    assert counts[keys.pop()] == 0


def test_tf32_takes_twice_the_time(tmp_path):
    net = """
    net (float[64,128] x, float[128,32] w) => (float[64,32] y)
    { y = MatMul(x, w) }
    """
    model = write_model(tmp_path, net)
    counts = only(estimate(model, "--fp32-products=tf32"), "product")
    assert counts["tensor_multiply_adds"] == 2 * 64 * 128 * 32
    assert counts["other_multiply_adds"] == 0


def test_convolution(tmp_path):
    """Images and filters are read once; padding is not read."""
    net = """
    net (float[2,3,16,16] x, float[8,3,3,3] w) => (float[2,8,16,16] y)
    { y = Conv<pads = [1, 1, 1, 1]>(x, w) }
    """
    total = estimate(write_model(tmp_path, net))["total"]
    assert total["read_bytes"] == 4 * (2 * 3 * 16 * 16 + 8 * 3 * 3 * 3)
    assert total["written_bytes"] == 4 * 2 * 8 * 16 * 16
    assert total["other_multiply_adds"] == 2 * 8 * 16 * 16 * 3 * 9


def test_update(tmp_path):
    """States are read and written; the loss is a sum of what is written."""
    step = """
    step (float[4] x, float[4] w) => (float loss, float[4] w_new)
    <float[4] w = {1, 2, 3, 4}, int64[1] axes = {0}>
    { w_new = Sub(w, x)  loss = ReduceSum<keepdims = 0>(w_new, axes) }
    """
    figures = estimate(write_model(tmp_path, step), "--in-place")
    assert figures["state_bytes"] == 16
    assert figures["input_bytes"] == 32 and figures["output_bytes"] == 4
    counts = figures["kinds"]["update"]
    assert counts["launches"] == 1
    # Few elements are one block, the loss is its own.
    assert counts["read_bytes"] == 32 and counts["written_bytes"] == 16 + 4
    assert counts["operations"] == 4 + 4


def test_times(tmp_path):
    """Each launch takes what its bytes or its operations take."""
    net = """
    net (bfloat16[256,256] x, bfloat16[256,256] w) => (float[256,256] y)
    { p = MatMul(x, w)  z = Cast<to = 1>(p)  q = Softmax(z)  y = Exp(q) }
    """
    figures = estimate(write_model(tmp_path, net))
    bandwidth, tensor, rate = 4.8e12, 989e12, 67e12
    for launch in figures["launches"]:
        moved = launch["read_bytes"] + launch["written_bytes"]
        floats = 2 * launch["other_multiply_adds"] + launch["operations"]
        expected = max(
            moved / bandwidth,
            2 * launch["tensor_multiply_adds"] / tensor,
            floats / rate,
        )
        assert launch["seconds"] == pytest.approx(expected, rel=1e-9)
    work = sum(launch["seconds"] for launch in figures["launches"])
    total = figures["total"]
    assert total["seconds"] == pytest.approx(work, rel=1e-9)
    kinds = [kind["seconds"] for kind in figures["kinds"].values()]
    assert sum(kinds) == pytest.approx(work, rel=1e-9)
    count = total["launches"] + total["copies"]
    assert count == len(figures["launches"])
    more = figures["graph_seconds"] + count * figures["launch_seconds"]
    assert figures["seconds"] == pytest.approx(work + more, rel=1e-9)


def test_data_say_sizes(tmp_path):
    model = write_model(
        tmp_path, "net (float[n] x) => (float[n] y) { y = Neg(x) }"
    )
    figures = estimate(model, "--dim=n=1000")
    assert figures["input_bytes"] == 4000
    assert estimate(model, "--random")["input_bytes"] == 4 * 32
    done = attempt("bench", model, *DRY)
    assert done.returncode == NOT_COMPILED
    assert "--dim=NAME=SIZE" in done.stderr, done.stderr


def test_memory(tmp_path):
    """Of what is known while compiling, and nothing of it is allocated."""
    model = write_model(
        tmp_path, "net (float[n] x) => (float[n] y) { y = Neg(x) }"
    )
    least, most = 10**9, 10**10
    for size, fits in (least, True), (most, False):
        figures = estimate(model, f"--dim=n={size}", device="l4")
        assert figures["memory_bytes"] == 8 * size
        assert figures["fits"] is fits
    text = mp_run("bench", model, f"--dim=n={most}", *DRY).stdout
    assert re.search(r"^memory +80 GB of 141 GB: fits$", text, re.M), text


def count_multiply_adds(figures):
    total = figures["total"]
    return total["tensor_multiply_adds"] + total["other_multiply_adds"]


def count_bytes(figures):
    return figures["total"]["read_bytes"] + figures["total"]["written_bytes"]


def only_casts(launch):
    counts = "operations", "tensor_multiply_adds", "other_multiply_adds"
    return "(Cast-" in launch["node"] and not any(map(launch.get, counts))


# Launches that a bf16 step may have more than that in fp32, since other ones are
# merged where memory is used again; those that only cast; and those that write
# over states. More of them are a step back.
@pytest.mark.parametrize("name, more, casts, updates", [
    ("mlp784", 0, 0, 2), ("bert2_op17", 2, 1, 1), ("resnet8", 5, 0, 2),
])
def test_steps(name, more, casts, updates):
    fp32, bf16 = (
        estimate(
            make_step(name, "adamw", *flags), "--dim=batch=8", "--in-place"
        )
        for flags in ((), ("--mixed-bf16",))
    )
    assert bf16["total"]["launches"] <= fp32["total"]["launches"] + more
    assert sum(map(only_casts, bf16["launches"])) <= casts
    assert count_bytes(bf16) < count_bytes(fp32)
    # Attention computes its scores once more in each of its gradient's passes.
    again = sum(
        launch["tensor_multiply_adds"] for launch in bf16["launches"]
        if launch["kernel"].startswith("attention")
    )
    products = count_multiply_adds(bf16) - count_multiply_adds(fp32)
    assert 0 <= products <= again / 2
    for figures, copies in (fp32, 0), (bf16, 1 / 6):
        update = figures["kinds"]["update"]
        assert update["launches"] <= updates
        # Parameters, and two moments of each; 16-bit copies of parameters that
        # products read; little else is written there.
        states = figures["state_bytes"]
        most = 1.05 * (1 + copies) * states
        assert states <= update["written_bytes"] < most


def test_outputs_that_training_does_not_read(tmp_path):
    """With --in-place a step is called as in training: its logits are not
    written. Other models have all of their outputs, with any name."""
    step = make_step("mlp784", "adamw")
    all_outputs = estimate(step, "--dim=batch=8")
    trained = estimate(step, "--dim=batch=8", "--in-place")
    states = trained["state_bytes"]
    assert all_outputs["output_bytes"] == states + 4 + 8 * 10 * 4
    assert trained["output_bytes"] == 4
    net = "net (float[8] x) => (float[8] loss, float[8] y)"
    net += " { loss = Neg(x)  y = Abs(x) }"
    other = estimate(write_model(tmp_path, net), "--in-place")
    assert other["output_bytes"] == 2 * 8 * 4


def test_a_transformer_step(tmp_path):
    """6 layers of width 512, with biases, a mask and heads of 64. More launches
    than these are a step back."""
    model, step = tmp_path / "model.onnx", tmp_path / "step.onnx"
    onnx.save(encoder(6, 512, 1000), model)
    flags = ("--train", "--loss=softmax-cross-entropy", "--optimizer=adamw")
    run_mp_opt(model, *flags, "--mixed-bf16", "--summary=none", "-o", step)
    figures = estimate(step, "--dim=batch=16", "--in-place")
    total = figures["total"]
    assert total["launches"] + total["copies"] <= 169
    assert figures["kinds"]["update"]["launches"] == 1
    # Each layer has 12 products of 512 x 512, and two of all tokens for
    # attention; a gradient takes two more. Scores are computed for the first
    # token only. The gradient of attention computes three products again.
    tokens = 16 * 128
    layer = tokens * (12 * 512 * 512 + 2 * 128 * 512)
    scores = 16 * 512 * 2
    again = 6 * tokens * 3 * 128 * 512
    assert count_multiply_adds(figures) == 3 * (6 * layer + scores) + again
    assert total["other_multiply_adds"] <= 3 * scores


def make_biases(folder, count):
    """A model of one product and many small parameters."""
    names = [f"b{i}" for i in range(count)]
    text = "net (float[N,4] x) => (float[N,4] y) <float[4,4] w = {%s}, %s> {" % (
        ", ".join(["0.5"] * 16),
        ", ".join(f"float[4] {name} = {{1, 2, 3, 4}}" for name in names),
    )
    text += " h = MatMul(x, w)"
    last = "h"
    for index, name in enumerate(names):
        result = "y" if index == count - 1 else f"h{index}"
        text += f" {result} = Add({last}, {name})"
        last = result
    return write_model(folder, text + " }")


def test_many_parameters(tmp_path):
    """One launch, whose parameters exceed what PTX 8.0 has room for."""
    step, code = tmp_path / "step.onnx", tmp_path / "step.o"
    flags = ("--train", "--loss=mse", "--optimizer=adamw", "--summary=none")
    run_mp_opt(make_biases(tmp_path, 300), *flags, "-o", step)
    figures = estimate(step, "--dim=N=8", "--in-place")
    assert figures["kinds"]["update"]["launches"] == 1
    more = ("--device=cuda", "--target=sm_80", "--emit=obj", "-o", code)
    run_mp_opt(step, "--dim=N=8", "--in-place", *more)
    assert re.findall(rb"\.version (8\.\d)", code.read_bytes()) == [b"8.1"]


@pytest.mark.parametrize("name", ["fwd/vit_test_op20", "train/resnet8"])
def test_products_are_those_of_the_processor(name):
    """Counted before the model is divided into kernels."""
    file = "model.onnx" if name.startswith("fwd") else "forward.onnx"
    model = MODELS / name / file
    flags = ("--random", "--repeat=1", "--warmup=0", "--json")
    flops = json.loads(mp_run("bench", model, *flags).stdout)["flops"]
    assert 2 * count_multiply_adds(estimate(model, "--random")) == flops


def count_kernels(folder, layers):
    model, step = folder / "model.onnx", folder / "step.onnx"
    onnx.save(encoder(layers, 64, 100, tokens=32, head=16), model)
    flags = ("--train", "--loss=softmax-cross-entropy", "--optimizer=adamw")
    run_mp_opt(model, *flags, "--mixed-bf16", "--summary=none", "-o", step)
    figures = estimate(step, "--dim=batch=16", "--in-place")
    return len({launch["kernel"] for launch in figures["launches"]})


def test_equal_layers(tmp_path):
    """They launch the same kernels, which are compiled once."""
    assert count_kernels(tmp_path, 12) <= count_kernels(tmp_path, 3) + 2


def test_nothing(tmp_path):
    net = "net (float[0,4] x) => (float[0,4] y) { y = Neg(x) }"
    figures = estimate(write_model(tmp_path, net))
    assert figures["total"]["read_bytes"] == figures["output_bytes"] == 0


def test_text(tmp_path):
    model = write_model(
        tmp_path, "net (float[8] x) => (float[8] y) { y = Neg(x) }"
    )
    text = mp_run("bench", model, *DRY).stdout
    assert "H200 SXM, by its data sheet" in text
    row = r"^map +1 +3.2e-05 +3.2e-05 +8e-09 "
    assert re.search(row, text, re.M), text
    assert re.search(r"^map_0 +1 ", text, re.M), text


@pytest.mark.parametrize("flags, message", [
    (["--dry-run"],
     "NAME out of a10, a100, b200, h100, h200, l4, l40s, rtx3090, rtx4090 or"
     " rtx5090, got cpu"),
    (["--dry-run", "--device=cuda:tpu"],
     "or rtx5090, or a chip such as sm_86, got 'tpu'"),
    (["--dry-run", "--device=cuda:"], "or a chip such as sm_86, got ''"),
    (["--dry-run", "--device=cuda:rtx409O"], "; did you mean 'rtx4090'?"),
    (["--dry-run", "--device=cuda:t4"],
     "its compute capability is 7.5, and kernels need 8.0 or newer"),
    (["--dry-run", "--device=cuda:sm_75"], "is 7.5, and kernels need 8.0"),
    (["--dry-run", "--device=cuda:sm_110"],
     "is 11.0, and no device of that generation is known"),
    (["--dry-run", "--device=cuda:sm_x"], "or a chip such as sm_86, got 'sm_x'"),
    (["--dry-run", "--device=cuda:rtx6000"], "such as sm_86, got 'rtx6000'"),
    (["--dry-run", "--device=emulated"], "or rtx5090, got emulated"),
    ([*DRY, "--repeat=3"], "--dry-run runs nothing, --repeat measures"),
    (["--device=cuda:h200"], "--device=cuda:h200: only `mp-run bench"),
    (["--device=tpu"], "cpu, cuda or emulated"),
])
def test_bad_usage(tmp_path, flags, message):
    model = write_model(
        tmp_path, "net (float[8] x) => (float[8] y) { y = Neg(x) }"
    )
    done = attempt("bench", model, "--random", *flags)
    assert done.returncode == USAGE and done.stdout == ""
    assert message in done.stderr, done.stderr


# Names that the table does not have, the nearest device in it, and what is said.
OTHERS = [
    ("sm_86", "a10", "'sm_86' is a chip: numbers of A10 (a10), which has it, are"
                     " used; so has rtx3090"),
    ("sm_90a", "h100", "H100 SXM (h100), which has it, are used; so has h200"),
    ("sm_87", "a10", "no numbers of 'sm_87' are known: those of A10 (a10), the"
                     " nearest with compute capability 8.x, are used"),
    ("sm_103a", "b200", "the nearest with compute capability 10.x"),
    ("sm_121", "rtx5090", "the nearest with compute capability 12.x"),
    ("h300", "h200", "those of H200 SXM (h200), the nearest"),
    ("NVIDIA H100 PCIe", "h100", "no numbers of 'NVIDIA H100 PCIe' are known"),
    ("gh200", "h200", "H200 SXM"),
    ("a30", "a100", "A100 80GB SXM"),
    ("a40", "a10", "those of A10 (a10)"),
    ("RTX A6000", "rtx3090", "8.x"),
    ("l40", "l40s", "those of L40S (l40s)"),
    ("GeForce RTX 4080 SUPER", "rtx4090", "GeForce RTX 4090"),
    ("rtx-3060", "rtx3090", "GeForce RTX 3090"),
    ("RTX 6000 Ada Generation", "rtx4090", "8.x"),
    ("b300", "b200", "10.x"),
    ("rtx5070ti", "rtx5090", "12.x"),
]


@pytest.mark.parametrize("name, nearest, note", OTHERS)
def test_devices_that_the_table_does_not_know(tmp_path, name, nearest, note):
    net = "net (float[4096,64] x) => (float[4096,64] y) { y = Exp(x) }"
    model = write_model(tmp_path, net)
    figures, expected = (estimate(model, device=one) for one in (name, nearest))
    assert note in figures.pop("device_note")
    assert "device_note" not in expected and figures == expected
    text = mp_run("bench", model, f"--device=cuda:{name}", "--dry-run").stdout
    lines = text.splitlines()
    assert lines[0].endswith(", by its data sheet") and note in lines[1], text


@pytest.mark.parametrize("name, title", [
    ("NVIDIA H200", "H200 SXM"), ("RTX 4090", "GeForce RTX 4090"),
    ("NVIDIA GeForce RTX 3090", "GeForce RTX 3090"), ("L40S", "L40S"),
])
def test_names_as_drivers_have_them(tmp_path, name, title):
    """They are in the table: nothing is said."""
    model = write_model(tmp_path, "net (float[8] x) => (float[8] y) { y = Neg(x) }")
    text = mp_run("bench", model, f"--device=cuda:{name}", "--dry-run").stdout
    assert text.startswith(f"device                    {title}, by"), text
    assert "numbers of" not in text


def test_sweeps_for_other_devices(tmp_path):
    """They say which numbers are used; memory has room for the next batch."""
    step = """
    step (float[n,1000] x, float[1000] w) => (float loss, float[1000] w_new)
    <float[1000] w = {%s}, int64[1] axes = {0}>
    {
      sums = ReduceSum<keepdims = 0>(x, axes)
      w_new = Sub(w, sums)
      loss = ReduceSum<keepdims = 0>(w_new)
    }
    """ % ", ".join(["0"] * 1000)
    model = write_model(tmp_path, step)
    flags = ("--dry-run", "--sweep=n=16,17", "--precision=bf16")
    note = "no numbers of 'h300' are known: those of H200 SXM (h200)"
    text = mp_run("bench", model, "--device=cuda:h300", *flags).stdout
    assert note in text.splitlines()[-2], text
    assert note not in mp_run("bench", model, *flags, "--device=cuda:h200").stdout
    flags = ("--dry-run", "--sweep=n=16,17", "--json")
    table = json.loads(mp_run("bench", model, "--device=cuda:h300", *flags).stdout)
    assert note in table["device_note"]
    rows = [row for row in table["rows"] if row["precision"] == "fp32"]
    # More than 64 KiB are copied during the step before.
    assert [row["next_input_bytes"] for row in rows] == [0, 4 * 17 * 1000]
    for row in rows:
        parts = ("input", "output", "constant", "arena", "next_input")
        assert row["memory_bytes"] == sum(row[f"{part}_bytes"] for part in parts)


@needs_double
@pytest.mark.parametrize("capability, nearest", [
    (90, "h100"), (86, "a10"), (89, "l4"), (120, "rtx5090"),
])
def test_the_device_of_this_machine(tmp_path, capability, nearest):
    """It has the numbers that its driver says, and rates by them."""
    net = "net (float[4096,4096] x) => (float[4096,4096] y) { y = Exp(x) }"
    model = write_model(tmp_path, net)
    environment = dict(
        os.environ, LD_LIBRARY_PATH=str(DOUBLE),
        MPOPT_EMULATED_CAPABILITY=str(capability), MPOPT_EMULATED_MEMORY="5000000000",
    )
    flags = ("--device=cuda", "--dry-run")
    found = json.loads(
        mp_run("bench", model, *flags, "--json", env=environment).stdout
    )
    assert found["device"] == nearest
    assert found["device_memory_bytes"] == 5 * 10**9
    # 1024 bits at 2 GHz, twice a clock.
    (launch,) = found["launches"]
    moved = launch["read_bytes"] + launch["written_bytes"]
    assert launch["seconds"] == pytest.approx(moved / 512e9)
    text = mp_run("bench", model, *flags, env=environment).stdout
    assert text.startswith("device                    emulated, "), text
    assert (
        "numbers of 'emulated' are what its driver says (66 multiprocessors,"
        f" compute capability {capability // 10}.{capability % 10});"
    ) in text.splitlines()[1]


@needs_double
@pytest.mark.parametrize("variables, message", [
    ({"MPOPT_EMULATED_CAPABILITY": "75"},
     "its compute capability is 7.5, and kernels need 8.0 or newer"),
    ({"MPOPT_EMULATED_DEVICES": "0"}, "the NVIDIA driver finds no device"),
    ({"MPOPT_EMULATED_FAIL": "cuDeviceGetName:0:999"},
     "the driver does not say its name: CUDA's error 999"),
])
def test_no_device_of_this_machine(tmp_path, variables, message):
    model = write_model(tmp_path, "net (float[8] x) => (float[8] y) { y = Neg(x) }")
    environment = dict(os.environ, LD_LIBRARY_PATH=str(DOUBLE), **variables)
    done = attempt("bench", model, "--device=cuda", "--dry-run", env=environment)
    assert done.returncode == USAGE and done.stdout == ""
    assert "got cuda, the GPU of this machine: " in done.stderr, done.stderr
    assert message in done.stderr, done.stderr


def test_other_commands(tmp_path):
    model = write_model(
        tmp_path, "net (float[8] x) => (float[8] y) { y = Neg(x) }"
    )
    done = attempt("run", model, "--random", "--device=cuda:h200")
    assert done.returncode == USAGE
    assert "only `mp-run bench --dry-run`" in done.stderr, done.stderr


def test_no_code_for_devices(tmp_path):
    """Why, with the node, as where it is to run."""
    net = "net (float[8] x) => (int64[1,n] y) { y = NonZero(x) }"
    done = attempt("bench", write_model(tmp_path, net), *DRY)
    assert done.returncode == NOT_COMPILED
    assert "NonZero" in done.stderr, done.stderr
