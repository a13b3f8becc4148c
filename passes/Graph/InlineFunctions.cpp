//===- InlineFunctions.cpp - Bodies in the place of calls -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of resulting nodes is known before the first call is replaced: no
// model can make the pass run for hours. Calls in bodies are replaced after the
// call of the body.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Graph/FunctionBodies.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/OpsetUpgrade.h"

namespace mp {
#define GEN_PASS_DEF_INLINEFUNCTIONS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct InlineFunctions : public mp::impl::InlineFunctionsBase<InlineFunctions> {
  using InlineFunctionsBase::InlineFunctionsBase;

  void runOnOperation() override;

private:
  LogicalResult check(ArrayRef<Operation *> calls, const FunctionTable &table);
  LogicalResult inlineCalls(std::vector<Operation *> calls,
                            const FunctionTable &table);
};

} // namespace

static std::vector<Operation *> findCalls(Operation *scope,
                                          const FunctionTable &table) {
  std::vector<Operation *> calls;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (table.lookup(op))
      calls.push_back(op);
  });
  return calls;
}

LogicalResult InlineFunctions::check(ArrayRef<Operation *> calls,
                                     const FunctionTable &table) {
  ModuleOp module = getOperation();
  FunctionSizes sizes(module, table);
  uint64_t most = limit, nodes = 0, made = 0;
  if (!most) {
    module.walk([&](Operation *op) { nodes += isNode(op); });
    most = std::max<uint64_t>(100000, 10 * nodes);
  }
  for (Operation *call : calls) {
    made += sizes.lookup(table.lookup(call)).expanded;
    if (made > most)
      return call->emitError()
             << describe(call) << ": its function and those before have more "
             << "than " << most << " nodes, the limit";
  }
  return success();
}

namespace {

/// A call to replace, and the calls that contained it.
struct OpenCall {
  Operation *op;
  /// The place of the call that it came from among those replaced; or -1.
  int parent;
};

} // namespace

LogicalResult InlineFunctions::inlineCalls(std::vector<Operation *> calls,
                                           const FunctionTable &table) {
  NodeBuilder builder(getOperation());
  std::vector<OpenCall> open;
  for (Operation *call : llvm::reverse(calls))
    open.push_back({call, -1});
  std::vector<std::pair<Operation *, int>> done;
  while (!open.empty()) {
    auto [call, parent] = open.back();
    open.pop_back();
    FunctionOp function = table.lookup(call);
    for (int at = parent; at >= 0; at = done[at].second)
      if (table.lookup(done[at].first) == function)
        return call->emitError()
               << describe(call) << ": the function calls itself";
    FailureOr<SmallVector<Operation *>> nodes =
        inlineFunction(builder, function, call);
    if (failed(nodes))
      return failure();
    int index = int(done.size());
    done.emplace_back(call, parent);
    for (Operation *node : llvm::reverse(*nodes)) {
      std::vector<Operation *> inner = findCalls(node, table);
      for (Operation *next : llvm::reverse(inner))
        open.push_back({next, index});
    }
  }
  // Calls are erased last: facts about nodes are stored by address.
  for (auto &[call, parent] : done)
    call->erase();
  for (auto graph : getOperation().getOps<GraphOp>())
    graph.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isNode(op) && op->getNumRegions())
        builder.getTypes().inferSubgraphInputs(op);
    });
  for (auto graph : getOperation().getOps<GraphOp>())
    graph.walk([&](Operation *op) {
      if (isNode(op))
        builder.getTypes().inferResults(op, {});
    });
  return success();
}

/// Functions that the main graph reached by calls, and that are unreachable
/// now.
static void dropUncalled(ModuleOp module, ArrayRef<FunctionOp> before,
                         const FunctionTable &table) {
  llvm::DenseSet<Operation *> called, candidates(before.begin(), before.end());
  std::vector<Operation *> queue;
  for (Operation &part : *module.getBody())
    if (!candidates.contains(&part))
      queue.push_back(&part);
  while (!queue.empty()) {
    Operation *scope = queue.back();
    queue.pop_back();
    for (Operation *call : findCalls(scope, table))
      if (called.insert(table.lookup(call)).second)
        queue.push_back(table.lookup(call));
  }
  for (FunctionOp function : before)
    if (!called.contains(function))
      function.erase();
}

/// The functions that the calls reach, in the order of the module.
static SmallVector<FunctionOp> findReached(ModuleOp module,
                                           ArrayRef<Operation *> calls,
                                           const FunctionTable &table) {
  llvm::DenseSet<Operation *> reached;
  std::vector<Operation *> queue(calls.begin(), calls.end());
  while (!queue.empty()) {
    FunctionOp function = table.lookup(queue.back());
    queue.pop_back();
    if (reached.insert(function).second)
      llvm::append_range(queue, findCalls(function, table));
  }
  SmallVector<FunctionOp> functions;
  for (auto function : module.getOps<FunctionOp>())
    if (reached.contains(function))
      functions.push_back(function);
  return functions;
}

/// Raises functions to the opset of the model if that changes their nodes, and
/// adds imports of other domains to the model.
static LogicalResult alignOpsets(ModuleOp module,
                                 ArrayRef<FunctionOp> functions) {
  Builder builder(module.getContext());
  for (FunctionOp function : functions) {
    auto imports = function->getAttrOfType<ArrayAttr>(attr::opsets);
    for (Attribute import :
         imports ? imports.getValue() : ArrayRef<Attribute>()) {
      auto pair = dyn_cast<ArrayAttr>(import);
      auto name = pair && pair.size() >= 2 ? dyn_cast<StringAttr>(pair[0])
                                           : StringAttr();
      StringRef domain = normalizeDomain(name ? name.getValue() : "");
      if (getOpset(module, domain))
        continue;
      auto known = module->getAttrOfType<ArrayAttr>(attr::opsets);
      SmallVector<Attribute> list(known.begin(), known.end());
      list.push_back(import);
      module->setAttr(attr::opsets, builder.getArrayAttr(list));
    }
    auto here = getOpset(module, ""), there = getOpset(function, "");
    if (!here || !there || *there >= *here)
      continue;
    if (auto obstacle = findUpgradeObstacle(module, "", int(*here)))
      return obstacle->node->emitError()
             << describe(obstacle->node) << ": cannot be raised to opset "
             << *here << ", the model's: " << obstacle->reason;
    setOpset(module, "", int(*here));
  }
  return success();
}

void InlineFunctions::runOnOperation() {
  ModuleOp module = getOperation();
  FunctionTable table(module);
  std::vector<Operation *> calls;
  for (auto graph : module.getOps<GraphOp>())
    llvm::append_range(calls, findCalls(graph, table));
  if (calls.empty())
    return;
  SmallVector<FunctionOp> reached = findReached(module, calls, table);
  if (failed(check(calls, table)) || failed(alignOpsets(module, reached)) ||
      failed(inlineCalls(calls, table)))
    return signalPassFailure();
  dropUncalled(module, reached, table);
}
