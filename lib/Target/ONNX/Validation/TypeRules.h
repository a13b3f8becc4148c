//===- TypeRules.h - Types and interfaces of graphs -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_TYPERULES_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_TYPERULES_H

#include "../Conversion.h"
#include "Deviations.h"

namespace mp {

/// Fails if `type` does not exist in ONNX: an unknown element type, or a map
/// whose keys are neither integers nor strings. Missing parts are an error only
/// if `isComplete`.
mlir::LogicalResult checkType(const ::onnx::TypeProto &type, bool isComplete,
                              EmitErrorFn emitError);

/// Fails if a type declares a size below 0 or too many elements; `what` is the
/// name of the value in messages. The size -1 is a deviation.
mlir::LogicalResult checkSizes(const ::onnx::TypeProto &type,
                               const llvm::Twine &what, mlir::Location loc,
                               Deviations &deviations);

enum class GraphPlace { Main, Training, Subgraph };

/// Checks names and types of a graph's inputs, outputs and value_info.
mlir::LogicalResult checkInterface(const ::onnx::GraphProto &graph,
                                   GraphPlace place, mlir::Location loc,
                                   Deviations &deviations);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_TYPERULES_H
