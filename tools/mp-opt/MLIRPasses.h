//===- MLIRPasses.h - Passes of MLIR that mp-opt has ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MLIRPASSES_H
#define MPOPT_TOOLS_MLIRPASSES_H

namespace mp {

/// Registers MLIR's general transforms, and the conversions that are part of
/// the lowering and thus in the program anyway.
void registerMLIRPasses();

} // namespace mp

#endif // MPOPT_TOOLS_MLIRPASSES_H
