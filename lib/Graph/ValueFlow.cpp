//===- ValueFlow.cpp - Values through control flow ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/ValueFlow.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool isControlFlow(Operation *op) {
  return op->getNumRegions() &&
         (isStandardOp(op, "If") || isStandardOp(op, "Loop") ||
          isStandardOp(op, "Scan"));
}

namespace {

/// The mapping between operands, body arguments, yielded values and results.
/// Bodies of hostile models may have too few of any: indices are checked where
/// used.
struct BodyLayout {
  /// Operands before the first state, with arguments of the same number.
  unsigned firstState = 0;
  /// Yielded values before the first state.
  unsigned firstYielded = 0;
  unsigned numStates = 0;

  explicit BodyLayout(Operation *op) {
    if (isStandardOp(op, "Loop")) {
      firstState = 2;
      firstYielded = 1;
      numStates = std::max(op->getNumOperands(), 2u) - 2;
    } else if (isStandardOp(op, "Scan")) {
      auto inputs = op->getAttrOfType<IntegerAttr>("num_scan_inputs");
      int64_t count = inputs ? inputs.getInt() : 0;
      int64_t operands = op->getNumOperands();
      numStates = std::max<int64_t>(
          0, operands - std::clamp<int64_t>(count, 0, operands));
    }
  }
};

} // namespace

static void takeArgument(Operation *op, unsigned index,
                         llvm::function_ref<void(Value)> take) {
  for (Region &region : op->getRegions())
    if (!region.empty() && index < region.getNumArguments())
      take(region.getArgument(index));
}

static void takeResult(Operation *op, unsigned index,
                       llvm::function_ref<void(Value)> take) {
  if (index < op->getNumResults())
    take(op->getResult(index));
}

bool forEachFlowTarget(OpOperand &use, llvm::function_ref<void(Value)> take) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isControlFlow(user)) {
    BodyLayout layout(user);
    takeArgument(user, index, take);
    if (index >= layout.firstState &&
        index - layout.firstState < layout.numStates)
      takeResult(user, index - layout.firstState, take);
    return true;
  }
  Operation *parent = isa<YieldOp>(user) ? user->getParentOp() : nullptr;
  if (!parent || !isControlFlow(parent))
    return false;
  BodyLayout layout(parent);
  if (index < layout.firstYielded)
    return true;
  unsigned result = index - layout.firstYielded;
  takeResult(parent, result, take);
  if (result < layout.numStates)
    takeArgument(parent, result + layout.firstState, take);
  return true;
}

//===----------------------------------------------------------------------===//
// ValueFlow
//===----------------------------------------------------------------------===//

static FunctionOp lookupScope(const FunctionTable &functions, Operation *op) {
  FunctionOp function = isa<CustomOp>(op) ? functions.lookup(op) : FunctionOp();
  return function && isSpecialized(function) ? function : FunctionOp();
}

ValueFlow::ValueFlow(ModuleOp module)
    : functions(module), scopes(mp::getScopes(module)) {
  for (Operation *scope : scopes)
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isNode(op) && (!isa<YieldOp>(op) || isa<GraphOp>(op->getParentOp())))
        return;
      ops.push_back(op);
      if (FunctionOp function = lookupScope(functions, op))
        calls[function].push_back(op);
    });
  for (Operation *op : ops)
    for (OpOperand &use : op->getOpOperands())
      forEachTarget(
          use, [&](Value target) { sources[target].push_back(use.get()); });
}

bool ValueFlow::forEachTarget(OpOperand &use,
                              llvm::function_ref<void(Value)> take) const {
  if (forEachFlowTarget(use, take))
    return true;
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (FunctionOp function = lookupScope(functions, user)) {
    takeArgument(function, index, take);
    return true;
  }
  auto function = isa<YieldOp>(user) ? dyn_cast<FunctionOp>(user->getParentOp())
                                     : FunctionOp();
  if (!function)
    return false;
  if (auto it = calls.find(function); it != calls.end())
    for (Operation *call : it->second)
      takeResult(call, index, take);
  return true;
}

bool ValueFlow::isCall(Operation *op) const {
  return bool(lookupScope(functions, op));
}

ArrayRef<Value> ValueFlow::getSources(Value value) const {
  auto it = sources.find(value);
  return it == sources.end() ? ArrayRef<Value>() : ArrayRef<Value>(it->second);
}

} // namespace mp
