# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposed operators against onnxruntime-training's own kernels, in fp32."""

import dataclasses
import typing

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import rules  # noqa: F401  (it makes the modules of the run-time tests known)
from support import run_mp_opt, scratch_dir
from training import work


@dataclasses.dataclass(frozen=True)
class Node:
    name: str
    op: str
    # Arrays, or None for an operand left out.
    inputs: tuple
    # Shapes of the results, None for one left out.
    outputs: tuple
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = "com.microsoft"
    opset: int = 15
    # The kernel's results, if the runtime does not have the kernel.
    expected: typing.Optional[tuple] = None

    def __repr__(self):
        return self.name


def feeds_of(node):
    return {f"i{k}": v for k, v in enumerate(node.inputs) if v is not None}


def make_model(node, dynamic=False):
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}_{axis}" for axis in range(value.ndim)]
            if dynamic
            else value.shape,
        )
        for name, value in feeds_of(node).items()
    ]
    outputs = [
        helper.make_tensor_value_info(f"o{k}", onnx.TensorProto.FLOAT, shape)
        for k, shape in enumerate(node.outputs)
        if shape is not None
    ]
    names = ["" if v is None else f"i{k}" for k, v in enumerate(node.inputs)]
    while not names[-1]:
        # Kernels crash on some that are left out by an empty name.
        names.pop()
    made = helper.make_node(
        node.op,
        names,
        ["" if s is None else f"o{k}" for k, s in enumerate(node.outputs)],
        domain=node.domain,
        **node.attributes,
    )
    return helper.make_model(
        helper.make_graph([made], "g", inputs, outputs),
        opset_imports=[
            helper.make_opsetid("", node.opset),
            helper.make_opsetid("com.microsoft", 1),
        ],
        ir_version=8,
    )


def by_kernels(nodes):
    """The outputs of every node by its kernel, by the node's name."""
    folder, cases = scratch_dir("kernels"), []
    for index, node in enumerate(nodes):
        path = folder / f"{index}.onnx"
        onnx.save(make_model(node), path)
        feeds = path.with_suffix(".npz")
        np.savez(feeds, **feeds_of(node))
        cases.append(
            {"name": str(index), "model": str(path), "feeds": str(feeds)}
        )
    found = {node.name: {} for node in nodes}
    for key, value in work("nodes", cases=cases).items():
        index, _, output = key.partition(":")
        found[nodes[int(index)].name][output] = value
    return found


def decomposed(node, dynamic=False):
    """The node in standard ops."""
    folder = scratch_dir("decomposed")
    onnx.save(make_model(node, dynamic), folder / "m.onnx")
    run_mp_opt(
        folder / "m.onnx",
        "--onnx-decompose-gradients",
        "-o",
        folder / "d.onnx",
    )
    model = onnx.load(folder / "d.onnx")
    assert all(n.op_type != node.op for n in model.graph.node)
    assert {n.domain for n in model.graph.node} <= {""}
    onnx.checker.check_model(model)
    return model


def by_standard_ops(node, dynamic=False):
    model = decomposed(node, dynamic)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds_of(node))))


def assert_close(actual, expected, tolerance=2e-5):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].shape == value.shape, name
        assert actual[name].dtype == value.dtype, name
        largest = max(np.abs(value).max(initial=0), 1e-3)
        error = np.abs(actual[name] - value).max(initial=0)
        assert error <= tolerance * largest, name
