# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipe that exports torch's modules, examples/training/export_torch.py."""

import argparse
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


# -----------------------------------------------------------------------------
# Checks
# -----------------------------------------------------------------------------


def test_judged_gradients():
    """What rounding explains agrees, and nothing else does."""
    random = numpy.random.default_rng(0)
    exact = {
        "large": random.normal(size=99),
        "small": random.normal(size=99) * 1e-5,
        "zero": random.normal(size=99) * 1e-17,
        "drawn": random.normal(size=99),
        "rough": random.normal(size=99),
    }
    noise = {"large": 1e-8, "small": 1e-7, "zero": 1e-6, "drawn": 1, "rough": 1e-3}
    own = {n: g + noise[n] * random.normal(size=99) for n, g in exact.items()}
    judge = recipe.Judge(exact, own, tolerance=1e-4)

    def agrees(name, error):
        found = exact[name] + error * random.normal(size=99)
        errors = recipe.relative_errors({name: found}, exact)
        return judge.verdict(name, found, errors[name])

    assert agrees("large", 1e-6)[0] and not agrees("large", 1e-3)[0]
    assert agrees("zero", 1e-6)[1].startswith("not judged: vanishes, 1e-17 of")
    assert agrees("small", 1e-6)[0] and agrees("zero", 3e-5)[0]
    assert not agrees("zero", 1e-2)[0] and not agrees("small", 1e-2)[0]
    # Errors of twice those of torch's fp32 pass; draws of Dropout do not.
    assert agrees("rough", 2e-3)[0] and not agrees("rough", 5e-2)[0]
    assert not agrees("drawn", 1)[0]


class Vanishing(torch.nn.Module):
    """Biases before normalizations, a frozen one, look-ups with padding, tied,
    shared and frozen parameters."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 4, padding_idx=-2)
        self.again = torch.nn.Embedding(7, 4)
        self.again.weight = self.table.weight
        self.first = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.second = torch.nn.Linear(4, 4)
        self.frozen = torch.nn.BatchNorm1d(4).eval()
        self.frozen.running_mean.uniform_()
        self.still = torch.nn.Linear(4, 4).requires_grad_(False)
        self.head = torch.nn.Linear(4, 7)
        self.head.weight = self.table.weight

    def forward(self, ids):
        other = torch.nn.functional.embedding(ids % 4, self.still.weight, 1)
        x = self.table(ids) * 2 + self.again(ids) + other
        x = torch.tanh(self.norm(self.first(x.mean(1))))
        return self.head(self.still(self.frozen(torch.tanh(self.second(x)))))


def check_module(module, inputs, path, exporter, capsys):
    options = argparse.Namespace(
        class_axis=1, loss="mse", flag=[], tolerance=1e-4,
        mp_opt=os.environ["MP_OPT"],
    )  # fmt: skip
    recipe.set_mode(module, False)
    recipe.export(module, inputs, path, exporter)
    recipe.write_lists(module, path)
    capsys.readouterr()
    return lambda: (
        recipe.check(module, inputs, path, options),
        capsys.readouterr().out.splitlines(),
    )


@pytest.mark.parametrize("exporter", ["dynamo", "script"])
def test_gradients_that_vanish(tmp_path, monkeypatch, capsys, exporter):
    torch.manual_seed(0)
    module, inputs = Vanishing(), (torch.randint(0, 7, (64, 5)),)
    check = check_module(module, inputs, tmp_path / "n.onnx", exporter, capsys)
    wrong, lines = check()
    assert wrong == 0, lines
    names = {line.split()[-1] for line in lines}
    assert names >= {"table.weight", "first.bias", "second.bias", "frozen.weight"}
    assert not any("still" in name for name in names)
    if exporter == "dynamo":
        return
    run_step = recipe.run_step

    def change(step, feeds):
        results = run_step(step, feeds)
        results["second.weight_grad"] *= 1.01
        results["first.bias_grad"] += 0.01
        results["table.weight_grad"][5] += 1
        return results

    monkeypatch.setattr(recipe, "run_step", change)
    wrong, lines = check()
    found = {line.split()[-1] for line in lines if line[0] == "!"}
    assert found == {"second.weight", "first.bias", "table.weight"}


def test_modes_of_parts(capsys):
    """Those of a module in training mode are its own."""
    module = Vanishing()
    recipe.set_mode(module, False)
    assert module.norm.training and not module.frozen.training
    assert "frozen: stays in inference mode" in capsys.readouterr().out
    # Loaded models are in inference mode as a whole.
    module.eval()
    recipe.set_mode(module, False)
    assert module.frozen.training
    recipe.set_mode(module, True)
    assert not module.norm.training


class Lookup(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.table = torch.nn.Embedding(7, 4, **options)

    def forward(self, ids):
        return self.table(ids).mean(1)


@pytest.mark.parametrize("exporter", ["dynamo", "script"])
def test_what_steps_cannot_do(tmp_path, exporter):
    ids = torch.zeros(2, 3, dtype=torch.int64)
    norm = torch.nn.BatchNorm1d(4, momentum=None)
    for module, inputs, text in (
        (Lookup(max_norm=1.0), ids, "'table.weight' is looked up with max_norm"),
        (Lookup(scale_grad_by_freq=True), ids, "with scale_grad_by_freq"),
        (torch.nn.Sequential(norm), torch.ones(3, 4), "'0' has momentum=None"),
    ):
        with pytest.raises(recipe.Failure, match=text):
            recipe.export(module, (inputs,), tmp_path / "n.onnx", exporter)
        recipe.export(module.eval(), (inputs,), tmp_path / "n.onnx", "script")
