//===- Commands.h - The commands of mp-run, and what they share -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_COMMANDS_H
#define MPOPT_TOOLS_COMMANDS_H

#include "ExitCodes.h"
#include "Flags.h"

#include "mp-opt/API/Session.h"
#include "mp-opt/Execution/CodeCache.h"

namespace mp {

using Arguments = llvm::ArrayRef<const char *>;

/// Each gets the arguments behind its name and returns the exit code.
int runRun(Arguments arguments, mlir::DialectRegistry &registry);
int runBench(Arguments arguments, mlir::DialectRegistry &registry);
int runCompare(Arguments arguments, mlir::DialectRegistry &registry);
int runTrain(Arguments arguments, mlir::DialectRegistry &registry);
int runPlan(Arguments arguments, mlir::DialectRegistry &registry);
int runShow(Arguments arguments, mlir::DialectRegistry &registry);

/// Prints `mp-run: error: ...`, unless diagnostics have told the error; returns
/// its exit code.
int reportError(llvm::Error error);

/// printMessage; the tool's name where there is no other.
void sayOfModel(llvm::StringRef name, mlir::DiagnosticSeverity severity,
                const llvm::Twine &text);

/// What is printed is written, or that is an error.
int finishOutput(int code);

struct SessionFlags;
struct BenchmarkOptions;
/// What `mp-run bench --sweep=NAME=SIZE,...` does. `sweep` is the flag's value.
int runSweep(const Flags &flags, SessionFlags &session, llvm::StringRef sweep,
             BenchmarkOptions calls, bool asJSON,
             mlir::DialectRegistry &registry);

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
  /// What `apply` makes of `kernels`, `dims` and `cache`.
  Target target;
  llvm::StringMap<int64_t> sizes;
  std::unique_ptr<CodeCache> codeCache;
  /// Where the time goes, printed at the end; null if nobody asks.
  mlir::DefaultTimingManager timer;
  std::unique_ptr<mlir::TimingScope> timing;

  void addTo(Flags &flags);
  /// Checks them, and makes `registry` know the schemas and the process the
  /// threads. An exit code if that fails.
  std::optional<int> apply(const Flags &flags, mlir::DialectRegistry &registry);
  CompileOptions getOptions() const;
  void addDevice(Flags &flags);
  /// An exit code if --device does not fit the command.
  std::optional<int> checkDevice(const Flags &flags) const;

  /// "bf16", "fp16", or empty.
  llvm::StringRef getPrecision() const {
    return bf16 ? "bf16" : fp16 ? "fp16" : llvm::StringRef(precision);
  }
  /// Reads a model, messages of which are printed, and converts it to
  /// `precision`. The names of --dim must be its own if it `hasDims`.
  llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       llvm::StringRef precision, bool hasDims = true) const;
  /// The same for other sizes than those of --dim, and with messages that go
  /// elsewhere.
  llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       llvm::StringRef precision, const llvm::StringMap<int64_t> &dims,
       MessageFn onMessage, bool hasDims = true) const;
};

/// The flags that say what goes into a model.
struct DataFlags {
  std::vector<std::string> inputs, raw;
  /// Of --random.
  std::optional<uint64_t> seed;

  void addTo(Flags &flags);
  /// Reads `path`, if it is not empty, and what the flags name.
  llvm::Expected<DataSet> read(llvm::StringRef path) const;
};

/// The flags of commands that run one model on its data.
struct SessionFlags {
  ModelFlags model;
  DataFlags data;
  std::vector<std::string> files;

  void addTo(Flags &flags);
  /// An exit code if the run is over.
  std::optional<int> parse(Flags &flags, Arguments arguments,
                           mlir::DialectRegistry &registry);
  /// Reads the model and what goes into it, and compiles it for that.
  llvm::Expected<Session> open(const mlir::DialectRegistry &registry,
                               DataSet &read) const;
  /// Reads the model, and plans it for a device and for the sizes of what goes
  /// into it, if that is given.
  llvm::Expected<DevicePlan> plan(const mlir::DialectRegistry &registry) const;
};

} // namespace mp

#endif // MPOPT_TOOLS_COMMANDS_H
