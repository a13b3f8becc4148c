//===- RunWatch.h - Follows a run, for when it meets a bug ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells the handler of internal errors how far the run is. In the second run
// that such a handler starts, writes the reproducer when the step is reached
// and ends:
//
//   while reading       the model, its big tensors all zero
//   before a pass       the module, its big constants all one, as MLIR's
//                       reproducer of this pass and those behind it
//   while writing       the same, with no pass left
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_RUNWATCH_H
#define MPOPT_TOOLS_SUPPORT_RUNWATCH_H

#include "DebugCrash.h"

#include "mp-opt/API/ModelInput.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mp {

/// What a run is to do on its way, said by the tests and by the handler.
struct WatchOptions {
  /// Where and how to crash on purpose; nowhere if empty.
  std::string crashPlace;
  CrashKind crashKind = CrashKind::Segv;
  /// Set in the run that makes a reproducer: the step to write, and where to.
  std::optional<unsigned> writeStep;
  int writeDescriptor = -1;

  /// What --debug-crash-in=PLACE[:KIND] and --debug-write-step=STEP:DESCRIPTOR
  /// say; empty where they are not given.
  llvm::Error parse(llvm::StringRef crash, llvm::StringRef write);
};

class RunWatch {
public:
  explicit RunWatch(const WatchOptions &options) : options(options) {}

  /// `path` is where `input` has been read from.
  void startReading(const ModelInput &input, llvm::StringRef path) const;
  /// Follows the passes of `pm`, which must be complete.
  void addTo(mlir::PassManager &pm) const;
  void startWriting(mlir::ModuleOp module) const;

  /// Crashes if that is what --debug-crash-in wants of this place.
  void reach(llvm::StringRef place) const;

private:
  const WatchOptions &options;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_RUNWATCH_H
