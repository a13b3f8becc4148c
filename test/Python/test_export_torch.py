# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipe that exports torch's modules, examples/training/export_torch.py."""

import os
import pathlib
import sys

import numpy
import onnx
import onnxruntime
import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "training"))
import export_torch as recipe  # noqa: E402


class Net(torch.nn.Module):
    """Two inputs with a batch, and a number without one."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x, y, factor):
        return self.second(torch.relu(self.first(x + y)) * factor)


class Many(Net):
    def forward(self, *inputs):
        return super().forward(*inputs)


def inputs_of(count):
    torch.manual_seed(0)
    return torch.randn(count, 4), torch.randn(count, 4), torch.tensor(0.5)


@pytest.mark.parametrize("kind", [Net, Many])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("exporter", ["dynamo", "script"])
def test_dynamic_batch(tmp_path, exporter, count, kind):
    """An example of one row is for batches of any size, too."""
    path, module = tmp_path / "net.onnx", kind()
    inputs = recipe.double_batch(inputs_of(count))
    settings = recipe.open_batch(module, inputs, exporter)
    recipe.export(module, inputs, path, exporter, **settings)
    session = onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"]
    )
    shapes = [i.shape for i in session.get_inputs()]
    assert shapes[:2] == [["batch", 4]] * 2 and shapes[2] == []
    for rows in (1, 5):
        values = inputs_of(rows)
        names = [i.name for i in session.get_inputs()]
        feeds = dict(zip(names, (v.numpy() for v in values)))
        (found,) = session.run(None, feeds)
        expected = module(*values).detach().numpy()
        numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_no_batch():
    with pytest.raises(recipe.Failure, match="no input has an axis"):
        recipe.batch_of((torch.tensor(1.0),))


class Normed(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.body = torch.nn.Sequential(norm(torch.nn.Linear(4, 3)))

    def forward(self, x):
        return self.body(x)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm_of_hooks(tmp_path, monkeypatch):
    """Its weight has a gradient before the module is called."""
    made = {
        "old": lambda: (Normed(torch.nn.utils.weight_norm), torch.ones(2, 4)),
        "new": lambda: (
            Normed(torch.nn.utils.parametrizations.weight_norm),
            torch.ones(2, 4),
        ),
    }
    monkeypatch.setattr(recipe, "load_factory", made.get)
    with pytest.raises(recipe.Failure) as failure:
        recipe.make_module("old")
    assert "'body.0.weight' is made by torch.nn.utils.weight_norm" in str(failure.value)
    assert "parametrizations.weight_norm" in str(failure.value)
    module, inputs = recipe.make_module("new")
    recipe.export(module, inputs, tmp_path / "net.onnx")
    recipe.write_lists(module, tmp_path / "net.onnx")
    names = [i.name for i in onnx.load(tmp_path / "net.onnx").graph.initializer]
    assert sum("original" in name for name in names) == 2


class Centred(torch.nn.Module):
    """A moving average that forward keeps, and reads."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 3)
        self.register_buffer("center", torch.zeros(3))
        # The first batch leaves it as it is.
        self.register_buffer("side", torch.ones(3))

    def forward(self, x):
        y = self.body(x)
        with torch.no_grad():
            self.center.mul_(0.9).add_(0.1 * y.mean(0))
            self.side.mul_(torch.sign(self.body.bias + 1))
        return torch.tanh(y - self.center) * self.side


@pytest.mark.parametrize("exporter", ["dynamo", "script"])
def test_updated_buffers(tmp_path, exporter):
    """They are states of the step, and follow torch's."""
    torch.manual_seed(0)
    module, path = Centred().train(), tmp_path / "net.onnx"
    x, labels = torch.randn(5, 4), torch.randn(5, 3)
    recipe.export(module, (x,), path, exporter)
    recipe.write_lists(module, path)
    assert len(onnx.load(path).graph.output) == 1
    step = tmp_path / "step.onnx"
    flags = ("--loss=mse", "--optimizer=sgd", "--lr=0.5")
    recipe.make_step(os.environ["MP_OPT"], path, step, *flags)
    session = recipe.open_step(step)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    state = {}
    for _ in range(4):
        feeds = {"x": x.numpy(), "labels": labels.numpy(), **state}
        results = recipe.call_step(session, feeds)
        state = {
            name.removesuffix("_new"): value
            for name, value in results.items()
            if name.endswith("_new")
        }
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x), labels)
        loss.backward()
        optimizer.step()
        numpy.testing.assert_allclose(results["loss"], loss.item(), rtol=1e-5)
    for name in ("center", "side"):
        expected = module.get_buffer(name).numpy()
        numpy.testing.assert_allclose(state[name], expected, rtol=1e-5, atol=1e-6)
