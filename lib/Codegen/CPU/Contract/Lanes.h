//===- Lanes.h - Elements of vectors in another order -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CONTRACT_LANES_H
#define MPOPT_CONTRACT_LANES_H

#include "LoopBuilder.h"

namespace mp::kernel {

/// Splits a vector into vectors of each `count`-th element, as f32, beginning
/// with the first elements. `count` is a power of two.
llvm::SmallVector<mlir::Value> splitLanes(LoopBuilder &e, mlir::Value vector,
                                          int64_t count);

/// The vector of which these are each n-th element.
mlir::Value joinLanes(LoopBuilder &e, llvm::ArrayRef<mlir::Value> vectors);

/// Transposes as many vectors as they have lanes: vector i of the result has
/// the i-th elements.
llvm::SmallVector<mlir::Value> transpose(LoopBuilder &e,
                                         llvm::ArrayRef<mlir::Value> rows);

} // namespace mp::kernel

#endif // MPOPT_CONTRACT_LANES_H
