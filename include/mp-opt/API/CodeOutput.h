//===- CodeOutput.h - Writing code for a processor --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --emit=llvm, obj and lib: what lib/Execution makes of a model, and its
// header, become files together or not at all.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_CODEOUTPUT_H
#define MPOPT_API_CODEOUTPUT_H

#include "mp-opt/API/ModelInput.h"
#include "mp-opt/Codegen/Target/Target.h"
#include "mp-opt/Execution/Library.h"

namespace mp {

struct CodeOptions {
  CodeTarget target;
  /// Of models on devices: where they run, and what CUDA's kernels are made
  /// for.
  DeviceKind device = DeviceKind::CPU;
  std::vector<PTXTarget> gpus;
  FP32Products fp32Products = FP32Products::IEEE;
  /// How 16-bit factors are multiplied.
  KernelChoice kernels;
  /// Next states are written over their inputs.
  bool inPlace = false;
  /// Start of names in C, program that links, run-time library: empty for those
  /// that follow from the output's name and the target.
  std::string symbols, linker, runtime;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
};

/// Writes the code of `module`, which is used up, to `path`; of Format::LLVM to
/// standard output where there is none. `model` is its name in comments. The
/// context's diagnostics say what cannot be compiled (Error.h: isReported).
llvm::Error writeCode(mlir::ModuleOp module, Format format,
                      const CodeOptions &options, llvm::StringRef path,
                      llvm::StringRef model, mlir::TimingScope &timing);

/// True for LLVM, Object and Library: what `writeCode` writes.
bool isCode(Format format);

} // namespace mp

#endif // MPOPT_API_CODEOUTPUT_H
