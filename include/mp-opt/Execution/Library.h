//===- Library.h - A model compiled for other programs ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes self-contained code with its constants as data, for programs that link
// it with the run-time library, and the C header that they include.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_LIBRARY_H
#define MPOPT_EXECUTION_LIBRARY_H

#include "mp-opt/Execution/CodeGen.h"
#include "mp-opt/Execution/DeviceKind.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/ModelInterface.h"

namespace mp {

struct LibraryOptions {
  /// The prefix of all names in C: `PREFIX_run`, `PREFIX_interface`,
  /// `PREFIX_release`, and `PREFIX_set_device` for models on devices.
  std::string prefix;
  /// Must be the same as in lowering.
  bool updateInPlace = false;
  DeviceKind device = DeviceKind::CPU;
};

/// Converts `text` to the start of a C identifier; other characters become `_`.
std::string getCName(llvm::StringRef text);

/// True if names with this prefix could collide with those of the run time.
bool isReservedCName(llvm::StringRef prefix);

/// Makes LLVM IR of a module that `mp-lower-to-llvm` has lowered. It contains
/// everything but the run-time library and libm. Only the names of its header
/// are visible. The code is the same as that of a `Program` of the module.
llvm::Expected<std::unique_ptr<llvm::Module>>
makeLibrary(mlir::ModuleOp module, const ModelInterface &interface,
            const LibraryOptions &options, llvm::LLVMContext &context,
            llvm::TargetMachine &machine, const CompileWatch &watch);

/// Makes the library of a model for a device: LLVM IR of the host with `plan`,
/// which contains the images. `module` is only used for the emulated device,
/// whose kernels it contains as makeDeviceCode leaves them.
llvm::Expected<std::unique_ptr<llvm::Module>>
makeDeviceLibrary(mlir::ModuleOp module, const DevicePlan &plan,
                  const ModelInterface &interface,
                  const LibraryOptions &options, llvm::LLVMContext &context,
                  llvm::TargetMachine &machine, const CompileWatch &watch);

/// Makes the header, which includes only the standard library. Comments refer
/// to the model as `model`.
std::string makeHeader(const ModelInterface &interface,
                       const LibraryOptions &options, llvm::StringRef model);

} // namespace mp

#endif // MPOPT_EXECUTION_LIBRARY_H
