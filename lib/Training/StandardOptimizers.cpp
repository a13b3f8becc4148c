//===- StandardOptimizers.cpp - Optimizers of ai.onnx.preview.training ----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas follow the operators' specification: R is the learning rate, T
// the update count; then come tensors X, and as many gradients G and states of
// each kind. Results come in the order of X and the states.
//
//===----------------------------------------------------------------------===//

#include "BiasCorrection.h"

#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Training/TrainingInfo.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// One of the tensors that an optimizer node updates.
struct TensorUpdate {
  NodeBuilder &b;
  NodeView node;
  /// Scalars of the tensor's type.
  Value rate, count;
  /// The count as it is given.
  Value steps;
  Value tensor, gradient;
  SmallVector<Value, 2> states;

  double number(StringRef name) const { return node.getFloat(name); }
  Value regularized() {
    double norm = number("norm_coefficient");
    return norm ? b.add(b.scale(tensor, norm), gradient) : gradient;
  }
  Value isFirst() {
    Value zero = b.scalarLike(0, count);
    return b.create("Not", {b.create("Greater", {count, zero})});
  }
  /// 1 - rate^T, for any rate.
  Value correction(double rate) {
    if (!(rate >= 0 && rate < 1))
      return b.sub(b.scalarLike(1, count),
                   b.create("Pow", {b.scalarLike(rate, count), count}));
    Type element = getTensorElementType(tensor.getType());
    return getBiasCorrection(b, steps, rate, element);
  }
};

struct StandardOptimizer {
  StringLiteral name;
  unsigned states;
  /// The tensor's new value; sets the new states.
  Value (*update)(TensorUpdate &);
};

} // namespace

static Value updateMomentum(TensorUpdate &u) {
  NodeBuilder &b = u.b;
  Value gradient = u.regularized();
  double alpha = u.number("alpha"), beta = u.number("beta");
  Value share = gradient;
  if (beta != 1)
    share = b.mul(gradient, b.where(u.isFirst(), b.scalarLike(1, gradient),
                                    b.scalarLike(beta, gradient)));
  Value momentum = b.add(b.scale(u.states[0], alpha), share);
  u.states[0] = momentum;
  Value direction = momentum;
  if (u.node.getString("mode") == "nesterov")
    direction = b.add(gradient, b.scale(momentum, alpha));
  return b.sub(u.tensor, b.mul(u.rate, direction));
}

static Value updateAdagrad(TensorUpdate &u) {
  NodeBuilder &b = u.b;
  Value gradient = u.regularized();
  Value rate = u.rate;
  if (double decay = u.number("decay_factor"))
    rate = b.div(rate, b.addScalar(b.scale(u.count, decay), 1));
  u.states[0] = b.add(u.states[0], b.mul(gradient, gradient));
  Value root =
      b.addScalar(b.create("Sqrt", {u.states[0]}), u.number("epsilon"));
  return b.sub(u.tensor, b.div(b.mul(rate, gradient), root));
}

static Value updateAdam(TensorUpdate &u) {
  NodeBuilder &b = u.b;
  Value gradient = u.regularized();
  double alpha = u.number("alpha"), beta = u.number("beta");
  u.states[0] =
      b.add(b.scale(u.states[0], alpha), b.scale(gradient, 1 - alpha));
  u.states[1] = b.add(b.scale(u.states[1], beta),
                      b.scale(b.mul(gradient, gradient), 1 - beta));
  Value root =
      b.addScalar(b.create("Sqrt", {u.states[1]}), u.number("epsilon"));
  // Both factors are zero if the count is; they are not used then.
  Value first = u.isFirst();
  Value divisor = b.where(first, b.scalarLike(1, u.rate), u.correction(alpha));
  Value factor = b.create("Sqrt", {u.correction(beta)});
  Value rate = b.where(first, u.rate, b.div(b.mul(u.rate, factor), divisor));
  Value next = b.sub(u.tensor, b.div(b.mul(rate, u.states[0]), root));
  double post = u.number("norm_coefficient_post");
  return post ? b.scale(next, 1 - post) : next;
}

static constexpr StandardOptimizer optimizers[] = {
    {"Adagrad", 1, updateAdagrad},
    {"Adam", 2, updateAdam},
    {"Momentum", 1, updateMomentum}};

/// Succeeds if all operands are floats, except for the count of steps.
static LogicalResult checkTypes(Operation *node) {
  for (OpOperand &operand : node->getOpOperands()) {
    Type element = getTensorElementType(operand.get().getType());
    bool isCount = operand.getOperandNumber() == 1;
    if (isCount ? !isa_and_nonnull<IntegerType>(element)
                : !isa_and_nonnull<FloatType>(element))
      return node->emitError()
             << describe(node) << ": expected operand #"
             << operand.getOperandNumber() << " to be a tensor of "
             << (isCount ? "integers" : "floats") << ", got "
             << operand.get().getType();
  }
  return success();
}

static LogicalResult expand(NodeBuilder &b, Operation *node,
                            const StandardOptimizer &optimizer) {
  // R and T, then X, G and the states.
  unsigned kinds = 2 + optimizer.states;
  unsigned count = (node->getNumOperands() - 2) / kinds;
  if (node->getNumOperands() != 2 + count * kinds ||
      node->getNumResults() != count * (kinds - 1))
    return node->emitError()
           << describe(node) << ": expected 2 operands and " << kinds
           << " for each tensor, and " << kinds - 1 << " results for each, got "
           << node->getNumOperands() << " and " << node->getNumResults();
  // Only Momentum has modes.
  StringRef mode = NodeView(node).getString("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return node->emitError() << describe(node) << ": expected mode standard or "
                             << "nesterov, got '" << mode << "'";
  if (failed(checkTypes(node)))
    return failure();
  b.setInsertionPoint(node);
  StringRef name = getNodeName(node);
  if (name.empty())
    name = optimizer.name;
  b.setBase(name);
  auto replace = [&](unsigned index, Value value) {
    OpResult result = node->getResult(index);
    if (isa<NoneType>(result.getType()))
      return;
    std::string text = onnxir::getValueName(result).str();
    result.replaceAllUsesWith(value);
    setValueName(result, b.getNames().getValueName(text + "_replaced"));
    setValueName(cast<OpResult>(value), text);
  };
  for (unsigned index = 0; index < count; ++index) {
    auto operand = [&](unsigned kind) {
      return node->getOperand(2 + kind * count + index);
    };
    Value tensor = operand(0);
    TensorUpdate update{b,
                        node,
                        b.castLike(node->getOperand(0), tensor),
                        b.castLike(node->getOperand(1), tensor),
                        node->getOperand(1),
                        tensor,
                        operand(1),
                        {}};
    for (unsigned state = 0; state < optimizer.states; ++state)
      update.states.push_back(operand(2 + state));
    replace(index, optimizer.update(update));
    for (unsigned state = 0; state < optimizer.states; ++state)
      replace((1 + state) * count + index, update.states[state]);
  }
  node->erase();
  return success();
}

/// Only the main graph has states, and names that Gradient can use.
static LogicalResult checkNested(GraphOp graph) {
  WalkResult result = graph.walk([](Operation *op) {
    if (!isNode(op) || getDomain(op) != "ai.onnx.preview.training")
      return WalkResult::advance();
    op->emitError() << describe(op)
                    << ": expected Gradient or an optimizer in the "
                    << "main graph";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult expandOptimizers(GraphOp graph, NodeBuilder &builder) {
  for (Operation &node : llvm::make_early_inc_range(graph.getBody().front())) {
    if (!isNode(&node) || getDomain(&node) != "ai.onnx.preview.training")
      continue;
    for (const StandardOptimizer &optimizer : optimizers)
      if (optimizer.name == getOpType(&node)) {
        if (failed(expand(builder, &node, optimizer)))
          return failure();
        break;
      }
  }
  return checkNested(graph);
}

} // namespace mp
