//===- Strategy.h - Choice of a strategy for contractions -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_STRATEGY_H
#define MPOPT_CODEGEN_CPU_STRATEGY_H

#include "mp-opt/Codegen/Target/Target.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// On the module (unit): results in fp32 of 16-bit factors stand for values
/// that the model rounds to 16 bit. The errors of all transforms are small next
/// to those of the factors, so that these results may be transformed like
/// 16-bit ones.
inline constexpr llvm::StringLiteral excessPrecisionName =
    "kernel.excess_precision";

/// Chooses the strategy of a contraction on memrefs for a processor. `numbers`
/// are the target's, or those of a test.
ConfigAttr selectStrategy(ContractOp op, const Target &target,
                          const TargetNumbers &numbers);

/// Fails, after an error, if `op`, which is on memrefs, has no config, or one
/// that does not fit it.
mlir::LogicalResult verifyStrategy(ContractOp op);

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_CPU_STRATEGY_H
