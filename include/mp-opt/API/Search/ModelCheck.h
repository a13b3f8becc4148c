//===- ModelCheck.h - Checks of candidate models ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A check says whether a model is fine. It is a command of the user, in which
// any runtime may run the model, or the distance of the model's outputs from
// those of a reference, as this project's own runtime computes them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SEARCH_MODELCHECK_H
#define MPOPT_API_SEARCH_MODELCHECK_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/Support/ShellCommand.h"

#include <memory>

namespace mp {

struct CheckAnswer {
  bool passes = false;
  /// "exit status 1", "output 'y' is off by 2 %".
  std::string reason;
  /// The end of what a command has printed.
  std::string output = {};
};

/// The files of a candidate.
struct CandidateFiles {
  std::string model;
  /// Empty if there are no data.
  std::string data;
};

class ModelCheck {
public:
  virtual ~ModelCheck() = default;

  /// Called once before models are asked about, with the model that all others
  /// come from. Fails if the check cannot use it.
  virtual llvm::Error prepare(const CandidateFiles &unchanged) = 0;
  /// Absent if the user has stopped the check. Fails if the check itself does
  /// not work: it has then said nothing about the model.
  virtual llvm::Expected<std::optional<CheckAnswer>>
  ask(const CandidateFiles &files) = 0;
  /// A text that differs for different checks.
  virtual std::string describe() const = 0;
};

struct CommandCheckOptions {
  /// A shell command: "{}" stands for the path of the model, "{data}" for that
  /// of its data. Without "{}", the model's path is added as the last argument.
  /// Exit status 0 means that the model is fine.
  std::string command;
  CommandOptions run;
};

/// True if the command refers to a file of data.
bool takesData(llvm::StringRef command);

std::unique_ptr<ModelCheck> makeCommandCheck(CommandCheckOptions options);

struct ToleranceCheckOptions {
  /// The greatest root mean square error of an output, relative to the root
  /// mean square of its elements in the reference.
  double tolerance = 0;
  /// A file of data (DataSet.h); random numbers without one.
  std::string data;
  CompileOptions compile;
  /// Options for reading candidates.
  ModelOptions reading;
  /// Receives notes about the data.
  MessageFn onMessage;
};

/// The unchanged model is the reference.
llvm::Expected<std::unique_ptr<ModelCheck>>
makeToleranceCheck(ToleranceCheckOptions options,
                   const mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_API_SEARCH_MODELCHECK_H
