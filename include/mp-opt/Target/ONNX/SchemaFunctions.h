//===- SchemaFunctions.h - Functions that define operators ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TARGET_ONNX_SCHEMAFUNCTIONS_H
#define MPOPT_TARGET_ONNX_SCHEMAFUNCTIONS_H

#include "mp-opt/Target/ONNX/NodeTypes.h"

namespace mp {

/// True if ONNX defines the operator of `node`, at its opset, by a function.
/// The function may still turn out not to support the node's operands.
bool hasFunctionBody(mlir::Operation *node);

/// The function by which ONNX defines the operator of a node.
struct SchemaFunction {
  /// Holds the function.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  onnxir::FunctionOp function;
  /// The values of the function's attributes: the node's, or the schema's
  /// defaults.
  AttributeValues values;
};

/// Imports the function for the operands of `node`. Fails with an error at the
/// node.
mlir::FailureOr<SchemaFunction> importSchemaFunction(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_TARGET_ONNX_SCHEMAFUNCTIONS_H
