# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch's modules: ``torch.compile(model, backend="mp_opt")``, and training
steps that are exported as they are meant."""

from __future__ import annotations

import io
import warnings

import torch

import mp_opt

#
# torch.compile
#


def _export(module, inputs) -> object:
    """The model as a ModelProto, its parameters inputs as in the graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module, tuple(inputs), dynamo=True, verbose=False, optimize=True
        )
    return program.model_proto


def _is_fixed(node, value) -> bool:
    """A parameter or buffer, which is the same tensor in each call."""
    if isinstance(value, torch.nn.Parameter):
        return True
    kind = getattr(value, "_dynamo_static_input_type", None)
    told = node.meta.get("tensor_dict", {})
    return bool(kind or told.get("_dynamo_static_input_type"))


class _Compiled:
    """A graph of torch's as a program. Parameters are constants of it; where
    one has been written to since, it is made anew with what they are."""

    # So often; then they become inputs, and nothing is made any more.
    MOST = 2

    def __init__(self, graph, inputs, arguments):
        places = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.fixed = [
            i for i, (n, v) in enumerate(zip(places, inputs)) if _is_fixed(n, v)
        ]
        self.proto = _export(graph, inputs)
        self.names = [value.name for value in self.proto.graph.input]
        if len(self.names) != len(inputs):
            raise mp_opt.NotSupportedError(
                f"the exporter made {len(self.names)} inputs of {len(inputs)}", 4
            )
        self.arguments = arguments
        self.made = 0
        self.program = None
        self.versions = None

    def _versions(self, tensors):
        return [(tensors[i].data_ptr(), tensors[i]._version) for i in self.fixed]

    def _make(self, tensors):
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.proto)
        if self.made >= self.MOST:
            self.fixed = []
        constant = {self.names[i]: tensors[i] for i in self.fixed}
        for name, tensor in constant.items():
            value = tensor.detach().cpu().contiguous()
            made = model.graph.initializer.add()
            made.name = name
            made.dims.extend(value.shape)
            made.data_type = _TYPES[value.dtype]
            made.raw_data = value.flatten().view(torch.uint8).numpy().tobytes()
        kept = [v for v in model.graph.input if v.name not in constant]
        del model.graph.input[:]
        model.graph.input.extend(kept)
        self.program = mp_opt.compile(model, **self.arguments)
        self.made += 1

    def __call__(self, *tensors):
        versions = self._versions(tensors)
        if self.program is None or versions != self.versions:
            self._make(tensors)
            self.versions = self._versions(tensors)
        left = set(self.fixed)
        values = [t for i, t in enumerate(tensors) if i not in left]
        return self.program._call(None, values, True)


_TYPES = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5,
    torch.int32: 6, torch.int64: 7, torch.bool: 9, torch.float16: 10,
    torch.float64: 11, torch.bfloat16: 16,
}  # fmt: skip


def _reason(inputs) -> str | None:
    """Why a graph is left to torch; None if it is not."""
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            return "it has sizes that are known in calls: dynamic=False fixes them"
        if value.device.type != "cpu":
            return f"it has a tensor on {value.device}"
        if value.dtype not in _TYPES:
            return f"it has a tensor of {value.dtype}"
        if value.requires_grad and torch.is_grad_enabled():
            return (
                "it needs gradients: torch.no_grad() around calls, or "
                "mp_opt.torch.train_step for a whole step"
            )
    return None


def backend(graph, inputs, *, options=None, mode=None):
    """The backend "mp_opt" of ``torch.compile``, for inference on the CPU.
    ``options`` are arguments of ``mp_opt.compile``: ``{"precision": "bf16"}``.
    What cannot be compiled runs as torch runs it, with a warning that says
    why."""
    reason = _reason(inputs)
    if reason is None:
        try:
            compiled = _Compiled(graph, inputs, dict(options or {}))
            compiled._make(inputs)
            compiled.versions = compiled._versions(inputs)
            return compiled
        except mp_opt.UsageError:
            raise
        except (mp_opt.Error, torch.onnx.errors.OnnxExporterError) as error:
            reason = str(error).splitlines()[0]
    warnings.warn(
        f"mp_opt leaves a graph to torch: {reason}",
        mp_opt.ModelWarning,
        stacklevel=2,
    )
    return graph.forward


#
# Training
#


class TrainingStep(mp_opt.TrainingStep):
    """A step of a module of torch's, the parameters of which ``update`` sets."""

    def update(self, module: torch.nn.Module) -> torch.nn.Module:
        """Gives the module the parameters and statistics as they are now."""
        own = module.state_dict()
        states = {
            name: torch.from_numpy(value)
            for name, value in self.state_dict().items()
            if name in own
        }
        if not states:
            raise mp_opt.Error("the module has none of the step's parameters")
        module.load_state_dict(states, strict=False)
        return module


def export(module, inputs, input_names=None, *, batch="batch") -> bytes:
    """A module as it trains: Dropout and BatchNormalization in their training
    mode, nothing folded, parameters under their names. The first dimension of
    each input is named ``batch``; None keeps the sizes of ``inputs``."""
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    names = list(input_names or _names_of(module, len(inputs)))
    was_training = module.training
    file = io.BytesIO()
    axes = {name: {0: batch} for name in names} if batch else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.train()
        try:
            # The newer exporter folds BatchNormalization, and drops Dropout.
            torch.onnx.export(
                module,
                tuple(inputs),
                file,
                dynamo=False,
                training=torch.onnx.TrainingMode.TRAINING,
                do_constant_folding=False,
                input_names=names,
                output_names=["output"],
                dynamic_axes=axes,
                opset_version=18,
            )
        finally:
            module.train(was_training)
    return file.getvalue()


def _names_of(module, count: int) -> list[str]:
    import inspect

    names = [
        parameter.name
        for parameter in inspect.signature(module.forward).parameters.values()
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return names[:count] if len(names) >= count else [f"x{i}" for i in range(count)]


def train_step(
    module, loss, inputs, *, input_names=None, dim=None, step=None, **flags
) -> TrainingStep:
    """A compiled training step of a module: forward, backward, optimizer and
    loss scaling.

    ``inputs`` are examples of what ``forward`` takes. ``loss`` and ``flags`` are
    those of ``mp_opt.train_step``, ``step`` those of ``TrainingStep``. The sizes
    of the examples are those of the step, unless ``dim`` says otherwise.

        step = mp_opt.torch.train_step(
            model, "softmax-cross-entropy", x, optimizer="adamw", lr=1e-3,
            precision="bf16")
        for x, labels in batches:
            loss = step.step(x=x, labels=labels)["loss"]
        step.update(model)
    """
    content = export(module, inputs, input_names)
    first = inputs if isinstance(inputs, torch.Tensor) else inputs[0]
    sizes = {"batch": first.shape[0]} if dim is None else dim
    made = mp_opt.train_step(content, loss, **flags)
    return TrainingStep(made, dim=sizes, **(step or {}))
