# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp_opt.calibrate, and conversions by its ranges."""

import mp_opt
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((16, 16)).astype(np.float32),
        "v": rng.uniform(-3e4, 3e4, (16, 4)).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("MatMul", ["h", "v"], ["y"], name="second"),
        helper.make_node("Softmax", ["y"], ["p"], name="last"),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 16])],
        [helper.make_tensor_value_info("p", 1, [4, 4])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]
    )


@pytest.fixture
def batches():
    x = np.random.default_rng(1).standard_normal((3, 4, 16))
    return x.astype(np.float32)


def types(model):
    return {t.name: t.data_type for t in model.graph.initializer}


def test_ranges_decide(model, batches, tmp_path):
    ranges = mp_opt.calibrate(model, {"x": batches}, "fp16")
    assert ranges.batches == 3 and len(ranges) == 4 and set(ranges) == set("xhyp")
    assert ranges["x"].max == pytest.approx(np.abs(batches).max())
    assert ranges["y"].max > 65504
    assert types(mp_opt.convert(model, "fp16"))["v"] == onnx.TensorProto.FLOAT16
    made = mp_opt.convert(model, "fp16", ranges=ranges)
    assert types(made)["v"] == onnx.TensorProto.FLOAT
    ranges.save(tmp_path / "r.json")
    again = mp_opt.Ranges.load(tmp_path / "r.json")
    assert again.values == ranges.values
    path = mp_opt.convert(model, "fp16", ranges=tmp_path / "r.json")
    assert path.SerializeToString() == made.SerializeToString()
    data = mp_opt.convert(
        model, "fp16", calibrate=write(tmp_path, batches), name="model"
    )
    assert types(data) == types(made)


def write(folder, batches):
    np.savez(folder / "x.npz", x=batches)
    return folder / "x.npz"


def test_forms_and_merging(model, batches, tmp_path):
    """A list of batches, files, and ranges of parts of the data."""
    whole = mp_opt.calibrate(model, [{"x": batch} for batch in batches])
    file = mp_opt.calibrate(model, write(tmp_path, batches))
    assert whole.values == file.values
    parts = [mp_opt.calibrate(model, {"x": batch}) for batch in batches]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.batches == 3
    for name in whole:
        assert merged[name].max == whole[name].max
        assert merged[name].energy == pytest.approx(whole[name].energy, rel=1e-6)
    made = mp_opt.convert(model, "fp16", ranges=parts)
    assert types(made) == types(mp_opt.convert(model, "fp16", ranges=whole))


def test_what_is_refused(model, batches, tmp_path):
    with pytest.raises(mp_opt.Error, match="input 'x' is missing"):
        mp_opt.calibrate(model, {"z": batches})
    with pytest.raises(mp_opt.UsageError, match="there are no data"):
        mp_opt.calibrate(model, [])
    with pytest.raises(mp_opt.Error, match="do not have the ranges of data"):
        mp_opt.calibrate(model, "random")
    with pytest.raises(mp_opt.UsageError, match="expected ranges"):
        mp_opt.Ranges("{}")
    (tmp_path / "r.json").write_text("[]")
    with pytest.raises(mp_opt.UsageError, match="expected ranges"):
        mp_opt.Ranges.load(tmp_path / "r.json")
    model.graph.node[0].name = model.graph.node[0].output[0] = "other"
    model.graph.node[1].input[0] = "other"
    ranges = mp_opt.calibrate(model, {"x": batches})
    model.graph.node[0].name = "third"
    with pytest.raises(mp_opt.Error, match="ranges of another model"):
        mp_opt.convert(model, ranges=ranges)
