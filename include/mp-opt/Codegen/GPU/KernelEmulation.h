//===- KernelEmulation.h - Kernels as code of the host ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_KERNELEMULATION_H
#define MPOPT_CODEGEN_GPU_KERNELEMULATION_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

struct KernelEmulationOptions {
  /// Reports each access to shared memory to the emulator.
  bool checkRaces = false;
};

/// Moves the contents of the module's gpu.modules (LLVM and NVVM dialect) into
/// the module itself, in LLVM's dialect for the host: ops of NVVM become calls
/// of include/mp-opt/Emulation/EmulatedCode.h, and `mp_emulated_kernels` is a
/// table of all kernels. An op that cannot be emulated is an error that names
/// the kernel.
mlir::LogicalResult emulateKernels(mlir::ModuleOp module,
                                   const KernelEmulationOptions &options);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_KERNELEMULATION_H
