# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run bench --dry-run: predicted times, and the counts that they follow from."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

from runs import MP_RUN, ROOT, make_step, mp_run, run_mp_opt, write_model


sys.path.insert(0, str(ROOT / "benchmarks"))
import fit_device_times as fitted  # noqa: E402
from make_models import encoder  # noqa: E402
from test_attention import Attention, make  # noqa: E402

PTXAS_VENV = os.environ.get("PTXAS_VENV", "~/.cache/mp-opt/venv-ptxas")


@functools.lru_cache(maxsize=None)
def find_ptxas():
    venv = pathlib.Path(PTXAS_VENV).expanduser()
    found = sorted(venv.glob("lib/python3*/site-packages/nvidia/*/bin/ptxas"))
    return str(found[0]) if found else shutil.which("ptxas")


def bench(model, *flags, device="h200", assembler=False):
    """What is printed, with or without ptxas in PATH."""
    path = "/usr/bin:/bin"
    if assembler:
        path = f"{pathlib.Path(find_ptxas()).parent}:{path}"
    done = subprocess.run(
        [MP_RUN, "bench", model, f"--device=cuda:{device}", "--dry-run", *flags],
        capture_output=True, text=True,
        env={**os.environ, "PATH": path, "MPOPT_NVJITLINK": "/none"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def estimate(model, *flags, **options):
    return json.loads(bench(model, "--json", *flags, **options))


def test_constants():
    """They fit the measured steps, and are those that the script would write."""
    script = ROOT / "benchmarks" / "fit_device_times.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (error, left_out), constants = fitted.read_table()
    assert error <= fitted.MAX_ERROR and left_out <= fitted.MAX_LEFT_OUT
    assert set(constants) == set(fitted.ORDER)


def test_wrong_constants_are_found(tmp_path, monkeypatch):
    """A table that is not the fit's, or whose errors are not, is refused."""
    table = tmp_path / "DeviceTimes.def"
    text = fitted.TABLE.read_text()
    monkeypatch.setattr(fitted, "TABLE", table)
    device, steps = fitted.DEVICES["h200"], fitted.read_steps()
    monkeypatch.setattr(fitted, "left_out_errors", lambda *_: [0.24] * len(steps))
    for pattern, new in (
        (r"(launchSeconds), .*\)", r"\1, 4e-6)"), (r"(h200), [\d.]+", r"\1, 0.001"),
    ):
        table.write_text(re.sub(pattern, new, text))
        with pytest.raises(SystemExit, match="error: "):
            fitted.check(steps, device)


@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",)])
@pytest.mark.parametrize("name", ["mlp784", "resnet8"])
def test_same_formula(name, flags):
    """The compiler and the script compute the same time of each launch."""
    step = make_step(name, "adamw", *flags)
    plan = estimate(step, "--dim=batch=8", "--in-place")
    check_formula(plan)


def check_formula(plan):
    _, constants = fitted.read_table()
    device = fitted.DEVICES["h200"]
    rows = fitted.read_plan(plan)
    launches = fitted.to_arrays(rows)
    seconds = fitted.predict(launches, constants, device)
    found = sum(launch["predicted_seconds"] for launch in plan["launches"])
    assert found == pytest.approx(float(sum(launches["times"] * seconds)), rel=1e-9)
    whole = fitted.predict_step(fitted.to_step(plan), constants, device)
    assert plan["predicted_seconds"] == pytest.approx(whole, rel=1e-9)
    kinds = sum(kind["predicted_seconds"] for kind in plan["kinds"].values())
    assert kinds == pytest.approx(found, rel=1e-9)
    assert plan["predicted_seconds"] > plan["total"]["seconds"]


@pytest.mark.skipif(not find_ptxas(), reason="needs CUDA's ptxas")
def test_a_transformer_step(tmp_path):
    """The stored launches of a step of 6 layers gave 2.3 ms; later kernels may
    be faster, and should not be slower."""
    model, step = tmp_path / "model.onnx", tmp_path / "step.onnx"
    onnx.save(encoder(6, 512, 1000), model)
    flags = ("--train", "--loss=softmax-cross-entropy", "--optimizer=adamw")
    run_mp_opt(model, *flags, "--mixed-bf16", "--summary=none", "-o", step)
    plan = estimate(step, "--dim=batch=16", "--in-place", assembler=True)
    check_formula(plan)
    assert not plan["registers_are_estimated"]
    assert 0.5e-3 < plan["predicted_seconds"] < 2.45e-3
    for launch in plan["launches"]:
        if "grid" not in launch or not launch["tensor_multiply_adds"]:
            continue
        counts = plan["kernels"][launch["kernel"]]
        made = counts["tensor"] * launch["grid"][0] * launch["block"][0]
        # Padded tiles multiply zeros as well.
        assert made >= 0.99 * launch["tensor_multiply_adds"]
        assert 1 <= launch["waves"] and 1 <= launch["resident_blocks"] <= 32


def only_kernel(plan):
    (counts,) = plan["kernels"].values()
    (launch,) = plan["launches"]
    return counts, launch["grid"][0] * launch["block"][0]


@pytest.mark.parametrize("kind, size", [("float", 4), ("bfloat16", 2)])
def test_wide_accesses(tmp_path, kind, size):
    """A map of contiguous values loads and stores 16 bytes at a time; each
    value once."""
    net = f"net ({kind}[4096,1024] x) => ({kind}[4096,1024] y) {{ y = Neg(x) }}"
    counts, threads = only_kernel(estimate(write_model(tmp_path, net)))
    assert counts["loads"][:4] == counts["stores"][:4] == [0] * 4
    expected = 4096 * 1024 * size
    assert counts["loads"][4] * 16 * threads == pytest.approx(expected, rel=0.02)
    assert counts["stores"][4] * 16 * threads == pytest.approx(expected, rel=0.02)


def test_narrow_accesses(tmp_path):
    """A transposition of 16-bit values reads or writes them one by one."""
    net = """
    net (bfloat16[2048,1024] x) => (bfloat16[1024,2048] y)
    { y = Transpose<perm = [1, 0]>(x) }
    """
    counts, threads = only_kernel(estimate(write_model(tmp_path, net)))
    narrow = counts["loads"][1] + counts["stores"][1]
    assert narrow * threads >= 0.9 * 2048 * 1024


def test_loops_and_barriers(tmp_path):
    """A block for a row: all elements, however many passes."""
    net = "net (float[256,6000] x) => (float[256,6000] y) { y = Softmax(x) }"
    counts, threads = only_kernel(estimate(write_model(tmp_path, net)))
    loaded = sum(n * w for n, w in zip(counts["loads"], fitted.WIDTHS))
    assert loaded * threads >= 0.95 * 4 * 256 * 6000
    assert counts["barriers"] >= 1 and counts["special"] * threads >= 256 * 6000


def count_all(plan, name):
    """The sum over the threads of all launches."""
    return sum(
        plan["kernels"][launch["kernel"]][name]
        * launch["grid"][0] * launch["block"][0]
        for launch in plan["launches"]
    )


def test_exact_products(tmp_path):
    net = """
    net (float[256,512] x, float[512,256] w) => (float[256,256] y)
    { y = MatMul(x, w) }
    """
    plan = estimate(write_model(tmp_path, net))
    assert count_all(plan, "tensor") == 0
    assert 1 <= count_all(plan, "floats") / (256 * 256 * 512) < 1.1
    plan = estimate(write_model(tmp_path, net), "--fp32-products=tf32")
    # One of tf32 counts as two.
    assert count_all(plan, "tensor") == pytest.approx(2 * 256 * 256 * 512)


@pytest.mark.parametrize("shift", [None, 0])
def test_loops_that_depend_on_the_block(tmp_path, shift):
    """Keys after a query are skipped: the mean over blocks is what is planned."""
    plan = estimate(make(tmp_path, Attention(512, shift=shift)))
    for name, counts in plan["kernels"].items():
        made = planned = 0
        for launch in plan["launches"]:
            if launch["kernel"] == name and name.startswith("attention"):
                made += counts["tensor"] * launch["grid"][0] * launch["block"][0]
                planned += launch["tensor_multiply_adds"]
        assert made == pytest.approx(planned, rel=0.15), name
    assert any(name.startswith("attention") for name in plan["kernels"])


@pytest.mark.skipif(not find_ptxas(), reason="needs CUDA's ptxas")
def test_registers(tmp_path):
    """Those that ptxas prints; without it an estimate."""
    net = """
    net (bfloat16[512,512] x, bfloat16[512,512] w) => (bfloat16[512,512] y)
    { p = MatMul(x, w)  y = Softmax(p) }
    """
    model, library = write_model(tmp_path, net), tmp_path / "net.o"
    run_mp_opt(
        model, "--emit=obj", "--device=cuda", "--target=sm_90a", "-o", library
    )
    printed = {}
    for part in re.findall(rb"\.version.*?\0", library.read_bytes(), re.S):
        source = tmp_path / "part.ptx"
        source.write_bytes(part[:-1])
        done = subprocess.run(
            [find_ptxas(), "-arch=sm_90a", "-O3", "-v", source, "-o", os.devnull],
            capture_output=True, text=True, check=True,
        )
        printed |= dict(re.findall(
            r"Compiling entry function '(\w+)'.*?Used (\d+) registers",
            done.stderr, re.S,
        ))
    assert printed
    plan = estimate(model, assembler=True)
    assert not plan["registers_are_estimated"]
    for name, counts in plan["kernels"].items():
        assert counts["registers"] == int(printed[name]), name
    for counts in estimate(model)["kernels"].values():
        assert counts["is_estimated"] and 16 <= counts["registers"] <= 255


def test_the_batch_is_copied(tmp_path):
    """Inputs of a model without states, at the rate of pageable memory."""
    net = "net (float[n,1000] x) => (float[n] y) <int64[1] a = {1}> " \
        "{ y = ReduceSum<keepdims = 0>(x, a) }"
    model = write_model(tmp_path, net)
    small, large = (estimate(model, f"--dim=n={n}") for n in (1000, 3000))
    _, constants = fitted.read_table()
    assert small["batch_seconds"] == pytest.approx(4e6 / constants["hostRate"])
    assert large["batch_seconds"] == pytest.approx(3 * small["batch_seconds"])


def make_wide_step(tmp_path, width, depth=8, products=0):
    """A step whose batch has rows of `width` x `depth` floats, and that multiplies
    them by as many matrices of `width` x `width`."""
    model, step = tmp_path / "net.onnx", tmp_path / "step.onnx"
    nodes = [onnx.helper.make_node("ReduceMean", ["x"], ["h0"], axes=[2], keepdims=0)]
    for index in range(products):
        nodes.append(onnx.helper.make_node("MatMul", [f"h{index}", "v"], [f"h{index + 1}"]))
    nodes.append(onnx.helper.make_node("MatMul", [f"h{products}", "w"], ["logits"]))
    weights = [
        onnx.numpy_helper.from_array(np.full((rows, columns), 1e-3, np.float32), name)
        for name, rows, columns in (("w", width, 10), ("v", width, width))
    ]
    graph = onnx.helper.make_graph(
        nodes, "net",
        [onnx.helper.make_tensor_value_info("x", 1, ["batch", width, depth])],
        [onnx.helper.make_tensor_value_info("logits", 1, ["batch", 10])],
        weights if products else weights[:1],
    )
    opsets = [onnx.helper.make_opsetid("", 13)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), model)
    flags = ("--train", "--loss=softmax-cross-entropy", "--optimizer=sgd", "--lr=0.1")
    run_mp_opt(model, *flags, "--summary=none", "-o", step)
    return step


def test_the_next_batch_is_copied(tmp_path):
    """Large inputs of a training step are copied during the step before, and
    count only where they take longer; labels are copied in the call."""
    _, constants = fitted.read_table()
    step = make_wide_step(tmp_path, 1000)
    plan = estimate(step, "--in-place", "--dim=batch=64")
    size = 64 * 1000 * 8 * 4
    assert plan["next_inputs"] == [size]
    # Labels and the rate.
    small = 64 * 8 + 4
    assert plan["batch_seconds"] == pytest.approx(small / constants["hostRate"])
    assert plan["next_seconds"] == pytest.approx(size / constants["hostRate"])
    # PCIe of generation 5: 64 GB/s, of which 80 % are reached.
    assert plan["link_seconds"] == pytest.approx(size / 51.2e9)
    launches = sum(launch["predicted_seconds"] for launch in plan["launches"])
    own = launches + plan["take_seconds"]
    assert 0 < plan["take_seconds"] < 0.1 * plan["next_seconds"]
    assert own < plan["next_seconds"]
    assert plan["added_seconds"] == pytest.approx(plan["next_seconds"] - own)
    assert plan["predicted_seconds"] == pytest.approx(
        plan["call_seconds"] + plan["batch_seconds"] + plan["next_seconds"]
    )
    check_formula(plan)
    # The buffer of the device is memory that the step needs.
    plain = estimate(step, "--dim=batch=64")
    assert plain["next_inputs"] == [] and plain["next_seconds"] == 0
    assert plan["memory_bytes"] == size + sum(
        plan[f"{kind}_bytes"] for kind in ("arena", "constant", "input", "output")
    )
    # A step can do without the buffer, which is almost half of its memory.
    batch = 24 * 10**9 // (2 * 32000) + 50000
    large = estimate(step, "--in-place", f"--dim=batch={batch}", device="l4")
    assert large["memory_bytes"] > 24e9 > large["memory_bytes"] - 32000 * batch
    assert large["fits"]
    text = bench(step, "--in-place", f"--dim=batch={batch}", device="l4")
    assert "24 GB: fits if batches are copied before steps" in text
    text = bench(step, "--in-place", "--dim=batch=64")
    assert re.search(
        r"^copies of the next batch +2.048 MB during a call, in [\d.]+ us"
        r" \([\d.]+ of them on the link\): adds [\d.]+ us, and ", text, re.M
    ), text
    assert re.search(rf"^bytes of the next batch +{size}$", text, re.M), text
    assert "next batch" not in bench(step, "--dim=batch=64")


def test_a_long_step_hides_the_copy(tmp_path):
    """It takes no longer than with a batch that is on the device."""
    step = make_wide_step(tmp_path, 1024, depth=1, products=16)
    plan = estimate(step, "--in-place", "--dim=batch=4096")
    assert plan["next_inputs"] == [4096 * 1024 * 4]
    launches = sum(launch["predicted_seconds"] for launch in plan["launches"])
    assert 1e-3 < plan["next_seconds"] < launches and plan["added_seconds"] == 0
    assert plan["predicted_seconds"] == pytest.approx(
        plan["call_seconds"] + plan["batch_seconds"] + plan["take_seconds"] + launches
    )
    check_formula(plan)


def test_small_batches_are_copied_in_calls(tmp_path):
    """Up to 64 KiB: the driver does not wait for the device then."""
    step = make_wide_step(tmp_path, 64)
    for batch, sizes in (32, []), (33, [33 * 64 * 8 * 4]):
        plan = estimate(step, "--in-place", f"--dim=batch={batch}")
        assert plan["next_inputs"] == sizes
        check_formula(plan)


def test_steps_that_copied_before(tmp_path, monkeypatch):
    """Stored steps whose batches were copied in calls are predicted so; later
    ones say what was copied during the call before."""
    assert all(step["next"] == 0 for step in fitted.read_steps())
    stored = tmp_path / "h200"
    shutil.copytree(fitted.STEPS, stored)
    monkeypatch.setattr(fitted, "STEPS", stored)
    before = fitted.read_steps()
    step = make_wide_step(tmp_path, 1000)
    plan = estimate(step, "--in-place", "--dim=batch=64")
    fitted.store(plan, "library", 0.9, "call")
    fitted.store(plan, "wide", 0.7, "call", copies_before=True)
    *same, library, added = fitted.read_steps()
    assert [one["name"] for one in same] == [one["name"] for one in before]
    assert added["next"] == 64 * 1000 * 8 * 4 and library["next"] == 0
    assert library["batch"] == added["batch"] > added["next"]
    _, constants = fitted.read_table()
    device = fitted.DEVICES["h200"]
    launches = sum(launch["predicted_seconds"] for launch in plan["launches"])
    assert fitted.predict_step(library, constants, device) == pytest.approx(
        constants["callSeconds"] + library["batch"] / constants["hostRate"] + launches,
        rel=1e-3,
    )
    error = fitted.Rows([added]).errors(constants, device)[0]
    found = fitted.predict_step(added, constants, device)
    assert error == pytest.approx(np.log(found / 0.7e-3))
    assert found == pytest.approx(plan["predicted_seconds"], rel=1e-3)


def test_other_devices(tmp_path):
    """They are scaled, and a line says so."""
    net = "net (float[4096,4096] x) => (float[4096,4096] y) { y = Neg(x) }"
    model = write_model(tmp_path, net)
    times = {}
    for device in ("a10", "a100", "b200", "h100", "h200", "l4", "l40s", "rtx3090",
                   "rtx4090", "rtx5090"):
        plan = estimate(model, device=device)
        (launch,) = plan["launches"]
        assert plan["measured_device"] == "h200" and launch["bound"] == "memory"
        times[device] = launch["predicted_seconds"]
        text = bench(model, device=device)
        assert ("scaled by data sheets" in text) == (device != "h200"), text
    assert times["b200"] < times["h200"] < times["h100"] < times["a100"] < times["l4"]
    assert times["rtx5090"] < times["rtx4090"] < times["rtx3090"] < times["a10"]


def test_text(tmp_path):
    model = write_model(
        tmp_path, "net (float[8] x) => (float[8] y) { y = Neg(x) }"
    )
    text = bench(model)
    assert re.search(r"^predicted +[\d.]+ us: [\d.]+ for the call, ", text, re.M)
    assert re.search(r"^error of predictions +[\d.]+ % over measured", text, re.M)
    assert re.search(r"^registers +estimated: found no ptxas in PATH", text, re.M), text
    assert re.search(r"^kernel .* predicted  bound +first node$", text, re.M), text
    assert re.search(r"^map_0 .*  launch +node", text, re.M), text
    assert "predicted" in mp_run("bench", model, "--device=cuda:h200", "--dry-run").stdout
