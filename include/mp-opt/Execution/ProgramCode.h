//===- ProgramCode.h - Machine code of a model ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a program, and their serialized form for later runs. Constants
// of the model are not serialized; the form refers to the model's attributes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_PROGRAMCODE_H
#define MPOPT_EXECUTION_PROGRAMCODE_H

#include "mp-opt/Execution/DeviceKind.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/ModelContent.h"
#include "mp-opt/Execution/ModelInterface.h"
#include "mp-opt/Precision/Analysis/ExcessPrecision.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <vector>

namespace mp {

/// A warning or note that lowering has given.
struct CompileMessage {
  /// The number of the op's location in ModelContent.
  uint32_t op = 0;
  bool isRemark = false;
  std::string text;
};

/// The purpose of a kernel on the processor.
struct KernelWork {
  /// Names as in diagnostics; the node of a product comes first.
  std::vector<std::string> nodes;
  /// The work as in `#device.work`; multiply-adds of 16-bit factors count as
  /// `tensor`. All zero if sizes are unknown.
  DevicePlan::Work work;
};

struct ProgramCode {
  DeviceKind device = DeviceKind::CPU;
  /// For a device: a packed DevicePlan with its kernels.
  std::string plan;
  /// Object files that belong together: the program, or emulated kernels.
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  ModelInterface interface;
  /// Floating-point operations; a multiply-add of products and convolutions
  /// counts as two. Absent if sizes are unknown.
  std::optional<double> flops;
  /// With excess precision: in the order of the nodes.
  std::vector<DroppedRounding> droppedRoundings;
  std::vector<CompileMessage> messages;
  /// Only with `keepTimes`; never serialized.
  std::vector<KernelWork> kernels;
};

/// Serializes `code` for a later run of the model. `module` is the lowered
/// module, and `content` that of the model before lowering.
std::string packCode(const ProgramCode &code, mlir::ModuleOp module,
                     const ModelContent &content);

/// Restores serialized code, with constants from the model of `content`, whose
/// context must outlive them. The bytes are not trusted: the function fails if
/// they do not belong to a model with the same content.
llvm::Expected<ProgramCode> unpackCode(llvm::StringRef bytes,
                                       const ModelContent &content);

} // namespace mp

#endif // MPOPT_EXECUTION_PROGRAMCODE_H
