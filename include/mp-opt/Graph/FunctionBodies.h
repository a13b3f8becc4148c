//===- FunctionBodies.h - Bodies in the place of calls ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of a function, and a node whose operator ONNX defines by a function,
// are written as the function's nodes: references to attributes have their
// values, names are unique, types are those that the operands give.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_FUNCTIONBODIES_H
#define MPOPT_GRAPH_FUNCTIONBODIES_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Target/ONNX/SchemaFunctions.h"

namespace mp {

/// Puts the nodes of `function` in front of `call`, whose results they take
/// over; the call itself is left without uses, for the caller to erase. The
/// nodes are called `<call>/<node>`. Fails with an error at the call.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
inlineFunction(NodeBuilder &builder, onnxir::FunctionOp function,
               mlir::Operation *call);

/// Writes `node` as the nodes of the function by which ONNX defines its
/// operator (hasFunctionBody in SchemaFunctions.h), and erases it. Fails with
/// an error at the node, which is left as it was.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
expandFunctionBody(NodeBuilder &builder, mlir::Operation *node);

} // namespace mp

#endif // MPOPT_GRAPH_FUNCTIONBODIES_H
