//===- FreezeAdvice.h - What to freeze so that others train -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_FREEZEADVICE_H
#define MPOPT_LIB_AUTODIFF_FREEZEADVICE_H

#include "mlir/IR/Operation.h"

namespace mp {

/// The flag that freezes those of `parameters` whose gradients would pass one
/// of `nodes`, and no other, and which these are; or that none is left then.
std::string adviseFreezing(llvm::ArrayRef<mlir::Operation *> nodes,
                           llvm::ArrayRef<mlir::Value> parameters);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_FREEZEADVICE_H
