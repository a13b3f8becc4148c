//===- CompiledKernels.h - Kernels in this process ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_COMPILEDKERNELS_H
#define MPOPT_TEST_UNIT_COMPILEDKERNELS_H

#include "mp-opt/Emulation/Emulator.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"

namespace mp {

/// Kernels that the emulator runs.
class CompiledKernels {
public:
  ~CompiledKernels();

  /// `text`: a module with a gpu.module, in the LLVM and NVVM dialects.
  llvm::Error build(const std::string &text, bool checkRaces);
  /// Null if no kernel has this name.
  const mp_emulated_kernel *find(llvm::StringRef name) const;

private:
  llvm::Error link(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects);

  mlir::MLIRContext context;
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  const mp_emulated_kernel *table = nullptr;
  uint32_t count = 0;
};

} // namespace mp

#endif // MPOPT_TEST_UNIT_COMPILEDKERNELS_H
