//===- StoreVector.h - Vectors of results along a dimension -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_DEPTHWISE_STOREVECTOR_H
#define MPOPT_LIB_CODEGEN_CPU_DEPTHWISE_STOREVECTOR_H

#include "../Contract/Contraction.h"

namespace mp::kernel {

/// Where a vector of results is.
struct ResultVector {
  /// Of the first lane, for each dimension of the contraction; null for zero.
  llvm::ArrayRef<mlir::Value> indices;
  /// The dimension that lanes go along.
  unsigned dim;
  int64_t lanes;
  /// Null if all lanes are there.
  mlir::Value mask;
};

/// Makes results of `sums`, as the epilogue says, and stores them.
void storeVector(LoopBuilder &e, const Contraction &contraction,
                 const ResultVector &vector, mlir::Value sums);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_DEPTHWISE_STOREVECTOR_H
