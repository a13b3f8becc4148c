//===- ByteCount.h - What values take in memory -----------------*- C++ -*-===//
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
  /// Stops at the greatest number instead of overflowing.
  uint64_t bytes = 0;
  /// A dimension is not known: ValueSizes stands in, or a default.
  bool isDynamic = false;
  /// No tensor, or of elements of no fixed width: `bytes` is 0.
  bool isUnknown = false;
};

/// The bytes of a value of `type`, or of one of its shape with elements of
/// `elementType`; an unknown dimension counts for defaultDimension.
ByteCount countBytes(mlir::Type type);
ByteCount countBytes(mlir::Type type, mlir::Type elementType);
/// The bytes of a value, exact for a static shape.
ByteCount countBytes(mlir::Value value, const ValueSizes &sizes);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_BYTECOUNT_H
