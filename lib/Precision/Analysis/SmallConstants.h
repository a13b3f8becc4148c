//===- SmallConstants.h - Constants that steer operators --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exponents, axes, counts: small constants that say what an operator does.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ANALYSIS_SMALLCONSTANTS_H
#define MPOPT_LIB_PRECISION_ANALYSIS_SMALLCONSTANTS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include <vector>

namespace mp {

/// The number that all elements of a small constant have; absent if `value`
/// is none, or not that small. Sees through casts and rearrangements.
std::optional<double> getUniformConstant(mlir::Value value);

/// The elements of an fp32 constant of at most `maxCount` elements; one
/// element stands for a constant of equal ones. Absent for other values.
std::optional<std::vector<float>> getFloatElements(mlir::Value value,
                                                   int64_t maxCount);

/// The elements of a small integer constant.
std::optional<llvm::SmallVector<int64_t>> getIntegerConstant(mlir::Value value);

/// The axes that a reduction reduces, not negative and in order, as far as the
/// model tells. All axes of the operand if the op names none.
std::optional<llvm::SmallVector<int64_t>>
getReducedAxes(mlir::Operation *reduction);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_SMALLCONSTANTS_H
