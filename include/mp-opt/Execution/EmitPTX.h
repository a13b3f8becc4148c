//===- EmitPTX.h - Kernels for NVIDIA's driver ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_EMITPTX_H
#define MPOPT_EXECUTION_EMITPTX_H

#include "mp-opt/Execution/CompileProgress.h"
#include "mp-opt/Execution/DeviceKind.h"
#include "mp-opt/Execution/DevicePlan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

/// Parses the value of `--target`: "sm_80,sm_90a:cubin". Errors list the known
/// chips.
llvm::Expected<std::vector<PTXTarget>> parsePTXTargets(llvm::StringRef text);

/// The shape of a kernel's largest launch, by its name.
using LaunchShapes = llvm::StringMap<LaunchShape>;

/// An image, and the kernels that are in it.
struct PTXImage {
  DevicePlan::Image image;
  std::vector<std::string> kernels;
  /// One per kernel if they were to be counted; else empty.
  std::vector<KernelCounts> counts;
};

/// Compiles kernels in LLVM's and NVVM's dialects to PTX. The division into
/// images does not depend on the chip, and images are compiled in parallel by
/// the context's threads. Errors list the known chips, or name the kernel that
/// calls an undefined function. Division and square roots are correctly
/// rounded; products and sums are fused as in code for processors. If the
/// target requests machine code, CUDA's ptxas in PATH or nvJitLink assembles
/// the PTX.
llvm::Expected<std::vector<PTXImage>> emitPTX(mlir::gpu::GPUModuleOp kernels,
                                              const PTXTarget &target,
                                              const CompileWatch &watch);

/// Compiles kernels for `chip` as emitPTX does, counts what their threads
/// execute in launches of these shapes, and returns images without content. If
/// CUDA's ptxas or nvJitLink is there, registers and shared memory are those of
/// machine code.
llvm::Expected<std::vector<PTXImage>> countPTX(mlir::gpu::GPUModuleOp kernels,
                                               llvm::StringRef chip,
                                               const LaunchShapes &shapes,
                                               const CompileWatch &watch);

} // namespace mp

#endif // MPOPT_EXECUTION_EMITPTX_H
