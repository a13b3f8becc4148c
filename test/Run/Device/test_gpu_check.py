# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu-check.sh: a kit of two entries is made, and run without a GPU."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from driver_double import DOUBLE, emulated_kernels, needs_double
from libraries import needs_linker
from runs import ROOT, scratch_dir
from support import MP_OPT, run_mp_opt

sys.path.insert(0, str(ROOT / "benchmarks"))
import device_kit  # noqa: E402
import turns  # noqa: E402

BUILD = pathlib.Path(MP_OPT).parents[1]
SCRIPT = ROOT / "scripts" / "gpu-check.sh"
ENTRIES = ["map-fp32", "mlp_mse-fp16"]
pytestmark = [needs_linker, needs_double]


def call(*command, **variables):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True,
        env={**os.environ, "MPOPT_BUILD": str(BUILD), **variables},
    )


def make(folder, *flags):
    # The script takes the Python of a set-up; tests have their own.
    done = call(
        sys.executable, ROOT / "benchmarks" / "device_kit.py", folder, *flags,
        MP_OPT=MP_OPT, MP_RUN=str(BUILD / "bin" / "mp-run"),
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def made():
    models = f"--models={','.join(ENTRIES)}"
    return make(scratch_dir("kit") / "kit", "--device=emulated", models)


@pytest.fixture
def kit(made, tmp_path):
    return shutil.copytree(made, tmp_path / "kit")


def check(kit, *flags, **variables):
    """As on the machine that the folder was taken to."""
    variables = {"LD_LIBRARY_PATH": str(DOUBLE), **variables}
    return call(kit / "gpu-check.sh", "--seconds=0.05", *flags, **variables)


def rows(text):
    """The cells of entries, by their names."""
    table = [line.strip("|").split("|") for line in text.splitlines()
             if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in table]
    return {row[0]: row[1:] for row in cells if row[0] != "entry"}


def read_results(kit):
    lines = (kit / "results.jsonl").read_text().splitlines()
    head, *records = map(json.loads, lines)
    return head, {record["entry"]: record for record in records}


def test_all_is_right(kit):
    done = check(kit)
    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(done.stdout)
    assert list(found) == ENTRIES
    for verdict, error, same_bits, milliseconds, *_ in found.values():
        assert (verdict, same_bits) == ("right", "yes")
        assert float(milliseconds) > 0 and " of " in error
    assert "2 entries ran, 0 wrong or failed, 0 skipped" in done.stdout
    assert "Not compared with torch" in done.stdout
    assert (kit / "results.md").read_text() == done.stdout
    head, records = read_results(kit)
    assert head["device"] == "emulated" and head["capability"] == "9.0"
    for record in records.values():
        assert record["verdict"] == "right" and record["same_bits"]
        assert record["error"] <= record["bound"] and record["seconds"] > 0
        assert record["bytes"] > 0 and record["floor_h100"] > 0


def read_launches(kit):
    """The records of each call, by entry."""
    calls = {}
    for line in (kit / "launches.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "entry" in record:
            current = calls.setdefault(record["entry"], [])
            current.append([])
        else:
            current[-1].append(record)
    return calls


def test_times_of_launches(kit):
    """Each record of three calls, as the plan has them."""
    done = check(kit)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = read_launches(kit)
    assert list(calls) == ENTRIES
    for entry, found in calls.items():
        plan = json.loads((kit / f"{entry}.plan.json").read_text())
        assert len(found) == 3 and len(found[0]) == len(plan["launches"])
        for records in found:
            assert all(record["us"] > 0 for record in records)
            for record, planned in zip(records, plan["launches"]):
                for key in ("kernel", "node", "grid", "block", "shared"):
                    assert record.get(key) == planned.get(key)
            kernels = {record["kernel"] for record in records}
            assert kernels - {"copy", "fill"} <= set(plan["kernels"])


def test_no_file_of_launches(kit):
    done = call(
        kit / "device_check", kit / "map-fp32.txt", "--seconds=0.05",
        "--launches=none/launches.jsonl", LD_LIBRARY_PATH=str(DOUBLE),
    )
    assert done.returncode == 2
    assert "a file cannot be written: none/launches.jsonl" in done.stderr
    library = call(
        kit / "device_check", kit / "map-fp32.txt", "--once",
        LD_LIBRARY_PATH=str(DOUBLE), MPOPT_LAUNCH_TIMES="none/launches.jsonl",
    )
    assert library.returncode == 5
    assert "MPOPT_LAUNCH_TIMES: 'none/launches.jsonl': No such file" in (
        library.stdout
    )


def test_a_language_model():
    """Exported by torch: a causal mask, and a head that is the table of words."""
    if not turns.venv_python("venv-torch").exists():
        pytest.skip("needs torch")
    kit = make(
        scratch_dir("language") / "kit", "--device=emulated",
        "--models=small-gpt-bf16",
    )
    done = check(kit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(done.stdout)["small-gpt-bf16"][0] == "right"


def test_wrong_references(kit):
    """A value that is off is found, and the others are looked at still."""
    path = kit / "map-fp32.bin"
    data = bytearray(path.read_bytes())
    # The exponent of the last expected value.
    data[-1] ^= 0x40
    path.write_bytes(data)
    done = check(kit)
    assert done.returncode == 1, done.stdout + done.stderr
    found = rows(done.stdout)
    assert found["map-fp32"][0] == "WRONG: 'y' of call 1"
    assert found["mlp_mse-fp16"][0] == "right"
    assert "2 entries ran, 1 wrong or failed" in done.stdout
    assert read_results(kit)[1]["map-fp32"]["verdict"].startswith("WRONG")


@pytest.mark.parametrize("factor, code", [(1.005, 0), (1.02, 1)])
def test_bounds(kit, factor, code):
    """Of a loss, 1e-2 in fp16."""
    entry = (kit / "mlp_mse-fp16.txt").read_text().splitlines()
    assert entry[-1] == "expect 7 loss 4 max 0.01"
    path = kit / "mlp_mse-fp16.bin"
    data = path.read_bytes()
    loss = np.frombuffer(data[-4:], np.float32) * np.float32(factor)
    path.write_bytes(data[:-4] + loss.tobytes())
    done = check(kit)
    assert done.returncode == code, done.stdout + done.stderr


def test_calls_that_fail(kit):
    done = check(kit, MPOPT_EMULATED_FAIL="cuGraphLaunch:1:719")
    assert done.returncode == 1, done.stdout + done.stderr
    for verdict, *_ in rows(done.stdout).values():
        assert verdict.startswith("FAILED in call "), verdict
        assert "LAUNCH_FAILED" in verdict


def test_damaged_kits(kit):
    (kit / "map-fp32.bin").write_bytes(b"")
    (kit / "mlp_mse-fp16.so").write_text("no library\n")
    done = check(kit)
    assert done.returncode == 1, done.stdout + done.stderr
    found = rows(done.stdout)
    assert "the data end before they should" in found["map-fp32"][0]
    assert "the library cannot be loaded" in found["mlp_mse-fp16"][0]
    (kit / "entries.list").unlink()
    done = check(kit)
    assert done.returncode == 2 and "is not a kit, or not a whole one" in done.stderr


@pytest.mark.parametrize(
    "variables, message",
    [
        ({"LD_LIBRARY_PATH": "."}, "there is no NVIDIA driver: "),
        ({"MPOPT_EMULATED_DEVICES": "0"}, "the NVIDIA driver finds no device"),
    ],
)
def test_there_is_no_device(kit, variables, message):
    (kit / "libcuda.so.1").write_text("no library\n")
    done = check(kit, **variables)
    assert done.returncode == 4, done.stdout + done.stderr
    assert message in done.stderr and not done.stdout
    assert not (kit / "results.md").exists()


def test_no_time_is_left(kit):
    done = check(kit, "--minutes=0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert not rows(done.stdout)
    assert f"0 minutes were over: {' '.join(ENTRIES)}." in done.stdout
    assert "0 entries ran, 0 wrong or failed, 2 skipped" in done.stdout


# Stand-ins for tools that a machine with a GPU may have.
SANITIZER = """#!/bin/sh
[ "$1" = --tool=memcheck ] || { echo ERROR SUMMARY: 3 errors; exit 9; }
shift 2
exec "$@"
"""
PYTHON = """#!/bin/sh
[ "$1" = -c ] || echo "| mlp784-$1 | eager | 1.000 |"
"""


def test_torch_and_sanitizer(kit, tmp_path):
    for name, text in ("compute-sanitizer", SANITIZER), ("python3", PYTHON):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = check(kit, "--minutes=4", PATH=path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "| mlp784-device_torch.py | eager | 1.000 |" in done.stdout
    assert "| map-fp32 | memcheck | nothing found |" in done.stdout
    assert "| map-fp32 | racecheck | FAILED: ERROR SUMMARY: 3 errors |" in (
        done.stdout
    )
    assert "2 entries ran, 2 wrong or failed, 0 skipped" in done.stdout


def test_usage(kit):
    for flag in ("--nothing", "--minutes=soon", "--make"):
        done = check(kit, flag)
        assert done.returncode == 2, done.stdout + done.stderr
    done = call(SCRIPT, "--help")
    assert done.returncode == 0 and "results.jsonl" in done.stdout


def test_by_the_driver(tmp_path):
    """A library of --device=cuda, by the driver's double."""
    kit = make(tmp_path / "kit", "--models=product-bf16", "--target=sm_80")
    source, step = tmp_path / "product.onnxtxt", tmp_path / "product-bf16.onnx"
    source.write_text(device_kit.HEAD + device_kit.SMALL["product"])
    run_mp_opt(source, "--mixed-bf16", "--summary=none", "-o", step)
    variables = emulated_kernels(tmp_path, step, "--symbols=model")
    done = check(kit, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(done.stdout)["product-bf16"][0] == "right"
    log = (tmp_path / "driver.log").read_text()
    assert "cuGraphLaunch" in log
