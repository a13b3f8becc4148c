# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's interface of backends: ``mp_opt.backend.prepare(model).run(inputs)``."""

from __future__ import annotations

import numpy
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType

import mp_opt


class ProgramRep(BackendRep):
    """A compiled model."""

    def __init__(self, program: mp_opt.Program):
        self.program = program

    def run(self, inputs, **_):
        """Inputs in the model's order, or by their names; a tuple of outputs."""
        if hasattr(inputs, "items"):
            return tuple(self.program.run(None, inputs))
        if isinstance(inputs, numpy.ndarray):
            inputs = [inputs]
        values = self.program.inputs
        if len(inputs) > len(values):
            raise mp_opt.Error(
                f"expected {len(values)} inputs, got {len(inputs)}"
            )
        feeds = {value.name: array for value, array in zip(values, inputs)}
        return tuple(self.program.run(None, feeds))


class MpOptBackend(Backend):
    """Further arguments of ``prepare`` and ``run_model`` are those of
    ``mp_opt.compile``."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return Device(device).type == DeviceType.CPU

    @classmethod
    def is_compatible(cls, model, device: str = "CPU", **arguments) -> bool:
        if not cls.supports_device(device):
            return False
        try:
            cls.prepare(model, device, **arguments)
        except mp_opt.NotSupportedError:
            return False
        return True

    @classmethod
    def prepare(cls, model, device: str = "CPU", **arguments) -> ProgramRep:
        if not cls.supports_device(device):
            raise mp_opt.Error(f"expected the device 'CPU', got '{device}'")
        return ProgramRep(mp_opt.compile(model, **arguments))

    @classmethod
    def run_model(cls, model, inputs, device: str = "CPU", **arguments):
        return cls.prepare(model, device, **arguments).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **arguments):
        """One node. Its outputs' types follow from its inputs'."""
        version = arguments.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        if hasattr(inputs, "items"):
            arrays = [numpy.asarray(inputs[name]) for name in names]
        else:
            arrays = [numpy.asarray(array) for array in inputs]
        if len(names) != len(arrays):
            raise mp_opt.Error(
                f"the node takes {len(names)} inputs, got {len(arrays)}"
            )
        graph = helper.make_graph(
            [node],
            "node",
            [
                helper.make_tensor_value_info(
                    name,
                    helper.np_dtype_to_tensor_dtype(array.dtype),
                    array.shape,
                )
                for name, array in zip(names, arrays)
            ],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        opsets = [helper.make_opsetid("", version)]
        if node.domain not in ("", "ai.onnx"):
            opsets.append(helper.make_opsetid(node.domain, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        return cls.run_model(model, arrays, device, **arguments)


supports_device = MpOptBackend.supports_device
is_compatible = MpOptBackend.is_compatible
prepare = MpOptBackend.prepare
run_model = MpOptBackend.run_model
run_node = MpOptBackend.run_node
