//===- StatisticUnits.cpp - Decomposed normalizations and softmaxes -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each statistic has a role by what is reduced and where it meets x again.
// Those that share nodes, or of which one reduces what another has centered,
// are one unit; the roles in it tell its name.
//
//===----------------------------------------------------------------------===//

#include "Decompositions.h"

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

/// A statistic in its role.
struct Part {
  const Statistic *statistic;
  Role role = Role::None;
  /// `kernel[root]` is the x of the unit.
  unsigned root = 0;
  bool isAbs = false;
  std::vector<Operation *> nodes;
  /// Where x and statistic meet.
  std::vector<Operation *> meetings;
};

class PartFinder {
public:
  explicit PartFinder(UnitContext &context) : context(context) {}
  Part find(const Statistic &statistic);

private:
  static constexpr unsigned absent = ~0u;

  template <typename Predicate>
  unsigned findInKernel(const Statistic &statistic, Predicate predicate);
  bool isPower(Operation *op);
  bool isTransparent(Operation *op);
  void findExponential(Part &part, unsigned exp);
  void findLinear(Part &part, unsigned power);
  void findShift(Part &part);
  void addMeeting(Part &part, const Statistic::Meeting &meeting);
  void addSteps(Part &part, int step);
  void addKernel(Part &part);
  void addLogSumExp(Part &part);

  UnitContext &context;
};

} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// x * x, |x|, or x to a constant power that is no root.
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

/// What may stand between a power or exponential and its sum: copies, and
/// what scales, bounds or masks with constants.
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
    return !context.isWeak(operand);
  });
  return data == 1 && !isPower(op);
}

/// The first of the reduced values' definitions to satisfy `predicate`, behind
/// nothing but transparent ops.
template <typename Predicate>
unsigned PartFinder::findInKernel(const Statistic &statistic,
                                  Predicate predicate) {
  for (unsigned index = 0; index + 1 < statistic.kernel.size(); ++index) {
    Operation *op = statistic.kernel[index].getDefiningOp();
    if (predicate(op))
      return index;
    if (!isTransparent(op))
      break;
  }
  return absent;
}

void PartFinder::addSteps(Part &part, int step) {
  for (; step >= 0; step = part.statistic->steps[step].parent)
    part.nodes.push_back(part.statistic->steps[step].node);
}

void PartFinder::addMeeting(Part &part, const Statistic::Meeting &meeting) {
  part.root = std::max(part.root, meeting.root);
  part.meetings.push_back(meeting.node);
  part.nodes.push_back(meeting.node);
  llvm::append_range(part.nodes, meeting.path);
  addSteps(part, meeting.parent);
}

void PartFinder::addKernel(Part &part) {
  part.nodes.push_back(part.statistic->reduction);
  for (unsigned index = 0; index < part.root; ++index)
    part.nodes.push_back(part.statistic->kernel[index].getDefiningOp());
}

/// log(sum(exp(x))), and the maximum that is added again.
void PartFinder::addLogSumExp(Part &part) {
  ArrayRef<Statistic::Step> steps = part.statistic->steps;
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

/// Sums of exponentials; `exp` is where in the kernel the exponential is.
void PartFinder::findExponential(Part &part, unsigned exp) {
  bool isBuiltIn = exp == absent;
  for (const Statistic::Meeting &meeting : part.statistic->meetings) {
    OperatorMath math = context.getMath(meeting.node);
    bool scales = math == OperatorMath::Div || math == OperatorMath::Mul;
    bool shifts = math == OperatorMath::Sub || math == OperatorMath::Add;
    if (scales && meeting.form.isInverse && !isBuiltIn && meeting.root <= exp)
      part.role = Role::Softmax;
    else if (shifts && (meeting.form.hasLog || isBuiltIn))
      part.role = Role::LogSoftmax;
    else
      continue;
    addMeeting(part, meeting);
  }
  if (part.role == Role::None && isBuiltIn)
    part.role = Role::LogSumExp;
  if (part.role == Role::None)
    addLogSumExp(part);
  if (part.role != Role::None && !isBuiltIn)
    part.root = std::max(part.root, exp + 1);
}

/// Sums and means of x itself or of a power of it; `power` is where in the
/// kernel the power is.
void PartFinder::findLinear(Part &part, unsigned power) {
  OperatorMath math = part.statistic->math;
  bool isBuiltIn = math == OperatorMath::SumAbs ||
                   math == OperatorMath::SumSquare ||
                   math == OperatorMath::RootSumSquare;
  auto rank = [&](const Statistic::Meeting &meeting) {
    OperatorMath how = context.getMath(meeting.node);
    bool ofPower = isBuiltIn || (power != absent && meeting.root > power);
    if (how == OperatorMath::Sub ||
        (how == OperatorMath::Add && meeting.form.isNegative))
      return ofPower ? Role::None : Role::Center;
    if ((how == OperatorMath::Div || how == OperatorMath::Mul) &&
        meeting.form.isInverse)
      return ofPower ? Role::Normalize : Role::Divide;
    return Role::None;
  };
  for (Role role : {Role::Normalize, Role::Center, Role::Divide}) {
    for (const Statistic::Meeting &meeting : part.statistic->meetings) {
      if (rank(meeting) != role)
        continue;
      part.role = role;
      addMeeting(part, meeting);
    }
    if (part.role != Role::None)
      return;
  }
  if (!isBuiltIn && power == absent)
    return;
  part.role = Role::Moment;
  part.root = isBuiltIn ? 0 : power + 1;
  // The error that is squared.
  if (Operation *source = part.statistic->kernel[part.root].getDefiningOp();
      context.getMath(source) == OperatorMath::Sub)
    part.nodes.push_back(source);
  for (auto [index, step] : llvm::enumerate(part.statistic->steps))
    if (step.form.hasSqrt)
      addSteps(part, index);
}

void PartFinder::findShift(Part &part) {
  for (const Statistic::Meeting &meeting : part.statistic->meetings)
    if (context.getMath(meeting.node) == OperatorMath::Sub ||
        (context.getMath(meeting.node) == OperatorMath::Add &&
         meeting.form.isNegative)) {
      part.role = Role::Shift;
      addMeeting(part, meeting);
    }
}

Part PartFinder::find(const Statistic &statistic) {
  Part part;
  part.statistic = &statistic;
  auto isMath = [&](OperatorMath math) {
    return [&, math](Operation *op) { return context.getMath(op) == math; };
  };
  switch (statistic.math) {
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
    unsigned exp = findInKernel(statistic, isMath(OperatorMath::Exp));
    if (exp != absent)
      findExponential(part, exp);
    if (part.role != Role::None)
      break;
    unsigned power =
        findInKernel(statistic, [&](Operation *op) { return isPower(op); });
    part.isAbs = statistic.math == OperatorMath::SumAbs ||
                 (power != absent &&
                  context.getMath(statistic.kernel[power].getDefiningOp()) ==
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

class StatisticUnits {
public:
  StatisticUnits(UnitContext &context, ArrayRef<Statistic> statistics);
  void run();

private:
  void join();
  void joinCentered(unsigned index);
  void emit(ArrayRef<unsigned> members);
  void addBetween(ArrayRef<unsigned> members,
                  std::vector<Operation *> &nodes) const;
  StringRef getNormalizationName(ArrayRef<unsigned> members);

  UnitContext &context;
  std::vector<Part> parts;
  llvm::EquivalenceClasses<unsigned> classes;
  /// The part that a node belongs to, and the one that centers or shifts
  /// there.
  llvm::DenseMap<Operation *, unsigned> owners, centers;
};

} // namespace

StatisticUnits::StatisticUnits(UnitContext &context,
                               ArrayRef<Statistic> statistics)
    : context(context) {
  PartFinder finder(context);
  for (const Statistic &statistic : statistics)
    if (Part part = finder.find(statistic); part.role != Role::None)
      parts.push_back(std::move(part));
}

void StatisticUnits::join() {
  for (unsigned index = 0; index < parts.size(); ++index) {
    classes.insert(index);
    for (Operation *node : parts[index].nodes) {
      auto [it, isNew] = owners.try_emplace(node, index);
      if (!isNew)
        classes.unionSets(it->second, index);
    }
    if (parts[index].role == Role::Center || parts[index].role == Role::Shift)
      for (Operation *meeting : parts[index].meetings)
        centers[meeting] = index;
  }
  for (unsigned index = 0; index < parts.size(); ++index)
    joinCentered(index);
}

/// Joins a part with the one that centered or shifted its x.
void StatisticUnits::joinCentered(unsigned index) {
  Part &part = parts[index];
  if (part.role == Role::Center || part.role == Role::Shift)
    return;
  std::vector<Operation *> between;
  for (Value value : ArrayRef(part.statistic->kernel).drop_front(part.root)) {
    Operation *op = value.getDefiningOp();
    if (auto it = centers.find(op); it != centers.end()) {
      classes.unionSets(it->second, index);
      llvm::append_range(part.nodes, between);
      return;
    }
    bool isPlain = op && llvm::count_if(op->getOperands(), [&](Value operand) {
                           return !context.isWeak(operand);
                         }) == 1;
    if (!isPlain || between.size() == 3)
      return;
    between.push_back(op);
  }
}

/// By the axes of the mean, and whether channels were split into groups.
StringRef StatisticUnits::getNormalizationName(ArrayRef<unsigned> members) {
  const Part *center = nullptr;
  for (unsigned index : members)
    if (parts[index].role == Role::Center)
      center = &parts[index];
  const Part &first = parts[members.front()];
  if (!center)
    return first.statistic->math == OperatorMath::Mean ? "RMSNormalization"
                                                       : "LpNormalization";
  Operation *reduction = center->statistic->reduction;
  auto axes = getReducedAxes(reduction);
  if (!axes)
    return "LayerNormalization";
  if (!axes->empty() && axes->front() == 0)
    return "MeanVarianceNormalization";
  Operation *source = center->statistic->kernel[center->root].getDefiningOp();
  if (source && isStandardOp(source, "Reshape"))
    return "GroupNormalization";
  auto type = cast<RankedTensorType>(reduction->getOperand(0).getType());
  bool overSpace = type.getRank() >= 4 && axes->front() == 2 &&
                   int64_t(axes->size()) == type.getRank() - 2;
  return overSpace ? "InstanceNormalization" : "LayerNormalization";
}

/// What leads from one statistic of a unit to another: the square of a mean.
void StatisticUnits::addBetween(ArrayRef<unsigned> members,
                                std::vector<Operation *> &nodes) const {
  if (members.size() == 1)
    return;
  llvm::DenseSet<Operation *> inside(nodes.begin(), nodes.end());
  for (unsigned index : members) {
    ArrayRef<Statistic::Step> steps = parts[index].statistic->steps;
    for (const Statistic::Step &step : steps)
      if (inside.contains(step.node))
        for (int at = step.parent; at >= 0; at = steps[at].parent)
          nodes.push_back(steps[at].node);
  }
}

void StatisticUnits::emit(ArrayRef<unsigned> members) {
  std::vector<Operation *> nodes;
  uint32_t roles = 0;
  bool hasSqrt = false, isAbs = false;
  for (unsigned index : members) {
    const Part &part = parts[index];
    roles |= 1u << unsigned(part.role);
    llvm::append_range(nodes, part.nodes);
    hasSqrt |= part.statistic->math == OperatorMath::RootSumSquare;
    for (const Statistic::Step &step : part.statistic->steps)
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

void StatisticUnits::run() {
  join();
  std::vector<std::vector<unsigned>> members(parts.size());
  for (unsigned index = 0; index < parts.size(); ++index)
    members[classes.getLeaderValue(index)].push_back(index);
  for (ArrayRef<unsigned> group : members)
    if (!group.empty())
      emit(group);
}

void findStatisticUnits(UnitContext &context, ArrayRef<Statistic> statistics) {
  StatisticUnits(context, statistics).run();
}

} // namespace mp
