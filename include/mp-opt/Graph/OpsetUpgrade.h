//===- OpsetUpgrade.h - Upgrades to newer opsets ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are upgraded from version to version of their op. A step is free if the
// schemas only differ in type constraints, in attributes and trailing inputs
// whose absence means the old behaviour (one table, from ONNX's documentation),
// or in outputs that the node does not have. Lists of integers that became
// inputs of the same name are moved. Every other step has an adapter
// (lib/Graph/Opset), or is refused with a reason.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_OPSETUPGRADE_H
#define MPOPT_GRAPH_OPSETUPGRADE_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mp {

/// The change that a step from one version of an op to the next needs.
struct OpsetStep {
  enum Kind {
    /// Nothing: only types changed.
    Types,
    /// Nothing: additions have no effect if they are absent.
    Additions,
    /// Attributes move to inputs of the same name.
    Inputs,
    /// An adapter rewrites the node.
    Adapter,
    /// Unknown: no node can take the step.
    Unknown,
  };
  Kind kind;
  /// The nodes that cannot take the step, or the reason why the schemas differ.
  std::string except;
};
OpsetStep classifyStep(const OpSchema &before, const OpSchema &after);

/// The first node that prevents `opset` of `domain`, and the reason.
struct UpgradeObstacle {
  mlir::Operation *node;
  std::string reason;
};
std::optional<UpgradeObstacle>
findUpgradeObstacle(mlir::ModuleOp module, llvm::StringRef domain, int opset);

/// Changes nodes to their form at `opset`, which must have no obstacle, and
/// sets the version that the model imports for `domain`. Functions import it
/// too if their nodes would otherwise differ in meaning from the model's. For
/// the default domain, the IR version becomes at least the one that the opset
/// needs.
void setOpset(mlir::ModuleOp module, llvm::StringRef domain, int opset);

} // namespace mp

#endif // MPOPT_GRAPH_OPSETUPGRADE_H
