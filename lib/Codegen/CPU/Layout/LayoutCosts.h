//===- LayoutCosts.h - Costs of layouts -------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_LAYOUT_LAYOUTCOSTS_H
#define MPOPT_LIB_CODEGEN_CPU_LAYOUT_LAYOUTCOSTS_H

#include "ChannelAxes.h"

namespace mp {

/// Approximate picoseconds of a core; sizes that are not known count as one.
struct LayoutCost {
  int64_t asIs = 0, channelsLast = 0;
};

/// The cost of an op, as far as it depends on layouts.
LayoutCost getLayoutCost(mlir::Operation *op, const ChannelAxes &axes);

/// The cost of copying a tensor from one order to the other.
int64_t getTransposeCost(mlir::Value value, llvm::ArrayRef<int64_t> order);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_CPU_LAYOUT_LAYOUTCOSTS_H
