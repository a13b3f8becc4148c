# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of files share: models, runs of mp-opt, states of folders."""

import os
import pathlib
import re
import signal

import numpy as np
import onnx
import onnx_models
from onnx import TensorProto, helper
from support import attempt

ROOT = pathlib.Path(__file__).resolve().parents[2]
MP_OPT = pathlib.Path(
    os.path.abspath(os.environ.get("MP_OPT", ROOT / "build/bin/mp-opt"))
)
FAULTS = os.environ.get(
    "MP_OPT_FAULTS", MP_OPT.parents[1] / "lib/libmp-opt-faults.so"
)
MIXED = ("--mixed-bf16", "--summary=none")

TEMPORARY = re.compile(r"\..*\.mp-opt-[a-z0-9]{8}\.tmp")


def make_model(path, side=64, scale=1.0, external=None):
    """A MatMul with a weight of side x side, kept in `external` if given."""
    weight = np.arange(side * side, dtype=np.float32).reshape(side, side)
    model = onnx_models.make_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
        {"x": ["n", side]}, {"y": ["n", side]},
        {"w": weight * scale / weight.size}
    )
    if external:
        onnx.save_model(
            model, path, save_as_external_data=True, location=external
        )
    else:
        onnx.save_model(model, path)
    return path


def place(path, side=4, **entries):
    """A model whose weight says of its place what `entries` say; a list is
    for keys that come twice."""
    weight = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[side, side],
        data_location=TensorProto.EXTERNAL,
    )
    for key, values in entries.items():
        for value in values if isinstance(values, list) else [values]:
            weight.external_data.add(key=key, value=str(value))
    product = helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")
    sizes = ["n", side]
    model = onnx_models.make_model([product], {"x": sizes}, {"y": sizes}, [weight])
    path.write_bytes(model.SerializeToString())
    return path


def environment(**variables):
    """Of a process that runs with test/Files/faults.c."""
    changed = {**os.environ, **{k: str(v) for k, v in variables.items() if v}}
    if variables:
        changed["LD_PRELOAD"] = str(FAULTS)
    return changed


def run(*arguments, folder=None, **variables):
    return attempt(*arguments, cwd=folder, env=environment(**variables))


def run_well(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def state(folder):
    """What is in a folder: the content of files, where links point."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = None
    return found


def restore(folder, files):
    """Makes the state of a folder without subfolders what it was."""
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def check_error(done, *names):
    """One error, that names one of the files; nothing of a crash."""
    assert done.returncode == 1, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    assert any(str(name) in lines[0] for name in names), lines[0]
    return lines[0]


KILLED = -signal.SIGKILL
