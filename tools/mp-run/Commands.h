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

#include "mp-opt/API/Run/Session.h"
#include "mp-opt/Options/ModelFlags.h"

namespace mp {

using Arguments = llvm::ArrayRef<const char *>;

/// Each command gets the arguments after its name and returns the exit code.
int runRun(Arguments arguments, mlir::DialectRegistry &registry);
int runBench(Arguments arguments, mlir::DialectRegistry &registry);
int runCompare(Arguments arguments, mlir::DialectRegistry &registry);
int runTrain(Arguments arguments, mlir::DialectRegistry &registry);
int runPlan(Arguments arguments, mlir::DialectRegistry &registry);
int runShow(Arguments arguments, mlir::DialectRegistry &registry);

/// Prints `mp-run: error: ...`, unless diagnostics have reported the error;
/// returns its exit code.
int reportError(llvm::Error error);
/// Like reportError; errors of usage are reported by `flags`.
int report(const Flags &flags, llvm::Error error);

/// Calls printMessage, with the tool's name if `name` is empty.
void sayOfModel(llvm::StringRef name, mlir::DiagnosticSeverity severity,
                const llvm::Twine &text);

/// Prints a note if fewer threads are used than --threads requests.
void noteThreads(uint64_t wished);

/// Reports an error if standard output cannot be written.
int finishOutput(int code);

struct SessionFlags;
struct BenchmarkOptions;
/// Runs `mp-run bench --sweep=NAME=SIZE,...`. `sweep` is the flag's value.
int runSweep(const Flags &flags, SessionFlags &session, llvm::StringRef sweep,
             BenchmarkOptions calls, bool asJSON,
             mlir::DialectRegistry &registry);

/// The flags for the inputs of a model.
struct DataFlags {
  std::vector<std::string> inputs, raw;
  /// The seed of --random.
  std::optional<uint64_t> seed;

  void addTo(Flags &flags);
  /// Reads `path`, if it is not empty, and the data that the flags name.
  llvm::Expected<DataSet> read(llvm::StringRef path) const;
};

/// The flags of commands that run one model on its data.
struct SessionFlags {
  ModelFlags model;
  DataFlags data;
  std::vector<std::string> files;
  /// The name of a tensor in the data that has labels, i.e. expected values
  /// instead of an input; empty for none.
  std::string labels;
  /// Keeps the reductions of a step of several ranks on devices.
  bool keepReductions = false;
  /// Computes only the outputs of a training step that training reads.
  bool likeTraining = false;

  void addTo(Flags &flags);
  /// Returns an exit code if the run is over.
  std::optional<int> parse(Flags &flags, Arguments arguments,
                           mlir::DialectRegistry &registry);
  /// Reads the model, with or without the outputs that training does not read.
  llvm::Expected<std::unique_ptr<Model>>
  read(const mlir::DialectRegistry &registry, llvm::StringRef precision,
       const llvm::StringMap<int64_t> &dims, MessageFn say) const;
  /// Reads the model and its inputs, and compiles it for these.
  llvm::Expected<Session> open(const mlir::DialectRegistry &registry,
                               DataSet &read) const;
  /// Reads the model, and plans it for a device and for the sizes of its
  /// inputs, if they are given.
  llvm::Expected<DevicePlan> plan(const mlir::DialectRegistry &registry) const;
};

} // namespace mp

#endif // MPOPT_TOOLS_COMMANDS_H
