//===- ReductionComposites.cpp - Decomposed normalizations and softmaxes --===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each reduction gets a role from the value that it reduces and the place where
// its result meets x again. Reductions that share nodes, or of which one
// reduces what another has centered, are one composite; their roles determine
// its name.
//
//===----------------------------------------------------------------------===//

#include "CompositeContext.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

enum class Role : uint8_t {
  None,
  /// x minus its mean, or its maximum.
  Center,
  Shift,
  /// x over a norm or a sum of it.
  Normalize,
  Divide,
  Softmax,
  LogSoftmax,
  LogSumExp,
  /// Sum or mean of a power.
  Moment,
};

/// A reduction with its role.
struct Part {
  const ReduceBroadcast *pattern;
  Role role = Role::None;
  /// `kernel[root]` is the x of the composite.
  unsigned root = 0;
  bool isAbs = false;
  std::vector<Operation *> nodes;
  /// The nodes where x and the reduced value meet.
  std::vector<Operation *> broadcasts;
};

class PartFinder {
public:
  explicit PartFinder(CompositeContext &context) : context(context) {}
  Part find(const ReduceBroadcast &pattern);

private:
  static constexpr unsigned absent = ~0u;

  template <typename Predicate>
  unsigned findInKernel(const ReduceBroadcast &pattern, Predicate predicate);
  bool isPower(Operation *op);
  bool isTransparent(Operation *op);
  void findExponential(Part &part, unsigned exp);
  void findLinear(Part &part, unsigned power);
  void findShift(Part &part);
  void addBroadcast(Part &part, const ReduceBroadcast::Broadcast &broadcast);
  void addSteps(Part &part, int step);
  void addKernel(Part &part);
  void addLogSumExp(Part &part);

  CompositeContext &context;
};

} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// True for x * x, |x|, and x to a constant power that is not a root.
bool PartFinder::isPower(Operation *op) {
  switch (context.getMath(op)) {
  case OperatorMath::Abs:
    return true;
  case OperatorMath::Mul:
    return op->getOperand(0) == op->getOperand(1);
  case OperatorMath::Pow: {
    auto exponent = getUniformConstant(op->getOperand(1));
    return exponent && *exponent > 1;
  }
  default:
    return false;
  }
}

/// True for ops that may lie between a power or exponential and its sum:
/// copies, and ops that scale, bound or mask with constants.
bool PartFinder::isTransparent(Operation *op) {
  if (!op || context.isCopy(op))
    return op;
  if (!context.kinds.lookup(op).isElementwise())
    return false;
  OperatorMath math = context.getMath(op);
  if (math != OperatorMath::Mul && math != OperatorMath::Div &&
      !context.isPlain(op))
    return false;
  unsigned data = llvm::count_if(op->getOperands(), [&](Value operand) {
    return !context.isDerivedFromConstants(operand);
  });
  return data == 1 && !isPower(op);
}

/// The index, in the kernel, of the nearest value before the reduction whose
/// definition satisfies `predicate`; only transparent ops may lie in between.
template <typename Predicate>
unsigned PartFinder::findInKernel(const ReduceBroadcast &pattern,
                                  Predicate predicate) {
  for (unsigned index = 0; index + 1 < pattern.kernel.size(); ++index) {
    Operation *op = pattern.kernel[index].getDefiningOp();
    if (predicate(op))
      return index;
    if (!isTransparent(op))
      break;
  }
  return absent;
}

void PartFinder::addSteps(Part &part, int step) {
  for (; step >= 0; step = part.pattern->steps[step].parent)
    part.nodes.push_back(part.pattern->steps[step].node);
}

void PartFinder::addBroadcast(Part &part,
                              const ReduceBroadcast::Broadcast &broadcast) {
  part.root = std::max(part.root, broadcast.root);
  part.broadcasts.push_back(broadcast.node);
  part.nodes.push_back(broadcast.node);
  llvm::append_range(part.nodes, broadcast.path);
  addSteps(part, broadcast.parent);
}

void PartFinder::addKernel(Part &part) {
  part.nodes.push_back(part.pattern->reduction);
  for (unsigned index = 0; index < part.root; ++index)
    part.nodes.push_back(part.pattern->kernel[index].getDefiningOp());
}

/// log(sum(exp(x))), and the maximum that is added again.
void PartFinder::addLogSumExp(Part &part) {
  ArrayRef<ReduceBroadcast::Step> steps = part.pattern->steps;
  for (auto [index, step] : llvm::enumerate(steps)) {
    bool isFirst = step.form.hasLog &&
                   (step.parent < 0 || !steps[step.parent].form.hasLog);
    bool addsMax = step.parent >= 0 && steps[step.parent].form.hasLog &&
                   context.getMath(step.node) == OperatorMath::Add;
    if (!isFirst && !addsMax)
      continue;
    part.role = Role::LogSumExp;
    addSteps(part, index);
  }
}

/// Sums of exponentials; `exp` is the position of the exponential in the
/// kernel.
void PartFinder::findExponential(Part &part, unsigned exp) {
  bool isBuiltIn = exp == absent;
  for (const ReduceBroadcast::Broadcast &broadcast : part.pattern->broadcasts) {
    OperatorMath math = context.getMath(broadcast.node);
    bool scales = math == OperatorMath::Div || math == OperatorMath::Mul;
    bool shifts = math == OperatorMath::Sub || math == OperatorMath::Add;
    if (scales && broadcast.form.isInverse && !isBuiltIn &&
        broadcast.root <= exp)
      part.role = Role::Softmax;
    else if (shifts && (broadcast.form.hasLog || isBuiltIn))
      part.role = Role::LogSoftmax;
    else
      continue;
    addBroadcast(part, broadcast);
  }
  if (part.role == Role::None && isBuiltIn)
    part.role = Role::LogSumExp;
  if (part.role == Role::None)
    addLogSumExp(part);
  if (part.role != Role::None && !isBuiltIn)
    part.root = std::max(part.root, exp + 1);
}

/// Sums and means of x itself or of a power of it; `power` is the position of
/// the power in the kernel.
void PartFinder::findLinear(Part &part, unsigned power) {
  OperatorMath math = part.pattern->math;
  bool isBuiltIn = math == OperatorMath::SumAbs ||
                   math == OperatorMath::SumSquare ||
                   math == OperatorMath::RootSumSquare;
  auto rank = [&](const ReduceBroadcast::Broadcast &broadcast) {
    OperatorMath how = context.getMath(broadcast.node);
    bool ofPower = isBuiltIn || (power != absent && broadcast.root > power);
    if (how == OperatorMath::Sub ||
        (how == OperatorMath::Add && broadcast.form.isNegative))
      return ofPower ? Role::None : Role::Center;
    if ((how == OperatorMath::Div || how == OperatorMath::Mul) &&
        broadcast.form.isInverse)
      return ofPower ? Role::Normalize : Role::Divide;
    return Role::None;
  };
  for (Role role : {Role::Normalize, Role::Center, Role::Divide}) {
    for (const ReduceBroadcast::Broadcast &broadcast :
         part.pattern->broadcasts) {
      if (rank(broadcast) != role)
        continue;
      part.role = role;
      addBroadcast(part, broadcast);
    }
    if (part.role != Role::None)
      return;
  }
  if (!isBuiltIn && power == absent)
    return;
  part.role = Role::Moment;
  part.root = isBuiltIn ? 0 : power + 1;
  // The error that is squared.
  if (Operation *source = part.pattern->kernel[part.root].getDefiningOp();
      context.getMath(source) == OperatorMath::Sub)
    part.nodes.push_back(source);
  for (auto [index, step] : llvm::enumerate(part.pattern->steps))
    if (step.form.hasSqrt)
      addSteps(part, index);
}

void PartFinder::findShift(Part &part) {
  for (const ReduceBroadcast::Broadcast &broadcast : part.pattern->broadcasts)
    if (context.getMath(broadcast.node) == OperatorMath::Sub ||
        (context.getMath(broadcast.node) == OperatorMath::Add &&
         broadcast.form.isNegative)) {
      part.role = Role::Shift;
      addBroadcast(part, broadcast);
    }
}

Part PartFinder::find(const ReduceBroadcast &pattern) {
  Part part;
  part.pattern = &pattern;
  auto isMath = [&](OperatorMath math) {
    return [&, math](Operation *op) { return context.getMath(op) == math; };
  };
  switch (pattern.math) {
  case OperatorMath::Max:
  case OperatorMath::Min:
    findShift(part);
    break;
  case OperatorMath::LogSumExp:
    findExponential(part, absent);
    break;
  case OperatorMath::Mean:
  case OperatorMath::Sum:
  case OperatorMath::LogSum:
  case OperatorMath::SumAbs:
  case OperatorMath::SumSquare:
  case OperatorMath::RootSumSquare: {
    unsigned exp = findInKernel(pattern, isMath(OperatorMath::Exp));
    if (exp != absent)
      findExponential(part, exp);
    if (part.role != Role::None)
      break;
    unsigned power =
        findInKernel(pattern, [&](Operation *op) { return isPower(op); });
    part.isAbs = pattern.math == OperatorMath::SumAbs ||
                 (power != absent &&
                  context.getMath(pattern.kernel[power].getDefiningOp()) ==
                      OperatorMath::Abs);
    findLinear(part, power);
    break;
  }
  default:
    break;
  }
  if (part.role != Role::None)
    addKernel(part);
  return part;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

namespace {

class ReductionComposites {
public:
  ReductionComposites(CompositeContext &context,
                      ArrayRef<ReduceBroadcast> patterns);
  void run();

private:
  void join();
  void joinCentered(unsigned index);
  void emit(ArrayRef<unsigned> members);
  void addBetween(ArrayRef<unsigned> members,
                  std::vector<Operation *> &nodes) const;
  StringRef getNormalizationName(ArrayRef<unsigned> members);

  CompositeContext &context;
  std::vector<Part> parts;
  llvm::EquivalenceClasses<unsigned> classes;
  /// The part that a node belongs to, and the part that centers or shifts
  /// there.
  llvm::DenseMap<Operation *, unsigned> owners, centers;
};

} // namespace

ReductionComposites::ReductionComposites(CompositeContext &context,
                                         ArrayRef<ReduceBroadcast> patterns)
    : context(context) {
  PartFinder finder(context);
  for (const ReduceBroadcast &pattern : patterns)
    if (Part part = finder.find(pattern); part.role != Role::None)
      parts.push_back(std::move(part));
}

void ReductionComposites::join() {
  for (unsigned index = 0; index < parts.size(); ++index) {
    classes.insert(index);
    for (Operation *node : parts[index].nodes) {
      auto [it, isNew] = owners.try_emplace(node, index);
      if (!isNew)
        classes.unionSets(it->second, index);
    }
    if (parts[index].role == Role::Center || parts[index].role == Role::Shift)
      for (Operation *broadcast : parts[index].broadcasts)
        centers[broadcast] = index;
  }
  for (unsigned index = 0; index < parts.size(); ++index)
    joinCentered(index);
}

/// Joins a part with the one that centered or shifted its x.
void ReductionComposites::joinCentered(unsigned index) {
  Part &part = parts[index];
  if (part.role == Role::Center || part.role == Role::Shift)
    return;
  std::vector<Operation *> between;
  for (Value value : ArrayRef(part.pattern->kernel).drop_front(part.root)) {
    Operation *op = value.getDefiningOp();
    if (auto it = centers.find(op); it != centers.end()) {
      classes.unionSets(it->second, index);
      llvm::append_range(part.nodes, between);
      return;
    }
    bool isPlain = op && llvm::count_if(op->getOperands(), [&](Value operand) {
                           return !context.isDerivedFromConstants(operand);
                         }) == 1;
    if (!isPlain || between.size() == 3)
      return;
    between.push_back(op);
  }
}

/// The name follows from the axes of the mean and from whether channels were
/// split into groups.
StringRef
ReductionComposites::getNormalizationName(ArrayRef<unsigned> members) {
  const Part *center = nullptr;
  for (unsigned index : members)
    if (parts[index].role == Role::Center)
      center = &parts[index];
  const Part &first = parts[members.front()];
  if (!center)
    return first.pattern->math == OperatorMath::Mean ? "RMSNormalization"
                                                     : "LpNormalization";
  Operation *reduction = center->pattern->reduction;
  auto axes = getReducedAxes(reduction);
  if (!axes)
    return "LayerNormalization";
  if (!axes->empty() && axes->front() == 0)
    return "MeanVarianceNormalization";
  Operation *source = center->pattern->kernel[center->root].getDefiningOp();
  if (source && isStandardOp(source, "Reshape"))
    return "GroupNormalization";
  auto type = cast<RankedTensorType>(reduction->getOperand(0).getType());
  bool overSpace = type.getRank() >= 4 && axes->front() == 2 &&
                   int64_t(axes->size()) == type.getRank() - 2;
  return overSpace ? "InstanceNormalization" : "LayerNormalization";
}

/// Adds the nodes that lead from one reduction of a composite to another, e.g.
/// the square of a mean.
void ReductionComposites::addBetween(ArrayRef<unsigned> members,
                                     std::vector<Operation *> &nodes) const {
  if (members.size() == 1)
    return;
  llvm::DenseSet<Operation *> inside(nodes.begin(), nodes.end());
  for (unsigned index : members) {
    ArrayRef<ReduceBroadcast::Step> steps = parts[index].pattern->steps;
    for (const ReduceBroadcast::Step &step : steps)
      if (inside.contains(step.node))
        for (int at = step.parent; at >= 0; at = steps[at].parent)
          nodes.push_back(steps[at].node);
  }
}

void ReductionComposites::emit(ArrayRef<unsigned> members) {
  std::vector<Operation *> nodes;
  uint32_t roles = 0;
  bool hasSqrt = false, isAbs = false;
  for (unsigned index : members) {
    const Part &part = parts[index];
    roles |= 1u << unsigned(part.role);
    llvm::append_range(nodes, part.nodes);
    hasSqrt |= part.pattern->math == OperatorMath::RootSumSquare;
    for (const ReduceBroadcast::Step &step : part.pattern->steps)
      hasSqrt |= part.role == Role::Moment && step.form.hasSqrt;
    isAbs |= part.isAbs;
  }
  addBetween(members, nodes);
  auto has = [&](Role role) { return roles >> unsigned(role) & 1; };
  if (has(Role::LogSoftmax))
    return context.add("LogSoftmax", std::move(nodes));
  if (has(Role::Softmax))
    return context.add("Softmax", std::move(nodes));
  if (has(Role::LogSumExp))
    return context.add("ReduceLogSumExp", std::move(nodes));
  if (has(Role::Normalize))
    return context.add(getNormalizationName(members), std::move(nodes));
  if (has(Role::Moment))
    return context.add(isAbs     ? "ReduceL1"
                       : hasSqrt ? "ReduceL2"
                                 : "ReduceSumSquare",
                       std::move(nodes));
  if (has(Role::Divide))
    context.add("LpNormalization", std::move(nodes));
}

void ReductionComposites::run() {
  join();
  std::vector<std::vector<unsigned>> members(parts.size());
  for (unsigned index = 0; index < parts.size(); ++index)
    members[classes.getLeaderValue(index)].push_back(index);
  for (ArrayRef<unsigned> group : members)
    if (!group.empty())
      emit(group);
}

void findReductionComposites(CompositeContext &context,
                             ArrayRef<ReduceBroadcast> patterns) {
  ReductionComposites(context, patterns).run();
}

} // namespace mp
