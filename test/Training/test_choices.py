# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of what takes one of several elements, in 16 bit.

They ask which element the result is equal to, or how far it is from it. Here
the node reads fp32 values, which the backward pass has in fp32 only, and a
contraction reads its result in 16 bit, of which there is a copy: had one side
of the comparison been rounded, nothing would be equal, and no gradient would
go through.
"""

import numpy as np
import pytest

from onnx_models import parse
from steps import Step

ROWS, TOKENS, WIDTH, CLASSES = 8, 6, 4, 3

# Operators from `p` and `q`, each [ROWS, TOKENS, WIDTH], to `m`: [ROWS, any,
# WIDTH].
CHOICES = {
    "ReduceMax": "m = ReduceMax(p, one)",
    "ReduceMin": "m = ReduceMin(p, one)",
    "ReduceMax-flat": """t = ReduceMax<keepdims = 0>(p, one)
                         m = Unsqueeze(t, one)""",
    "Max": "m = Max(p, q)",
    "Min": "m = Min(p, q)",
    "Clip": "m = Clip(p, low)",
    "ScatterElements-max": """
        m = ScatterElements<axis = 1, reduction = "max">(p, rows, q)""",
    "ScatterND-min": 'm = ScatterND<reduction = "min">(p, places, q)',
    "ReduceLogSumExp": """r = Add(p, large)
                          m = ReduceLogSumExp(r, one)""",
    "TopK": "m, indices = TopK<axis = 1>(p, one)",
    "GlobalMaxPool": """t = Transpose<perm = [0, 2, 1]>(p)
                        u = GlobalMaxPool(t)
                        m = Transpose<perm = [0, 2, 1]>(u)""",
    "MaxPool": """t = Transpose<perm = [0, 2, 1]>(p)
                  u = MaxPool<kernel_shape = [2], strides = [2]>(t)
                  m = Transpose<perm = [0, 2, 1]>(u)""",
}


def make_model(choice):
    rng = np.random.default_rng(3)
    text = f"""
    choice (float[{ROWS},{TOKENS},{WIDTH}] x)
      => (float[{ROWS},{CLASSES}] logits)
    <int64[1] one = {{1}}, float low = {{0.2}}, float large = {{250}}>
    {{
      px = MatMul(x, a)
      p = Softmax(px)
      qx = MatMul(x, b)
      q = Softmax(qx)
      {CHOICES[choice]}
      z = MatMul(m, c)
      logits = ReduceMean<keepdims = 0>(z, one)
    }}
    """
    rows = rng.integers(0, TOKENS, (ROWS, TOKENS, WIDTH))
    places = rng.permutation(ROWS)[:, None]
    a, b, c = (
        rng.normal(size=size).astype(np.float32)
        for size in ((WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, CLASSES))
    )
    return parse(text, 21, a=a, b=b, c=c, rows=rows, places=places)


def find_gradients(choice, *flags):
    step = Step(
        make_model(choice),
        "--loss=softmax-cross-entropy",
        "--optimizer=none",
        *flags,
    )
    rng = np.random.default_rng(4)
    found = step.run(
        {
            "x": rng.normal(size=(ROWS, TOKENS, WIDTH)).astype(np.float32),
            "labels": rng.integers(0, CLASSES, ROWS),
        }
    )
    return {n: v for n, v in found.items() if n.endswith("_grad")}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    "flags",
    [
        ["--mixed-bf16"],
        ["--mixed-fp16", "--loss-scale=256"],
        ["--mixed-bf16", "--assign=first-operand"],
        ["--mixed-bf16", "--allow=ReduceMax,ReduceMin,Max,Min"],
        ["--mixed-bf16", "--deny=MatMul"],
    ],
    ids=["bf16", "fp16", "first-operand", "allow", "deny"],
)
def test_gradients_go_to_the_chosen(choice, flags):
    expected = find_gradients(choice)
    found = find_gradients(choice, *flags, "--emulate")
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        size = np.sqrt(np.mean(gradient**2))
        error = np.sqrt(np.mean((found[name] - gradient) ** 2))
        assert size > 0
        # Errors are roundings to 2^-9, and one choice in a hundred that
        # differs; a gradient that is lost completely is off by 1.
        assert error < 0.1 * size, name
