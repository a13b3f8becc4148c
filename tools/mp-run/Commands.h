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
#include "mp-opt/Options/ModelFlags.h"

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
/// The same, or usage that `flags` tell of.
int report(const Flags &flags, llvm::Error error);

/// printMessage; the tool's name where there is no other.
void sayOfModel(llvm::StringRef name, mlir::DiagnosticSeverity severity,
                const llvm::Twine &text);

/// Says where fewer threads are used than --threads asks for.
void noteThreads(uint64_t wished);

/// What is printed is written, or that is an error.
int finishOutput(int code);

struct SessionFlags;
struct BenchmarkOptions;
/// What `mp-run bench --sweep=NAME=SIZE,...` does. `sweep` is the flag's value.
int runSweep(const Flags &flags, SessionFlags &session, llvm::StringRef sweep,
             BenchmarkOptions calls, bool asJSON,
             mlir::DialectRegistry &registry);

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
  /// The name of a tensor of the data that is expected, and no input; empty for
  /// none.
  std::string labels;
  /// Of a step of several ranks.
  bool keepReductions = false;

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
