# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on devices: they give what the processor gives."""

import json
import math
import os
import re

import numpy as np
import onnx
import pytest

import runs
from runs import BAD_INPUT, DEVICE, DEVICE_FAILED, NOT_COMPILED, MODELS
from runs import attempt, curve, fail
from runs import load_safetensors, make_step, mp_run, needs_emulator, read_log
from runs import run_mp_opt, train_folder, write_model

NET = """
net (float[4,8] x, float[8,8] w) => (float[4,8] y, float[4,1] s)
<float[8,8] w = {%s}>
{
  product = MatMul(x, w)
  y = Tanh(product)
  s = ReduceSum<keepdims = 1>(y, axes)
}
""" % ", ".join(str(i % 7 - 3) for i in range(64))
NET = NET.replace("<float[8,8]", "<int64[1] axes = {1}, float[8,8]")

# w is written over in place; the step's own number is in its states.
STEP = """
step (float[4] x, float[4] w, float[1] count)
  => (float loss, float[4] w_new, float[1] count_new)
<float[4] w = {1, 2, 3, 4}, float[1] count = {0}, float[1] one = {1},
 int64[1] axes = {0}>
{
  w_new = Sub(w, x)
  count_new = Add(count, one)
  loss = ReduceSum<keepdims = 0>(w_new, axes)
}
"""

GATHER = """
net (float[4] x, int64[2] i) => (float[2] y) { y = Gather(x, i) }
"""


def outputs(tmp_path, model, *flags):
    path = tmp_path / "outputs.npz"
    mp_run("run", model, *flags, "-o", path)
    with np.load(path) as read:
        return dict(read)


@pytest.fixture
def net(tmp_path):
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    np.savez(tmp_path / "x.npz", x=x)
    return write_model(tmp_path, NET)


def test_outputs(tmp_path, net):
    data = tmp_path / "x.npz"
    expected = outputs(tmp_path, net, data)
    found = outputs(tmp_path, net, data, DEVICE)
    assert found.keys() == expected.keys() == {"y", "s"}
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


def test_kept_code(tmp_path, net):
    flags = (net, tmp_path / "x.npz", DEVICE, f"--cache={tmp_path / 'c'}/")
    benches = [
        json.loads(mp_run("bench", *flags, "--json", "--repeat=2").stdout)
        for _ in range(2)
    ]
    assert [bench["from_cache"] for bench in benches] == [False, True]
    assert benches[0]["code_bytes"] == benches[1]["code_bytes"] > 0
    first = outputs(tmp_path, net, *flags[1:])
    # The processor's code is another.
    bench = mp_run("bench", *flags[:2], flags[3], "--json", "--repeat=2")
    assert not json.loads(bench.stdout)["from_cache"]
    assert first.keys() == {"y", "s"}


def step_data(tmp_path):
    x = np.arange(24, dtype=np.float32).reshape(6, 4) / 4
    np.savez(tmp_path / "data.npz", x=x)
    return x, f"--data={tmp_path / 'data.npz'}"


def test_states(tmp_path):
    """They stay on the device, and come from there in the end."""
    model = write_model(tmp_path, STEP)
    x, data = step_data(tmp_path)
    out, log = tmp_path / "end.safetensors", tmp_path / "log.jsonl"
    flags = ("--epochs=3", "--no-shuffle", f"--log={log}", "-o", out)
    mp_run("train", model, data, *flags, DEVICE, "--quiet")
    states = load_safetensors(out)
    np.testing.assert_array_equal(
        states["w"], np.array([1, 2, 3, 4]) - 3 * x.sum(0)
    )
    assert states["count"] == 18
    sums = 10 - np.cumsum(np.tile(x.sum(1), 3))
    found = [record["loss"] for record in read_log(log)]
    np.testing.assert_allclose(found, sums, rtol=1e-6)


@needs_emulator
def test_states_are_not_copied(tmp_path):
    """But to begin with: each step copies x and the loss alone."""
    model = write_model(tmp_path, STEP)
    _, data = step_data(tmp_path)
    log = tmp_path / "driver.log"
    environment = dict(os.environ, MPOPT_EMULATED_LOG=str(log))
    flags = ("--steps=5", DEVICE, "--quiet")
    mp_run("train", model, data, *flags, env=environment)
    lines = log.read_text().split("\n")
    assert lines.count("cuGraphLaunch") == 5
    copies = [line for line in lines if line.startswith("cuMemcpyHtoD")]
    # x five times, w once; count; two constants: one and axes, if they are.
    assert copies.count("cuMemcpyHtoDAsync 16") == 5 + 1
    back = [line for line in lines if line.startswith("cuMemcpyDtoH")]
    # Losses and control words, and the states in the end.
    assert back.count("cuMemcpyDtoHAsync 64") == 5
    assert back.count("cuMemcpyDtoHAsync 16") == 1


def test_resumed_runs_have_the_same_bits(tmp_path):
    model = make_step("mlp_mse", "adamw")
    data = f"--data={train_folder('mlp_mse') / 'data.npz'}"
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    flags = (data, DEVICE, "--quiet")
    mp_run("train", model, *flags, "--steps=6", "-o", whole)
    again = (f"--checkpoint={tmp_path / 'c'}", "--resume", "-o", parts)
    # The second part only has a checkpoint of the first one.
    mp_run("train", model, *flags, *again, "--steps=3")
    mp_run("train", model, *flags, *again, "--steps=6")
    assert whole.read_bytes() == parts.read_bytes()


def losses(tmp_path, name, step, *flags):
    log = tmp_path / "log.jsonl"
    log.unlink(missing_ok=True)
    data = f"--data={train_folder(name) / 'data.npz'}"
    mp_run("train", step, data, f"--log={log}", "--quiet", *flags)
    return [record["loss"] for record in read_log(log)]


NAMES = sorted(p.parent.name for p in MODELS.glob("train/*/forward.onnx"))
PRECISIONS = {
    "fp32": (),
    "bf16": ("--mixed-bf16",),
    "fp16": ("--mixed-fp16", "--loss-scale=dynamic"),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_curves(tmp_path, name, precision):
    """Of 40 steps: sums in another order are all that differs."""
    step = make_step(name, "adamw", *PRECISIONS[precision])
    found = losses(tmp_path, name, step, "--steps=40", DEVICE)
    if precision == "fp32" and name != "bert2_dropout":
        expected = curve(name)["adamw"]["loss"]
    else:
        expected = losses(tmp_path, name, step, "--steps=40")
    rtol = 1e-3 if precision == "fp32" else 1e-2
    # Statistics of a batch of eight amplify rounding from step to step: the
    # CPU's own test allows the same.
    rtol = {1e-3: 1e-2, 1e-2: 5e-2}[rtol] if name == "resnet8" else rtol
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_checkpoints_are_of_their_step(tmp_path):
    """They are written while steps go on, which change nothing in them."""
    step = make_step("mlp784", "adamw", "--mixed-fp16")
    data = f"--data={train_folder('mlp784') / 'data.npz'}"
    folder, end = tmp_path / "checkpoints", tmp_path / "end.safetensors"
    flags = (f"--checkpoint={folder}", "--checkpoint-every=1", "--keep=9")
    mp_run("train", step, data, DEVICE, "--quiet", "--steps=6", *flags)
    for count in (1, 4, 6):
        flags = (f"--steps={count}", "-o", end)
        mp_run("train", step, data, DEVICE, "--quiet", *flags)
        expected = load_safetensors(end)
        (kept,) = folder.glob(f"step-*{count}/states.safetensors")
        found = load_safetensors(kept)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@needs_emulator
@pytest.mark.parametrize(
    "call, step, name",
    [
        ("cuGraphLaunch:3:46", 4, "DEVICE_UNAVAILABLE"),
        ("cuGraphLaunch:3:214", 4, "ECC_UNCORRECTABLE"),
        ("cuGraphLaunch:3:719", 4, "LAUNCH_FAILED"),
        ("cuStreamSynchronize:4:214", 3, "ECC_UNCORRECTABLE"),
    ],
)
def test_device_is_lost(tmp_path, call, step, name):
    """One error, which names the last checkpoint; the run goes on from it."""
    model = make_step("mlp_mse", "adamw")
    data = f"--data={train_folder('mlp_mse') / 'data.npz'}"
    whole, end = tmp_path / "whole.safetensors", tmp_path / "end.safetensors"
    flags = (DEVICE, "--quiet", "--steps=6")
    mp_run("train", model, data, *flags, "-o", whole)
    folder = tmp_path / "checkpoints"
    flags = (*flags, "-o", end, f"--checkpoint={folder}", "--resume")
    environment = dict(os.environ, MPOPT_EMULATED_FAIL=call)
    arguments = ("train", model, data, *flags, "--checkpoint-every=2")
    message = fail(DEVICE_FAILED, *arguments, env=environment)
    assert f"step {step}" in message and name in message
    assert "the last checkpoint is that of step 2" in message
    assert not end.exists()
    mp_run(*arguments)
    assert end.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("name", ["mlp_mse", "mlp784", "bert2_op17"])
def test_curves_of_sgd(tmp_path, name):
    expected = curve(name)["sgd"]["loss"][:10]
    step = make_step(name, "sgd")
    found = losses(tmp_path, name, step, "--steps=10", DEVICE)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


TF32 = "--fp32-products=tf32"


@pytest.mark.parametrize("name", ["mlp784", "bert2_op17"])
def test_tf32(tmp_path, name):
    """Losses are near those of fp32, and not the same: products round their
    factors to 11 bits, so that each errs by 2^-10 at most, of a few in a row and
    as many in the gradients."""
    step = make_step(name, "sgd")
    found = losses(tmp_path, name, step, "--steps=5", DEVICE, TF32)
    exact = losses(tmp_path, name, step, "--steps=5", DEVICE)
    np.testing.assert_allclose(found, exact, rtol=16 * 2.0**-10)
    assert found != exact


def test_large_heads(tmp_path):
    """Logits of an odd number of classes: in rows that are longer, and the loss
    writes its gradient over them."""
    generator = np.random.default_rng(5)
    classes, width, batch = 65539, 16, 32
    arrays = {"w": (classes, width), "v": (8, width)}
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMul", ["x", "v"], ["h"]),
            onnx.helper.make_node("Gemm", ["h", "w"], ["logits"], transB=1),
        ],
        "net",
        [onnx.helper.make_tensor_value_info("x", 1, ["batch", 8])],
        [onnx.helper.make_tensor_value_info("logits", 1, ["batch", classes])],
        [
            onnx.numpy_helper.from_array(
                generator.standard_normal(shape, np.float32), name
            )
            for name, shape in arrays.items()
        ],
    )
    opsets = [onnx.helper.make_opsetid("", 21)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, tmp_path / "net.onnx")
    step, data = tmp_path / "step.onnx", tmp_path / "data.npz"
    run_mp_opt(
        tmp_path / "net.onnx", "--train", "--loss=softmax-cross-entropy",
        "--optimizer=sgd", "--lr=0.5", "--mixed-bf16", "--summary=none",
        "-o", step,
    )
    np.savez(
        data, x=generator.standard_normal((2 * batch, 8), np.float32),
        labels=generator.integers(0, classes, 2 * batch),
    )
    ends = []
    for device in "--device=cpu", DEVICE:
        end, log = tmp_path / "end.safetensors", tmp_path / "log.jsonl"
        log.unlink(missing_ok=True)
        mp_run(
            "train", step, f"--data={data}", f"--batch={batch}", "--steps=3",
            device, "--quiet", f"--log={log}", "-o", end,
        )
        ends.append((load_safetensors(end), [r["loss"] for r in read_log(log)]))
    (expected, losses), (found, own) = ends
    np.testing.assert_allclose(own, losses, rtol=1e-4)
    for name in arrays:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-3)
    figures = json.loads(
        mp_run(
            "bench", step, "--device=cuda:h200", "--dry-run", "--json",
            "--in-place", f"--dim=batch={batch}",
        ).stdout
    )
    # The logits, over which their gradient is written, the 16-bit copy of w, and
    # its gradient; 1 % for padding and small values.
    most = (batch + 2 * width) * 2 * classes
    assert figures["arena_bytes"] < 1.01 * most


def test_tf32_has_code_of_its_own(tmp_path):
    """Kept code is that which was asked for."""
    text = "net (float[64,64] x, float[64,64] w) => (float[64,64] y) { y = MatMul(x, w) }"
    model, cache = write_model(tmp_path, text), f"--cache={tmp_path}/code/"
    exact, rounded, again = [
        outputs(tmp_path, model, "--random=1", DEVICE, cache, *flags)["y"]
        for flags in ((), (TF32,), ())]
    assert (again == exact).all() and (rounded != exact).any()
    # The sum of 64 products of numbers that hardly exceed 4.
    assert np.abs(rounded - exact).max() < 64 * 4 * 4 * 2.0**-10


def test_tf32_is_verified(tmp_path):
    """What its rounding explains is no error."""
    text = "net (float[64,64] x, float[64,64] w) => (float[64,64] y) { y = MatMul(x, w) }"
    model = write_model(tmp_path, text)
    for flags in ((), ("--mixed-bf16",)):
        run_mp_opt(model, "--verify", DEVICE, TF32, *flags, "-o", tmp_path / "n.onnx")


def test_tf32_is_for_gpus(net):
    done = attempt("run", net, "--random", TF32)
    assert done.returncode == 2
    assert "--fp32-products=tf32 needs --device=cuda or emulated" in done.stderr


def test_same_bits_again(tmp_path):
    """Sums have one order, whoever runs them."""
    step = make_step("bert2_op17", "adamw", "--mixed-bf16")
    data = f"--data={train_folder('bert2_op17') / 'data.npz'}"
    ends = [tmp_path / "first.safetensors", tmp_path / "second.safetensors"]
    for end in ends:
        mp_run("train", step, data, "--steps=4", DEVICE, "--quiet", "-o", end)
    assert ends[0].read_bytes() == ends[1].read_bytes()


def test_skipped_steps_leave_all_states(tmp_path):
    """Steps whose gradients overflow change nothing but the scale: the first good
    step after them ends where it ends without them."""
    data = tmp_path / "data.npz"
    with np.load(train_folder("mlp784") / "data.npz") as batches:
        np.savez(data, **{name: batches[name][:1] for name in batches})

    def train(scale, steps):
        step = make_step(
            "mlp784", "adamw", "--mixed-fp16", f"--loss-scale=dynamic:init={scale}"
        )
        end, log = tmp_path / f"{scale}.safetensors", tmp_path / f"{scale}.jsonl"
        flags = (f"--steps={steps}", DEVICE, "--quiet", f"--log={log}", "-o", end)
        mp_run("train", step, f"--data={data}", *flags)
        return load_safetensors(end), [line["skipped"] for line in read_log(log)]

    late, skipped = train(2**24, 5)
    assert skipped == [1, 2, 3, 4, 4]
    early, skipped = train(2**20, 1)
    assert skipped == [0]
    changed = {
        name for name, value in early.items() if value.tobytes() != late[name].tobytes()
    }
    assert all("skip" in name for name in changed) and changed, changed


# Name, float64's function, and units in the last place that f32 may be off.
FUNCTIONS = [
    ("Sin", np.sin, 4),
    ("Cos", np.cos, 4),
    ("Tan", np.tan, 8),
    ("Atan", np.arctan, 4),
    ("Sinh", np.sinh, 6),
    ("Cosh", np.cosh, 6),
    ("Asinh", np.arcsinh, 6),
    ("Exp", np.exp, 4),
    ("Tanh", np.tanh, 6),
]


def compute(tmp_path, op, *operands):
    """One node on the device."""
    names = "xy"[: len(operands)]
    size = operands[0].size
    takes = ", ".join(f"float[{size}] {name}" for name in names)
    attributes = "<fmod = 1>" if op == "Mod" else ""
    net = f"net ({takes}) => (float[{size}] z)"
    net += f" {{ z = {op}{attributes}({', '.join(names)}) }}"
    model = write_model(tmp_path, net)
    return runs.compute(model, dict(zip(names, operands)), DEVICE)["z"]


@pytest.mark.parametrize("op, function, units", FUNCTIONS)
def test_functions(tmp_path, op, function, units):
    """No library computes them: arguments near 0, large, infinite."""
    scale = np.logspace(-30, 14, 500)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan]
    x = np.concatenate([scale, -scale, np.linspace(-90, 90, 2000), ends])
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64)).astype(np.float32)
    found = compute(tmp_path, op, x)
    np.testing.assert_allclose(
        found, expected, rtol=units * 2.0**-24, atol=2.0**-149
    )
    zero = expected == 0
    assert (np.signbit(found) == np.signbit(expected))[zero].all()


@pytest.mark.parametrize(
    "op, function, units", [("Pow", np.power, 64), ("Mod", np.fmod, 0)]
)
def test_functions_of_two(tmp_path, op, function, units):
    ends = [0.0, -0.0, 1, -1, 0.5, -2.5, 2, 3, -3, 33, 1e10, 1e-10, -1e30]
    ends = np.array([*ends, np.inf, -np.inf, np.nan], np.float32)
    x, y = (grid.ravel() for grid in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64), y.astype(np.float64))
        expected = expected.astype(np.float32)
    found = compute(tmp_path, op, x, y)
    # Denormal results may be zero.
    np.testing.assert_allclose(
        found, expected, rtol=units * 2.0**-24, atol=1e-37 if units else 0
    )


# ONNX's number of the type, the bits of the fraction, and the exponent of the
# smallest normal number.
HALVES = {"bfloat16": (16, 7, -126), "float16": (10, 10, -14)}


@pytest.mark.parametrize("element", HALVES)
def test_gelu_of_16_bits(tmp_path, element):
    """Every number: the device's instructions for it are as good as exact
    functions, before the result is rounded."""
    bits = np.arange(2**16, dtype=np.uint16)
    if element == "float16":
        x = bits.view(np.float16).astype(np.float32)
    else:
        x = (bits.astype(np.uint32) << 16).view(np.float32)
    x = x[np.isfinite(x)]
    number, fraction, least = HALVES[element]
    net = f"""
    net (float[{x.size}] x) => (float[{x.size}] y)
    {{ low = Cast<to = {number}>(x)
       gelu = Gelu(low)  y = Cast<to = 1>(gelu) }}
    """
    found = runs.compute(write_model(tmp_path, net), {"x": x}, DEVICE)["y"]
    wide = x.astype(np.float64)
    erfc = np.vectorize(math.erfc)
    expected = 0.5 * wide * erfc(-wide / np.sqrt(2))
    _, exponents = np.frexp(expected)
    unit = 2.0 ** (np.maximum(exponents - 1, least) - fraction)
    error = np.abs(found - expected)
    # Results below the smallest normal number of f32 may be zero.
    assert (error <= 0.5005 * unit + 2.0**-126).all()


def test_indices_have_64_bits(tmp_path):
    net = write_model(tmp_path, GATHER)
    data = tmp_path / "i.npz"
    np.savez(data, x=np.zeros(4, np.float32), i=np.array([0, 2**32 + 1]))
    error = fail(BAD_INPUT, "run", net, data, DEVICE)
    assert "index 4294967297 is out of range for size 4" in error


FORWARD = {
    "bert_hf_op20": "--dim=B=2,S=8",
    "bert_like_op17": "--dim=B=2,S=8",
    "convnext_test_op18": "--dim=N=1",
    "resnet18_w8_op17": "--dim=N=1",
    "resnet18_w8_op17_bn": "--dim=N=1",
    "vit_test_op20": "--dim=N=1",
}


BRANCHES = """
net (float[64,256] x, float[256,256] w, float least) => (float[64,256] y)
{
  most = ReduceMax<keepdims = 0>(x)
  is_more = Greater(most, least)
  y = If(is_more) <
    then_branch = yes () => (float[64,256] p) {
      product = MatMul(x, w)
      p = Softmax<axis = -1>(product)
    },
    else_branch = no () => (float[64,256] q) {
      tanh = Tanh(x)
      q = Softmax<axis = 0>(tanh)
    }
  >
}
"""


def test_branches(tmp_path):
    """What a call decides: both sides are launched, by many blocks."""
    model = write_model(tmp_path, BRANCHES)
    generator = np.random.default_rng(4)
    x = generator.standard_normal((64, 256)).astype(np.float32)
    w = generator.standard_normal((256, 256)).astype(np.float32)
    data = tmp_path / "in.npz"
    sides = []
    for least in -100, 100:
        np.savez(data, x=x, w=w, least=np.float32(least))
        expected = outputs(tmp_path, model, data)["y"]
        found = outputs(tmp_path, model, data, DEVICE)["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
        sides.append(found)
    assert np.abs(sides[0] - sides[1]).max() > 0.1
    run_mp_opt(
        model, "--convert-onnx-to-linalg", "--mp-lower-to-gpu", "--emit=mlir",
        "-o", tmp_path / "net.mlir",
    )
    text = (tmp_path / "net.mlir").read_text()
    grids = re.findall(r"@contract_\d+ grid \[(\d+),", text)
    assert list(map(int, grids)) > [16]


@pytest.mark.parametrize("name", FORWARD)
def test_forward_models(tmp_path, name):
    """fp32 on both: sums in another order are all that differs."""
    flags = (MODELS / "fwd" / name / "model.onnx", "--random=3", FORWARD[name])
    expected = outputs(tmp_path, *flags)
    found = outputs(tmp_path, *flags, DEVICE)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        bound = 1e-5 * np.abs(value).max()
        assert np.abs(found[key] - value).max() <= bound, key


def count_launches(tmp_path, name, optimizer, *flags):
    """Of a step, of batches of 8."""
    step = make_step(name, optimizer, *flags)
    path = tmp_path / "step.mlir"
    run_mp_opt(
        step,
        "--convert-onnx-to-linalg=dim=batch=8",
        "--mp-lower-to-gpu=in-place",
        "--emit=mlir",
        "-o",
        path,
    )
    text = path.read_text()
    return text.count("device.launch") - text.count("{when_set")


@pytest.mark.parametrize(
    "name, most", [("mlp784", 12), ("bert2_op17", 80), ("resnet8", 68)]
)
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_launches(tmp_path, name, most, optimizer):
    """More than these is a step back; loss scaling adds two at most."""
    bf16 = count_launches(tmp_path, name, optimizer, "--mixed-bf16")
    assert 0 < bf16 <= most
    scaled = count_launches(
        tmp_path, name, optimizer, "--mixed-fp16", "--loss-scale=dynamic"
    )
    assert scaled <= bf16 + 2


def test_loss_scale(tmp_path):
    """It is decided on the device, and seen in the log of each step."""
    model = make_step("mlp_mse", "sgd", "--mixed-fp16")
    data = f"--data={train_folder('mlp_mse') / 'data.npz'}"
    logs = []
    for flags in ((), (DEVICE,)):
        log = tmp_path / "log.jsonl"
        flags = (*flags, "--steps=8", f"--log={log}", "--quiet")
        mp_run("train", model, data, *flags)
        logs.append(read_log(log))
    for expected, found in zip(*logs, strict=True):
        for key in ("loss_scale", "skipped"):
            assert found.get(key) == expected.get(key)
        assert found["loss"] == pytest.approx(expected["loss"], rel=1e-2)


def test_errors_of_kernels(tmp_path):
    model = write_model(tmp_path, GATHER)
    data = tmp_path / "data.npz"
    np.savez(data, x=np.zeros(4, np.float32), i=np.array([1, 9]))
    messages = [
        fail(BAD_INPUT, "run", model, data, *flags)
        for flags in ((), (DEVICE,))
    ]
    assert messages[0] == messages[1] and "9" in messages[0]


def test_sizes_are_known(tmp_path):
    model = write_model(
        tmp_path, "net (float[n] x) => (float[n] y) { y = Neg(x) }"
    )
    np.savez(tmp_path / "data.npz", x=np.ones(3, np.float32))
    # Sizes are known from the data, or from --dim.
    found = outputs(tmp_path, model, tmp_path / "data.npz", DEVICE)
    np.testing.assert_array_equal(found["y"], -np.ones(3))


@needs_emulator
def test_memory_is_short(tmp_path, net):
    environment = dict(os.environ, MPOPT_EMULATED_MEMORY="100")
    done = attempt("run", net, "--random", DEVICE, env=environment)
    assert done.returncode == NOT_COMPILED, done.stderr
    assert "CUDA_ERROR_OUT_OF_MEMORY" in done.stderr
    assert "of 100 are unused" in done.stderr


@needs_emulator
def test_there_is_no_driver(tmp_path, net):
    (tmp_path / "libcuda.so.1").write_text("no library\n")
    environment = dict(os.environ, LD_LIBRARY_PATH=str(tmp_path))
    done = attempt("run", net, "--random", "--device=cuda", env=environment)
    assert done.returncode == BAD_INPUT, done.stderr
    assert "--device: there is no NVIDIA driver: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_unknown_device(net):
    done = attempt("run", net, "--random", "--device=tpu")
    assert done.returncode == 2
    assert "cpu, cuda or emulated" in done.stderr, done.stderr


def test_verification(tmp_path, net):
    from runs import run_mp_opt

    done = run_mp_opt(net, "--mixed-bf16", "--verify", DEVICE, "--dry-run")
    assert done.returncode == 0 and "verified: " in done.stderr, done.stderr
