//===- CompileProgress.h - How far compiling is -----------------*- C++ -*-===//
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

/// While it lives, and from one second on, says on standard error what is
/// compiled and how far that is:
///
///     mp-run: compiling step.onnx for znver3: lowering, 12 of 34 passes
///
/// On a terminal the line is written anew as work goes on, within its width,
/// and is gone at the end. Elsewhere how far it is would only fill a file:
/// there is one line at one second and, if all is well, one with the time at
/// the end. Any thread may tell what has been done.
class CompileProgress {
public:
  /// `what` is `mp-run: compiling step.onnx for znver3`.
  explicit CompileProgress(std::string what);
  ~CompileProgress();

  static bool isOnTerminal();

  /// A phase of `total` units begins: "lowering", "passes".
  void start(llvm::StringRef phase, llvm::StringRef units, size_t total);
  /// One of them is done.
  void advance();
  /// Counts the passes of `pm`, which must be complete, as `start` and
  /// `advance` would.
  void follow(mlir::PassManager &pm);
  /// Makes room for a message.
  void clear();
  /// All is done, and well.
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

/// Who follows a compilation; both may be null.
struct CompileWatch {
  CompileProgress *progress = nullptr;
  mlir::TimingScope *timing = nullptr;

  /// As those of `progress`, if there is one.
  void start(llvm::StringRef phase, llvm::StringRef units, size_t total) const;
  void advance() const;
  /// A timer for a step, which ends with it.
  mlir::TimingScope time(llvm::StringRef step) const;
};

} // namespace mp

#endif // MPOPT_EXECUTION_COMPILEPROGRESS_H
