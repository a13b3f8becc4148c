# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of training steps, as mp-opt's flags and as torch has them.

What is trained is one small net with several outputs; torch's results are in
recipes.npz, which make_recipe_references.py writes.
"""

import dataclasses
import functools
import pathlib

import numpy as np
import onnx

REFERENCES = pathlib.Path(__file__).parent / "recipes.npz"
STEPS, ROWS, TOKENS = 4, 8, 3
INNER, WIDTH, CLASSES, TARGETS = 4, 6, 3, 2
RATE = 0.05
# Tolerances of fp32 against float64, after a few steps.
RTOL, ATOL = 2e-5, 2e-6

# x [N, 4] or [N, T, 4] -> y, p [..., 3], logp [..., 3], z [..., 2]
NET = """
<ir_version: 9, opset_import: ["": 18]>
net (float[{axes},4] x) => (float[{axes},3] y, float[{axes},3] p,
                            float[{axes},3] logp, float[{axes},2] z)
{{
  m = MatMul(x, "body.weight")
  a = Add(m, "body.bias")
  h = Tanh(a)
  n = MatMul(h, "head.weight")
  y = Add(n, "head.bias")
  p = Sigmoid(y)
  logp = LogSoftmax(y)
  z = MatMul(h, "aside.weight")
}}
"""


def parameters(zero_head=False):
    rng = np.random.default_rng(5)
    shapes = {
        "body.weight": (INNER, WIDTH),
        "body.bias": (WIDTH,),
        "head.weight": (WIDTH, CLASSES),
        "head.bias": (CLASSES,),
        "aside.weight": (WIDTH, TARGETS),
    }
    values = {n: rng.normal(size=s) * 0.7 for n, s in shapes.items()}
    if zero_head:
        values["head.weight"] *= 0
        values["head.bias"] *= 0
    return {n: v.astype(np.float32) for n, v in values.items()}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """`losses` are what --loss gets; `terms` say the same to torch: a weight,
    a function of torch.nn.functional, an output, labels, and arguments."""

    name: str
    losses: tuple
    terms: tuple
    optimizer: str = "sgd"
    flags: tuple = ()
    # The contents of labels: rows of classes, targets, probabilities ...
    labels: tuple = ("classes",)
    # The optimizer of torch.optim: a class, its arguments, and a function of
    # names.
    torch: tuple = ("SGD", {})
    group: object = None
    clip_value: float = 0
    clip_norm: float = 0
    average: float = 0
    accumulate: int = 1
    schedule: tuple = (1, 1, 1, 1)
    tokens: bool = False
    zero_head: bool = False


def make_labels(kind, shape, rng):
    if kind.startswith("classes"):
        labels = rng.integers(0, CLASSES, shape)
        if kind == "classes-ignored":
            labels[rng.random(shape) < 0.3] = -100
        return labels.astype(np.int64)
    size = TARGETS if kind == "targets-z" else CLASSES
    if kind == "bits":
        return rng.integers(0, 2, (*shape, size)).astype(np.float32)
    values = rng.normal(size=(*shape, size)).astype(np.float32)
    if kind == "probabilities":
        values = np.maximum(values, 0) + 1e-3 * (values > 0)
        values[..., 0] += 0.1
        values /= values.sum(-1, keepdims=True)
    return values.astype(np.float32)


def make_data(recipe):
    """Rows of all steps."""
    rng = np.random.default_rng(12)
    shape = (STEPS * ROWS, TOKENS) if recipe.tokens else (STEPS * ROWS,)
    data = {"x": rng.normal(size=(*shape, INNER)).astype(np.float32)}
    for index, kind in enumerate(recipe.labels):
        name = f"labels_{index + 1}" if index else "labels"
        data[name] = make_labels(kind, shape, rng)
    return data


def batch(data, step):
    return {n: v[step * ROWS : (step + 1) * ROWS] for n, v in data.items()}


@functools.lru_cache(maxsize=None)
def references():
    return dict(np.load(REFERENCES))


def make_net(recipe):
    axes = f"N,{TOKENS}" if recipe.tokens else "N"
    model = onnx.parser.parse_model(NET.format(axes=axes))
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(v, n)
        for n, v in parameters(recipe.zero_head).items()
    )
    return model


def flags_of(recipe):
    return (
        f"--optimizer={recipe.optimizer}",
        f"--lr={RATE}",
        *recipe.flags,
    )


def assert_close(found, expected, what):
    np.testing.assert_allclose(
        found, expected, rtol=RTOL, atol=ATOL, err_msg=what
    )
