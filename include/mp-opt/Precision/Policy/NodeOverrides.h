//===- NodeOverrides.h - Rules for single nodes -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the nodes that the rules of a policy select: by name, regular
// expression, region, condition or metadata. Names and requests in a node's own
// metadata beat the other rules. Two rules of one rank with different classes
// for a node are an error, and so is a rule that selects nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_NODEOVERRIDES_H
#define MPOPT_PRECISION_POLICY_NODEOVERRIDES_H

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Precision/Policy/Policy.h"

#include "llvm/ADT/DenseMap.h"

namespace mp {

class NodeOverrides {
public:
  /// Applies the rules to all graphs of `module`. Fails with a diagnostic.
  static mlir::FailureOr<NodeOverrides> compute(mlir::ModuleOp module,
                                                const PolicyOptions &options);

  /// The rule that decides a node; null if there is none.
  const NodeRule *lookup(mlir::Operation *node) const {
    return rules.lookup(node);
  }

private:
  llvm::DenseMap<mlir::Operation *, const NodeRule *> rules;
  /// Rules from the nodes' own metadata.
  std::vector<std::unique_ptr<NodeRule>> own;

  friend class OverrideFinder;
};

/// The nodes on a path from `from` to `to`, including both ends; each is the
/// name of nodes or of a value. Fails with a diagnostic if an end does not
/// exist or there is no path.
mlir::FailureOr<std::vector<mlir::Operation *>>
findRegion(mlir::ModuleOp module, const NodeRule &rule);

/// Whether a condition holds for a node; absent if it is about an unknown
/// property.
std::optional<bool> holds(const NodeCondition &condition,
                          mlir::Operation *node);
/// True if the conditions of `rule` hold for a node. A condition about an
/// unknown property does not hold.
bool holds(const NodeRule &rule, mlir::Operation *node);
/// Fails if no version of the rule's operator has the property that a condition
/// tests.
mlir::LogicalResult checkConditions(const NodeRule &rule, mlir::ModuleOp module,
                                    const SchemaRegistry &schemas);

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_NODEOVERRIDES_H
