//===- ReduceBroadcast.cpp - Reductions and where their results meet x ----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReduceBroadcast.h"

#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include <set>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool isFollowed(const OperatorTraits &traits) {
  return traits.isElementwise() || traits.reduces() ||
         traits.kind == OperatorKind::Movement;
}

//===----------------------------------------------------------------------===//
// ReductionLevels
//===----------------------------------------------------------------------===//

ReductionLevels::ReductionLevels(Operation *scope, OperatorTraitsCache &kinds) {
  if (auto graph = dyn_cast<GraphOp>(scope))
    for (Value parameter : collectParameters(graph))
      levels[parameter] = constantLevel;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<InitializerOp>(op))
      levels[op->getResult(0)] = constantLevel;
    if (!isNode(op))
      return;
    nodes.push_back(op);
    unsigned level = isConstant(op) ? constantLevel : 0;
    const OperatorTraits &traits = kinds.lookup(op);
    if (isFollowed(traits)) {
      level = constantLevel;
      for (Value operand : op->getOperands())
        level = std::min(level, lookup(operand));
      if (traits.reduces() && level != constantLevel)
        ++level;
    }
    if (level != 0)
      for (Value result : op->getResults())
        levels[result] = level;
  });
}

unsigned ReductionLevels::lookup(Value value) const {
  return isFloatTensor(value.getType()) ? levels.lookup(value) : constantLevel;
}

Value ReductionLevels::getMainOperand(Operation *op) const {
  Value main;
  unsigned least = constantLevel;
  bool isUnique = false;
  for (Value operand : op->getOperands()) {
    unsigned level = lookup(operand);
    if (level == constantLevel || level > least || operand == main)
      continue;
    isUnique = level < least;
    least = level;
    main = operand;
  }
  return isUnique ? main : Value();
}

//===----------------------------------------------------------------------===//
// ReduceBroadcastFinder
//===----------------------------------------------------------------------===//

/// These limits exceed every decomposition in use.
static constexpr unsigned maxChain = 10, maxPatternSteps = 24, maxUsers = 64;

SmallVector<Value, 8>
ReduceBroadcastFinder::walkBack(Value value, bool throughReductions) const {
  SmallVector<Value, 8> chain = {value};
  while (chain.size() < maxChain) {
    Operation *op = chain.back().getDefiningOp();
    if (!op)
      break;
    const OperatorTraits &traits = kinds.lookup(op);
    if (!isFollowed(traits) || (traits.reduces() && !throughReductions))
      break;
    Value main = levels.getMainOperand(op);
    if (!main)
      break;
    chain.push_back(main);
  }
  return chain;
}

/// The form of a reduced value after `user`.
ReducedForm ReduceBroadcastFinder::extend(ReducedForm form, Operation *user,
                                          Value value) {
  bool isSecond = user->getNumOperands() > 1 && user->getOperand(1) == value;
  switch (kinds.lookup(user).math) {
  case OperatorMath::Log:
    form.hasLog = true;
    break;
  case OperatorMath::Sqrt:
    form.hasSqrt = true;
    break;
  case OperatorMath::Reciprocal:
    form.isInverse ^= true;
    break;
  case OperatorMath::Neg:
    form.isNegative ^= true;
    break;
  case OperatorMath::Sub:
    form.isNegative ^= isSecond;
    break;
  case OperatorMath::Div:
    form.isInverse ^= isSecond;
    break;
  case OperatorMath::Pow:
    if (auto exponent =
            isSecond ? std::nullopt : getUniformConstant(user->getOperand(1))) {
      form.hasSqrt |= std::abs(*exponent) == 0.5;
      form.isInverse ^= *exponent < 0;
    }
    break;
  default:
    break;
  }
  return form;
}

/// The side of the other operand of a reduced value's user; for data, also the
/// point where it comes from the same value as the reduced one.
ReduceBroadcastFinder::Side
ReduceBroadcastFinder::classify(ReduceBroadcast &pattern, Value other,
                                ReduceBroadcast::Broadcast &broadcast) const {
  SmallVector<Value, 8> chain = walkBack(other, /*throughReductions=*/false);
  for (auto [index, value] : llvm::enumerate(chain)) {
    auto found = llvm::find(pattern.kernel, value);
    if (found == pattern.kernel.end())
      continue;
    broadcast.root =
        std::max<unsigned>(broadcast.root, found - pattern.kernel.begin());
    for (unsigned step = 0; step < index; ++step)
      broadcast.path.push_back(chain[step].getDefiningOp());
    return Side::Data;
  }
  unsigned least = levels.lookup(pattern.reduction->getResult(0));
  return levels.lookup(other) >= least ? Side::Reduced : Side::Foreign;
}

const ReduceBroadcastFinder::WideUser &
ReduceBroadcastFinder::getWideUser(Operation *user) {
  std::unique_ptr<WideUser> &wide = wideUsers[user];
  if (wide)
    return *wide;
  wide = std::make_unique<WideUser>();
  for (auto [index, operand] : llvm::enumerate(user->getOperands())) {
    if (levels.lookup(operand) == ReductionLevels::constantLevel)
      continue;
    wide->levels.push_back(levels.lookup(operand));
    for (Value value : walkBack(operand, /*throughReductions=*/false))
      wide->madeOf[value].push_back(index);
  }
  llvm::sort(wide->levels);
  return *wide;
}

std::optional<SmallVector<Value>>
ReduceBroadcastFinder::getOthers(const ReduceBroadcast &pattern,
                                 Operation *user, Value value) {
  SmallVector<Value> others;
  auto add = [&](Value other) {
    if (other != value &&
        levels.lookup(other) != ReductionLevels::constantLevel)
      others.push_back(other);
  };
  // The norm of all parameters has thousands of operands.
  constexpr unsigned maxNarrow = 16;
  if (user->getNumOperands() <= maxNarrow) {
    llvm::for_each(user->getOperands(), add);
    return others;
  }
  const WideUser &wide = getWideUser(user);
  std::set<unsigned> found;
  for (Value made : pattern.kernel)
    if (auto entry = wide.madeOf.find(made); entry != wide.madeOf.end())
      found.insert(entry->second.begin(), entry->second.end());
  for (unsigned index : found)
    add(user->getOperand(index));
  unsigned least = levels.lookup(pattern.reduction->getResult(0));
  auto isLess = [&](Value other) { return levels.lookup(other) < least; };
  size_t lower = llvm::lower_bound(wide.levels, least) - wide.levels.begin();
  if (isLess(value))
    lower -= llvm::count(user->getOperands(), value);
  if (size_t(llvm::count_if(others, isLess)) < lower)
    return std::nullopt;
  return others;
}

void ReduceBroadcastFinder::visitUser(ReduceBroadcast &pattern, Operation *user,
                                      Value value, int parent) {
  const OperatorTraits &traits = kinds.lookup(user);
  if (!isFollowed(traits) || traits.reduces())
    return;
  ReducedForm before = parent < 0 ? ReducedForm() : pattern.steps[parent].form;
  ReducedForm form = extend(before, user, value);
  ReduceBroadcast::Broadcast broadcast = {user, parent, 0, form, {}};
  bool meetsData = false;
  auto others = getOthers(pattern, user, value);
  if (!others)
    return;
  for (Value other : *others) {
    Side side = classify(pattern, other, broadcast);
    if (side == Side::Foreign)
      return;
    meetsData |= side == Side::Data;
  }
  if (meetsData)
    pattern.broadcasts.push_back(std::move(broadcast));
  else if (pattern.steps.size() < maxPatternSteps)
    pattern.steps.push_back({user, parent, form});
}

ReduceBroadcast ReduceBroadcastFinder::find(Operation *reduction) {
  ReduceBroadcast pattern;
  pattern.reduction = reduction;
  pattern.math = kinds.lookup(reduction).math;
  pattern.kernel =
      walkBack(reduction->getOperand(0), /*throughReductions=*/true);
  llvm::DenseSet<Operation *> seen;
  unsigned users = 0;
  for (int step = -1; step < int(pattern.steps.size()); ++step) {
    Operation *source = step < 0 ? reduction : pattern.steps[step].node;
    Value value = source->getResult(0);
    for (Operation *user : value.getUsers()) {
      if (++users > maxUsers)
        return pattern;
      if (seen.insert(user).second)
        visitUser(pattern, user, value, step);
    }
  }
  return pattern;
}

} // namespace mp
