//===- ByteCount.h - Sizes of values in bytes -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_BYTECOUNT_H
#define MPOPT_PRECISION_ASSIGNMENT_BYTECOUNT_H

#include "mp-opt/Graph/ValueSizes.h"

namespace mp {

struct ByteCount {
  /// Saturates at the greatest number instead of overflowing.
  uint64_t bytes = 0;
  /// True if a dimension is unknown and replaced by ValueSizes or a default.
  bool isDynamic = false;
  /// True if it is not a tensor, or if elements have no fixed width: `bytes` is
  /// 0 then.
  bool isUnknown = false;
};

/// The bytes of a value of `type`, or of a value of its shape with elements of
/// `elementType`. An unknown dimension counts as defaultDimension.
ByteCount countBytes(mlir::Type type);
ByteCount countBytes(mlir::Type type, mlir::Type elementType);
/// The bytes of a value, exact for a static shape.
ByteCount countBytes(mlir::Value value, const ValueSizes &sizes);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_BYTECOUNT_H
