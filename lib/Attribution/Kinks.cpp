//===- Kinks.cpp - Where small errors flip masks and choices --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kinks.h"

#include "mp-opt/Attribution/RoundingSpots.h"
#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

static Value addIdentity(NodeBuilder &b, Value value, int64_t number) {
  Value identity = b.create("Identity", {value}, {}, value.getType());
  identity.getDefiningOp()->setAttr(
      mark::kink, Builder(value.getContext()).getI64IntegerAttr(number));
  return identity;
}

void markPools(ModuleOp module) {
  NodeBuilder b(module);
  b.setBase("kink");
  int64_t number = 0;
  GraphOp graph = getMainGraph(module);
  for (Operation &node : llvm::make_early_inc_range(graph.getBody().front())) {
    if (!isNode(&node) || getOpType(&node) != "MaxPoolGrad" ||
        node.getNumOperands() != 2)
      continue;
    b.setInsertionPoint(&node);
    for (OpOperand &operand : node.getOpOperands())
      operand.set(addIdentity(b, operand.get(), number++));
    b.setInsertionPointAfter(&node);
    Value result = node.getResult(0);
    Value identity = addIdentity(b, result, number++);
    result.replaceAllUsesExcept(identity, identity.getDefiningOp());
  }
}

void Kinks::addPools(Block &block) {
  llvm::DenseMap<int64_t, Kink> found;
  for (Operation &op : block)
    if (auto number = op.getAttrOfType<IntegerAttr>(mark::kink))
      found[number.getInt() / 3].parts[number.getInt() % 3] = &op;
  for (int64_t number = 0; number < int64_t(found.size()); ++number) {
    Kink kink = found.lookup(number);
    Operation *indices = kink.parts[1];
    kink.pool = indices ? indices->getOperand(0).getDefiningOp() : nullptr;
    if (kink.parts[0] && kink.parts[2] && kink.pool &&
        isStandardOp(kink.pool, "MaxPool"))
      kinks.push_back(std::move(kink));
  }
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// True for Sign, and for comparisons of floats that are not about equality.
static bool isStep(Operation *op) {
  if (isStandardOp(op, "Sign"))
    return true;
  const OperatorTraits &traits = getOperatorTraits(op);
  return traits.kind == OperatorKind::Logic && op->getNumOperands() == 2 &&
         isDifferentiable(op->getOperand(0)) && !isStandardOp(op, "Equal");
}

/// The longest chain of logic between a comparison and a node that reads it.
static constexpr unsigned maxLogic = 4;

void Kinks::addReaders(Kink &kink, Value truth,
                       SmallVector<Value, 1> conditions, unsigned depth) {
  if (depth > maxLogic)
    return;
  for (OpOperand &use : truth.getUses()) {
    Operation *user = use.getOwner();
    OperatorMath math = getOperatorTraits(user).math;
    bool isChoice = math == OperatorMath::Where && use.getOperandNumber() == 0;
    if (isChoice ||
        (math == OperatorMath::Cast && isDifferentiable(user->getResult(0)))) {
      kink.readers.push_back({user, conditions});
    } else if (isStandardOp(user, "Not")) {
      addReaders(kink, user->getResult(0), conditions, depth + 1);
    } else if (isStandardOp(user, "And")) {
      SmallVector<Value, 1> more = conditions;
      more.push_back(user->getOperand(1 - use.getOperandNumber()));
      addReaders(kink, user->getResult(0), more, depth + 1);
    }
  }
}

Kinks Kinks::find(ModuleOp module) {
  Kinks found;
  Block &block = getMainGraph(module).getBody().front();
  SmallVector<Value> marked;
  for (Operation &op : block)
    if (op.hasAttr(mark::spot))
      marked.push_back(op.getResult(0));
  llvm::DenseSet<Value> dependents = findDependents(block, marked);
  for (Operation &op : block) {
    if (!isNode(&op) || !isStep(&op) ||
        llvm::none_of(op.getOperands(), [&](Value operand) {
          return dependents.contains(operand);
        }))
      continue;
    Kink kink;
    kink.decision = &op;
    if (isStandardOp(&op, "Sign"))
      kink.readers.push_back({&op, {}});
    else
      found.addReaders(kink, op.getResult(0), {}, 0);
    if (!kink.readers.empty())
      found.kinks.push_back(std::move(kink));
  }
  found.addPools(block);
  return found;
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

/// The value as it is computed. Before a constant bound, a Relu hides the side
/// from which elements may come back.
static Value getComputed(Value value, bool skipsRelu) {
  value = skipMarkers(value);
  Operation *source = value.getDefiningOp();
  if (skipsRelu && source && isStandardOp(source, "Relu"))
    value = skipMarkers(source->getOperand(0));
  return value;
}

Value Kinks::addSource(NodeBuilder &b, size_t number) {
  const Kink &kink = kinks[number];
  b.setBase("kink");
  if (kink.pool)
    return getComputed(kink.pool->getOperand(0), /*skipsRelu=*/false);
  Value left = kink.decision->getOperand(0);
  b.setInsertionPoint(kink.decision);
  if (kink.decision->getNumOperands() == 1)
    return getComputed(left, /*skipsRelu=*/false);
  Value right = kink.decision->getOperand(1);
  auto isBound = [](Value value) {
    Operation *source = value.getDefiningOp();
    return source && isConstant(source);
  };
  return b.sub(getComputed(left, isBound(right)),
               getComputed(right, isBound(left)));
}

SmallVector<Value> Kinks::getWanted(size_t number) const {
  SmallVector<Value> wanted;
  if (kinks[number].pool)
    wanted.push_back(kinks[number].parts[2]->getResult(0));
  for (const Reader &reader : kinks[number].readers)
    wanted.push_back(reader.node->getResult(0));
  return wanted;
}

/// The probability that an error flips a decision.
static Value getFlips(NodeBuilder &b, Value distance, Value deviation) {
  Value least = b.scalarLike(1e-30, deviation);
  Value unit = b.scale(b.create("Max", {deviation, least}), std::sqrt(2.0));
  Value tail = b.create("Erf", {b.div(b.create("Abs", {distance}), unit)});
  return b.scale(b.sub(b.scalarLike(1, tail), tail), 0.5);
}

/// The change by a flip, times its adjoint.
Value Kinks::addJump(NodeBuilder &b, const Reader &reader, Operation *decision,
                     Value adjoint) {
  Value jump = adjoint;
  if (getOperatorTraits(reader.node).math == OperatorMath::Where)
    jump = b.mul(adjoint,
                 b.sub(reader.node->getOperand(1), reader.node->getOperand(2)));
  else if (reader.node == decision)
    jump = b.scale(adjoint, 2);
  for (Value condition : reader.conditions)
    jump = b.where(condition, jump, b.scalarLike(0, jump));
  return jump;
}

static Value sumAll(NodeBuilder &b, Value value) {
  return b.reduceSum(value, {}, /*keepDims=*/false);
}

Kinks::Effect Kinks::addEffect(NodeBuilder &b, size_t number, Value source,
                               Value deviation, const Gradients &gradients) {
  const Kink &kink = kinks[number];
  b.setBase("kink");
  if (kink.pool)
    return addPoolEffect(b, kink, source, deviation, gradients);
  Value flips = getFlips(b, source, deviation);
  Value error = b.scalarLike(0, deviation);
  for (const Reader &reader : kink.readers) {
    Value adjoint = gradients.lookup(reader.node->getResult(0));
    if (!adjoint)
      continue;
    Value jump = addJump(b, reader, kink.decision, adjoint);
    // An infinite operand of a Where that is not chosen has no effect.
    Value square =
        b.create("Min", {b.mul(jump, jump), b.scalarLike(1e30, jump)});
    error = b.add(error, sumAll(b, b.mul(square, flips)));
  }
  return {error, sumAll(b, flips)};
}

/// The second greatest element of each window, and its index.
static std::pair<Value, Value> addSecond(NodeBuilder &b, Operation *pool,
                                         Value source) {
  Value least =
      b.reshape(b.scalarLike(-INFINITY, source), ArrayRef<int64_t>{1});
  Value indices = b.reshape(pool->getResult(1), ArrayRef<int64_t>{-1});
  Value masked = b.create("ScatterElements",
                          {b.reshape(source, ArrayRef<int64_t>{-1}), indices,
                           b.expandLike(least, indices)},
                          b.attr("axis", 0));
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute entry : pool->getDiscardableAttrs())
    if (!entry.getName().strref().contains('.'))
      attributes.push_back(entry);
  Operation *second =
      b.createNode("MaxPool", {b.reshapeLike(masked, source)},
                   llvm::to_vector(pool->getResultTypes()), attributes);
  return {second->getResult(0), second->getResult(1)};
}

Kinks::Effect Kinks::addPoolEffect(NodeBuilder &b, const Kink &kink,
                                   Value source, Value deviation,
                                   const Gradients &gradients) {
  Value adjoint = gradients.lookup(kink.parts[2]->getResult(0));
  Value none = b.scalarLike(0, deviation);
  if (!adjoint)
    return {none, none};
  auto [second, place] = addSecond(b, kink.pool, source);
  Value first = kink.pool->getResult(0);
  Value distance = b.scale(b.sub(first, second), std::sqrt(0.5));
  // Ties are mostly zeros behind a Relu, whose gradient is zero.
  Value isTie = b.create("Equal", {first, second});
  Value flips = b.where(isTie, none, getFlips(b, distance, deviation));
  Value flat = b.reshape(adjoint, ArrayRef<int64_t>{-1});
  auto takeSquare = [&](Value at) {
    Value taken =
        b.create("GatherElements", {flat, b.reshape(at, ArrayRef<int64_t>{-1})},
                 b.attr("axis", 0));
    return b.mul(taken, taken);
  };
  Value both = b.add(takeSquare(kink.pool->getResult(1)), takeSquare(place));
  Value gradient = kink.parts[0]->getResult(0);
  Value jump = b.mul(b.reshapeLike(both, gradient), b.mul(gradient, gradient));
  return {sumAll(b, b.mul(jump, flips)), sumAll(b, flips)};
}

} // namespace mp
