//===- ProgramCode.h - Machine code of a model ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program is made of, and the form in which it is kept for later runs.
// Constants of the model are not part of that form: it says which of the
// model's attributes they are.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_PROGRAMCODE_H
#define MPOPT_EXECUTION_PROGRAMCODE_H

#include "mp-opt/Execution/DeviceKind.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/ModelContent.h"
#include "mp-opt/Execution/ModelInterface.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <vector>

namespace mp {

/// A warning that lowering has given.
struct CompileWarning {
  /// Of the op in the model, as ModelContent counts them.
  uint32_t op = 0;
  std::string text;
};

/// What a kernel of the processor is for.
struct KernelWork {
  /// As diagnostics name them: that of the product first, if there is one.
  std::vector<std::string> nodes;
  /// As `#device.work` says it; multiply-adds of 16-bit factors are `tensor`.
  /// All zero where sizes are unknown.
  DevicePlan::Work work;
};

struct ProgramCode {
  DeviceKind device = DeviceKind::CPU;
  /// Of a device: a packed DevicePlan, which has its kernels.
  std::string plan;
  /// Object files that belong together: the program, or emulated kernels.
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  ModelInterface interface;
  /// Multiply-adds of products and convolutions count twice; absent where
  /// sizes are unknown.
  std::optional<double> flops;
  std::vector<CompileWarning> warnings;
  /// With `keepTimes` alone, and never kept.
  std::vector<KernelWork> kernels;
};

/// `code` as bytes for a later run of the model. `module` is as lowering has
/// left it, `content` of the model before. Fails where a constant has no form.
llvm::Expected<std::string> packCode(const ProgramCode &code,
                                     mlir::ModuleOp module,
                                     const ModelContent &content);

/// The reverse, with constants from the model that `content` is of, whose
/// context must outlive them. Bytes may be any: they end in an error if they
/// are not those of a model with the same content.
llvm::Expected<ProgramCode> unpackCode(llvm::StringRef bytes,
                                       const ModelContent &content);

} // namespace mp

#endif // MPOPT_EXECUTION_PROGRAMCODE_H
