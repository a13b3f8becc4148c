//===- CodeOutput.h - Writing code for a processor --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements --emit=llvm, obj and lib: the code of a model and its header, as
// made by lib/Execution, are written together or not at all.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_CODEOUTPUT_H
#define MPOPT_API_MODEL_CODEOUTPUT_H

#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Codegen/Target/Target.h"
#include "mp-opt/Execution/Library.h"

namespace mp {

struct CodeOptions {
  CodeTarget target;
  /// Only for models on devices: the device, and the GPUs that CUDA kernels are
  /// compiled for.
  DeviceKind device = DeviceKind::CPU;
  std::vector<PTXTarget> gpus;
  FP32Products fp32Products = FP32Products::IEEE;
  /// As for CompileOptions.
  bool excessPrecision = false;
  /// The kernels for products of 16-bit factors.
  KernelChoice kernels;
  /// Next states are written over their inputs.
  bool inPlace = false;
  /// The prefix of names in C, the linker, and the run-time library. If empty,
  /// they are derived from the output's name and the target.
  std::string symbols, linker, runtime;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
};

/// Writes the code of `module`, which is consumed, to `path`. Without a path,
/// Format::LLVM is written to standard output. `model` is its name in comments.
/// The context's diagnostics report errors of compilation (Error.h:
/// isReported).
llvm::Error writeCode(mlir::ModuleOp module, Format format,
                      const CodeOptions &options, llvm::StringRef path,
                      llvm::StringRef model, mlir::TimingScope &timing);

/// True for the formats that `writeCode` writes: LLVM, Object and Library.
bool isCode(Format format);

} // namespace mp

#endif // MPOPT_API_MODEL_CODEOUTPUT_H
