//===- ParameterSelection.h - What a training step changes ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the user says of parameters, on top of their roles. Lists are names one
// a line, as torch's named_parameters and named_buffers have them; the model
// may bring its own in its metadata.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_PARAMETERSELECTION_H
#define MPOPT_TRAINING_PARAMETERSELECTION_H

#include "mp-opt/Training/ParameterRoles.h"

namespace mp {

/// Keys of the model's metadata: JSON arrays of names.
inline constexpr llvm::StringLiteral parametersKey = "mp-opt.parameters";
inline constexpr llvm::StringLiteral buffersKey = "mp-opt.buffers";

struct ParameterRequest {
  /// Regular expressions that match whole names, or `@FILE`.
  std::vector<std::string> trainOnly, freeze;
  /// Names, separated by commas, of what becomes one parameter.
  std::vector<std::string> tie;
  /// Regular expressions: each module gets a copy of its own.
  std::vector<std::string> untie;
};

struct ParameterChoice {
  enum State : uint8_t { Trained, Frozen, NotAParameter };
  ParameterCandidate candidate;
  State state = NotAParameter;
  /// The user, or the model's metadata, has named it.
  bool isNamed = false;
  /// Why it is not trained; empty for what is.
  std::string reason;
  /// A pattern matches it, and others that can be trained.
  bool isMatched = false;
  /// The parameter whose copy it is; empty if it is none.
  std::string splitFrom;
  /// The modules, or nodes where these are not known, that share it.
  std::vector<std::string> sharers;
};

/// "trained", "frozen", "not a parameter".
llvm::StringRef getName(ParameterChoice::State state);

/// Makes each list of names one initializer. Fails if one is not there, or
/// is neither equal to the first one nor its transpose.
mlir::LogicalResult tieParameters(onnxir::GraphOp graph,
                                  llvm::ArrayRef<std::string> lists);

/// Embeddings and weights with the same elements, maybe transposed: what an
/// exporter has made two of one.
std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
findUntiedCopies(llvm::ArrayRef<ParameterChoice> choices);

/// Gives each module a copy of what exporters have merged: constants of equal
/// elements with a role in several modules, as far as names and uses say that
/// these have one each, and what `untie` matches. Copies are named for their
/// modules. A model that lists its parameters keeps them as they are. Fails if
/// a pattern matches nothing that could be split.
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
