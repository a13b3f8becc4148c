//===- InferenceMode.cpp - A model that trains, for inference -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/InferenceMode.h"

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Replaces the node by one with only its first result, which uses the stored
/// statistics.
static void useStatistics(Operation *node, NodeBuilder &builder) {
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : node->getDiscardableAttrs())
    if (attribute.getName() != "training_mode")
      attributes.push_back(attribute);
  builder.setInsertionPoint(node);
  SmallVector<Value> operands(node->getOperands());
  // A training step scales a statistic only for its update.
  for (Value &operand : MutableArrayRef(operands).drop_front(3))
    if (Operation *definer = operand.getDefiningOp();
        definer && isStandardOp(definer, "Mul") &&
        isa<BlockArgument>(definer->getOperand(0)))
      operand = definer->getOperand(0);
  Operation *inference = builder.createNode(
      "BatchNormalization", operands, node->getResult(0).getType(), attributes);
  node->getResult(0).replaceAllUsesWith(inference->getResult(0));
  // Results that are statistics are replaced by the stored ones.
  constexpr unsigned firstStatistic = 3;
  for (OpResult result : llvm::drop_begin(node->getResults()))
    result.replaceAllUsesWith(
        operands[firstStatistic + result.getResultNumber() - 1]);
  node->erase();
}

unsigned useInferenceMode(ModuleOp module) {
  NodeBuilder builder(module);
  SmallVector<Operation *> nodes;
  module.walk([&](Operation *op) { nodes.push_back(op); });
  unsigned count = 0;
  for (Operation *node : nodes) {
    if (isStandardOp(node, "Dropout") && hasOperand(node, 2)) {
      builder.setInsertionPoint(node);
      node->setOperand(2, builder.boolScalar(false));
    } else if (isStandardOp(node, "BatchNormalization") &&
               NodeView(node).getFlag("training_mode")) {
      useStatistics(node, builder);
    } else {
      continue;
    }
    ++count;
  }
  return count;
}

} // namespace mp
