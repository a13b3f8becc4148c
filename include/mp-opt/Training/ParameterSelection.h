//===- ParameterSelection.h - Choice of trained parameters ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The user's choice of parameters, which overrides their roles. Lists have one
// name per line, as in torch's named_parameters and named_buffers; the model
// may bring its own lists in its metadata.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_PARAMETERSELECTION_H
#define MPOPT_TRAINING_PARAMETERSELECTION_H

#include "mp-opt/Training/ParameterRoles.h"

namespace mp {

/// Keys of the model's metadata, whose values are JSON arrays of names.
inline constexpr llvm::StringLiteral parametersKey = "mp-opt.parameters";
inline constexpr llvm::StringLiteral buffersKey = "mp-opt.buffers";

struct ParameterRequest {
  /// Regular expressions that match whole names, or `@FILE`.
  std::vector<std::string> trainOnly, freeze;
  /// Lists of names, separated by commas, that become one parameter.
  std::vector<std::string> tie;
  /// Regular expressions: each module gets its own copy of a match.
  std::vector<std::string> untie;
};

struct ParameterChoice {
  enum State : uint8_t { Trained, Frozen, NotAParameter };
  ParameterCandidate candidate;
  State state = NotAParameter;
  /// True if the user, or the model's metadata, has named it.
  bool isNamed = false;
  /// The reason why it is not trained; empty if it is.
  std::string reason;
  /// True if a pattern matches it, but also others that can be trained.
  bool isMatched = false;
  /// The parameter that it is a copy of; empty if it is not a copy.
  std::string splitFrom;
  /// The modules that share it, or the nodes if modules are not known.
  std::vector<std::string> sharers;
};

/// "trained", "frozen", "not a parameter".
llvm::StringRef getName(ParameterChoice::State state);

/// Makes each list of names one initializer. Fails if one does not exist, or is
/// neither equal to the first one nor its transpose.
mlir::LogicalResult tieParameters(onnxir::GraphOp graph,
                                  llvm::ArrayRef<std::string> lists);

/// Pairs of embeddings and weights with the same elements, perhaps transposed,
/// that an exporter may have made from one parameter.
std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
findUntiedCopies(llvm::ArrayRef<ParameterChoice> choices);

/// Gives each module a copy of constants that exporters have merged. These are
/// constants of equal elements with a role in several modules, if names and
/// uses show that each module has its own, and constants that `untie` matches.
/// Copies are named for their modules. A model that lists its parameters keeps
/// them as they are. Fails if a pattern matches nothing that could be split.
mlir::LogicalResult splitParameters(onnxir::GraphOp graph,
                                    const ParameterRequest &request,
                                    std::vector<ParameterChoice> &choices);

/// Decides what is trained. Fails if a list or pattern names nothing, or
/// something that cannot be trained, or if lists contradict each other.
mlir::LogicalResult selectParameters(mlir::ModuleOp module,
                                     onnxir::GraphOp graph,
                                     const ParameterRequest &request,
                                     std::vector<ParameterChoice> &choices);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERSELECTION_H
