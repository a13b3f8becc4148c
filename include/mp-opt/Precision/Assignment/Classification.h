//===- Classification.h - A class and a reason for every node ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies a policy to a graph, and takes out what no policy may have in 16
// bit: control flow, calls, sequences, values that a training algorithm takes
// by name. Between a node's own override and the lists stands what the safety
// analyses have marked: shape arithmetic, hazards, decomposed ops.
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
  /// The class comes from a built-in list, or from none.
  bool isBuiltin = false;
  /// The policy allows the node, the graph does not.
  bool overruled = false;
  /// The class is that of a rule for nodes, which beats the safety analyses.
  bool isOverride = false;
  /// Where the user asked for a class; empty if nobody did.
  llvm::StringRef place = {};
};

/// What all scopes of a module share; collected once.
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
