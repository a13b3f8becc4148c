//===- LinearFactor.h - Factors of linear expressions -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_COMMON_ATTENTION_LINEARFACTOR_H
#define MPOPT_LIB_CODEGEN_COMMON_ATTENTION_LINEARFACTOR_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mp {

/// The value before casts between floats.
mlir::Value skipRounding(mlir::Value value);

/// The factor of an expression that is linear in a variable, up to rounding: a
/// number, and zero unless all conditions have the given results. That of
/// dropout is one.
struct LinearFactor {
  double number = 1;
  llvm::SmallVector<std::pair<mlir::Value, bool>> conditions;

  /// Absent if `value` is not known to be linear in `variable`.
  static std::optional<LinearFactor> get(mlir::Value value,
                                         mlir::Value variable);
  /// True if numbers differ by no more than rounding, and conditions are
  /// computed by equal ops.
  bool operator==(const LinearFactor &other) const;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_COMMON_ATTENTION_LINEARFACTOR_H
