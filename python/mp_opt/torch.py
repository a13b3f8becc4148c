# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch's modules: ``torch.compile(model, backend="mp_opt")``, and training
steps that are exported as they are meant."""

from __future__ import annotations

import copy
import io
import re
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

    def __init__(self, graph, inputs, arguments, has_constants=True):
        places = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.fixed = [
            i
            for i, (n, v) in enumerate(zip(places, inputs))
            if has_constants and _is_fixed(n, v)
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
    return None


def explain(error) -> str:
    """A sentence; of the exporter's report, what it cannot export."""
    text = str(error)
    unknown = re.search(r"No ONNX function found for <OpOverload\(op='([^']+)'", text)
    if unknown:
        return f"torch's exporter has no ONNX for {unknown[1]}"
    return re.sub(r"\x1b\[\d*m", "", text.splitlines()[0])


def _leave(what: str, reason: str) -> None:
    warnings.warn(
        f"mp_opt leaves {what} to torch: {reason}",
        mp_opt.ModelWarning,
        stacklevel=3,
    )


def _needs_gradients(inputs) -> bool:
    return torch.is_grad_enabled() and any(
        isinstance(value, torch.Tensor) and value.requires_grad for value in inputs
    )


class _Part:
    """The forward or backward graph that AOTAutograd has made: parameters are
    inputs, and so is what the forward pass keeps for the backward pass."""

    def __init__(self, graph, inputs, arguments):
        drawn = {
            str(node.target)
            for node in graph.graph.nodes
            if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        }
        if drawn:
            raise mp_opt.NotSupportedError(
                f"it draws random numbers ({', '.join(sorted(drawn))}), which would "
                "not be torch's",
                4,
            )
        output = next(node for node in graph.graph.nodes if node.op == "output")
        # Gradients that are not needed are None.
        given = output.args[0]
        self.places = [i for i, v in enumerate(given) if isinstance(v, torch.fx.Node)]
        if any(v is not None and not isinstance(v, torch.fx.Node) for v in given):
            raise mp_opt.NotSupportedError("it yields numbers that are no tensors", 4)
        self.count = len(given)
        # The other part may rely on the strides of the elements.
        self.strides = [given[i].meta["val"].stride() for i in self.places]
        nodes = torch.fx.Graph()
        copies: dict = {}
        nodes.graph_copy(graph.graph, copies)
        nodes.output(tuple(copies[given[i]] for i in self.places))
        self.part = torch.fx.GraphModule(graph, nodes)
        examples = [torch.ones(tuple(v.shape), dtype=v.dtype) for v in inputs]
        self.program = _Compiled(self.part, examples, arguments, has_constants=False)
        self.program._make(examples)
        self.program.versions = []
        self.is_checked = False

    def _check(self, tensors) -> None:
        """What torch's exporter makes of a graph is not always what the graph
        does: the first call is made by both, in the graph's own types."""
        self.is_checked = True
        plain = self.program
        if any(key in plain.arguments for key in ("precision", "policy")):
            plain = copy.copy(plain)
            plain.arguments = {}
            plain._make(tensors)
        expected = self.part(*tensors)
        for wanted, found in zip(expected, _listed(plain(*tensors))):
            if not _is_close(found, wanted):
                _leave("a part of a step", "the exported graph computes something else")
                self.program = self.part
                return

    def __call__(self, *tensors):
        if not self.is_checked:
            self._check(tensors)
        results = [None] * self.count
        made = _listed(self.program(*tensors))
        for place, strides, value in zip(self.places, self.strides, made):
            if value.stride() != strides:
                own = torch.empty_strided(value.shape, strides, dtype=value.dtype)
                value = own.copy_(value)
            results[place] = value
        return results


def _listed(made) -> list:
    return [made] if isinstance(made, torch.Tensor) else list(made)


def _is_close(found, wanted) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not wanted.is_floating_point():
        return torch.equal(found, wanted)
    most = 1e-3 if wanted.dtype in (torch.float32, torch.float64) else 3e-2
    wanted, found = wanted.double(), found.double()
    error = torch.linalg.vector_norm(found - wanted)
    return bool(error <= most * torch.linalg.vector_norm(wanted) + 1e-6)


def _train(graph, inputs, arguments):
    """Forward and backward passes by AOTAutograd, each as a program. What mp_opt
    cannot do is left to torch, one of the two as well."""
    from torch._decomp import core_aten_decompositions, get_decompositions
    from torch._dynamo.backends.common import aot_autograd
    from functorch.compile import make_boxed_func
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # The exporter makes an evaluation of these.
    normal = [
        torch.ops.aten.native_batch_norm,
        torch.ops.aten._native_batch_norm_legit,
        torch.ops.aten._native_batch_norm_legit_functional,
        torch.ops.aten._native_batch_norm_legit_no_training,
        torch.ops.aten.native_batch_norm_backward,
    ]

    def compile_part(what):
        def make(part, examples):
            reason = _reason(examples)
            if reason is None:
                try:
                    return make_boxed_func(_Part(part, examples, arguments))
                except mp_opt.UsageError:
                    raise
                except (mp_opt.Error, torch.onnx.errors.OnnxExporterError) as error:
                    reason = explain(error)
            _leave(what, reason)
            return make_boxed_func(part.forward)

        return make

    table = {**core_aten_decompositions(), **get_decompositions(normal)}
    # It is for inference: the backward pass needs another second result.
    table.pop(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default, None)
    compiled = aot_autograd(
        fw_compiler=compile_part("a forward pass"),
        bw_compiler=compile_part("a backward pass"),
        decompositions=table,
    )
    # Attention is computed as products and a softmax: the exporter knows their
    # gradients.
    with sdpa_kernel(SDPBackend.MATH):
        return compiled(graph, inputs)


def backend(graph, inputs, *, options=None, mode=None):
    """The backend "mp_opt" of ``torch.compile``, on the CPU: for inference, where
    parameters are constants, and for training, where torch's optimizer follows.
    ``options`` are arguments of ``mp_opt.compile``: ``{"precision": "bf16"}``.
    What cannot be compiled runs as torch runs it, with a warning that says
    why. A whole step with its optimizer is faster: ``train_step``."""
    reason = _reason(inputs)
    if reason is None and _needs_gradients(inputs):
        return _train(graph, inputs, dict(options or {}))
    if reason is None:
        try:
            compiled = _Compiled(graph, inputs, dict(options or {}))
            compiled._make(inputs)
            compiled.versions = compiled._versions(inputs)
            return compiled
        except mp_opt.UsageError:
            raise
        except (mp_opt.Error, torch.onnx.errors.OnnxExporterError) as error:
            reason = explain(error)
    _leave("a graph", reason)
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
    module.train()
    try:
        return write(module, tuple(inputs), names, batch)
    finally:
        module.train(was_training)


def write(module, inputs, names, batch) -> bytes:
    """The bytes of a module as it trains. The newer exporter folds
    BatchNormalization, and drops Dropout."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            inputs,
            file,
            dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            input_names=names,
            output_names=["output"],
            dynamic_axes={name: {0: batch} for name in names} if batch else None,
            opset_version=18,
        )
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
