//===- OutlineContracts.h - One function for equal contractions -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_OUTLINECONTRACTS_H
#define MPOPT_CODEGEN_CPU_OUTLINECONTRACTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp::kernel {

/// Moves every contraction of `module`, which is on memrefs, to a function with
/// dynamic sizes, one for all that differ in sizes only; attributes there keep
/// the properties that follow from static sizes (SharedContract). If the config
/// says that an operand is cached, the function's last argument is the cache
/// entry. The module's `mp.kept` is the number of cache entries.
void outlineContracts(mlir::ModuleOp module);

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_CPU_OUTLINECONTRACTS_H
