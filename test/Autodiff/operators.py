# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that ONNX's reference evaluator computes wrong, or roughly."""

import math

import numpy as np
from onnx.reference.op_run import OpRun


class Erf(OpRun):
    """The evaluator's has the accuracy of a float32."""

    def _run(self, x):
        return (np.vectorize(math.erf, otypes=[x.dtype])(x),)


class GatherElements(OpRun):
    """The evaluator's has the sizes of the data in all other axes."""

    def _run(self, data, indices, axis=None):
        kept = [slice(size) for size in indices.shape]
        kept[axis] = slice(None)
        return (np.take_along_axis(data[tuple(kept)], indices, axis),)


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


class Pad(OpRun):
    """The evaluator's takes nothing away."""

    def _run(self, data, pads, value=None, axes=None, mode=None):
        axes = range(data.ndim) if axes is None else [int(x) for x in axes]
        kept, widths = [slice(None)] * data.ndim, [(0, 0)] * data.ndim
        for axis, ends in zip(axes, pads.reshape(2, -1).T.tolist()):
            less, more = np.maximum(-np.array(ends), 0), np.maximum(ends, 0)
            kept[axis] = slice(less[0], data.shape[axis] - less[1])
            widths[axis] = tuple(more)
        if mode != "constant":
            return (np.pad(data[tuple(kept)], widths, mode),)
        value = 0 if value is None else value.item()
        return (
            np.pad(data[tuple(kept)], widths, constant_values=value),
        )


OPERATORS = [Erf, GatherElements, Gelu, Mean, Pad]
