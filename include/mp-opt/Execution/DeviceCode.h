//===- DeviceCode.h - Code for devices --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICECODE_H
#define MPOPT_EXECUTION_DEVICECODE_H

#include "mp-opt/Execution/CompileProgress.h"
#include "mp-opt/Execution/DeviceKind.h"
#include "mp-opt/Execution/DevicePlan.h"

namespace mp {

/// Makes the plan of a module that was lowered for a device, with its kernels
/// for each of the targets (EmitPTX.h). Without targets, kernels are emulated
/// and the module keeps their code. `main` is removed, since the plan replaces
/// it. Fails after a diagnostic.
mlir::FailureOr<DevicePlan> makeDeviceCode(mlir::ModuleOp module,
                                           llvm::ArrayRef<PTXTarget> targets,
                                           const CompileWatch &watch);

/// Makes the plan of such a module, whose kernels are counted for `chip`
/// (KernelCounts.h) and not kept. Fails after a diagnostic.
mlir::FailureOr<DevicePlan> makeCountedPlan(mlir::ModuleOp module,
                                            llvm::StringRef chip,
                                            const CompileWatch &watch);

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICECODE_H
