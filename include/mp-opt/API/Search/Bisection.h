//===- Bisection.h - Nodes that must stay fp32 ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the nodes, among those that a conversion makes 16 bit, that must stay
// fp32 for the result to pass a check, by group testing
// (Support/GroupTesting.h). Nodes are kept by rules for nodes, by name, so that
// everything else of the conversion stays the same. Nodes of one name are one
// item.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SEARCH_BISECTION_H
#define MPOPT_API_SEARCH_BISECTION_H

#include "mp-opt/API/Search/CandidateSearch.h"

namespace mp {

struct BisectionOptions {
  /// The model's file.
  std::string input;
  /// The precision, its policy and settings; without names of nodes to deny.
  MixedPrecisionRequest request;
  ModelOptions reading;
};

struct BisectionResult {
  enum Kind : uint8_t {
    /// `nodes` must stay fp32: the result passes.
    Found,
    /// The conversion makes no node 16 bit.
    NothingIsLow,
    /// The result of the conversion passes as it is.
    Passes,
    /// The unchanged model fails.
    UnchangedFails,
    /// The result fails with all nodes in fp32.
    AllKeptFails,
    /// The check has given two answers about the same model.
    Varies,
    /// The user has stopped the search.
    Stopped,
    /// The runs were used up before any result.
    OutOfRuns,
  };
  Kind kind = Found;
  /// Names of nodes, in the order of the graph, and the same with operators:
  /// "node 'fc' (MatMul-13)".
  std::vector<std::string> names, nodes;
  /// False if runs were used up: fewer nodes may pass, too.
  bool isMinimal = true;
  /// The number of items among which `names` was found.
  size_t numCandidates = 0;
  uint64_t numRuns = 0;
  /// The last answer of the check, for messages about it.
  CheckAnswer answer;
  /// The policy in YAML that keeps the nodes; empty unless Found.
  std::string policy;
};

/// Runs the search. Fails if the model cannot be read or converted, or if the
/// check does not work.
llvm::Expected<BisectionResult>
bisectNodes(const BisectionOptions &options, CandidateSearch &search,
            const mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_API_SEARCH_BISECTION_H
