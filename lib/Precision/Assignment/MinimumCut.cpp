//===- MinimumCut.cpp - The assignment that moves the fewest bytes --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Connected parts are solved one by one (CutNetwork.h).
//
//===----------------------------------------------------------------------===//

#include "AssignmentRules.h"
#include "CutNetwork.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace mp {

using Variable = PrecisionGraph::Variable;
using ValueEntry = PrecisionGraph::ValueEntry;

namespace {

class MinimumCut {
public:
  explicit MinimumCut(PrecisionGraph &graph)
      : graph(graph), variables(graph.getVariables()) {}

  llvm::Error run();

private:
  bool isDecided(unsigned index) const {
    return variables[index].state != Variable::Free ||
           graph.hasBothTypes(int(index));
  }
  void keepUnreachedF32();
  void solveParts();
  void dropPoorRegions();
  void explain();
  void explain(unsigned index, ArrayRef<unsigned> lowUsers);
  int64_t getFlipCost(unsigned index, ArrayRef<unsigned> lowUsers) const;

  PrecisionGraph &graph;
  std::vector<Variable> &variables;
  /// Variables that the cut has decided.
  std::vector<unsigned> decided;
};

} // namespace

//===----------------------------------------------------------------------===//
// Before the cut
//===----------------------------------------------------------------------===//

void keepNotNarrowableF32(PrecisionGraph &graph) {
  std::vector<Variable> &variables = graph.getVariables();
  ArrayRef<ValueEntry> values = graph.getValues();
  std::vector<unsigned> worklist;
  auto visit = [&](unsigned index) {
    const ValueEntry &value = values[index];
    if (value.isDerivedFromConstants)
      return;
    for (int consumer : value.consumers) {
      Variable &user = variables[consumer];
      if (!user.neverNarrows || user.state != Variable::Free)
        continue;
      user.state = Variable::F32;
      user.reason = graph.getOperandReason(value);
      worklist.push_back(consumer);
    }
  };
  for (unsigned index = 0; index < values.size(); ++index)
    // A value that is dequantized for such a node is fp32.
    if (int producer = values[index].producer;
        producer == PrecisionGraph::fixedF32 ||
        variables[producer].state == Variable::F32 ||
        variables[producer].kind == Variable::Dequantized)
      visit(index);
  while (!worklist.empty()) {
    unsigned next = worklist.back();
    worklist.pop_back();
    for (unsigned index : variables[next].writes)
      visit(index);
  }
}

/// Keeps free nodes f32 that no allowed node reaches through free ones.
void MinimumCut::keepUnreachedF32() {
  std::vector<bool> isReached(variables.size());
  std::vector<unsigned> worklist;
  // Pairs of QuantizeLinear and DequantizeLinear connect the nodes around them.
  llvm::DenseMap<int, SmallVector<int, 1>> pairs;
  for (auto [index, variable] : llvm::enumerate(variables)) {
    if (variable.state == Variable::Low)
      worklist.push_back(index);
    if (variable.quantizer >= 0)
      pairs[variable.quantizer].push_back(index);
  }
  auto reach = [&](int index) {
    if (index < 0 || isReached[index])
      return;
    bool isPassed = variables[index].quantizer >= 0 &&
                    variables[index].state == Variable::Free;
    if (isDecided(index) && !isPassed)
      return;
    isReached[index] = true;
    worklist.push_back(index);
  };
  // The search goes from producers to consumers and back; two users of one
  // input or constant are not neighbours.
  ArrayRef<ValueEntry> values = graph.getValues();
  while (!worklist.empty()) {
    int number = worklist.back();
    const Variable &next = variables[number];
    worklist.pop_back();
    reach(next.quantizer);
    llvm::for_each(pairs.lookup(number), reach);
    for (unsigned index : next.reads)
      reach(values[index].producer);
    for (unsigned index : next.writes)
      llvm::for_each(values[index].consumers, reach);
  }
  for (unsigned index = 0; index < variables.size(); ++index) {
    if (isDecided(index) || isReached[index])
      continue;
    variables[index].state = Variable::F32;
    variables[index].reason = graph.getReason("no allowed op is near");
  }
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

void MinimumCut::solveParts() {
  ArrayRef<ValueEntry> values = graph.getValues();
  llvm::IntEqClasses parts(variables.size());
  /// The free variables of a value, constants apart.
  auto forEachFree = [&](const ValueEntry &value, auto visit) {
    if (value.producer >= 0 && !isDecided(value.producer))
      visit(value.producer);
    for (int consumer : value.consumers)
      if (!isDecided(consumer))
        visit(consumer);
  };
  for (const ValueEntry &value : values) {
    int first = -1;
    forEachFree(value, [&](int variable) {
      if (first >= 0)
        parts.join(first, variable);
      first = variable;
    });
  }
  parts.compress();
  std::vector<SmallVector<unsigned, 0>> members(parts.getNumClasses());
  std::vector<SmallVector<unsigned, 0>> partValues(parts.getNumClasses());
  for (unsigned index = 0; index < variables.size(); ++index)
    if (!isDecided(index)) {
      members[parts[index]].push_back(index);
      decided.push_back(index);
    }
  for (auto [index, value] : llvm::enumerate(values)) {
    int part = -1;
    forEachFree(value, [&](int variable) { part = parts[variable]; });
    if (part >= 0)
      partValues[part].push_back(index);
  }
  std::vector<int> vertices(variables.size(), -1);
  for (auto [part, list] : llvm::enumerate(members)) {
    if (list.empty())
      continue;
    CutNetwork network(graph, vertices);
    for (unsigned variable : list)
      network.addVariable(variable);
    for (unsigned value : partValues[part])
      network.addValue(values[value]);
    if (network.solve(list))
      continue;
    for (unsigned variable : list) {
      variables[variable].state = Variable::F32;
      variables[variable].reason =
          graph.getReason("the minimum cut takes too long to find");
    }
  }
}

//===----------------------------------------------------------------------===//
// Regions that do not pay
//===----------------------------------------------------------------------===//

void MinimumCut::dropPoorRegions() {
  if (!graph.getOptions().minSaving)
    return;
  // Inputs and outputs are not a part of any region: they stay as they are.
  auto isLow = [&](int variable) {
    return variable >= 0 && variables[variable].state == Variable::Low &&
           variables[variable].kind != Variable::Interface;
  };
  llvm::IntEqClasses regions(variables.size());
  for (const ValueEntry &value : graph.getValues()) {
    int first = isLow(value.producer) ? value.producer : -1;
    for (int consumer : value.consumers) {
      if (!isLow(consumer) || graph.hasBothTypes(value.producer))
        continue;
      if (first >= 0)
        regions.join(first, consumer);
      first = isLow(value.producer) ? first : -1;
    }
  }
  regions.compress();
  struct Balance {
    int64_t all = 0, saved = 0;
    /// True if the region has a node that the user wants in 16 bit at any cost.
    bool isAsked = false;
  };
  std::vector<Balance> balances(regions.getNumClasses());
  for (const ValueEntry &value : graph.getValues()) {
    SmallVector<unsigned, 4> touched;
    if (isLow(value.producer))
      touched.push_back(regions[value.producer]);
    for (int consumer : value.consumers)
      if (isLow(consumer))
        touched.push_back(regions[consumer]);
    llvm::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    int64_t f32Bytes = 2 * graph.getLowBytes(value);
    for (unsigned region : touched) {
      balances[region].all += f32Bytes;
      balances[region].saved += f32Bytes - graph.getCost(value);
    }
  }
  for (auto [index, variable] : llvm::enumerate(variables))
    if (variable.state == Variable::Low && variable.isAsked)
      balances[regions[index]].isAsked = true;
  for (Variable &variable : variables) {
    if (variable.state != Variable::Low || variable.kind == Variable::Interface)
      continue;
    const Balance &balance = balances[regions[&variable - variables.data()]];
    double percent =
        balance.all ? 100.0 * double(balance.saved) / double(balance.all) : 0;
    if (balance.isAsked || percent >= *graph.getOptions().minSaving)
      continue;
    variable.state = Variable::F32;
    variable.reason = graph.getReason("its region would save {0} of {1} bytes, "
                                      "less than the least saving asked for",
                                      {balance.saved, balance.all});
  }
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// The additional cost of flipping the state of this variable alone.
int64_t MinimumCut::getFlipCost(unsigned index,
                                ArrayRef<unsigned> lowUsers) const {
  bool isLow = variables[index].state == Variable::Low;
  int64_t change = 0;
  auto add = [&](unsigned number, bool isRead, bool isWrite) {
    const ValueEntry &value = graph.getValues()[number];
    PrecisionGraph::Uses now;
    now.isProducerLow =
        value.producer >= 0 && variables[value.producer].state == Variable::Low;
    now.lowConsumers = lowUsers[number];
    PrecisionGraph::Uses then = now;
    if (isRead)
      then.lowConsumers += isLow ? -1 : 1;
    if (isWrite)
      then.isProducerLow = !isLow;
    change += graph.getCost(value, then) - graph.getCost(value, now);
  };
  const Variable &variable = variables[index];
  for (unsigned number : variable.reads)
    add(number, true, graph.getValues()[number].producer == int(index));
  for (unsigned number : variable.writes)
    if (!llvm::is_contained(graph.getValues()[number].consumers, int(index)))
      add(number, false, true);
  return change;
}

void MinimumCut::explain(unsigned index, ArrayRef<unsigned> lowUsers) {
  Variable &variable = variables[index];
  if (variable.reason)
    return;
  bool isLow = variable.state == Variable::Low;
  if (variable.neverNarrows) {
    variable.reason = graph.getReason("its operands are " + graph.getLowName());
    if (isLow)
      return;
    for (unsigned number : variable.reads) {
      const ValueEntry &value = graph.getValues()[number];
      bool isF32 = value.producer < 0 ||
                   variables[value.producer].state == Variable::F32;
      if (!isF32 || value.isDerivedFromConstants)
        continue;
      variable.reason = graph.getOperandReason(value);
      return;
    }
  }
  int64_t bytes = getFlipCost(index, lowUsers);
  StringRef other = isLow ? StringRef("f32") : graph.getLowName();
  variable.reason = bytes > 0
                        ? graph.getReason("minimum cut: " + other +
                                              " would move {0} bytes more",
                                          ArrayRef(bytes))
                        : graph.getReason("minimum cut: " + other +
                                          " would move as many bytes");
}

void MinimumCut::explain() {
  std::vector<unsigned> lowUsers;
  lowUsers.reserve(graph.getValues().size());
  for (const ValueEntry &value : graph.getValues())
    lowUsers.push_back(llvm::count_if(value.consumers, [&](int consumer) {
      return variables[consumer].state == Variable::Low;
    }));
  for (unsigned index : decided)
    explain(index, lowUsers);
}

llvm::Error MinimumCut::run() {
  keepNotNarrowableF32(graph);
  keepUnreachedF32();
  solveParts();
  explain();
  if (graph.getOptions().proveOptimum)
    if (llvm::Error failed = proveOptimum(graph, decided))
      return failed;
  dropPoorRegions();
  return llvm::Error::success();
}

llvm::Error decideByMinimumCut(PrecisionGraph &graph) {
  return MinimumCut(graph).run();
}

} // namespace mp
