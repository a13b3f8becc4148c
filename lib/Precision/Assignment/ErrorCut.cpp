//===- ErrorCut.cpp - The fewest bytes within an error --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Minimizes bytes subject to a limit of the predicted error. For a price of
// squared errors in bytes, a minimum cut finds the best assignment; the price
// is bisected. The assignments that prices find are those of the convex hull.
// The gap between the last two is filled node by node, the best ratio of bytes
// to errors first. Others are found by cuts in which some nodes are kept fp32:
// as few as the limit needs, of the nodes with the greatest errors, of the
// first or of the last ones.
//
// At kinks the squared error grows with the root of the variance b that reaches
// them. The cut uses the secant from 0 to the present b, which is updated a few
// times.
//
//===----------------------------------------------------------------------===//

#include "AssignmentRules.h"
#include "CutNetwork.h"

#include "mp-opt/Dialect/MP/Attributes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace mp {

using Variable = PrecisionGraph::Variable;
using ValueEntry = PrecisionGraph::ValueEntry;

namespace {

/// A squared error, and its share in the variance at kinks.
struct ErrorPart {
  double error = 0, share = 0;

  void add(const ErrorPart &other) {
    error += other.error;
    share += other.share;
  }
};

class ErrorCut {
public:
  explicit ErrorCut(PrecisionGraph &graph)
      : graph(graph), variables(graph.getVariables()),
        limit(graph.getOptions().errorLimit.value_or(0)) {}

  double run();

private:
  using States = std::vector<Variable::State>;
  struct OperandError {
    int consumer;
    ErrorPart part;
  };
  struct ValueError {
    ErrorPart result;
    SmallVector<OperandError, 2> operands;
  };

  void keepUnknownF32();
  void readErrors();
  bool isLow(int variable) const {
    return variable >= 0 && !graph.hasBothTypes(variable) &&
           variables[variable].state == Variable::Low;
  }
  /// The bytes of values, and the error of their roundings.
  struct Total {
    int64_t bytes = 0;
    ErrorPart part;
  };

  void addPart(unsigned number, ErrorPart &sum) const;
  ErrorPart getPart() const;
  Total getTotalAt(unsigned index) const;
  double predict() const { return combine(getPart()); }
  double combine(const ErrorPart &part) const {
    double share = std::max(part.share, 0.0);
    return std::sqrt(std::max(part.error, 0.0) +
                     graph.getOptions().kinkError * std::sqrt(share));
  }

  States getStates() const;
  void setStates(const States &states);
  void setAll(Variable::State state);
  void solve(double price, ArrayRef<unsigned> kept = {});
  void bisect();
  void fill(const States &more);
  void keepFew(ArrayRef<unsigned> order);
  std::vector<std::vector<unsigned>> getOrders();
  void takeBetter();
  bool mayBeLow(unsigned variable) const;
  ErrorPart getOwnPart(unsigned variable) const;
  void explain();

  PrecisionGraph &graph;
  std::vector<Variable> &variables;
  const double limit;
  std::vector<ValueError> errors;
  /// The free variables.
  std::vector<unsigned> decided;
  /// The price of a share in the variance at kinks, in squared errors.
  double secant = 0;
  /// The states of the assignment that moves the fewest bytes, and of the best
  /// one within the limit, with its bytes.
  States whole, best;
  int64_t bestCost = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Nodes in subgraphs, and those with subgraphs, have no attributed errors.
void ErrorCut::keepUnknownF32() {
  for (auto [index, variable] : llvm::enumerate(variables)) {
    Operation *node = graph.getNode(index);
    if (!node || variable.state != Variable::Free ||
        graph.hasBothTypes(int(index)))
      continue;
    bool isNested = !isa<onnxir::GraphOp>(node->getParentOp());
    if (!isNested && !node->getNumRegions() && getRoundingError(node))
      continue;
    variable.state = Variable::F32;
    variable.reason = graph.getReason("its error is not known");
  }
}

/// Part `index` of a node's errors: its results come first.
static ErrorPart getErrorPart(Operation *node, unsigned index) {
  RoundingErrorAttr held = node ? getRoundingError(node) : RoundingErrorAttr();
  auto take = [&](DenseF64ArrayAttr list) {
    return list && int64_t(index) < list.size() ? list[index] : 0;
  };
  return held ? ErrorPart{take(held.getErrors()), take(held.getKinks())}
              : ErrorPart();
}

void ErrorCut::readErrors() {
  for (const ValueEntry &value : graph.getValues()) {
    ValueError &entry = errors.emplace_back();
    if (auto result = dyn_cast<OpResult>(value.value))
      entry.result = getErrorPart(result.getOwner(), result.getResultNumber());
    for (auto [consumer, use] : value.uses) {
      Operation *node = use->getOwner();
      entry.operands.push_back(
          {consumer, getErrorPart(node, node->getNumResults() +
                                            use->getOperandNumber())});
    }
  }
}

/// Adds the error of the roundings of one value.
void ErrorCut::addPart(unsigned number, ErrorPart &sum) const {
  // All readers of an input in 16 bit read rounded elements.
  int producer = graph.getValues()[number].producer;
  bool isInput =
      producer >= 0 && variables[producer].kind == Variable::Interface;
  if (isLow(producer) && !isInput)
    return sum.add(errors[number].result);
  for (const OperandError &operand : errors[number].operands)
    if (isInput || isLow(operand.consumer))
      sum.add(operand.part);
}

ErrorPart ErrorCut::getPart() const {
  ErrorPart sum;
  for (unsigned number = 0; number < errors.size(); ++number)
    addPart(number, sum);
  return sum;
}

/// The bytes and the error of the values that a variable reads and writes.
ErrorCut::Total ErrorCut::getTotalAt(unsigned index) const {
  Total total;
  const Variable &variable = variables[index];
  auto add = [&](unsigned number) {
    total.bytes += graph.getCost(graph.getValues()[number]);
    addPart(number, total.part);
  };
  llvm::for_each(variable.reads, add);
  for (unsigned number : variable.writes)
    if (!llvm::is_contained(graph.getValues()[number].consumers, int(index)))
      add(number);
  return total;
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

ErrorCut::States ErrorCut::getStates() const {
  States states;
  for (unsigned variable : decided)
    states.push_back(variables[variable].state);
  return states;
}

void ErrorCut::setStates(const States &states) {
  for (auto [variable, state] : llvm::zip(decided, states))
    variables[variable].state = state;
}

void ErrorCut::setAll(Variable::State state) {
  for (unsigned variable : decided)
    variables[variable].state = state;
}

/// A capacity that exceeds the bytes of any model, and leaves room for sums.
static constexpr double maxPrice = 1e15;

/// The minimum cut for a price of squared errors, in bytes; some variables are
/// kept fp32.
void ErrorCut::solve(double price, ArrayRef<unsigned> kept) {
  setAll(Variable::Free);
  for (unsigned variable : kept)
    variables[variable].state = Variable::F32;
  std::vector<int> vertices(variables.size(), -1);
  CutNetwork network(graph, vertices);
  std::vector<unsigned> members;
  for (unsigned variable : decided)
    if (variables[variable].state == Variable::Free) {
      members.push_back(variable);
      network.addVariable(variable);
    }
  auto toBytes = [&](const ErrorPart &part) {
    double bytes = price * (part.error + secant * part.share);
    return bytes < maxPrice ? std::llround(bytes) : int64_t(maxPrice);
  };
  for (auto [value, entry] : llvm::zip(graph.getValues(), errors)) {
    network.addValue(value);
    if (!graph.hasBothTypes(value.producer))
      network.addResultPrice(value.producer, toBytes(entry.result));
    for (const OperandError &operand : entry.operands)
      network.addOperandPrice(value.producer, operand.consumer,
                              toBytes(operand.part));
  }
  if (!network.solve(members))
    setAll(Variable::F32);
}

/// True if the variable's node may be 16 bit with the operands that it has.
bool ErrorCut::mayBeLow(unsigned index) const {
  const Variable &variable = variables[index];
  return !variable.neverNarrows ||
         llvm::all_of(variable.reads, [&](unsigned number) {
           const ValueEntry &value = graph.getValues()[number];
           return value.isDerivedFromConstants || isLow(value.producer);
         });
}

/// The part of a variable if nothing else were rounded.
ErrorPart ErrorCut::getOwnPart(unsigned index) const {
  ErrorPart own;
  const Variable &variable = variables[index];
  for (unsigned number : variable.writes)
    own.add(errors[number].result);
  for (unsigned number : variable.reads)
    for (const OperandError &operand : errors[number].operands)
      if (operand.consumer == int(index) &&
          !isLow(graph.getValues()[number].producer))
        own.add(operand.part);
  return own;
}

/// Adds variables that are 16 bit in `more`, as long as the error allows it and
/// no bytes are added.
void ErrorCut::fill(const States &more) {
  std::vector<std::pair<double, unsigned>> candidates;
  for (auto [variable, state] : llvm::zip(decided, more)) {
    if (state != Variable::Low || variables[variable].state == Variable::Low)
      continue;
    double bytes = 1;
    for (unsigned number : variables[variable].writes)
      bytes += double(graph.getLowBytes(graph.getValues()[number]));
    candidates.emplace_back(combine(getOwnPart(variable)) / bytes, variable);
  }
  llvm::sort(candidates);
  // A variable changes only what it reads and writes. Sums of differences are
  // off by some last digits.
  ErrorPart part = getPart();
  double most = limit * (1 - 1e-9);
  for (auto [ratio, variable] : candidates) {
    if (!mayBeLow(variable))
      continue;
    Total before = getTotalAt(variable);
    variables[variable].state = Variable::Low;
    Total after = getTotalAt(variable);
    ErrorPart next = {part.error + after.part.error - before.part.error,
                      part.share + after.part.share - before.part.share};
    if (after.bytes <= before.bytes && combine(next) <= most)
      part = next;
    else
      variables[variable].state = Variable::F32;
  }
}

static constexpr unsigned numBisections = 18;

/// Finds the price with which the error stays within the limit.
void ErrorCut::bisect() {
  setStates(whole);
  double error = predict();
  if (error <= limit)
    return;
  States more = whole;
  double unit = double(std::max<int64_t>(graph.getCost(), 1)) /
                std::max(error * error, 1e-300);
  if (!std::isfinite(unit) || unit <= 0)
    unit = 1;
  setAll(Variable::F32);
  States good = getStates();
  double low = -8, high = 12;
  for (unsigned round = 0; round < numBisections; ++round) {
    double middle = (low + high) / 2;
    solve(unit * std::pow(10, middle));
    if (predict() <= limit) {
      good = getStates();
      high = middle;
    } else {
      more = getStates();
      low = middle;
    }
  }
  setStates(good);
  fill(more);
}

/// Keeps as few variables fp32 as the limit needs, the first ones of `order`.
void ErrorCut::keepFew(ArrayRef<unsigned> order) {
  size_t low = 0, high = order.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    solve(0, order.take_front(middle));
    if (predict() <= limit)
      high = middle;
    else
      low = middle + 1;
  }
  solve(0, order.take_front(high));
  if (predict() <= limit)
    fill(whole);
}

/// The free variables by their errors, the greatest first, and by their places,
/// from both ends.
std::vector<std::vector<unsigned>> ErrorCut::getOrders() {
  setAll(Variable::F32);
  std::vector<std::pair<double, unsigned>> byError;
  for (unsigned variable : decided)
    byError.emplace_back(-combine(getOwnPart(variable)), variable);
  llvm::sort(byError);
  std::vector<std::vector<unsigned>> orders(3);
  for (auto [error, variable] : byError)
    orders[0].push_back(variable);
  orders[1] = decided;
  orders[2].assign(decided.rbegin(), decided.rend());
  return orders;
}

/// Replaces the best assignment by the present one if that is better.
void ErrorCut::takeBetter() {
  if (graph.getCost() >= bestCost || predict() > limit)
    return;
  best = getStates();
  bestCost = graph.getCost();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void ErrorCut::explain() {
  for (unsigned index : decided) {
    Variable &variable = variables[index];
    std::string error = llvm::formatv("{0:e1}", combine(getOwnPart(index)));
    variable.reason =
        graph.getReason(variable.state == Variable::Low
                            ? "within the error limit: its roundings cause {0}"
                            : "for the error limit: 16 bit would cause {0}",
                        error);
  }
}

/// The number of times that the secant at kinks is updated.
static constexpr unsigned numSecants = 3;

double ErrorCut::run() {
  keepUnknownF32();
  keepNotNarrowableF32(graph);
  for (auto [index, variable] : llvm::enumerate(variables))
    if (variable.state == Variable::Free && !graph.hasBothTypes(int(index)))
      decided.push_back(index);
  readErrors();
  setAll(Variable::F32);
  best = getStates();
  bestCost = graph.getCost();
  solve(0);
  whole = getStates();
  double kinks = graph.getOptions().kinkError, share = 1;
  for (unsigned round = 0; round < (kinks > 0 ? numSecants : 1); ++round) {
    secant = kinks / std::sqrt(std::max(share, 1e-4));
    bisect();
    takeBetter();
    share = getPart().share;
  }
  setStates(whole);
  if (predict() > limit)
    for (const std::vector<unsigned> &order : getOrders()) {
      keepFew(order);
      takeBetter();
    }
  setStates(best);
  explain();
  return predict();
}

double decideWithinError(PrecisionGraph &graph) {
  return ErrorCut(graph).run();
}

} // namespace mp
