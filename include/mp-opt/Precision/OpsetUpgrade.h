//===- OpsetUpgrade.h - What a newer opset leaves as it was -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node keeps its meaning at a newer opset if the schemas at both differ in
// type constraints only, in attributes and trailing inputs of which the
// absence means the old behaviour (one table, from ONNX's documentation), in
// outputs that it does not have, or in lists of integers that were attributes
// and are inputs of the same name; those are moved.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_OPSETUPGRADE_H
#define MPOPT_PRECISION_OPSETUPGRADE_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mp {

/// Why `node` does not mean the same under `opset` of its domain; empty if it
/// does.
std::string getUpgradeObstacle(mlir::Operation *node, int opset);

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

#endif // MPOPT_PRECISION_OPSETUPGRADE_H
