# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt as a pass of onnx_ir: ``MixedPrecision("bf16")(model)``."""

from __future__ import annotations

import onnx_ir
from onnx_ir.passes import FunctionalPass, PassResult

import mp_opt


class MixedPrecision(FunctionalPass):
    """Makes a model of mixed precision; the one that it is given stays as it
    is. Arguments are those of ``mp_opt.convert``."""

    def __init__(self, precision=None, **arguments):
        super().__init__()
        if arguments.get("output") is not None:
            raise mp_opt.UsageError("output: a pass gives a model", 2)
        self.precision = precision
        self.arguments = arguments

    def call(self, model: onnx_ir.Model) -> PassResult:
        proto = onnx_ir.to_proto(model)
        before = proto.SerializeToString(deterministic=True)
        made = mp_opt.convert(proto, self.precision, **self.arguments)
        modified = made.SerializeToString(deterministic=True) != before
        return PassResult(onnx_ir.from_proto(made), modified)
