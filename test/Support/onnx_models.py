# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as tests write them, what mp-opt makes of them, and their numbers."""

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from support import attempt, run_mp_opt, scratch_dir


def describe(name, dtype=np.float32, shape=None):
    """A value's name and type; `dtype` is NumPy's or a number of ONNX's."""
    if not isinstance(dtype, int):
        dtype = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, dtype, shape)


def inputs_of(feeds, unknown=False):
    """Graph inputs for arrays by name; all sizes have names if `unknown`."""

    def sizes(name, array):
        names = [f"{name}_{axis}" for axis in range(array.ndim)]
        return names if unknown else array.shape

    return [describe(n, v.dtype, sizes(n, v)) for n, v in feeds.items()]


def values_of(values):
    """Descriptions; of a dict, floats of those shapes, of a text, floats."""
    if isinstance(values, str):
        values = dict.fromkeys(values.split())
    if isinstance(values, dict):
        return [describe(name, shape=shape) for name, shape in values.items()]
    return values


def tensors_of(weights):
    """Initializers, of arrays by name."""
    if not isinstance(weights, dict):
        return weights
    return [
        numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()
    ]


def make_model(
    nodes, inputs, outputs, weights=(), opset=17, ir=8, domains=(),
    functions=(), name="g",
):
    """A model; `domains` are those of version 1 that it imports, too."""
    graph = helper.make_graph(
        nodes, name, values_of(inputs), values_of(outputs), tensors_of(weights)
    )
    opsets = [("", opset), *((domain, 1) for domain in domains)]
    return helper.make_model(
        graph, functions=functions, ir_version=ir or onnx.IR_VERSION,
        opset_imports=[helper.make_opsetid(*pair) for pair in opsets],
    )


def parse(text, opset=18, ir=10, domains=(), **weights):
    """The model of a graph in ONNX's text form, and initializers by name."""
    opsets = f'"": {opset}' + "".join(f', "{d}": 1' for d in domains)
    model = onnx.parser.parse_model(
        f"<ir_version: {ir}, opset_import: [{opsets}]> {text}"
    )
    model.graph.initializer.extend(tensors_of(weights))
    return model


def save(model):
    """Where a model is, alone in a folder, and where to put what is made."""
    folder = scratch_dir("model")
    onnx.save(model, folder / "source.onnx")
    return folder / "source.onnx", folder / "made.onnx"


def rewritten(model, *flags):
    """The model that mp-opt makes of another one."""
    source, made = save(model)
    run_mp_opt(source, *flags, "-o", made)
    return onnx.load(made)


def refused(model, *flags):
    """The one error of mp-opt, which writes nothing."""
    source, made = save(model)
    done = attempt(source, *flags, "-o", made)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    assert not made.exists()
    return done.stderr


def run_ort(model, feeds, names=None, optimize=True):
    """The outputs, by onnxruntime on one thread, of a model or one in a file;
    feeds that it does not take are left out."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if not optimize:
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.graph_optimization_level = level
    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    session = onnxruntime.InferenceSession(
        model, options, ["CPUExecutionProvider"]
    )
    known = {value.name for value in session.get_inputs()}
    return session.run(names, {n: v for n, v in feeds.items() if n in known})
