//===- BodyAdjoint.cpp - Gradients inside subgraphs -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyAdjoint.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

WantedCaptures::WantedCaptures(NodeAdjoint &op) {
  for (Value value : getCaptured(op.getNode())) {
    if (op.wants(value) && isDifferentiable(value))
      tensors.push_back(value);
    else if (op.wants(value))
      containers.push_back(value);
  }
}

BodyAdjoint::BodyAdjoint(NodeAdjoint &op, Region &forward, Region &backward)
    : op(op), b(op.b), forward(forward), backward(backward),
      copier(op.b, op.b.getBase()) {}

BlockArgument BodyAdjoint::addInput(const Twine &name, Type type) {
  return GraphEditor(backward).addInput(
      b.getNames().getValueName(b.getBase() + "/" + name), type);
}

/// A graph may only yield values that it computes: no inputs, no values from
/// outside, and no value twice.
void BodyAdjoint::addOutput(Value value) {
  Operation *definer = value.getDefiningOp();
  YieldOp yield = getYield(backward);
  if (!definer || definer->getBlock() != &backward.front() ||
      !isNode(definer) || llvm::is_contained(yield.getOperands(), value))
    value = b.create("Identity", {value}, {}, value.getType());
  GraphEditor(backward).addOutput(value);
}

LogicalResult BodyAdjoint::differentiate() {
  Block &block = backward.front();
  b.setInsertionPointToEnd(&block);
  copier.copy(forward.front());
  YieldOp yield = getYield(forward);
  DifferentiationRequest request;
  request.block = &block;
  request.options = op.options;
  for (auto [index, gradient] : seeds)
    request.seeds.emplace_back(getCopy(yield.getOperand(index)), gradient);
  for (Value value : wanted)
    request.wanted.push_back(getCopy(value));
  std::string base = b.getBase().str();
  FailureOr<Gradients> found = mp::differentiate(b, request);
  b.setBase(base);
  if (failed(found))
    return failure();
  for (auto [value, copy] : llvm::zip(wanted, request.wanted))
    if (Value gradient = found->lookup(copy))
      gradients[value] = gradient;
  return success();
}

/// True if the node draws random numbers: it has a seed, or is a Dropout in
/// training.
static bool isRandom(Operation *node) {
  const OpSchema *schema = isNode(node) ? getSchema(node) : nullptr;
  if (!schema || !schema->getAttribute("seed"))
    return false;
  const FormalParameter *mode = schema->getInput(2);
  return !mode || mode->name != "training_mode" || hasOperand(node, 2);
}

LogicalResult BodyAdjoint::finish() {
  b.eraseUnused(backward.front());
  Operation *random = nullptr;
  backward.walk([&](Operation *inner) {
    if (isRandom(inner))
      random = inner;
  });
  if (random)
    return op.fail("its backward pass would compute " + describe(random) +
                   " again, with other random numbers");
  return success();
}

} // namespace mp
