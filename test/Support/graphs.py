# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small graphs, made node by node, and the numbers of their mixed form.

A graph remembers what its inputs are fed with. `run_mixed` converts it, with
16-bit values as rounded fp32 values (--emulate), and runs it in onnxruntime
without optimizations.
"""

import concurrent.futures

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from support import run_mp_opt, scratch_dir


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
        return name

    def parameter(self, name, dtype, shape):
        """An input of a body."""
        self.inputs.append(describe(name, dtype, shape))
        return name

    def constant(self, data, dtype=np.float32):
        name = f"{self.prefix}c{len(self.constants)}"
        data = np.asarray(data, dtype)
        self.constants.append(numpy_helper.from_array(data, name))
        return name

    def add(self, op, *inputs, **attributes):
        """A node of one result."""
        return self.add_all(op, inputs, 1, **attributes)[0]

    def add_all(self, op, inputs, results, **attributes):
        first = f"{self.prefix}n{len(self.nodes)}"
        names = [first] + [f"{first}_{k}" for k in range(1, results)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names

    def output(self, name, dtype=np.float32, shape=None):
        self.outputs.append(describe(name, dtype, shape))

    def model(self):
        graph = helper.make_graph(
            self.nodes, "g", self.inputs, self.outputs, self.constants
        )
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)

    def body(self):
        """As the body of a Scan or Loop, or a branch of an If."""
        return self.model().graph


def describe(name, dtype, shape):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape)


def run(model, feed):
    """The outputs of a model, or of one in a file."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    return ort.InferenceSession(model, options).run(None, feed)


def run_mixed(graph, dtype, *flags):
    """The outputs of the mixed form of a graph."""
    folder = scratch_dir("graph")
    onnx.save(graph.model(), folder / "source.onnx")
    run_mp_opt(
        folder / "source.onnx", f"--mixed-{dtype}", "--emulate", *flags,
        "-o", folder / "mixed.onnx",
    )
    return run(str(folder / "mixed.onnx"), graph.feed)


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
