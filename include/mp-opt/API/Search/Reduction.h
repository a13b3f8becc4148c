//===- Reduction.h - The smallest model that fails a check ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a model that fails a check as small as possible, by delta debugging
// (Support/DeltaDebugging.h) with the changes of GraphChanges.h: nodes go
// first, then sizes and weights, then attributes, metadata and names. Rounds of
// all kinds follow each other until one changes nothing.
//
// A candidate is only asked about if it is valid: it is exported and imported
// again, and, after changes that may contradict each other (sizes, attributes),
// run if the unchanged model could be run.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SEARCH_REDUCTION_H
#define MPOPT_API_SEARCH_REDUCTION_H

#include "mp-opt/API/Search/CandidateSearch.h"

namespace mp {

struct ReductionOptions {
  /// The model's file.
  std::string input;
  /// The data of its inputs; empty for random numbers.
  std::string data;
  /// The check gets a file with the data of the candidate's inputs. Inner
  /// values that become inputs have the elements that a run of the model has,
  /// or random numbers if it cannot be run.
  bool hasData = false;
  ModelOptions reading;
};

struct ReductionResult {
  enum Kind : uint8_t {
    /// The model is the smallest that was found.
    Reduced,
    /// The unchanged model passes.
    UnchangedPasses,
    /// The user has stopped the search.
    Stopped,
    /// The runs did not suffice to ask about the unchanged model.
    OutOfRuns,
  };
  Kind kind = Reduced;
  /// False if runs were used up before nothing helped any more.
  bool isMinimal = true;
  /// False if the last model, asked about once more, passes.
  bool isRepeatable = true;
  /// The files of the result, below the search's folder.
  CandidateFiles files;
  /// "12 nodes, 2 inputs, 1 output, 40 weights".
  std::string before, after;
  uint64_t numRuns = 0;
  CheckAnswer answer;
};

/// Runs the search. Fails if the model cannot be read, or if the check does not
/// work.
llvm::Expected<ReductionResult>
reduceModel(const ReductionOptions &options, CandidateSearch &search,
            const mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_API_SEARCH_REDUCTION_H
