//===- ModelFlags.h - Flags to read and compile a model ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_MODELFLAGS_H
#define MPOPT_OPTIONS_MODELFLAGS_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/Codegen/Target/DeviceModels.h"
#include "mp-opt/Execution/CodeCache.h"
#include "mp-opt/Options/FlagTable.h"

#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// Flags for reading and compiling a model.
struct ModelFlags {
  uint64_t threads = 0;
  std::vector<std::string> dims, roots;
  CheckLevel check = CheckLevel::Lenient;
  DeviceKind device = DeviceKind::CPU;
  /// The NAME of --device=cuda:NAME, which is only valid for estimates
  /// (--dry-run).
  std::optional<std::string> deviceModel;
  /// The device of an estimate: the one of that name or, without one, the first
  /// that NVIDIA's driver finds. Set by `apply`.
  std::optional<DeviceModel> estimated;
  FP32Products fp32Products = FP32Products::IEEE;
  bool excessPrecision = false;
  bool isEstimated = false;
  /// Records the times of kernels for --profile.
  bool keepTimes = false;
  std::string kernels = "auto", schemas, cache, precision;
  bool inPlace = false, bf16 = false, fp16 = false, isTimed = false;
  /// The path of a file or a checkpoint. Initializers with names in it are
  /// replaced by its tensors, and the model is evaluated as in inference. Empty
  /// for none.
  std::string states;
  /// Shows the progress of long compilations, except next to JSON output.
  bool showsCompiling = true;
  /// Set by `apply` from `kernels`, `dims` and `cache`.
  Target target;
  llvm::StringMap<int64_t> sizes;
  std::unique_ptr<CodeCache> codeCache;
  /// The timers printed at the end; null if not requested.
  mlir::DefaultTimingManager timer;
  std::unique_ptr<mlir::TimingScope> timing;

  void addTo(FlagTable &flags);
  /// Checks the flags, registers the schemas with `registry`, and sets the
  /// number of threads of the process. `program` is the name in messages about
  /// progress and the cache. Fails with kind Usage if flags are invalid.
  llvm::Error apply(mlir::DialectRegistry &registry, llvm::StringRef program);
  CompileOptions getOptions() const;

  /// "bf16", "fp16", or empty.
  llvm::StringRef getPrecision() const {
    return bf16 ? "bf16" : fp16 ? "fp16" : llvm::StringRef(precision);
  }
  /// Options for reading a model. Its messages go to `onMessage`.
  ModelOptions getModelOptions(MessageFn onMessage) const;
  /// Checks that the names of `dims` are the model's own, if it `hasDims`, and
  /// converts it to `precision`.
  static llvm::Error prepare(Model &model, llvm::StringRef precision,
                             const llvm::StringMap<int64_t> &dims,
                             bool hasDims = true);
  /// Reads a model, and prepares it for the sizes of --dim.
  llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       llvm::StringRef precision, MessageFn onMessage,
       bool hasDims = true) const;
  /// Reads the model for other sizes.
  llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       llvm::StringRef precision, const llvm::StringMap<int64_t> &dims,
       MessageFn onMessage, bool hasDims = true) const;

private:
  void addDevice(FlagTable &flags);
  llvm::Error takeStates(Model &model, const MessageFn &onMessage) const;
  llvm::Error checkDevice();
  llvm::Error chooseEstimated();
  std::string program;
};

} // namespace mp

#endif // MPOPT_OPTIONS_MODELFLAGS_H
