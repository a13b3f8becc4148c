//===- NarrowTemporaries.h - Widening moved to readers ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_NARROWTEMPORARIES_H
#define MPOPT_CODEGEN_COMMON_NARROWTEMPORARIES_H

#include "mlir/IR/Operation.h"

namespace mp {

/// Makes linalg ops and contractions on tensors in `root` that end with
/// widening 16 bits to f32 store the 16 bits, if all their readers can widen
/// them.
void narrowTemporaries(mlir::Operation *root);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_NARROWTEMPORARIES_H
