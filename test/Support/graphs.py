# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small graphs, made node by node, and the numbers of their mixed form.

A graph remembers what its inputs are fed with. `run_mixed` converts it, with
16-bit values as rounded fp32 values (--emulate), and runs it in onnxruntime
without optimizations.
"""

import concurrent.futures

import ml_dtypes
import numpy as np
from onnx_models import describe, make_model, rewritten, run_ort
from onnx import helper, numpy_helper


class Value(str):
    """The name of a value of a graph; operators add nodes to the graph."""

    # Numbers of NumPy leave operators to this class.
    __array_ufunc__ = None

    def __new__(cls, graph, name):
        value = super().__new__(cls, name)
        value.graph = graph
        return value

    def __add__(self, other):
        return self.graph.add("Add", self, other)

    def __sub__(self, other):
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other):
        return self.graph.add("Sub", other, self)

    def __mul__(self, other):
        return self.graph.add("Mul", self, other)

    def __rmul__(self, other):
        return self.graph.add("Mul", other, self)

    def __truediv__(self, other):
        return self.graph.add("Div", self, other)


class Graph:
    """`prefix` keeps the names of a body apart from those around it."""

    def __init__(self, prefix="", opset=17):
        self.prefix, self.opset = prefix, opset
        self.nodes, self.constants, self.inputs = [], [], []
        self.outputs, self.feed = [], {}

    def input(self, name, data, shape=None):
        """A graph input, of the shape of its data if no other is given."""
        data = np.asarray(data)
        shape = data.shape if shape is None else shape
        self.inputs.append(describe(name, data.dtype, shape))
        self.feed[name] = data
        return Value(self, name)

    def parameter(self, name, dtype, shape):
        """An input of a body."""
        self.inputs.append(describe(name, dtype, shape))
        return Value(self, name)

    def constant(self, data, dtype=np.float32):
        name = f"{self.prefix}c{len(self.constants)}"
        data = np.asarray(data, dtype)
        self.constants.append(numpy_helper.from_array(data, name))
        return Value(self, name)

    def add(self, op, *inputs, **attributes):
        """A node of one result; numbers become constants of float32."""
        return self.add_all(op, inputs, 1, **attributes)[0]

    def add_all(self, op, inputs, results, **attributes):
        first = f"{self.prefix}n{len(self.nodes)}"
        names = [first] + [f"{first}_{k}" for k in range(1, results)]
        inputs = [
            str(i if isinstance(i, str) else self.constant(i)) for i in inputs
        ]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return [Value(self, name) for name in names]

    def output(self, name, dtype=np.float32, shape=None):
        self.outputs.append(describe(name, dtype, shape))

    def model(self):
        return make_model(
            self.nodes, self.inputs, self.outputs, self.constants, self.opset
        )

    def body(self):
        """As the body of a Scan or Loop, or a branch of an If."""
        return self.model().graph


def run(model, feed):
    """The outputs of a model, or of one in a file."""
    return run_ort(model, feed, optimize=False)


def run_mixed(graph, dtype, *flags):
    """The outputs of the mixed form of a graph."""
    flags = (f"--mixed-{dtype}", "--emulate", *flags)
    return run(rewritten(graph.model(), *flags), graph.feed)


def is_rounded(array, dtype):
    """Every number is one that the 16-bit type has."""
    narrow = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}[dtype]
    return bool((array == array.astype(narrow)).all())


def failures(check, cases):
    """The messages of `check` for the cases that it refuses; two run at a time."""

    def outcome(case):
        try:
            check(*case)
        except Exception as error:  # onnxruntime has a class for each
            text = str(error).splitlines()[0]
            return f"{' '.join(map(str, case))}: {text}"
        return None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(filter(None, pool.map(outcome, cases)))


def report(found, cases):
    """How many cases fail, and the first of them."""
    return f"{len(found)} of {len(cases)}\n" + "\n".join(found[:20])
