# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp_opt in the packages that it is a part of. What is not there is left out."""

import importlib.metadata
import json
import subprocess
import sys

import mp_opt
import numpy
import onnx
import pytest
from models import write_classifier


def need(name):
    return pytest.importorskip(name, exc_type=ImportError)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_classifier(tmp_path_factory.mktemp("model"))


#
# onnx_ir
#


def test_onnx_ir(path):
    onnx_ir = need("onnx_ir")
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
    # As an argument, too.
    assert isinstance(mp_opt.convert(model, "bf16"), onnx_ir.Model)


#
# torch
#


class Layers:
    """A module, made where there is torch."""

    def __new__(cls, dropout=0.0):
        import torch

        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(),
            torch.nn.Dropout(dropout), torch.nn.Linear(16, 3),
        )  # fmt: skip


@pytest.mark.filterwarnings("error::mp_opt.ModelWarning")
def test_torch_compile():
    torch = need("torch")
    need("onnxscript")
    import mp_opt.torch

    module = Layers().eval()
    x = torch.randn(4, 8)
    with torch.no_grad():
        expected = module(x)
        compiled = torch.compile(module, backend=mp_opt.torch.backend)
        made = compiled(x)
        assert isinstance(made, torch.Tensor)
        torch.testing.assert_close(made, expected, rtol=1e-5, atol=1e-5)
        # What changes in place is seen.
        module[0].weight.mul_(2)
        torch.testing.assert_close(
            compiled(x), module(x), rtol=1e-5, atol=1e-5
        )
        torch._dynamo.reset()
        low = torch.compile(
            module, backend=mp_opt.torch.backend, options={"precision": "bf16"}
        )(x)
    assert not torch.equal(low, module(x))
    torch.testing.assert_close(low, module(x), rtol=0.05, atol=0.05)


def test_torch_compile_leaves_what_it_cannot_do():
    torch = need("torch")
    import mp_opt.torch

    torch._dynamo.reset()
    module = Layers()
    x = torch.randn(4, 8)
    with pytest.warns(mp_opt.ModelWarning, match="it needs gradients"):
        loss = torch.compile(module, backend=mp_opt.torch.backend)(x).sum()
    loss.backward()
    assert module[0].weight.grad is not None


def test_torch_backend_is_registered(tmp_path):
    """By the entry point of an installed package: test_wheel.py has one."""
    need("torch")
    points = importlib.metadata.entry_points(group="torch_dynamo_backends")
    if "mp_opt" not in points.names:
        pytest.skip("the package is not installed")
    import torch

    assert "mp_opt" in torch._dynamo.list_backends()


def test_torch_train_step():
    torch = need("torch")
    need("onnxscript")
    import mp_opt.torch

    module = Layers(dropout=0.25)
    before = {k: v.clone() for k, v in module.state_dict().items()}
    x = torch.randn(32, 8)
    labels = x[:, :3].argmax(1)
    step = mp_opt.torch.train_step(
        module, "softmax-cross-entropy", x, optimizer="adamw", lr=0.02,
    )  # fmt: skip
    names = {value.name for value in step.inputs}
    assert "labels" in names and len(names) == 2
    batch = {(names - {"labels"}).pop(): x, "labels": labels}
    losses = [float(step.step(batch)["loss"]) for _ in range(60)]
    # Dropout is in it: no two losses are alike.
    assert len(set(losses)) > 50 and losses[-1] < losses[0] / 2
    step.update(module)
    after = module.state_dict()
    for name in before:
        if "num_batches" not in name:
            assert not torch.equal(before[name], after[name]), name
    assert (module.eval()(x).argmax(1) == labels).float().mean() > 0.8


def test_torch_step_is_torchs():
    """One step of SGD, without what is drawn, is torch's own."""
    torch = need("torch")
    need("onnxscript")
    import mp_opt.torch

    module, x = Layers(), torch.randn(16, 8)
    labels = torch.arange(16) % 3
    step = mp_opt.torch.train_step(
        module, "softmax-cross-entropy", x, optimizer="sgd", lr=0.1
    )
    name = next(v.name for v in step.inputs if v.name != "labels")
    made = step.step({name: x, "labels": labels})
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    loss = torch.nn.functional.cross_entropy(module(x), labels)
    loss.backward()
    optimizer.step()
    assert float(made["loss"]) == pytest.approx(float(loss), rel=1e-5)
    states = step.state_dict()
    for key, value in module.state_dict().items():
        if key in states:
            # ONNX's running variance is that of the batch, torch's that of what
            # it is a sample of: of 16 rows, 16/15 of it; a tenth is new.
            rtol = 0.1 / 15 if key.endswith("running_var") else 1e-4
            numpy.testing.assert_allclose(
                states[key], value, rtol=rtol, atol=1e-6, err_msg=key
            )


def test_torch_tensors(path):
    torch = need("torch")
    program = mp_opt.compile(path)
    x = torch.randn(5, 4)
    y = program(x)
    assert isinstance(y, torch.Tensor)
    assert torch.equal(y, torch.from_numpy(program(x.numpy())))
    wide = torch.randn(5, 8)[:, ::2]
    assert torch.equal(program(wide), program(wide.contiguous()))
    assert torch.equal(program(x.requires_grad_()), y)
    from models import identity

    low = torch.randn(3, 2).to(torch.bfloat16)
    assert torch.equal(mp_opt.compile(identity("bfloat16"))(low), low)
    with pytest.raises(TypeError, match="sparse"):
        program(x.detach().to_sparse())
    with pytest.raises(TypeError, match="meta"):
        program(torch.empty(5, 4, device="meta"))


def test_onnx_program():
    """What torch.onnx.export gives is a model."""
    torch = need("torch")
    need("onnxscript")
    program = torch.onnx.export(
        Layers().eval(), (torch.randn(2, 8),), dynamo=True, verbose=False
    )
    assert isinstance(mp_opt.convert(program, "bf16"), onnx.ModelProto)


#
# Others
#


def test_olive(path, tmp_path):
    need("olive")
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
    need("model_explorer")
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
