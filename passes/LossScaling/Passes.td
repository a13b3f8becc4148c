//===- Passes.td - Passes that scale losses ----------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOSSSCALING_PASSES_TD
#define MPOPT_PASSES_LOSSSCALING_PASSES_TD

include "mlir/Pass/PassBase.td"

class LossScalingPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mp::onnxir::ONNXDialect",
                           "::mp::training::MPDialect"];
}

def ExpandLossScaling : LossScalingPass<"mp-expand-loss-scaling"> {
  let summary = "Write the mp dialect in standard ONNX ops";
  let description = [{
    After: no op of the mp dialect is left. Updates become Where on their
    condition, the finite test one sum over all gradients, the scale's update a
    few ops on scalars. All of it is fp32.

    Example: test/LossScaling/mp-expand-loss-scaling.mlir
  }];
}

#endif // MPOPT_PASSES_LOSSSCALING_PASSES_TD
