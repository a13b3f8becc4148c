//===- FreezeAdvice.h - Suggestions for --freeze ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_FREEZEADVICE_H
#define MPOPT_LIB_AUTODIFF_FREEZEADVICE_H

#include "mlir/IR/Operation.h"

namespace mp {

/// A text with the flag that freezes exactly those of `parameters` whose
/// gradients would pass one of `nodes`, and their names; or a text that no
/// other parameters are left.
std::string adviseFreezing(llvm::ArrayRef<mlir::Operation *> nodes,
                           llvm::ArrayRef<mlir::Value> parameters);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_FREEZEADVICE_H
