//===- NarrowTemporaries.h - Widened where it is read -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_NARROWTEMPORARIES_H
#define MPOPT_CODEGEN_COMMON_NARROWTEMPORARIES_H

#include "mlir/IR/Operation.h"

namespace mp {

/// Of linalg ops and contractions on tensors in `root`: one that ends with
/// widening 16 bit to f32 stores 16 bit, where all that read it can widen it.
void narrowTemporaries(mlir::Operation *root);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_NARROWTEMPORARIES_H
