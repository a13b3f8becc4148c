//===- Classification.h - A class and a reason for every node ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies a policy to a graph, and excludes nodes that can never be 16 bit:
// control flow, calls, sequences, values that a training algorithm takes by
// name. The marks of the safety analyses (shape arithmetic, hazards, decomposed
// ops) override the lists, and a node's own override beats the marks.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_CLASSIFICATION_H
#define MPOPT_PRECISION_ASSIGNMENT_CLASSIFICATION_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Policy/NodeOverrides.h"
#include "mp-opt/Precision/Policy/Policy.h"

#include "llvm/ADT/StringSet.h"

namespace mp {

struct NodeClass {
  mlir::Operation *node;
  OpClass opClass;
  llvm::StringRef reason;
  /// True if the class comes from a built-in list, or if the operator is on no
  /// list.
  bool isBuiltin = false;
  /// True if the policy allows the node, but the graph does not.
  bool overruled = false;
  /// True if a rule for nodes, which beats the safety analyses, gives the
  /// class.
  bool isOverride = false;
  /// The place where the user asked for a class; empty if there is none.
  llvm::StringRef place = {};
};

/// Names that all scopes of a module share; collected once.
struct ModuleNames {
  explicit ModuleNames(mlir::ModuleOp module)
      : functions(module), training(collectTrainingNames(module)) {}

  FunctionTable functions;
  llvm::StringSet<> training;
};

/// The nodes of a graph and of its subgraphs, in order.
class Classification {
public:
  /// `scope` is a graph or a specialized function.
  static Classification compute(mlir::Operation *scope,
                                const PrecisionPolicy &policy,
                                const NodeOverrides &overrides,
                                const ModuleNames &names);

  llvm::ArrayRef<NodeClass> getNodes() const { return nodes; }

private:
  std::vector<NodeClass> nodes;
};

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_CLASSIFICATION_H
