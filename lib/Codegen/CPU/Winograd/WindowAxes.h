//===- WindowAxes.h - Images that are read in windows -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes operands that are read in windows, which Winograd's transforms
// require.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_WINOGRAD_WINDOWAXES_H
#define MPOPT_LIB_CODEGEN_CPU_WINOGRAD_WINDOWAXES_H

#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include <array>

namespace mp::kernel {

/// An axis that is read at `kept + summed + constant`, with `mirrored` at
/// `kept - summed + constant`: the result has the dimension `kept` and not
/// `summed`.
struct WindowAxis {
  unsigned kept, summed;
  bool mirrored;
  int64_t constant;
  /// The image's dimension.
  unsigned position;
};

/// An operand, a (0) or b (1), and its two such axes, in order.
struct Windows {
  unsigned image;
  std::array<WindowAxis, 2> axes;
};

/// Absent if no operand has two such axes, or if one has any others.
std::optional<Windows> findWindows(const ContractShape &shape);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_WINOGRAD_WINDOWAXES_H
