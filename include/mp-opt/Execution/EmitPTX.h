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

namespace mp {

/// The targets of `--target`: "sm_80,sm_90a:cubin". Errors say what chips there
/// are.
llvm::Expected<std::vector<PTXTarget>> parsePTXTargets(llvm::StringRef text);

/// An image, and the kernels that are in it.
struct PTXImage {
  DevicePlan::Image image;
  std::vector<std::string> kernels;
};

/// Kernels in LLVM's and NVVM's dialects as PTX; the same images for each chip.
/// The context's threads make it, in several images. Errors say what chips
/// there are, and which kernel calls a function that is not there. Division and
/// square roots are correctly rounded; products and sums become one instruction
/// as in code for processors. Where the target says so, CUDA's ptxas makes
/// machine code of it, which must be in PATH.
llvm::Expected<std::vector<PTXImage>> emitPTX(mlir::gpu::GPUModuleOp kernels,
                                              const PTXTarget &target,
                                              const CompileWatch &watch);

} // namespace mp

#endif // MPOPT_EXECUTION_EMITPTX_H
