# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases for gradient rules, and their gradients by several ways.

A case is a graph of one operator (or a few) in ONNX's text form, with values
for its inputs. Its loss is the sum of all float outputs, each element times a
random weight. Everything is computed in float64 by ONNX's reference evaluator.
"""

import dataclasses
import functools
import pathlib
import sys
import typing
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Support"))
import onnx_models  # noqa: E402
import reference_ops  # noqa: E402
from onnx_models import describe, inputs_of, refused  # noqa: E402
from operators import OPERATORS  # noqa: E402

HERE = pathlib.Path(__file__).parent
OPSET = 22
DOMAINS = ["com.microsoft"]


# Each is itself: results are kept by case.
@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    name: str
    # Nodes in ONNX's text form, e.g. "y = Add(a, b)".
    body: str
    # Shapes (tuples) of random float inputs, or arrays, by name.
    inputs: dict
    # Outputs of the graph, by default y.
    outputs: tuple = ("y",)
    # Values to differentiate with respect to: by default all float inputs.
    wrt: tuple = ()
    # The same function of torch tensors, in the order of the inputs; returns
    # the outputs (one or a tuple). None where torch has no such operator.
    torch: typing.Optional[typing.Callable] = None
    # Random inputs are uniform in this range.
    low: float = -2.0
    high: float = 2.0
    # Finite differences: half the step, and the tolerance relative to the
    # largest derivative.
    step: float = 1e-6
    tolerance: float = 1e-6
    opset: int = OPSET
    # The tolerance of the comparison with torch.
    torch_tolerance: float = 1e-9
    # True if the inputs are at points without a derivative: torch decides.
    kinks: bool = False
    # False if an operator needs static sizes.
    dynamic: bool = True
    # The evaluator: "reference", or "onnxruntime" if ONNX's evaluator lacks an
    # operator or computes something else.
    engine: str = "reference"
    # The type of the inputs; float32 if an operator has no other.
    dtype: type = np.float64
    # Passes of mp-opt that rewrite the forward pass in supported operators.
    passes: tuple = ()
    # Options of mp-differentiate.
    options: str = ""
    # The same function for difference quotients, if the reference evaluator
    # lacks an operator of the body.
    forward: str = ""

    def __repr__(self):
        return self.name


def generator(text):
    return np.random.default_rng(zlib.crc32(text.encode()))


def values_of(case):
    """The inputs' values; floats are of the case's type."""
    rng, values = generator(case.name), {}
    for name, spec in case.inputs.items():
        if isinstance(spec, tuple):
            values[name] = rng.uniform(case.low, case.high, spec)
        else:
            values[name] = np.asarray(spec)
        if values[name].dtype.kind == "f":
            values[name] = values[name].astype(case.dtype)
    return values


def wanted_of(case):
    values = values_of(case)
    floats = [n for n in values if values[n].dtype.kind == "f"]
    return list(case.wrt) or floats


def parse_body(case, body=None):
    text = f"g () => () {{ {body or case.body} }}"
    return list(onnx_models.parse(text, case.opset, domains=DOMAINS).graph.node)


@functools.lru_cache(maxsize=None)
def _rewrite(model, passes):
    return onnx_models.rewritten(onnx.ModelProto.FromString(model), *passes)


def rewrite(model, passes):
    return _rewrite(model.SerializeToString(), passes) if passes else model


def evaluator(case, model):
    """What runs a model of the case: a function of names and values."""
    if case.engine == "reference":
        ops = OPERATORS + reference_ops.OPS
        return ReferenceEvaluator(model, new_ops=ops).run
    return lambda names, values: onnx_models.run_ort(model, values, names)


def evaluate(case, model, names, values):
    return evaluator(case, model)(names, values)


def forward_pass(case):
    """A function of values, made ready once for many of them."""
    values = values_of(case)
    outputs = [describe(n, case.dtype) for n in case.outputs]
    nodes = parse_body(case, case.forward)
    model = onnx_models.make_model(
        nodes, inputs_of(values), outputs, opset=case.opset, ir=10,
        domains=DOMAINS,
    )  # fmt: skip
    run = evaluator(case, rewrite(model, case.passes))
    return lambda values: run(None, values)


@functools.lru_cache(maxsize=None)
def weights_of(case):
    """One random weight for each element of each output."""
    outputs = forward_pass(case)(values_of(case))
    rng = generator(case.name + "/weights")
    return [rng.uniform(0.5, 1.5, o.shape) for o in outputs]


def make_model(case, values, dtype=TensorProto.DOUBLE, dynamic=False):
    """The case's graph with its loss; floats are of one type."""
    numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
    values = {
        n: v.astype(numpy_type) if v.dtype.kind == "f" else v
        for n, v in values.items()
    }
    nodes, weights, sums = parse_body(case), {}, []
    for index, weight in enumerate(weights_of(case)):
        names = [f"weight_{index}", f"weighted_{index}", f"sum_{index}"]
        weights[names[0]] = weight.astype(numpy_type)
        nodes += [
            helper.make_node("Mul", [case.outputs[index], names[0]], names[1:2]),
            helper.make_node("ReduceSum", names[1:2], names[2:], keepdims=0),
        ]
        sums.append(names[2])
    nodes.append(helper.make_node("Sum", sums, ["loss"]))
    loss = [describe("loss", dtype, [])]
    return onnx_models.make_model(
        nodes, inputs_of(values, dynamic), loss, weights, case.opset, 10,
        DOMAINS,
    )


def differentiate(case, dtype=None, dynamic=False):
    """The model that mp-opt makes of the case."""
    dtype = dtype or helper.np_dtype_to_tensor_dtype(np.dtype(case.dtype))
    model = make_model(case, values_of(case), dtype, dynamic)
    return with_gradients(model, ",".join(wanted_of(case)), case.options)


def with_gradients(model, wrt, options="", decompose=True):
    return onnx_models.rewritten(
        model,
        f"--mp-differentiate=loss=loss outputs=true wrt={wrt} {options}",
        *["--onnx-decompose-gradients"] * decompose,
        "--mp-expand-loss-scaling",
    )


def error_of(inputs, nodes, outputs, *flags, opset=23, domains=DOMAINS):
    """What mp-opt refuses a graph with."""
    text = f"g ({inputs}) => ({outputs}) {{ {nodes} }}"
    model = onnx_models.parse(text, opset, domains=domains)
    for node in model.graph.node:
        # The text form has no results that are left out.
        node.output[:] = [n if n != "absent" else "" for n in node.output]
    return refused(model, *flags)


@functools.lru_cache(maxsize=None)
def gradients(case, dynamic=False):
    """By mp-opt, decomposed, evaluated in the case's type."""
    model = differentiate(case, dynamic=dynamic)
    names = [w + "_grad" for w in wanted_of(case)]
    found = evaluate(case, model, names, values_of(case))
    assert all(value.dtype == case.dtype for value in found)
    found = [np.asarray(value, np.float64) for value in found]
    return dict(zip(wanted_of(case), found))


def difference_quotients(case):
    """Central differences in float64, element by element."""
    values, found = values_of(case), {}
    run, weights = forward_pass(case), weights_of(case)

    def loss_of(changed):
        outputs = run({**values, **changed})
        return sum(float(np.sum(o * w)) for o, w in zip(outputs, weights))

    for name in wanted_of(case):
        flat = np.zeros(values[name].size)
        for index in range(flat.size):
            ends = []
            for sign in (1, -1):
                moved = values[name].copy()
                moved.flat[index] += sign * case.step
                ends.append(loss_of({name: moved}))
            flat[index] = (ends[0] - ends[1]) / (2 * case.step)
        found[name] = flat.reshape(values[name].shape)
    return found


def torch_gradients(case):
    """By torch.autograd in float64."""
    import torch

    values = values_of(case)
    tensors = {
        n: torch.tensor(v.astype(np.float64) if v.dtype.kind == "f" else v)
        for n, v in values.items()
    }
    for name in wanted_of(case):
        tensors[name].requires_grad_(True)
    outputs = case.torch(*tensors.values())
    if not isinstance(outputs, tuple):
        outputs = (outputs,)
    weights = map(torch.tensor, weights_of(case))
    sum((o * w).sum() for o, w in zip(outputs, weights)).backward()
    return {n: tensors[n].grad.numpy() for n in wanted_of(case)}


def families():
    return sorted(p.stem for p in (HERE / "cases").glob("*.py"))


def attributes(**given):
    """In ONNX's text form."""
    return ", ".join(
        f'{k}="{v}"' if isinstance(v, str) else f"{k}={v}"
        for k, v in given.items()
    )


class Torch:
    """The module, imported when something of it is asked for."""

    def __getattr__(self, name):
        import torch

        return getattr(torch, name)


@functools.lru_cache(maxsize=None)
def cases_of(family):
    """The list CASES of cases/<family>.py."""
    names = {"Case": Case, "np": np, "torch": Torch(), "attributes": attributes}
    path = HERE / "cases" / f"{family}.py"
    exec(compile(path.read_text(), path, "exec"), names)
    cases = names["CASES"]
    assert len({case.name for case in cases}) == len(cases), family
    return cases


def stored_torch_gradients(case, family):
    """What make_torch_references.py has written; None if torch has no such
    operator."""
    if case.torch is None:
        return None
    arrays = np.load(HERE / "torch" / f"{family}.npz")
    return {w: arrays[f"{case.name}:{w}"] for w in wanted_of(case)}
