# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp_opt in the packages that it is a part of."""

import json
import subprocess
import sys

import mp_opt
import onnx
import onnx_ir
import pytest
from models import write_classifier


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_classifier(tmp_path_factory.mktemp("model"))


def test_onnx_ir(path):
    from mp_opt.onnx_ir import MixedPrecision

    model = onnx_ir.load(path)
    result = MixedPrecision("bf16", deny_node="head")(model)
    assert result.modified
    made = onnx_ir.to_proto(result.model)
    expected = mp_opt.convert(onnx_ir.to_proto(model), "bf16", deny_node="head")
    types = {t.name: t.data_type for t in made.graph.initializer}
    assert types == {t.name: t.data_type for t in expected.graph.initializer}
    assert types["head.weight"] == 1 and types["features.0.weight"] == 16
    assert not MixedPrecision("bf16", deny_node=".*")(model).modified
    both = onnx_ir.passes.Sequential(MixedPrecision("fp16"))(model)
    assert both.modified
    with pytest.raises(mp_opt.UsageError):
        MixedPrecision("bf16", output="x.onnx")
    # Models of onnx_ir can be arguments, too.
    assert isinstance(mp_opt.convert(model, "bf16"), onnx_ir.Model)


def test_olive(path, tmp_path):
    config = {
        "input_model": {"type": "ONNXModel", "model_path": str(path)},
        "passes": {"mixed": {
            "type": "MpOptMixedPrecision", "precision": "bf16",
            "deny_node": ["head"],
        }},
        "output_dir": str(tmp_path / "out"), "cache_dir": str(tmp_path / "cache"),
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(config))
    package = subprocess.run(
        [sys.executable, "-m", "mp_opt.olive"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "olive", "run", "--config", tmp_path / "run.json",
         "--package-config", package],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    made = [onnx.load(p) for p in (tmp_path / "out").rglob("*.onnx")]
    assert made, done.stdout + done.stderr
    types = {t.name: t.data_type for t in made[0].graph.initializer}
    assert types["head.weight"] == 1 and types["features.0.weight"] == 16


def test_model_explorer(path):
    import mp_opt.model_explorer

    data = mp_opt.model_explorer.main().run(str(path), {"precision": "fp16"})
    written = json.loads(
        data.to_json_string() if hasattr(data, "to_json_string") else
        json.dumps({k: v.asdict() for k, v in data.graphsData.items()})
    )  # fmt: skip
    assert written and data.graphsData
    graph = next(iter(data.graphsData.values()))
    # Bits.
    assert "16" in {str(result.value) for result in graph.results.values()}
