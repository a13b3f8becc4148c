//===- Parameters.h - The values that training starts from ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_PARAMETERS_H
#define MPOPT_TRAINING_PARAMETERS_H

#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

/// The values that the main graph defines, by name.
llvm::StringMap<mlir::Value> findValues(onnxir::GraphOp graph);

/// The loss of that name; without a name, the loss that is marked. Fails with
/// an error if there is none, or if it is not a float with one element.
mlir::FailureOr<mlir::Value> findLoss(onnxir::GraphOp graph,
                                      llvm::StringRef name);

/// The attribute with the elements of an initializer or Constant, without the
/// fields of a TensorProto; null if it has none, and for other ops.
mlir::TypedAttr getElements(mlir::Operation *constant);

/// Fails with an error that names the first element of a float constant that is
/// NaN or infinite, as no training step could make it finite again. Elements
/// that cannot be read pass.
mlir::LogicalResult checkFinite(mlir::Operation *constant,
                                llvm::StringRef name);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERS_H
