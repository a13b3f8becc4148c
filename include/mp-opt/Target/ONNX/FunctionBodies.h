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

#ifndef MPOPT_TARGET_ONNX_FUNCTIONBODIES_H
#define MPOPT_TARGET_ONNX_FUNCTIONBODIES_H

#include "mp-opt/Target/ONNX/NodeBuilder.h"

namespace mp {

/// Puts the nodes of `function` in front of `call`, whose results they take
/// over; the call itself is left without uses, for the caller to erase. The
/// nodes are called `<call>/<node>`. Fails with an error at the call.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
inlineFunction(NodeBuilder &builder, onnxir::FunctionOp function,
               mlir::Operation *call);

/// True if ONNX defines the operator of `node`, at the opset in force, by a
/// function; whether that covers the node's operands may only show later.
bool hasFunctionBody(mlir::Operation *node);

/// Writes `node` as the nodes of that function, and erases it. Fails with an
/// error at the node, which is left as it was.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
expandFunctionBody(NodeBuilder &builder, mlir::Operation *node);

} // namespace mp

#endif // MPOPT_TARGET_ONNX_FUNCTIONBODIES_H
