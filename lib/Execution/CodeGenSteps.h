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
#include "llvm/Target/TargetMachine.h"

namespace llvm {
class PassInstrumentationCallbacks;
} // namespace llvm

namespace mp {

using Bytes = llvm::SmallVector<char, 0>;

/// -O2: -O3 adds loop unswitching and more inlining, which makes compiling
/// 7 to 20 % longer and no step shorter.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::PassInstrumentationCallbacks &callbacks);

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_CODEGENSTEPS_H
