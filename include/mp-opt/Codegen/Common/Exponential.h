//===- Exponential.h - e to the power of x ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_EXPONENTIAL_H
#define MPOPT_CODEGEN_COMMON_EXPONENTIAL_H

#include "mlir/IR/PatternMatch.h"

namespace mp {

/// Expands `math.exp` of f32, on scalars and vectors, for all arguments:
/// results may be subnormal, 0 or infinity, and NaN stays. Errors are within 1
/// unit in the last place. The pattern has priority over MLIR's, which gives 0
/// for subnormal results and takes twice as many instructions. With `isAVX512`,
/// vectors of 16 take fewer still.
void populateExponentialPattern(mlir::RewritePatternSet &patterns,
                                bool isAVX512 = false);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_EXPONENTIAL_H
