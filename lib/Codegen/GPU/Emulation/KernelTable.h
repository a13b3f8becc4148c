//===- KernelTable.h - The emulator's table of kernels ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMULATION_KERNELTABLE_H
#define MPOPT_LIB_CODEGEN_GPU_EMULATION_KERNELTABLE_H

#include "FunctionEmulation.h"

namespace mp::emulation {

/// An entry of the table, as mp_emulated_kernel (Emulator.h) has it.
struct KernelEntry {
  mlir::LLVM::LLVMFuncOp function;
  /// The name by which device.launch calls it.
  std::string name;
  SharedMemoryLayout layout;
  int32_t flags = 0;
  int32_t maxThreads = 0;
  /// Zeros if the kernel does not specify them.
  llvm::SmallVector<int32_t, 3> block = {0, 0, 0};
};

/// Reads the sizes of blocks that the kernel's attributes require.
void readSizes(KernelEntry &entry);

/// Adds `mp_emulated_kernels` to the module, and for each kernel K a function
/// `K__packed(ptr)` that takes the parameters' addresses.
void writeKernelTable(mlir::ModuleOp module,
                      llvm::ArrayRef<KernelEntry> entries,
                      const Places &places);

constexpr llvm::StringLiteral tableName = "mp_emulated_kernels";

} // namespace mp::emulation

#endif // MPOPT_LIB_CODEGEN_GPU_EMULATION_KERNELTABLE_H
