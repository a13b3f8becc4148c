//===- CodeGen.h - Machine code for a model ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_CODEGEN_H
#define MPOPT_EXECUTION_CODEGEN_H

#include "mp-opt/Execution/CompileProgress.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace mp {

/// What code is made for.
struct CodeTarget {
  /// Without a triple, the system that this runs on; without anything, its
  /// processor as well. Without a processor, a common one of the system's.
  std::string triple, cpu, features;

  bool isHost() const { return triple.empty() && cpu.empty(); }

  static CodeTarget getHost();
};

/// What LLVM knows of the target; an error that says what it does not know.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CodeTarget &target);

/// The module in LLVM's dialect as optimized LLVM IR.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                const llvm::TargetMachine &machine, const CompileWatch &watch);

/// The same as object files that belong to one program. The module's context
/// has the threads that make them.
llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
emitObjects(mlir::ModuleOp module, const llvm::TargetMachine &machine,
            const CompileWatch &watch);

/// An object file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// What the module needs for translation.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_EXECUTION_CODEGEN_H
