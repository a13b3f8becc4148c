//===- Library.h - A model compiled for other programs ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code that stands for itself, with its constants as data, for programs that
// link it with the run-time library; and the C header that they include.
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
  /// The start of all names of C: `PREFIX_run`, `PREFIX_interface`,
  /// `PREFIX_release`, and `PREFIX_set_device` of models on devices.
  std::string prefix;
  /// As it was lowered.
  bool updateInPlace = false;
  DeviceKind device = DeviceKind::CPU;
};

/// `text` as the start of a name of C: what cannot stand there is `_`.
std::string getCName(llvm::StringRef text);

/// Whether names that begin with it could be those of the run time.
bool isReservedCName(llvm::StringRef prefix);

/// LLVM IR of a module as `mp-lower-to-llvm` leaves it, with all that it needs
/// but the run-time library and libm. Only the names of its header are visible.
/// The code is that which a `Program` of the module runs.
llvm::Expected<std::unique_ptr<llvm::Module>>
makeLibrary(mlir::ModuleOp module, const ModelInterface &interface,
            const LibraryOptions &options, llvm::LLVMContext &context,
            llvm::TargetMachine &machine, const CompileWatch &watch);

/// The same for a device: LLVM IR of the host with `plan`, which has its
/// images. Of the emulated device, `module` has the kernels, as makeDeviceCode
/// leaves them; else it is not looked at.
llvm::Expected<std::unique_ptr<llvm::Module>>
makeDeviceLibrary(mlir::ModuleOp module, const DevicePlan &plan,
                  const ModelInterface &interface,
                  const LibraryOptions &options, llvm::LLVMContext &context,
                  llvm::TargetMachine &machine, const CompileWatch &watch);

/// The header, which includes nothing but the standard library's: `model` is
/// what comments call the model.
std::string makeHeader(const ModelInterface &interface,
                       const LibraryOptions &options, llvm::StringRef model);

} // namespace mp

#endif // MPOPT_EXECUTION_LIBRARY_H
