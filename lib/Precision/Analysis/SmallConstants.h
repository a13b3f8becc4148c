//===- SmallConstants.h - Constants that steer operators --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads small constants that configure an operator: exponents, axes, counts.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ANALYSIS_SMALLCONSTANTS_H
#define MPOPT_LIB_PRECISION_ANALYSIS_SMALLCONSTANTS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include <vector>

namespace mp {

/// The number that all elements of a small constant have; absent if `value` is
/// not such a constant. Sees through casts and rearrangements.
std::optional<double> getUniformConstant(mlir::Value value);

/// The elements of an fp32 constant of at most `maxCount` elements; a constant
/// of equal elements gives one element. Absent for other values.
std::optional<std::vector<float>> getFloatElements(mlir::Value value,
                                                   int64_t maxCount);

/// The elements of a small integer constant.
std::optional<llvm::SmallVector<int64_t>> getIntegerConstant(mlir::Value value);

/// The axes that a reduction reduces, not negative and in order; absent if they
/// are unknown. If the op names none, these are all axes of the operand.
std::optional<llvm::SmallVector<int64_t>>
getReducedAxes(mlir::Operation *reduction);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_SMALLCONSTANTS_H
