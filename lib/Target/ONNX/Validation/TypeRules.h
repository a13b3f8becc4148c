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

/// Fails where `type` is none that ONNX has: an unknown element type, a map
/// whose keys are no integers or strings. What it leaves open is no error,
/// unless it `isComplete`.
mlir::LogicalResult checkType(const ::onnx::TypeProto &type, bool isComplete,
                              EmitErrorFn emitError);

/// Fails where a type declares a size below 0, or too many elements; `what` is
/// declared with it. The size -1 is a deviation.
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
