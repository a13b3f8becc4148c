//===- Passes.td - Passes from models to code --------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOWERING_PASSES_TD
#define MPOPT_PASSES_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertONNXToLinalg
    : Pass<"convert-onnx-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Write the main graph as loops on tensors";
  let description = [{
    Before: a model. After: the function `main` on tensors; its arguments are
    the graph's inputs and then its bigger constants, its results the outputs.
    Attributes (`mp.name`, `mp.element`, `mp.constant`, `mp.state`) say what
    they are. Operators without a rule are decomposed or expanded first; if
    some are left, one error lists them all.

    Example: test/Lowering/convert-onnx-to-linalg.mlir
  }];
  let options = [
    ListOption<"dims", "dim", "std::string",
               "NAME=SIZE of symbolic dimensions">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mp::kernel::KernelDialect", "::mp::onnxir::ONNXDialect",
    "::mp::runtime::RuntimeDialect",
  ];
}

#endif // MPOPT_PASSES_LOWERING_PASSES_TD
