//===- MemoryRanges.h - Which memory ops touch ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_MEMORYRANGES_H
#define MPOPT_CODEGEN_COMMON_MEMORYRANGES_H

#include "mp-opt/Codegen/Common/MemoryPlan.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {

/// Bytes of a memref of known sizes; an index counts as 64 bits.
int64_t countBytes(mlir::MemRefType type);

/// Bytes of one piece of memory.
struct MemoryRange {
  /// The arena, or the root.
  mlir::Value base;
  int64_t begin = 0, end = INT64_MAX;

  /// The whole root of `memref`.
  static MemoryRange get(mlir::Value memref);
  bool overlaps(const MemoryRange &other) const {
    return base == other.base && begin < other.end && other.begin < end;
  }
};

/// True if `op`, or an op inside, may write there.
bool mayWrite(mlir::Operation *op, const MemoryRange &range);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_MEMORYRANGES_H
