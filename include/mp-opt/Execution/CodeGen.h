//===- CodeGen.h - Machine code for a model ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_CODEGEN_H
#define MPOPT_EXECUTION_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace mp {

/// What code is made for.
struct CodeTarget {
  /// Empty for the machine that this runs on.
  std::string triple, cpu, features;

  static CodeTarget getHost();
};

/// The instruction set that products are written for: avx512, avx2 or neon.
std::string getKernelISA(const CodeTarget &target);

/// What LLVM knows of the target; an error that says what it does not know.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CodeTarget &target);

/// The module in LLVM's dialect as optimized LLVM IR; null after a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);

/// An object file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// What the module needs for translation.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_EXECUTION_CODEGEN_H
