//===- FunctionBodies.h - Inlining of function bodies -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inlines calls of functions, and expands nodes whose operator ONNX defines by
// a function: references to attributes are replaced by values, names are
// unique, and types follow from the operands.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_FUNCTIONBODIES_H
#define MPOPT_GRAPH_FUNCTIONBODIES_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Target/ONNX/SchemaFunctions.h"

namespace mp {

/// Inserts the nodes of `function` before `call`. They take over the uses of
/// its results, and the caller must erase the call. The nodes are called
/// `<call>/<node>`. Fails with an error at the call.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
inlineFunction(NodeBuilder &builder, onnxir::FunctionOp function,
               mlir::Operation *call);

/// Replaces `node` by the nodes of the function that defines its operator in
/// ONNX (hasFunctionBody in SchemaFunctions.h). Fails with an error at the
/// node, which is then unchanged.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
expandFunctionBody(NodeBuilder &builder, mlir::Operation *node);

} // namespace mp

#endif // MPOPT_GRAPH_FUNCTIONBODIES_H
