# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp_opt.torch with torch's own modules, optimizers and exporter."""

import copy
import importlib.metadata

import mp_opt
import mp_opt.torch
import numpy
import onnx
import pytest
import torch
from models import write_classifier


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_classifier(tmp_path_factory.mktemp("model"))


def make_layers(dropout=0.0):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(),
        torch.nn.Dropout(dropout), torch.nn.Linear(16, 3),
    )  # fmt: skip


@pytest.mark.filterwarnings("error::mp_opt.ModelWarning")
def test_torch_compile():
    module = make_layers().eval()
    x = torch.randn(4, 8)
    with torch.no_grad():
        expected = module(x)
        compiled = torch.compile(module, backend=mp_opt.torch.backend)
        made = compiled(x)
        assert isinstance(made, torch.Tensor)
        torch.testing.assert_close(made, expected, rtol=1e-5, atol=1e-5)
        # In-place changes take effect.
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


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 16)
        self.layer = torch.nn.TransformerEncoderLayer(
            16, 2, 32, dropout=0.0, batch_first=True
        )
        self.head = torch.nn.Linear(16, 3)

    def forward(self, rows):
        return self.head(self.layer(self.words(rows)).mean(1))


def make_convolutions():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8),
        torch.nn.GELU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(8, 3),
    )  # fmt: skip


def train_both(module, inputs, **options):
    """Steps of torch's own and of the backend: losses, and the greatest
    difference of a parameter or statistic, relative to its norm."""
    torch._dynamo.reset()
    other = copy.deepcopy(module)
    compiled = torch.compile(other, backend=mp_opt.torch.backend, options=options)
    labels = torch.arange(len(inputs)) % 3
    losses = []
    for called, trained in ((module, module), (compiled, other)):
        optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
        own = []
        for _ in range(5):
            loss = torch.nn.functional.cross_entropy(called(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    states = zip(module.state_dict().values(), other.state_dict().values())
    error = max(
        float((a - b).double().norm() / (a.double().norm() + 1e-6)) for a, b in states
    )
    assert losses[0][-1] < losses[0][0]
    return losses, error


@pytest.mark.parametrize("kind", ["layers", "attention", "convolutions"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch_compile_trains(kind, recwarn):
    """As torch does. Of convolutions, torch's exporter has no gradient: that
    part is torch's."""
    torch.manual_seed(1)
    module, inputs = {
        "layers": lambda: (make_layers(), torch.randn(32, 8)),
        "attention": lambda: (Attention(), torch.randint(0, 50, (8, 10))),
        "convolutions": lambda: (make_convolutions(), torch.randn(8, 3, 16, 16)),
    }[kind]()
    losses, error = train_both(module, inputs)
    numpy.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    assert error < 1e-5
    left = [str(w.message) for w in recwarn if w.category is mp_opt.ModelWarning]
    assert left == (
        ["mp_opt leaves a backward pass to torch: torch's exporter has no ONNX "
         "for aten.convolution_backward"]
        if kind == "convolutions"
        else []
    )  # fmt: skip


def test_torch_compile_trains_in_16_bit():
    torch.manual_seed(1)
    losses, error = train_both(make_layers(), torch.randn(32, 8), precision="bf16")
    assert losses[0] != losses[1]
    numpy.testing.assert_allclose(losses[1], losses[0], rtol=0.02)
    assert error < 0.1


def test_torch_compile_leaves_what_it_cannot_do():
    torch._dynamo.reset()
    module = make_layers(dropout=0.5)
    x = torch.randn(4, 8)
    with pytest.warns(mp_opt.ModelWarning, match="it draws random numbers"):
        loss = torch.compile(module, backend=mp_opt.torch.backend)(x).sum()
    loss.backward()
    assert module[0].weight.grad is not None


def test_wrong_exports_are_found(monkeypatch):
    """What an exporter makes is compared with the graph, in the first call."""
    torch._dynamo.reset()
    own = mp_opt.torch._export

    def halve(module, inputs):
        proto = own(module, inputs)
        nodes = [n for n in proto.graph.node if n.op_type in ("Gemm", "MatMul")]
        nodes[0].op_type = "Neg"
        del nodes[0].input[1:], nodes[0].attribute[:]
        return proto

    monkeypatch.setattr(mp_opt.torch, "_export", halve)
    module = torch.nn.Linear(4, 4, bias=False)
    compiled = torch.compile(module, backend=mp_opt.torch.backend)
    x = torch.randn(4, 4)
    with pytest.warns(mp_opt.ModelWarning, match="computes something else"):
        made = compiled(x)
    torch.testing.assert_close(made, module(x))


def test_torch_backend_is_registered(tmp_path):
    """By the entry point of an installed package: test_wheel.py has one."""
    points = importlib.metadata.entry_points(group="torch_dynamo_backends")
    if "mp_opt" not in points.names:
        pytest.skip("the package is not installed")
    assert "mp_opt" in torch._dynamo.list_backends()


def test_torch_train_step():
    module = make_layers(dropout=0.25)
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
    module, x = make_layers(), torch.randn(16, 8)
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
            # ONNX's running variance is that of the batch, torch's that of the
            # population: for 16 rows, 16/15 of it; a tenth is new.
            rtol = 0.1 / 15 if key.endswith("running_var") else 1e-4
            numpy.testing.assert_allclose(
                states[key], value, rtol=rtol, atol=1e-6, err_msg=key
            )


def test_torch_tensors(path):
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
    program = torch.onnx.export(
        make_layers().eval(), (torch.randn(2, 8),), dynamo=True, verbose=False
    )
    assert isinstance(mp_opt.convert(program, "bf16"), onnx.ModelProto)
