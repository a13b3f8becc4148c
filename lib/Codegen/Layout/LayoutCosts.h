//===- LayoutCosts.h - What layouts cost ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_LAYOUT_LAYOUTCOSTS_H
#define MPOPT_LIB_CODEGEN_LAYOUT_LAYOUTCOSTS_H

#include "ChannelAxes.h"

namespace mp {

/// Picoseconds of a core, about; sizes that are not known count as one.
struct LayoutCost {
  int64_t asIs = 0, channelsLast = 0;
};

/// Of an op, as far as layouts make a difference.
LayoutCost getLayoutCost(mlir::Operation *op, const ChannelAxes &axes);

/// Of a tensor that is copied from one order to the other.
int64_t getTransposeCost(mlir::Value value, llvm::ArrayRef<int64_t> order);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_LAYOUT_LAYOUTCOSTS_H
