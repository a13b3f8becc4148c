//===- Layouts.h - The order of axes in memory ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_LAYOUTS_H
#define MPOPT_CODEGEN_CPU_LAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

enum class LayoutChoice {
  /// The layout that costs less.
  Automatic,
  /// Channels last wherever that is possible.
  ChannelsLast,
};

/// Stores images with their channels last if that costs less. Runs on tensors,
/// before all fusion.
void assignLayouts(mlir::func::FuncOp function, LayoutChoice choice);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_LAYOUTS_H
