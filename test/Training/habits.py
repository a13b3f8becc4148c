# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of examples/training/README.md, as models."""

import functools
import re
import shlex
import sys

import numpy as np
import onnx
from onnx import TensorProto

from steps import Step
from support import ROOT, run_mp_opt, scratch_dir

EXAMPLES = ROOT / "examples" / "training"
SMALL_TYPES = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
sys.path.insert(0, str(EXAMPLES))


@functools.lru_cache(maxsize=None)
def commands():
    """The arguments of mp-opt by the output's name without its ending."""
    found = {}
    table = (EXAMPLES / "README.md").read_text()
    for text in re.findall(r"`mp-opt ([^`]*)`", table):
        *arguments, flag, output = shlex.split(text)
        assert flag == "-o" and output.endswith(".onnx")
        assert output not in found
        found[output.removesuffix(".onnx")] = arguments
    return found


@functools.lru_cache(maxsize=None)
def make_convnet():
    """As a user makes it, but small."""
    import convnet

    path = scratch_dir("convnet") / "convnet.onnx"
    onnx.save(convnet.make_convnet(width=4), path)
    return path


def arguments_of(name, changes=()):
    """The row's arguments; a change replaces the flag of its name, or comes
    last, and without a value removes it: `--freeze=`."""
    source, *flags = commands()[name]
    for change in changes:
        key, _, value = change.partition("=")
        flags = [f for f in flags if f.partition("=")[0] != key]
        flags += [change] if value or "=" not in change else []
    files = ("--allow-file", "--deny-file")
    flags = [
        f"{k}={EXAMPLES / v}" if k in files else k + sep + v
        for k, sep, v in (f.partition("=") for f in flags)
    ]
    path = make_convnet() if source == "convnet.onnx" else EXAMPLES / source
    return [path, *flags]


def convert(name, *changes):
    """The model that the command makes, with the types of all values."""
    output = scratch_dir(name) / "step.onnx"
    run_mp_opt(*arguments_of(name, changes), "-o", output)
    return onnx.shape_inference.infer_shapes(onnx.load(output))


def step(name, *changes):
    """The command's step, with its arithmetic shown in fp32."""
    source, *flags = arguments_of(name, changes)
    # Step says these itself.
    flags = [f for f in flags if f not in ("--train", "--summary=json")]
    return Step(source, *flags, "--emulate")


def fp32_step(name, *changes):
    source, *flags = arguments_of(name, changes)
    mixed = ("--mixed-", "--policy", "--allow", "--deny", "--train")
    return Step(source, *(f for f in flags if not f.startswith(mixed)))


def types_of(graph):
    types = {i.name: i.data_type for i in graph.initializer}
    for value in [*graph.value_info, *graph.input, *graph.output]:
        types[value.name] = value.type.tensor_type.elem_type
    return types


def small_nodes(model):
    """Names of the nodes, without Casts, that have 16-bit values."""
    types = types_of(model.graph)
    return {
        node.name
        for node in model.graph.node
        if node.op_type != "Cast"
        and SMALL_TYPES & {types.get(v) for v in [*node.input, *node.output]}
    }


def weights_of(model):
    return {
        t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer
    }


def classes(count=8, seed=1, size=1.0):
    """A batch for classifier.onnxtxt."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4)) * size
    labels = rng.integers(0, 3, count)
    return {"x": x.astype(np.float32), "labels": labels}


def ratings(items):
    """A batch for recommender.onnxtxt."""
    labels = np.ones((len(items), 1), np.float32)
    return {"items": np.asarray(items, np.int64), "labels": labels}


def keras_adam(w, g, state, count, lr=0.001):
    """keras.optimizers.Adam, in float64."""
    m, v = state
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    rate = lr * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    return w - rate * m / (np.sqrt(v) + 1e-7), (m, v)


def adamw(w, g, state, count, lr=0.01, decay=0.01):
    """torch.optim.AdamW, in float64."""
    m, v = state
    w = w * (1 - lr * decay)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    scale = lr / (1 - 0.9**count)
    return w - scale * m / (np.sqrt(v / (1 - 0.999**count)) + 1e-8), (m, v)
