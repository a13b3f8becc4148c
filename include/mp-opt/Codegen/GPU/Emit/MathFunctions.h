//===- MathFunctions.h - Functions without a library ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_EMIT_MATHFUNCTIONS_H
#define MPOPT_CODEGEN_GPU_EMIT_MATHFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace mp {

/// Expands functions of f32, on scalars and vectors, for which MLIR's
/// approximations fail for some arguments: sines of more than some thousands,
/// hyperbolic functions near 0 and of large numbers, powers of negative
/// numbers, remainders. Other patterns expand the ops that are left in `math`
/// (exp, expm1, log, log1p, and those that have instructions). Results are
/// within 4 units in the last place, sines up to 2^52.
void populateMathFunctionPatterns(mlir::RewritePatternSet &patterns);

/// Expands exp, and erf with 1 added to it, of f32 to instructions of NVIDIA's
/// GPUs with an error of a few units in the last place of f32, where results
/// are rounded to 16 bits.
void populateRoundedFunctionPatterns(mlir::RewritePatternSet &patterns);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_EMIT_MATHFUNCTIONS_H
