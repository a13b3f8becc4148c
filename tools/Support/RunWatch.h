//===- RunWatch.h - Follows a run, for when it meets a bug ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells the handler of internal errors how far the run is. The handler starts a
// second run, in which this class writes the reproducer when the step is
// reached, and ends the run:
//
//   while reading       the model, its big tensors all zero
//   before a pass       the module, its big constants all one, as MLIR's
//                       reproducer of this pass and those after it
//   while writing       the same, with no pass left
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_RUNWATCH_H
#define MPOPT_TOOLS_SUPPORT_RUNWATCH_H

#include "mp-opt/API/Model/ModelInput.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mp {

/// Actions during a run, requested by tests and by the handler.
struct WatchOptions {
  /// The place and the kind of a deliberate crash; no crash if the place is
  /// empty.
  std::string crashPlace, crashKind;
  /// The step to write and its target, in the run that makes a reproducer.
  std::optional<unsigned> writeStep;
  int writeDescriptor = -1;

  /// Parses the values of --debug-crash-in=PLACE[:KIND] and
  /// --debug-write-step=STEP:DESCRIPTOR; they are empty if the flags are not
  /// given.
  llvm::Error parse(llvm::StringRef crash, llvm::StringRef write);
};

class RunWatch {
public:
  explicit RunWatch(const WatchOptions &options) : options(options) {}

  /// `path` is the file that `input` was read from.
  void startReading(const ModelInput &input, llvm::StringRef path) const;
  /// Follows the passes of `pm`, which must be complete.
  void addTo(mlir::PassManager &pm) const;
  void startWriting(mlir::ModuleOp module) const;

  /// Crashes if --debug-crash-in names this place.
  void reach(llvm::StringRef place) const;

private:
  const WatchOptions &options;
};

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_RUNWATCH_H
