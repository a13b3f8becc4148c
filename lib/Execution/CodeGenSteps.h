//===- CodeGenSteps.h - Steps shared by code generators ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_CODEGENSTEPS_H
#define MPOPT_LIB_EXECUTION_CODEGENSTEPS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Target/TargetMachine.h"

namespace llvm {
class PassInstrumentationCallbacks;
} // namespace llvm

namespace mp {

using Bytes = llvm::SmallVector<char, 0>;

/// Runs LLVM's pipeline of that level. On processors, O3 adds loop unswitching
/// and more inlining to O2, which makes compiling 7 to 20 % longer and no step
/// shorter. On GPUs, kernels need more registers with O2.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level,
              llvm::PassInstrumentationCallbacks &callbacks);

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_CODEGENSTEPS_H
