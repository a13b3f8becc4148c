//===- OpsetUpgrade.h - What a newer opset leaves as it was -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node goes from version to version of its op. A step is free if the schemas
// differ in type constraints only, in attributes and trailing inputs of which
// the absence means the old behaviour (one table, from ONNX's documentation),
// or in outputs that the node does not have. Lists of integers that became
// inputs of the same name are moved. Every other step has an adapter
// (lib/Graph/Opset), or it is refused with a reason.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_OPSETUPGRADE_H
#define MPOPT_GRAPH_OPSETUPGRADE_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mp {

/// What a step from one version of an op to the next takes.
struct OpsetStep {
  enum Kind {
    /// Nothing: types are all that changed.
    Types,
    /// Nothing: what was added means nothing where it is absent.
    Additions,
    /// Attributes move to inputs of the same name.
    Inputs,
    /// An adapter rewrites the node.
    Adapter,
    /// Nobody has said; no node can take it.
    Unknown,
  };
  Kind kind;
  /// The nodes that cannot take the step, or why the schemas differ.
  std::string except;
};
OpsetStep classifyStep(const OpSchema &before, const OpSchema &after);

/// The first node that stands against `opset` of `domain`, and why.
struct UpgradeObstacle {
  mlir::Operation *node;
  std::string reason;
};
std::optional<UpgradeObstacle>
findUpgradeObstacle(mlir::ModuleOp module, llvm::StringRef domain, int opset);

/// Moves nodes to their form at `opset` (nothing stands against it), and sets
/// the version that the model imports for `domain`, functions along with
/// it where their nodes would otherwise mean something else than the model's,
/// and, for the default domain, the least IR version that goes with it.
void setOpset(mlir::ModuleOp module, llvm::StringRef domain, int opset);

} // namespace mp

#endif // MPOPT_GRAPH_OPSETUPGRADE_H
