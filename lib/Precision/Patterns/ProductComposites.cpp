//===- ProductComposites.cpp - Decomposed losses, gradients, cosines ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds sums of products of two values, which have no single x: a weighted sum
// of logarithms, the gradients of softmax and of normalizations, and a dot
// product over two norms. A sum of products alone is not a composite: it is a
// contraction that is written out.
//
//===----------------------------------------------------------------------===//

#include "CompositeContext.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class ProductComposites {
public:
  explicit ProductComposites(CompositeContext &context)
      : context(context), finder(context.levels, context.kinds) {}
  void find(const ReduceBroadcast &pattern);

private:
  /// a * b, reduced.
  struct Product {
    const ReduceBroadcast &pattern;
    Operation *mul;
    Value a, b;
  };

  bool findLoss(const ReduceBroadcast &pattern);
  bool findGradient(const Product &product, Value value, int step);
  bool findGradient(const Product &product);
  void findCosine(const Product &product);
  bool isMadeOf(Value value, Value origin) const {
    return llvm::is_contained(finder.walkBack(value, false), origin);
  }
  std::vector<Operation *> getNodes(const Product &product, int step) const;
  SmallVector<Operation *> collectSources(Value value,
                                          bool throughReductions) const;

  CompositeContext &context;
  ReduceBroadcastFinder finder;
};

} // namespace

/// This is enough for every loss in use.
static constexpr unsigned maxSources = 16;

/// The elementwise nodes and data movement that `value` is made of, users
/// before sources. Reductions are included; their operands are if requested.
SmallVector<Operation *>
ProductComposites::collectSources(Value value, bool throughReductions) const {
  SmallVector<Operation *> found;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty() && found.size() < maxSources) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || llvm::is_contained(found, op))
      continue;
    const OperatorTraits &traits = context.kinds.lookup(op);
    bool follows = isFollowed(traits);
    if (!follows && traits.math == OperatorMath::Other)
      continue;
    found.push_back(op);
    bool goesOn = follows && (!traits.reduces() || throughReductions);
    if (goesOn && context.getMath(op) != OperatorMath::Log)
      for (Value operand : op->getOperands())
        if (!context.isDerivedFromConstants(operand))
          worklist.push_back(operand);
  }
  return found;
}

/// Sums of weighted logarithms: the nodes between the logarithm and the sum.
bool ProductComposites::findLoss(const ReduceBroadcast &pattern) {
  SmallVector<Operation *> sources = collectSources(
      pattern.reduction->getOperand(0), /*throughReductions=*/false);
  llvm::SmallPtrSet<Operation *, 16> logarithmic;
  std::vector<Operation *> nodes = {pattern.reduction};
  bool isWeighted = false;
  // There are at most `maxSources` sources, so at most as many rounds are
  // needed.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : llvm::reverse(sources)) {
      OperatorMath math = context.getMath(op);
      bool isLog =
          math == OperatorMath::Log || math == OperatorMath::LogSoftmax;
      bool isBehind = llvm::any_of(op->getOperands(), [&](Value operand) {
        return logarithmic.contains(operand.getDefiningOp());
      });
      if ((!isLog && !isBehind) || !logarithmic.insert(op).second)
        continue;
      changed = true;
      isWeighted |=
          isBehind && (math == OperatorMath::Mul || math == OperatorMath::Neg);
      if (math != OperatorMath::LogSoftmax)
        nodes.push_back(op);
      // The other probability: 1 - p.
      if (Operation *source = op->getOperand(0).getDefiningOp();
          math == OperatorMath::Log &&
          context.getMath(source) == OperatorMath::Sub &&
          context.isDerivedFromConstants(source->getOperand(0)))
        nodes.push_back(source);
    }
  }
  if (!isWeighted)
    return false;
  context.add("NegativeLogLikelihoodLoss", std::move(nodes));
  return true;
}

std::vector<Operation *> ProductComposites::getNodes(const Product &product,
                                                     int step) const {
  std::vector<Operation *> nodes = {product.mul, product.pattern.reduction};
  for (; step >= 0; step = product.pattern.steps[step].parent)
    nodes.push_back(product.pattern.steps[step].node);
  return nodes;
}

static Value getOther(Operation *op, Value value) {
  if (op->getNumOperands() != 2)
    return {};
  return op->getOperand(op->getOperand(0) == value ? 1 : 0);
}

/// (a - sum(a b)) b, a b - b sum(a b): gradients of a softmax. a - b mean(a b):
/// gradient of a normalization, where b is the normalized value.
bool ProductComposites::findGradient(const Product &product, Value value,
                                     int step) {
  auto take = [&](StringRef name, Operation *first, Operation *second,
                  Value rest) {
    std::vector<Operation *> nodes = getNodes(product, step);
    nodes.insert(nodes.end(), {first, second});
    for (Value part : finder.walkBack(rest, false)) {
      if (part == product.a || part == product.b ||
          part == product.mul->getResult(0))
        break;
      nodes.push_back(part.getDefiningOp());
    }
    context.add(name, std::move(nodes), "com.microsoft");
    return true;
  };
  for (Operation *user : value.getUsers()) {
    OperatorMath math = context.getMath(user);
    Value other = getOther(user, value);
    if (!other || (math != OperatorMath::Sub && math != OperatorMath::Mul))
      continue;
    for (auto [a, b] :
         {std::pair(product.a, product.b), std::pair(product.b, product.a)}) {
      if (!isMadeOf(other, math == OperatorMath::Sub ? a : b))
        continue;
      for (Operation *last : user->getResult(0).getUsers()) {
        Value rest = getOther(last, user->getResult(0));
        OperatorMath lastMath = context.getMath(last);
        if (!rest ||
            (math == OperatorMath::Sub ? lastMath != OperatorMath::Mul
                                       : lastMath != OperatorMath::Sub))
          continue;
        if (math == OperatorMath::Sub
                ? isMadeOf(rest, b)
                : isMadeOf(rest, product.mul->getResult(0)))
          return take("SoftmaxGrad_13", user, last, rest);
        if (math == OperatorMath::Mul && isMadeOf(rest, a))
          return take("LayerNormalizationGrad", user, last, rest);
      }
    }
  }
  return false;
}

bool ProductComposites::findGradient(const Product &product) {
  if (findGradient(product, product.pattern.reduction->getResult(0), -1))
    return true;
  for (auto [index, step] : llvm::enumerate(product.pattern.steps))
    if (findGradient(product, step.node->getResult(0), index))
      return true;
  return false;
}

/// sum(a b) over the norms of a and b.
void ProductComposites::findCosine(const Product &product) {
  for (auto [index, step] : llvm::enumerate(product.pattern.steps)) {
    if (context.getMath(step.node) != OperatorMath::Div || step.form.isInverse)
      continue;
    SmallVector<Operation *> sources =
        collectSources(step.node->getOperand(1), /*throughReductions=*/true);
    bool hasNorm = false;
    std::vector<Operation *> nodes = getNodes(product, index);
    for (Operation *op : sources) {
      bool isSum = context.kinds.lookup(op).reduces();
      if (isSum) {
        auto chain = finder.walkBack(op->getOperand(0), false);
        hasNorm |= llvm::is_contained(chain, product.a) ||
                   llvm::is_contained(chain, product.b);
      }
      Value result = op->getResult(0);
      if (result != product.a && result != product.b)
        nodes.push_back(op);
    }
    if (hasNorm)
      return context.add("ReduceL2", std::move(nodes));
  }
}

void ProductComposites::find(const ReduceBroadcast &pattern) {
  OperatorMath math = pattern.math;
  if (math != OperatorMath::Sum && math != OperatorMath::Mean)
    return;
  if (findLoss(pattern))
    return;
  Operation *mul = pattern.reduction->getOperand(0).getDefiningOp();
  if (context.getMath(mul) != OperatorMath::Mul)
    return;
  Product product = {pattern, mul, mul->getOperand(0), mul->getOperand(1)};
  if (product.a == product.b || context.isDerivedFromConstants(product.a) ||
      context.isDerivedFromConstants(product.b))
    return;
  if (!findGradient(product))
    findCosine(product);
}

void findProductComposites(CompositeContext &context,
                           ArrayRef<ReduceBroadcast> patterns) {
  ProductComposites composites(context);
  for (const ReduceBroadcast &pattern : patterns)
    composites.find(pattern);
}

} // namespace mp
