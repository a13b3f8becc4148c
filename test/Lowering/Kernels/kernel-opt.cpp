//===- kernel-opt.cpp - mlir-opt with the kernel dialect ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tool that tests and measures kernels: it has the stock passes and ours,
// without those that run before the passes for kernels.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mp::kernel::KernelDialect, mp::MPDialect,
                  mp::runtime::RuntimeDialect, mp::device::DeviceDialect>();
  mlir::registerAllPasses();
  mlir::registerPass([] { return mp::createConvertGroupsToGPU(); });
  mlir::registerPass([] { return mp::createConvertKernelsToNVVM(); });
  mlir::registerPass([] { return mp::createConvertKernelsToROCDL(); });
  mlir::registerPass([] { return mp::createConvertScratchToLLVM(); });
  mlir::registerPass([] { return mp::createKernelToCPU(); });
  mlir::registerPass([] { return mp::createOutlineContracts(); });
  mlir::registerPass([] { return mp::createSelectStrategy(); });
  mlir::registerPass([] { return mp::createSelectGPUStrategy(); });
  mlir::registerPass([] { return mp::createSetTarget(); });
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "kernels of mp-opt\n", registry));
}
