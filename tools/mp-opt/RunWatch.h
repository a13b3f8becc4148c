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

#ifndef MPOPT_TOOLS_RUNWATCH_H
#define MPOPT_TOOLS_RUNWATCH_H

#include "Options.h"

#include "mp-opt/API/ModelInput.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mp {

class RunWatch {
public:
  explicit RunWatch(const Options &options) : options(options) {}

  void startReading(const ModelInput &input) const;
  /// Follows the passes of `pm`, which must be complete.
  void addTo(mlir::PassManager &pm) const;
  void startWriting(mlir::ModuleOp module) const;

  /// Crashes if that is what --debug-crash-in wants of this place.
  void reach(llvm::StringRef place) const;

private:
  const Options &options;
};

/// Takes the data of big constants away; the printer could leave them out too,
/// but only after spelling them out.
void elideWeights(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_TOOLS_RUNWATCH_H
