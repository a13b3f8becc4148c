//===- NodeOperation.h - Ops that schemas make ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_ONNX_NODEOPERATION_H
#define LIB_DIALECT_ONNX_NODEOPERATION_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/OperationSupport.h"

namespace mp::onnxir {

/// Registers an operator of `dialect` under its whole name, with
/// NodeAttributes as its properties.
mlir::RegisteredOperationName registerNodeOperation(mlir::Dialect &dialect,
                                                    llvm::StringRef name,
                                                    mlir::TypeID typeID);

/// Verifies the node against the schema in force.
llvm::LogicalResult verifyNode(mlir::Operation *op);

} // namespace mp::onnxir

#endif // LIB_DIALECT_ONNX_NODEOPERATION_H
