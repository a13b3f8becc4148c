//===- ModelFlags.h - How a model is read and compiled ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_MODELFLAGS_H
#define MPOPT_OPTIONS_MODELFLAGS_H

#include "mp-opt/API/Model.h"
#include "mp-opt/Execution/CodeCache.h"
#include "mp-opt/Options/FlagTable.h"

#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// The flags that say how a model is read and compiled.
struct ModelFlags {
  uint64_t threads = 0;
  std::vector<std::string> dims, roots;
  CheckLevel check = CheckLevel::Lenient;
  DeviceKind device = DeviceKind::CPU;
  /// The NAME of --device=cuda:NAME: for estimates (--dry-run) alone.
  std::optional<std::string> deviceModel;
  FP32Products fp32Products = FP32Products::IEEE;
  bool isEstimated = false;
  /// Of kernels: for --profile.
  bool keepTimes = false;
  std::string kernels = "auto", schemas, cache, precision;
  bool inPlace = false, bf16 = false, fp16 = false, isTimed = false;
  /// A file or a checkpoint: initializers of these names have its elements, and
  /// the model is evaluated as in inference. Empty for none.
  std::string states;
  /// How far compiling is, where it takes long: not next to JSON.
  bool showsCompiling = true;
  /// What `apply` makes of `kernels`, `dims` and `cache`.
  Target target;
  llvm::StringMap<int64_t> sizes;
  std::unique_ptr<CodeCache> codeCache;
  /// Where the time goes, printed at the end; null if nobody asks.
  mlir::DefaultTimingManager timer;
  std::unique_ptr<mlir::TimingScope> timing;

  void addTo(FlagTable &flags);
  /// Checks them, and makes `registry` know the schemas and the process the
  /// threads. `program` is who compiles, in messages. Fails, of kind Usage,
  /// where they contradict themselves.
  llvm::Error apply(mlir::DialectRegistry &registry, llvm::StringRef program);
  CompileOptions getOptions() const;

  /// "bf16", "fp16", or empty.
  llvm::StringRef getPrecision() const {
    return bf16 ? "bf16" : fp16 ? "fp16" : llvm::StringRef(precision);
  }
  /// How a model is read, its messages going to `onMessage`.
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
  /// The same for other sizes.
  llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       llvm::StringRef precision, const llvm::StringMap<int64_t> &dims,
       MessageFn onMessage, bool hasDims = true) const;

private:
  void addDevice(FlagTable &flags);
  llvm::Error takeStates(Model &model, const MessageFn &onMessage) const;
  llvm::Error checkDevice() const;
  std::string program;
};

} // namespace mp

#endif // MPOPT_OPTIONS_MODELFLAGS_H
