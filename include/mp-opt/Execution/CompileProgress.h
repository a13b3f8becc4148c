//===- CompileProgress.h - Progress of a compilation ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_COMPILEPROGRESS_H
#define MPOPT_EXECUTION_COMPILEPROGRESS_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringRef.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mp {

/// After one second, shows the progress of a compilation on standard error:
///
///     mp-run: compiling step.onnx for znver3: lowering, 12 of 34 passes
///
/// On a terminal the line is updated within its width, and erased at the end.
/// Otherwise, to keep log files short, there is one line after one second and,
/// on success, one with the total time. Any thread may report progress.
class CompileProgress {
public:
  /// `what` is for example "mp-run: compiling step.onnx for znver3".
  explicit CompileProgress(std::string what);
  ~CompileProgress();

  static bool isOnTerminal();

  /// Begins a phase of `total` units: "lowering", "passes".
  void start(llvm::StringRef phase, llvm::StringRef units, size_t total);
  /// Counts one finished unit.
  void advance();
  /// Counts the passes of `pm`, which must be complete, as `start` and
  /// `advance` would.
  void follow(mlir::PassManager &pm);
  /// Makes room for a message.
  void clear();
  /// Marks the compilation as successful.
  void finish();

private:
  void run();
  void show();
  void erase();

  const std::string what;
  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false, isDone = false, isShown = false;
  const bool isTerminal;
  std::string phase, units;
  size_t done = 0, total = 0;
  std::thread watcher;
};

/// Observers of a compilation; both may be null.
struct CompileWatch {
  CompileProgress *progress = nullptr;
  mlir::TimingScope *timing = nullptr;

  /// Forwards to `progress`, if there is one.
  void start(llvm::StringRef phase, llvm::StringRef units, size_t total) const;
  void advance() const;
  /// A timer for a step, which ends with it.
  mlir::TimingScope time(llvm::StringRef step) const;
};

} // namespace mp

#endif // MPOPT_EXECUTION_COMPILEPROGRESS_H
