# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of mp-run share."""

import functools
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Support"))
import support  # noqa: E402
from support import MODELS, MP_OPT, run_mp_opt, scratch_dir  # noqa: E402,F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
MP_RUN = os.path.abspath(
    os.environ.get("MP_RUN", ROOT / "build" / "bin" / "mp-run")
)
BAD_INPUT, USAGE, OUTSIDE, NOT_COMPILED, DIVERGED = 1, 2, 3, 4, 5
DEVICE_FAILED = 7
INTERRUPTED = 130
# MPOPT_TEST_DEVICE=cuda runs the tests of devices on a GPU.
DEVICE = "--device=" + os.environ.get("MPOPT_TEST_DEVICE", "emulated")
needs_emulator = pytest.mark.skipif(
    not DEVICE.endswith("emulated"),
    reason="needs what only the emulated driver does: logs, planted faults",
)


def command(*arguments):
    return [MP_RUN, *map(str, arguments)]


def attempt(*arguments, timeout=120, **options):
    """Run mp-run, whatever its exit code is."""
    options["timeout"] = timeout
    return support.attempt(*arguments, program=MP_RUN, **options)


def mp_run(*arguments, **options):
    done = attempt(*arguments, **options)
    if done.returncode == NOT_COMPILED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done


def fail(code, *arguments, **options):
    """Its message, which is one line, of a run that ends with `code`."""
    return attempt(*arguments, code=code, **options).stderr


def compute(model, data, *flags):
    """The outputs of a model, or of one in a file, by name; so are the data."""
    folder = scratch_dir("run")
    if isinstance(model, onnx.ModelProto):
        onnx.save(model, folder / "model.onnx")
        model = folder / "model.onnx"
    np.savez(folder / "in.npz", **data)
    mp_run("run", model, folder / "in.npz", *flags, "-o", folder / "out.npz")
    return dict(np.load(folder / "out.npz"))


def write_model(folder, text, name="model.onnxtxt"):
    path = folder / name
    path.write_text('<ir_version: 9, opset_import: ["" : 21]>\n' + text)
    return path


def load_safetensors(path):
    """Arrays by their names."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    types = {"F32": np.float32, "I64": np.int64, "I32": np.int32}
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + o for o in entry["data_offsets"])
        array = np.frombuffer(data[begin:end], types[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def train_folder(name):
    return MODELS / "train" / name


@functools.lru_cache(maxsize=None)
def curve(name):
    return json.loads((train_folder(name) / "curve.json").read_text())["fp32"]


# The same as onnxruntime's AdamWOptimizer in the stored optimizer models.
OPTIMIZERS = {"adamw": "adamw:eps=1e-6,mode=1", "sgd": "sgd"}


@functools.lru_cache(maxsize=None)
def make_step(name, optimizer="adamw", *flags):
    loss = "mse" if name == "mlp_mse" else "softmax-cross-entropy"
    path = scratch_dir("step") / "step.onnx"
    run_mp_opt(
        train_folder(name) / "forward.onnx", "--train", f"--loss={loss}",
        f"--optimizer={OPTIMIZERS[optimizer]}",
        f"--lr={curve(name)[optimizer]['lr']}", "--summary=none", *flags,
        "-o", path,
    )  # fmt: skip
    return path


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
