//===- ValueFlow.h - Values through control flow ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRAPH_VALUEFLOW_H
#define MPOPT_LIB_GRAPH_VALUEFLOW_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

/// True for If, Loop and Scan of the default domain.
bool isControlFlow(mlir::Operation *op);

/// Calls `take` with every value that the operand of an If, Loop or Scan, or
/// of the yield of one of their bodies, becomes: results of the op, arguments
/// of its bodies. False, and nothing is called, for other ops.
bool forEachFlowTarget(mlir::OpOperand &use,
                       llvm::function_ref<void(mlir::Value)> take);

} // namespace mp

#endif // MPOPT_LIB_GRAPH_VALUEFLOW_H
