//===- ControlFlow.cpp - Gradients of If ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The backward If computes again, in the branch that is taken, the values that
// its gradients need. They could be outputs of the forward If instead, but then
// each branch would have to yield placeholders for values that only the other
// one computes, in shapes that it does not know.
//
//===----------------------------------------------------------------------===//

#include "../BodyAdjoint.h"
#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static LogicalResult writeBranch(NodeAdjoint &op, Region &forward,
                                 Region &backward,
                                 const WantedCaptures &captured) {
  BodyAdjoint branch(op, forward, backward);
  for (unsigned index = 0; index < op.getNode()->getNumResults(); ++index)
    if (op.grad(index))
      branch.addSeed(index, op.grad(index));
  for (Value value : captured.tensors)
    branch.want(value);
  for (Value value : captured.containers)
    branch.want(value);
  if (failed(branch.differentiate()))
    return failure();
  for (Value value : captured.tensors) {
    Value gradient = branch.getGradient(value);
    branch.addOutput(gradient ? gradient : op.b.zerosLike(value));
  }
  return branch.finish();
}

static LogicalResult ifRule(NodeAdjoint &op) {
  Operation *node = op.getNode();
  WantedCaptures captured(op);
  SmallVector<Type> types;
  for (Value value : captured.tensors)
    types.push_back(value.getType());
  for (Region &branch : node->getRegions())
    if (YieldOp yield = getYield(branch);
        !yield || yield.getNumOperands() != node->getNumResults())
      return op.fail("its outputs are not those of its branches");
  SmallVector<StringRef> names;
  if (auto regions = node->getAttrOfType<ArrayAttr>(attr::regions))
    for (auto name : regions.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  Operation *made = op.b.createNode("If", {op.in(0)}, types, {}, names);
  OpBuilder::InsertionGuard guard(op.b.getBuilder());
  for (auto [forward, backward] :
       llvm::zip(node->getRegions(), made->getRegions()))
    if (failed(writeBranch(op, forward, backward, captured)))
      return failure();
  for (auto [value, gradient] : llvm::zip(captured.tensors, made->getResults()))
    op.set(value, gradient);
  return success();
}

static constexpr GradientRule controlFlowGradients[] = {{"If", ifRule}};

ArrayRef<GradientRule> getControlFlowGradients() {
  return controlFlowGradients;
}

} // namespace mp
