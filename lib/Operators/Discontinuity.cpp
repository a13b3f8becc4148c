//===- Discontinuity.cpp - Discontinuous results --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/Discontinuity.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Operators/OperatorTraits.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static bool isInteger(Type type) {
  return isa_and_nonnull<IntegerType>(getTensorElementType(type));
}

bool readsElements(Operation *node) {
  return !isStandardOp(node, "Shape") && !isStandardOp(node, "Size") &&
         !isStandardOp(node, "EyeLike");
}

/// True for float results with steps: rounded, chosen, drawn, or counted ones.
static bool hasSteps(Operation *node) {
  static constexpr StringLiteral names[] = {
      "Bernoulli", "Ceil",   "Floor", "Hardmax",         "Mod",   "Range",
      "Round",     "Shrink", "Sign",  "ThresholdedRelu", "Unique"};
  if (isStandardOp(node, "GridSample"))
    return getString(node, "mode", "linear") == "nearest";
  return normalizeDomain(getDomain(node)).empty() &&
         llvm::is_contained(names, getOpType(node));
}

bool isDiscontinuous(OpResult result) {
  Operation *node = result.getOwner();
  if (!isNode(node) || node->getNumRegions() || !readsElements(node) ||
      !llvm::any_of(node->getOperandTypes(), isFloatTensor))
    return false;
  return isInteger(result.getType()) ||
         (isFloatTensor(result.getType()) && hasSteps(node));
}

bool hasDiscontinuity(Operation *node) {
  bool found = false;
  for (Region &region : node->getRegions())
    region.walk([&](Operation *op) {
      found |= llvm::any_of(op->getResults(), isDiscontinuous);
    });
  return found;
}

} // namespace mp
