#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a torch module for `mp-opt --train`, with lists of its parameters.

MODULE is `package.module:function` or `file.py:function`; the function returns
the module and a tuple of its inputs. The export keeps what training needs: the
training mode (BatchNormalization computes its statistics, Dropout draws), the
names of parameters, and constants that are not folded. The names of parameters
and buffers go into the model's metadata (`mp-opt.parameters`,
`mp-opt.buffers`), those alone that the exported model has; what the exporter
dropped or merged is printed. Buffers that forward updates are kept up to date
by steps (`mp-opt.next_buffers`).

--dynamic-batch keeps the first size of the inputs open, so that one step takes
batches of any size and `mp-run run` a whole test set. It is the first size of
all inputs that have the same one.

Parts of the module that are in inference mode stay so, where the module itself
is in training mode: statistics of a frozen BatchNorm are read and not updated.

--check makes the gradients of one batch with mp-opt and onnxruntime, compares
them with torch's in float64, and prints one line for each parameter. The exit
code is 1 if one of them differs by more than --tolerance. Gradients that vanish
- of a bias before a BatchNormalization, for example - are rounding errors alone,
in torch's fp32 as well: they are not judged as long as they are small.
"""

import argparse
import ast
import copy
import functools
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

PARAMETERS, BUFFERS = "mp-opt.parameters", "mp-opt.buffers"
VARIANCE, NEXT = "mp-opt.running_var", "mp-opt.next_buffers"
STOP, PADDING = "mp-opt.stop_gradient", "mp-opt.padding_index"
# Gradients that are zero but for rounding are compared with all others.
FLOOR = 1e-3
# Shares of the largest gradient: one that may vanish where fp32 misses it, and
# one that consists of rounding errors only.
VANISHING, LOST = 1e-3, 1e-6
# Errors may be this many times those of torch's fp32, up to a share of a
# gradient: larger differences are not rounding errors.
OWN_FACTOR, OWN_LIMIT = 10, 1e-2


class Failure(Exception):
    """What the user can mend."""


# ---- Export ----------------------------------------------------------------


def input_names(module, inputs):
    names = list(inspect.signature(module.forward).parameters.values())
    if any(p.kind == p.VAR_POSITIONAL for p in names) or len(names) < len(inputs):
        return [f"input{i}" for i in range(len(inputs))]
    return [p.name for p in names[: len(inputs)]]


def double_batch(inputs):
    """dynamo takes a size of one for a constant."""
    count = batch_of(inputs)
    return tuple(
        torch.cat([value, value]) if count == 1 and has_batch(value, 1) else value
        for value in inputs
    )


def batch_of(inputs):
    """The first size that all inputs with axes are to have."""
    sizes = [value.shape[0] for value in inputs if value.dim()]
    if not sizes:
        raise Failure("--dynamic-batch: no input has an axis for a batch")
    return sizes[0]


def has_batch(value, count):
    return value.dim() > 0 and value.shape[0] == count


def open_batch(module, inputs, exporter):
    """Settings of torch.onnx.export that leave the batch's size open."""
    count = batch_of(inputs)
    if exporter != "dynamo":
        names = input_names(module, inputs)
        open_names = [n for n, v in zip(names, inputs) if has_batch(v, count)]
        axes = {name: {0: "batch"} for name in [*open_names, "output"]}
        return {"dynamic_axes": axes}
    batch = torch.export.Dim("batch")
    shapes = [{0: batch} if has_batch(v, count) else None for v in inputs]
    parameters = list(inspect.signature(module.forward).parameters.values())
    for index, parameter in enumerate(parameters):
        if parameter.kind == parameter.VAR_POSITIONAL:
            shapes[index:] = [tuple(shapes[index:])]
            break
    return {"dynamic_shapes": tuple(shapes)}


def scopes_of(node):
    """The paths of the modules that a node of dynamo's comes from."""
    for field in node.metadata_props:
        if field.key == "pkg.torch.onnx.name_scopes":
            return ast.literal_eval(field.value)[:-1]
    return []


def keep_training_mode(graph, module):
    """torch 2.15's dynamo exporter writes statistics that stay as they are."""
    modules = dict(module.named_modules())
    for node in graph.node:
        scopes = scopes_of(node)
        if node.op_type != "BatchNormalization" or len(node.output) > 1:
            continue
        if scopes and getattr(modules.get(scopes[-1]), "training", False):
            made = node.output[0]
            node.output.extend([f"{made}_mean", f"{made}_var"])
            node.attribute.append(helper.make_attribute("training_mode", 1))


def check_names(graph):
    """dynamo gives a buffer and the result of an operator the same name."""
    there = {i.name for i in graph.initializer}
    for node in graph.node:
        for name in node.output:
            if name in there:
                raise Failure(
                    f"the exporter calls two values '{name}': the result of"
                    f" {node.op_type} and a parameter or buffer; rename the"
                    " latter in the module"
                )


class Stop(torch.autograd.Function):
    """What the older exporter would leave nothing of, as a node of its own."""

    @staticmethod
    def forward(context, value):
        return value.view_as(value)

    @staticmethod
    def backward(context, gradient):
        return None

    @staticmethod
    def symbolic(graph, value):
        return graph.op("mp_opt::StopGradient", value).setType(value.type())


class GradientStops(torch.overrides.TorchFunctionMode):
    """Gives what passes no gradient - `detach`, `.data`, and what is computed
    in `no_grad` - to `mark`."""

    DETACH = {torch.Tensor.detach, torch.detach, torch.Tensor.data.__get__}

    def __init__(self, mark):
        super().__init__()
        self.mark = mark
        self.enabled = torch.is_grad_enabled()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        inside = self.enabled and not torch.is_grad_enabled()
        # Tensors that are updated in place keep their identity.
        inplace = getattr(func, "__name__", "").rstrip("_") != getattr(
            func, "__name__", ""
        )
        if func in self.DETACH or (inside and not inplace):
            given = (args, kwargs)
            return torch.utils._pytree.tree_map(
                lambda value: self.mark(value, given), result
            )
        return result


def stops_gradients(module, inputs):
    """True if a gradient ends in the module."""
    found = []

    def count(value, given):
        leaves = torch.utils._pytree.tree_leaves(given)
        found.extend(
            x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad
        )
        return value

    with torch.enable_grad(), GradientStops(count):
        copy.deepcopy(module)(*copy.deepcopy(inputs))
    return bool(found)


def detach_regions(program):
    """`detach` behind what torch.export has computed in `no_grad`: the exporter
    takes the regions away."""
    for part in program.graph_module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in list(part.graph.nodes):
            region = torch.ops.higher_order.wrap_with_set_grad_enabled
            if node.target is not region or node.args[0]:
                continue
            for result in list(node.users):
                value = result.meta.get("val")
                if not isinstance(value, torch.Tensor):
                    continue
                if not value.is_floating_point():
                    continue
                with part.graph.inserting_after(result):
                    stop = part.graph.call_function(
                        torch.ops.aten.detach.default, (result,)
                    )
                stop.meta = dict(result.meta)
                result.replace_all_uses_with(
                    stop, lambda user, stop=stop: user is not stop
                )
        part.recompile()
    return program


def mark_stops(module):
    """Has the module's forward call tell the older exporter where gradients
    end."""

    def mark(value, _):
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return Stop.apply(value)

    forward = module.forward

    @functools.wraps(forward)
    def marked(*args, **kwargs):
        with GradientStops(mark):
            return forward(*args, **kwargs)

    module.forward = marked


def name_stops(model):
    """ONNX's operators for the nodes of `Stop` and `PaddedLookup`, with mp-opt's
    words for what they lack."""
    for node in model.graph.node:
        if node.domain != "mp_opt":
            continue
        node.domain = ""
        if node.op_type == "StopGradient":
            node.op_type = "Identity"
            node.metadata_props.add(key=STOP, value="detach")
            continue
        node.op_type = "Gather"
        row = node.attribute[0].i
        del node.attribute[:]
        text = "none" if row == NO_ROW else str(row)
        node.metadata_props.add(key=PADDING, value=text)
    kept = [o for o in model.opset_import if o.domain != "mp_opt"]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    # Nodes have metadata from here on.
    model.ir_version = max(model.ir_version, 10)


# A look-up without a row of padding.
NO_ROW = -1


class PaddedLookup(torch.autograd.Function):
    """A look-up with its row of padding, which the older exporter would drop."""

    @staticmethod
    def forward(context, weight, indices, row):
        return torch.nn.functional.embedding(indices, weight)

    @staticmethod
    def backward(context, gradient):
        return None, None, None

    @staticmethod
    def symbolic(graph, weight, indices, row):
        made = graph.op("mp_opt::PaddedLookup", weight, indices, row_i=row)
        sizes = indices.type().sizes()
        if sizes is None:
            return made
        width = weight.type().sizes()[1]
        return made.setType(weight.type().with_sizes([*sizes, width]))


class Lookups(torch.overrides.TorchFunctionMode):
    """Gives calls of `embedding` and `embedding_bag`, as (name, arguments), to
    `replace`, whose result takes their place unless it is None."""

    FUNCTIONS = {
        torch.nn.functional.embedding: "embedding",
        torch.nn.functional.embedding_bag: "embedding_bag",
    }

    def __init__(self, replace):
        super().__init__()
        self.replace = replace

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.FUNCTIONS:
            bound = inspect.signature(func).bind(*args, **kwargs)
            bound.apply_defaults()
            made = self.replace(self.FUNCTIONS[func], bound.arguments)
            if made is not None:
                return made
        return func(*args, **kwargs)


def mark_padding(module):
    """Has the module's forward call tell the older exporter which look-ups have
    a row of padding."""

    def replace(name, arguments):
        row, weight = arguments["padding_idx"], arguments["weight"]
        if name != "embedding":
            return None
        if row is None:
            row = NO_ROW
        elif row < 0:
            row += weight.shape[0]
        return PaddedLookup.apply(weight, arguments["input"], row)

    forward = module.forward

    @functools.wraps(forward)
    def marked(*args, **kwargs):
        with Lookups(replace):
            return forward(*args, **kwargs)

    module.forward = marked


def check_lookups(module, inputs):
    """Fails for what look-ups do in training that no step does."""
    copied = copy.deepcopy(module)
    names = {id(p): n for n, p in copied.named_parameters()}
    found = []

    def note(name, arguments):
        place = names.get(id(arguments["weight"]), name)
        if arguments["max_norm"] is not None:
            found.append(
                f"'{place}' is looked up with max_norm, which shortens its rows"
                " before each look-up: leave max_norm out, and shorten what is"
                " looked up in forward"
            )
        elif arguments["scale_grad_by_freq"]:
            found.append(
                f"'{place}' is looked up with scale_grad_by_freq, which divides"
                " gradients by how often a row is looked up: leave it out"
            )
        return None

    with torch.no_grad(), Lookups(note):
        copied(*copy.deepcopy(inputs))
    if found:
        raise Failure(f"a step cannot do the same as the module: {found[0]}")


def check_statistics(module):
    """Fails for statistics that no step keeps as the module does."""
    for name, part in module.named_modules():
        norm = isinstance(part, torch.nn.modules.batchnorm._NormBase)
        if norm and part.training and part.track_running_stats:
            if part.momentum is None:
                raise Failure(
                    f"a step cannot do the same as the module: '{name}' has"
                    " momentum=None, the mean of all batches so far: give it a"
                    " number, such as 0.1"
                )


def separate_merged(graph, module):
    """A parameter that the older exporter has merged with an equal one is an
    Identity under its name; it is a parameter again."""
    there = {i.name: i for i in graph.initializer}
    names = dict(module.named_parameters(remove_duplicate=False))
    kept = []
    for node in graph.node:
        source = names.get(node.input[0]) if node.input else None
        value = names.get(node.output[0])
        merged = node.op_type == "Identity" and node.input[0] in there
        if merged and value is not None and value is not source:
            copied = graph.initializer.add()
            copied.CopyFrom(there[node.input[0]])
            copied.name = node.output[0]
            there[copied.name] = copied
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)


def updated_buffers(module, inputs):
    """Names of buffers that forward writes to, equal values or not; statistics
    of BatchNormalization are results of its node."""
    copied = copy.deepcopy(module)
    norms = (torch.nn.modules.batchnorm._BatchNorm,)
    owners = {n for n, m in copied.named_modules() if isinstance(m, norms)}
    before = {
        n: (b, b._version)
        for n, b in copied.named_buffers()
        if n.rpartition(".")[0] not in owners
    }
    with torch.no_grad():
        copied(*copy.deepcopy(inputs))
    after = dict(copied.named_buffers())
    return [
        n
        for n, (b, version) in before.items()
        if after[n] is not b or b._version != version
    ]


def return_buffers(module, names):
    """Has forward return the buffers as well, after its own results."""
    forward = module.forward

    @functools.wraps(forward)
    def returning(*args, **kwargs):
        result = forward(*args, **kwargs)
        results = result if isinstance(result, tuple) else (result,)
        buffers = dict(module.named_buffers())
        return (*results, *(buffers[n].clone() for n in names))

    module.forward = returning


def take_buffers(model, names):
    """The last outputs, which are the buffers' next values, become metadata."""
    count = len(model.graph.output) - len(names)
    values = [output.name for output in model.graph.output[count:]]
    del model.graph.output[count:]
    if names:
        text = json.dumps(dict(zip(names, values)))
        model.metadata_props.add(key=NEXT, value=text)


def restore_buffers(graph, buffers):
    """The older exporter runs the module, which updates its buffers."""
    for initializer in graph.initializer:
        value = buffers.get(initializer.name)
        held = numpy_helper.to_array(initializer)
        if value is not None and value.shape == held.shape:
            restored = value.astype(held.dtype)
            initializer.CopyFrom(
                numpy_helper.from_array(restored, initializer.name)
            )


def export(module, inputs, path, exporter="dynamo", opset=None, **settings):
    """Writes `module` to `path`; settings go to torch.onnx.export."""
    options = dict(
        opset_version=opset,
        input_names=input_names(module, inputs),
        output_names=["output"],
    )
    if exporter == "dynamo":
        # The optimizer is off, since it merges and folds: names and splits
        # depend on it.
        options.update(dynamo=True, optimize=False, verbose=False)
    else:
        state = torch.onnx.TrainingMode
        options.update(
            dynamo=False,
            # Parts of the module have their own modes.
            training=state.PRESERVE if module.training else state.EVAL,
            do_constant_folding=False,
        )
    options.update(settings)
    original = module = copy.deepcopy(module)
    buffers = {n: to_numpy(b).copy() for n, b in module.named_buffers()}
    if module.training:
        check_statistics(module)
        check_lookups(module, inputs)
    stops = stops_gradients(module, inputs)
    updated = updated_buffers(module, inputs) if module.training else []
    if updated:
        return_buffers(module, updated)
        options["output_names"] += [f"{name}_next" for name in updated]
    if stops and exporter == "dynamo":
        program = torch.export.export(
            module,
            inputs,
            dynamic_shapes=options.get("dynamic_shapes"),
            strict=False,
        )
        module, inputs = detach_regions(program), ()
    elif exporter != "dynamo":
        mark_padding(module)
        if stops:
            mark_stops(module)
    torch.onnx.export(module, inputs, str(path), **options)
    model = onnx.load(path)
    take_buffers(model, updated)
    check_names(model.graph)
    if exporter != "dynamo":
        name_stops(model)
        separate_merged(model.graph, original)
        restore_buffers(model.graph, buffers)
        onnx.save(model, path)
    if exporter == "dynamo" and not options["optimize"]:
        keep_training_mode(model.graph, original)
    # dynamo writes weights to a file next to the model.
    if model.ByteSize() < 1 << 30:
        pathlib.Path(f"{path}.data").unlink(missing_ok=True)
        onnx.save(model, path)


def rename(graph, names):
    for initializer in graph.initializer:
        initializer.name = names.get(initializer.name, initializer.name)
    for node in graph.node:
        for index, used in enumerate(node.input):
            node.input[index] = names.get(used, used)


def restore_names(module, inputs, path, exporter, opset, **settings):
    """dynamo calls Keras' weights lifted_tensor_0 and so on.

    A copy in which all elements differ is exported as well: what is equal there
    is the same tensor, whatever it begins as.
    """
    model = onnx.load(path)
    there = {i.name for i in model.graph.initializer}
    if all(there.intersection(names) for names in find_aliases(module)):
        return
    marked = copy.deepcopy(module)
    tensors = dict(marked.named_parameters()) | dict(marked.named_buffers())
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in tensors.values():
            if value.is_floating_point():
                value.uniform_(0.5, 1.5, generator=generator)
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / "marked.onnx"
        export(marked, inputs, other, exporter, opset, **settings)
        found = constants_of(onnx.load(other).graph)
    names = {}
    for name, value in tensors.items():
        mark = to_numpy(value)
        for called, array in found.items():
            is_same = array.shape == mark.shape and (array == mark).all()
            if is_same and mark.size and called in there and name not in there:
                names[called] = name
    rename(model.graph, names)
    onnx.save(model, path)


# ---- Lists -----------------------------------------------------------------


def constants_of(graph):
    """Initializers and the values of Constant nodes, by name."""
    found = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            for attribute in node.attribute:
                if attribute.name == "value":
                    found[node.output[0]] = numpy_helper.to_array(attribute.t)
    return found


def to_numpy(tensor):
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.numpy()


def find_aliases(module, trained=True):
    """The names of each parameter that is trained; tied ones have several."""
    groups = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if parameter.requires_grad == trained:
            groups.setdefault(id(parameter), []).append(name)
    return list(groups.values())


def join_tied(graph, names):
    """One initializer instead of several of one parameter; the one kept."""
    there = {i.name for i in graph.initializer}
    names = [name for name in names if name in there]
    for name in names[1:]:
        for node in graph.node:
            for index, used in enumerate(node.input):
                if used == name:
                    node.input[index] = names[0]
    others = set(names[1:])
    # Weights that stay are not copied: protobuf frees no copy before the model.
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name in others:
            del graph.initializer[index]
    return names[0] if names else None


def write_lists(module, path):
    """Joins what is tied and writes the names that the model has as metadata.

    Returns the names of parameters that it has not.
    """
    model = onnx.load(path)
    aliases = find_aliases(module)
    kept = [join_tied(model.graph, names) for names in aliases]
    there = {i.name for i in model.graph.initializer}
    others = [n for n, _ in module.named_buffers()]
    others += [n for names in find_aliases(module, False) for n in names]
    lists = {
        PARAMETERS: [n for n in kept if n],
        BUFFERS: [n for n in others if n in there],
    }
    known = {VARIANCE, *lists}
    others = [p for p in model.metadata_props if p.key not in known]
    del model.metadata_props[:]
    model.metadata_props.extend(others)
    for key, names in lists.items():
        model.metadata_props.add(key=key, value=json.dumps(names))
    if any(n.op_type == "BatchNormalization" for n in model.graph.node):
        # torch divides by one element less than ONNX.
        model.metadata_props.add(key=VARIANCE, value="unbiased")
    onnx.save(model, path)
    return [names[0] for names, n in zip(aliases, kept) if not n]


def explain_missing(module, path, names):
    """Why an initializer of that name is not in the model."""
    constants = constants_of(onnx.load(path).graph)
    parameters = dict(module.named_parameters())
    for name in names:
        value = to_numpy(parameters[name])
        turned = value.T if value.ndim == 2 else value
        equal = [
            other
            for other, array in constants.items()
            if any(
                array.shape == v.shape and np.array_equal(array, v)
                for v in (value, turned)
            )
        ]
        if not equal:
            yield name, "not in the model: unused, folded, or packed with others"
        elif equal[0] in parameters:
            yield name, f"merged with '{equal[0]}', which is equal"
        else:
            yield name, f"called '{equal[0]}' there"


# ---- Comparison ------------------------------------------------------------


def loss_of(output, labels, loss, axis):
    if loss == "mse":
        return torch.nn.functional.mse_loss(output, labels)
    scores = output.movedim(axis, 1)
    return torch.nn.functional.cross_entropy(scores, labels)


def make_labels(module, inputs, loss, axis, seed=1):
    with torch.no_grad():
        output = copy.deepcopy(module)(*inputs)
    if not isinstance(output, torch.Tensor):
        raise Failure(
            f"the module returns {type(output).__name__}, expected one tensor:"
            " wrap it in a module that returns what the loss is of"
        )
    generator = torch.Generator().manual_seed(seed)
    if loss == "mse":
        return torch.randn(output.shape, generator=generator).to(output.dtype)
    shape = list(output.shape)
    classes = shape.pop(axis)
    return torch.randint(classes, shape, generator=generator)


def as_double(value):
    return value.double() if value.is_floating_point() else value


def as_dense(gradient):
    return gradient.to_dense() if gradient.is_sparse else gradient


def torch_gradients(module, inputs, labels, loss, axis, double=True):
    """Gradients of one batch; parameters without one are left out."""
    module = copy.deepcopy(module)
    if double:
        module, labels = module.double(), as_double(labels)
        inputs = [as_double(value) for value in inputs]
    value = loss_of(module(*inputs), labels, loss, axis)
    value.backward()
    return value.item(), {
        name: to_numpy(as_dense(p.grad))
        for name, p in module.named_parameters()
        if p.grad is not None
    }


def best_gradients(*arguments):
    """In float64; in fp32 where the module cannot run in another type. And
    torch's own in fp32."""
    _, own = torch_gradients(*arguments, double=False)
    try:
        return torch_gradients(*arguments)[1], own
    except (RuntimeError, TypeError, ValueError):
        print("  compared with fp32: the module does not run in float64")
        return own, own


def loss_flags(loss, axis):
    flags = [f"--loss={loss}"]
    if loss != "mse":
        flags.append(f"--class-axis={axis}")
    return flags


def make_step(mp_opt, path, step, *flags):
    command = [mp_opt, str(path), "--train", *flags, "-o", str(step)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{mp_opt}: {error.strerror} (--mp-opt=PATH)") from error
    if done.returncode:
        raise Failure(f"{' '.join(command)}\n{done.stderr.strip()}")
    return done.stderr


def open_step(step):
    """A session. Nothing is rewritten: sums keep their order."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    return onnxruntime.InferenceSession(
        str(step), options, providers=["CPUExecutionProvider"]
    )


def call_step(session, feeds):
    """The results by name, from those feeds that it asks for."""
    inputs = session.get_inputs() + session.get_overridable_initializers()
    asked = {i.name for i in inputs}
    names = [o.name for o in session.get_outputs()]
    fed = {n: v for n, v in feeds.items() if n in asked}
    return dict(zip(names, session.run(None, fed)))


def run_step(step, feeds):
    return call_step(open_step(step), feeds)


def rms(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def relative_errors(found, exact):
    """RMS of the difference by RMS of the gradient, or of a thousandth of all."""
    everything = rms(np.concatenate([g.ravel() for g in exact.values()]))
    return {
        name: rms(found[name].astype(np.float64) - gradient)
        / max(rms(gradient), FLOOR * everything, 1e-30)
        for name, gradient in exact.items()
        if name in found and found[name].shape == gradient.shape
    }


class Judge:
    """Tells gradients that differ from those that fp32 cannot have.

    A gradient is judged relative to itself, with the tolerance or what torch's
    fp32 misses by. A gradient that vanishes - a BatchNormalization takes away
    what a bias before it adds, and rounding errors are all that is left - must
    be small next to the largest.
    """

    def __init__(self, exact, own, tolerance):
        self.exact, self.own, self.tolerance = exact, own, tolerance
        self.largest = max(map(rms, exact.values()), default=0.0)

    def verdict(self, name, found, error):
        """(whether it agrees, text)"""
        size = rms(self.exact[name])
        if error <= self.tolerance:
            return True, f"{error:9.2e}  {name}"
        difference = rms(found.astype(np.float64) - self.exact[name])
        missed = rms(self.own[name].astype(np.float64) - self.exact[name])
        if missed <= OWN_LIMIT * size and difference <= OWN_FACTOR * missed:
            own = f"torch's fp32: {missed / size:.2e}"
            return True, f"{error:9.2e}  {name}  ({own})"
        share = size / max(self.largest, 1e-30)
        is_lost = missed > self.tolerance * size or share <= LOST
        small = self.tolerance * self.largest
        bound = max(small, OWN_FACTOR * min(missed, small))
        if share > VANISHING or not is_lost or difference > bound:
            return False, f"{error:9.2e}  {name}"
        text = f"not judged: vanishes, {share:.0e} of the largest gradient"
        return True, f"{text}  {name}"


def check(module, inputs, path, options):
    """Prints a line for each gradient; the number of those that differ."""
    axis = options.class_axis
    labels = make_labels(module, inputs, options.loss, axis)
    exact, own = best_gradients(module, inputs, labels, options.loss, axis)
    feeds = dict(zip(input_names(module, inputs), map(to_numpy, inputs)))
    feeds["labels"] = to_numpy(labels)
    with tempfile.TemporaryDirectory() as folder:
        step = pathlib.Path(folder) / "step.onnx"
        flags = [*loss_flags(options.loss, axis), "--optimizer=none"]
        make_step(options.mp_opt, path, step, *flags, *options.flag)
        results = run_step(step, feeds)
    first = {n: names[0] for names in find_aliases(module) for n in names}
    found = {}
    for name, value in results.items():
        if name.endswith("_grad"):
            name = name.removesuffix("_grad")
            found[first.get(name, name)] = value
    judge, wrong = Judge(exact, own, options.tolerance), 0
    errors = relative_errors(found, exact)
    for name in exact:
        agrees, text = False, f"has no gradient  {name}"
        if name in errors:
            agrees, text = judge.verdict(name, found[name], errors[name])
        wrong += not agrees
        print(f"{' ' if agrees else '!'} {text}")
    for name in sorted(found.keys() - exact.keys()):
        wrong += 1
        print(f"! no parameter of torch  {name}")
    return wrong


# ---- Command line ----------------------------------------------------------


def load_factory(text):
    place, colon, function = text.rpartition(":")
    if not colon:
        raise Failure(f"'{text}': expected package.module:function")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location("factory", place)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, os.getcwd())
            module = importlib.import_module(place)
    except (ImportError, FileNotFoundError) as error:
        raise Failure(f"'{place}' cannot be imported: {error}") from error
    if not hasattr(module, function):
        raise Failure(f"'{place}' has no function '{function}'")
    return getattr(module, function)


def check_copyable(module, text):
    """What hooks of torch.nn.utils compute before each call has a gradient, and
    neither a copy nor an export keeps it."""
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if not isinstance(value, torch.Tensor) or value.grad_fn is None:
                continue
            place = f"{path}.{name}" if path else name
            if hasattr(part, f"{name}_g") and hasattr(part, f"{name}_v"):
                raise Failure(
                    f"'{text}': '{place}' is made by torch.nn.utils.weight_norm,"
                    " which can be neither copied nor exported for training; use"
                    " torch.nn.utils.parametrizations.weight_norm, which takes"
                    " the same arguments and reads the old state_dict"
                )
            raise Failure(
                f"'{text}': '{place}' is computed from parameters before the"
                " module is called, and its gradient would be lost: compute it"
                " in forward, or by torch.nn.utils.parametrize"
            )


def make_module(text):
    made = load_factory(text)()
    if not (isinstance(made, tuple) and len(made) == 2):
        raise Failure(f"'{text}': expected (module, inputs) to be returned")
    module, inputs = made
    if not isinstance(module, torch.nn.Module):
        raise Failure(
            f"'{text}': expected a torch.nn.Module, got {type(module).__name__}"
        )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            raise Failure(
                f"'{text}': expected tensors as inputs, got"
                f" {type(value).__name__}"
            )
    check_copyable(module, text)
    # Keras' modules have other names in a copy, and copies are exported.
    return copy.deepcopy(module), inputs


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("module", metavar="MODULE")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE")
    parser.add_argument(
        "--exporter", choices=["dynamo", "script"], default="dynamo",
        help="torch's newer one (default), or the older one",
    )  # fmt: skip
    parser.add_argument("--opset", type=int, metavar="N")
    parser.add_argument(
        "--inference", action="store_true",
        help="export in inference mode: statistics are frozen, no Dropout",
    )  # fmt: skip
    parser.add_argument(
        "--dynamic-batch", action="store_true",
        help="leave the first size of the inputs open",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true")
    parser.add_argument(
        "--loss", choices=["mse", "softmax-cross-entropy"], default="mse",
        help="loss of --check (default: mse)",
    )  # fmt: skip
    parser.add_argument("--class-axis", type=int, default=1, metavar="N")
    parser.add_argument("--tolerance", type=float, default=1e-4, metavar="X")
    parser.add_argument(
        "--mp-opt", default=os.environ.get("MP_OPT", "mp-opt"), metavar="PATH"
    )
    parser.add_argument(
        "--flag", action="append", default=[], metavar="FLAG",
        help="a further flag for mp-opt --train (repeatable)",
    )  # fmt: skip
    return parser.parse_args()


def write_model(module, inputs, options):
    """The export, and what the exporter did to parameters."""
    try:
        settings = {}
        if options.dynamic_batch:
            inputs = double_batch(inputs)
            settings = open_batch(module, inputs, options.exporter)
        how = (module, inputs, options.output, options.exporter, options.opset)
        export(*how, **settings)
        restore_names(*how, **settings)
    except (torch.onnx.OnnxExporterError, RuntimeError, ValueError) as error:
        text = str(error).strip().split("\n")[0]
        other = "script" if options.exporter == "dynamo" else "dynamo"
        raise Failure(
            f"torch cannot export the module: {text} (another opset, or"
            f" --exporter={other}, may do)"
        ) from error
    dropped = write_lists(module, options.output)
    count = len(find_aliases(module))
    print(f"{options.output}: {count - len(dropped)} of {count} parameters")
    for name, why in explain_missing(module, options.output, dropped):
        print(f"  {name}: {why}")


def set_mode(module, is_inference):
    """A module in training mode keeps what it has set to inference mode, such
    as a BatchNorm whose statistics are frozen."""
    if is_inference:
        module.eval()
        return
    parts = list(module.modules())
    frozen = [part for part in parts if module.training and not part.training]
    module.train()
    for part in frozen:
        part.training = False
    kinds = (
        torch.nn.modules.batchnorm._NormBase,
        torch.nn.modules.dropout._DropoutNd,
    )
    for name, part in module.named_modules():
        if isinstance(part, kinds) and not part.training:
            print(f"  {name}: stays in inference mode, as the module has it")


def main():
    options = parse_arguments()
    torch.manual_seed(0)
    module, inputs = make_module(options.module)
    set_mode(module, options.inference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_model(module, inputs, options)
    if not options.check:
        return 0
    wrong = check(module, inputs, options.output, options)
    print(f"{wrong} gradients differ" if wrong else "all gradients agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"export_torch.py: error: {failure}")
