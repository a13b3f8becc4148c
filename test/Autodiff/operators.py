# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that ONNX's reference evaluator computes wrong, or roughly."""

import math

import numpy as np
from onnx.reference.op_run import OpRun


class Erf(OpRun):
    """The evaluator's has the accuracy of a float32."""

    def _run(self, x):
        return (np.vectorize(math.erf, otypes=[x.dtype])(x),)


class Gelu(OpRun):
    """The evaluator's is a function of its own Erf."""

    def _run(self, x, approximate=None):
        if approximate == "tanh":
            inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        else:
            inner = np.vectorize(math.erf, otypes=[x.dtype])(x / math.sqrt(2))
        return (x * (1 + inner) / 2,)


class Mean(OpRun):
    """The evaluator's does not broadcast."""

    def _run(self, *x):
        return (sum(x) / np.asarray(len(x), x[0].dtype),)


OPERATORS = [Erf, Gelu, Mean]
