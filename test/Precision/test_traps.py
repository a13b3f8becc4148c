# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models (models/traps/*.onnxtxt) that converters are known to get wrong.

Both mixed flags must give a valid model that stays as it is when converted
again and has the numbers of the source: with storage rounded (--emulate), and
in fp16 as it is. onnxruntime, which computes much of fp16 in fp32, and ONNX's
reference evaluator, which rounds strictly, must both say so. Outputs keep
their types. With every op denied, no byte changes. models/traps/README.md says
what each trap is and where the others are tested.
"""

import pathlib

import numpy as np
import onnx
import pytest
from node_cases import is_valid
from onnx.reference import ReferenceEvaluator
from onnx_models import run_ort
from support import DTYPES, UNIT_ROUNDOFF, op_types, run_mp_opt

TRAPS = pathlib.Path(__file__).parents[1] / "models" / "traps"
NAMES = sorted(p.stem for p in TRAPS.glob("*.onnxtxt"))
# A few roundings in a row.
GROWTH = 8
# Nobody knows their ops; ONNX's checker crashes on the second one.
NOT_RUN = {"custom_op", "eye_of_unknown"}
NOT_CHECKED = {"eye_of_unknown"}
# onnxruntime requires unique node names, ONNX does not. The reference evaluator
# has no Resize of opset 10, only knows functions that are defined before their
# callers, and requires all inputs of a function.
NOT_RUN_BY = {
    "run": {"duplicate_names"},
    "run_strictly": {"conv_resize10", "function_nested", "function_optional"},
}


def make_feed(model):
    rng = np.random.default_rng(1)
    feed = {}
    initializers = {i.name for i in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype == bool:
            feed[value.name] = np.tril(np.ones(shape, bool)) if shape else (
                np.array(True)
            )
        elif np.issubdtype(dtype, np.integer):
            feed[value.name] = np.arange(np.prod(shape)).reshape(shape)
        else:
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
    if "m" in feed:  # an attention mask
        feed["m"] = np.tril(np.ones_like(feed["m"]))
    return feed


def run(path, feed):
    return run_ort(path, feed)


def run_strictly(path, feed):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(path).run(None, feed)


def compare(expected, actual, bound):
    for want, got in zip(expected, actual, strict=True):
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        want, got = want.astype(np.float64), got.astype(np.float64)
        finite = np.isfinite(want)
        assert (finite == np.isfinite(got)).all()
        if finite.any():
            error = np.sqrt(((want[finite] - got[finite]) ** 2).mean())
            size = np.sqrt((want[finite] ** 2).mean())
            assert error <= bound * (size + 1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_trap(name, dtype, tmp_path):
    paths = {
        kind: str(tmp_path / f"{kind}.onnx")
        for kind in ("source", "mixed", "again", "emulated")
    }
    text = (TRAPS / f"{name}.onnxtxt").read_text()
    source = onnx.parser.parse_model(text)
    onnx.save(source, paths["source"])
    flag = f"--mixed-{dtype}"
    run_mp_opt(paths["source"], flag, "-o", paths["mixed"])
    assert onnx.load(paths["mixed"]) != source
    if name not in NOT_CHECKED:
        assert is_valid(onnx.load(paths["mixed"])) or not is_valid(source)
    run_mp_opt(paths["mixed"], flag, "-o", paths["again"])
    with open(paths["mixed"], "rb") as one, open(paths["again"], "rb") as two:
        assert one.read() == two.read()
    run_mp_opt(paths["source"], flag, "--emulate", "-o", paths["emulated"])
    if name in NOT_RUN:
        return
    feed = make_feed(source)
    bound = GROWTH * UNIT_ROUNDOFF[dtype]
    for engine in (run, run_strictly):
        if name in NOT_RUN_BY[engine.__name__]:
            continue
        expected = engine(paths["source"], feed)
        compare(expected, engine(paths["emulated"], feed), bound)
        if dtype == "fp16":
            compare(expected, engine(paths["mixed"], feed), bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_op_denied(name, dtype, tmp_path):
    source, result = tmp_path / "source.onnx", tmp_path / "result.onnx"
    text = (TRAPS / f"{name}.onnxtxt").read_text()
    onnx.save(onnx.parser.parse_model(text), source)
    flags = [f"--mixed-{dtype}", f"--deny={','.join(op_types(source))}"]
    run_mp_opt(source, *flags, "-o", result)
    assert source.read_bytes() == result.read_bytes()
