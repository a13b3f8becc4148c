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

/// The target that code is generated for.
struct CodeTarget {
  /// Without a triple, the target is this system; without all three, it is this
  /// system's processor. Without a processor, a generic one of the system is
  /// used.
  std::string triple, cpu, features;

  bool isHost() const { return triple.empty() && cpu.empty(); }

  static CodeTarget getHost();
};

/// Creates LLVM's description of the target. Fails with the part that LLVM does
/// not know.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CodeTarget &target);

/// Translates the module in LLVM's dialect to optimized LLVM IR.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                const llvm::TargetMachine &machine, const CompileWatch &watch);

/// Translates to object files that belong to one program. The threads of the
/// module's context compile them.
llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
emitObjects(mlir::ModuleOp module, const llvm::TargetMachine &machine,
            const CompileWatch &watch);

/// Compiles to an object file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Registers the dialects and interfaces needed for translation.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_EXECUTION_CODEGEN_H
