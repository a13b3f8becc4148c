//===- StoreVector.h - Vectors of results along a dimension -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_STOREVECTOR_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_STOREVECTOR_H

#include "../../Contract/Contraction.h"

namespace mp::kernel {

/// The position of a vector of results.
struct ResultVector {
  /// The first lane's index, one entry per dimension of the contraction; null
  /// is zero.
  llvm::ArrayRef<mlir::Value> indices;
  /// The dimension of the lanes.
  unsigned dim;
  int64_t lanes;
  /// Null if all lanes are there.
  mlir::Value mask;
};

/// Computes results from `sums`, as the epilogue says, and stores them.
void storeVector(LoopBuilder &e, const Contraction &contraction,
                 const ResultVector &vector, mlir::Value sums);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_DEPTHWISE_STOREVECTOR_H
