//===- BatchFlow.cpp - Values that depend on the batch --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchFlow.h"

#include "ConstantContents.h"
#include "WeightOperandRoles.h"

#include "mp-opt/Autodiff/Autodiff.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

BatchFlow::BatchFlow(GraphOp graph) {
  GraphEditor editor(graph);
  llvm::DenseSet<StringRef> defaults;
  for (auto initializer : editor.getBlock().getOps<InitializerOp>())
    if (initializer.getOverridable())
      defaults.insert(initializer.getName());
  for (BlockArgument input : editor.getBlock().getArguments()) {
    if (defaults.contains(onnxir::getValueName(input)))
      continue;
    set(input, Data);
    raw.insert(input);
  }
  visit(editor.getBlock());
}

/// Values that are not floats carry no activation.
void BatchFlow::set(Value value, Kind kind) {
  kinds[value] = isDifferentiable(value) ? kind : std::min(kind, Index);
}

BatchFlow::Kind BatchFlow::getOperands(Operation *op) const {
  Kind kind = Constant;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (carriesElements(op, index))
      kind = std::max(kind, get(operand));
  return kind;
}

void BatchFlow::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

/// States and elements of a Loop or Scan depend on all that goes into it.
void BatchFlow::visitBodies(Operation *op) {
  Kind kind = getOperands(op);
  for (Value captured : getCaptured(op))
    kind = std::max(kind, get(captured));
  for (Region &region : op->getRegions()) {
    for (BlockArgument argument : region.getArguments())
      set(argument, std::max(kind, Index));
    for (Block &block : region)
      visit(block);
  }
  bool isBranch = isStandardOp(op, "If");
  for (OpResult result : op->getResults()) {
    Kind found = isBranch ? getOperands(op) : std::max(kind, Index);
    for (Region &region : op->getRegions())
      if (YieldOp yield = onnxir::getYield(region);
          yield && result.getResultNumber() < yield.getNumOperands())
        found =
            std::max(found, get(yield.getOperand(result.getResultNumber())));
    set(result, found);
  }
}

void BatchFlow::visit(Operation *op) {
  if (op->getNumRegions())
    return visitBodies(op);
  // Sizes are the same for every batch.
  if (isStandardOp(op, "Shape") || isStandardOp(op, "Size"))
    return;
  if (isStandardOp(op, "Range"))
    return set(op->getResult(0), Index);
  if (isa<InitializerOp>(op) || isStandardOp(op, "Constant")) {
    if (auto elements = FloatElements::get(op);
        elements && holdsPositions(*elements))
      set(op->getResult(0), Index);
    return;
  }
  Kind kind = getOperands(op);
  const OpSchema *schema = getSchema(op);
  if (schema && !schema->deterministic)
    kind = Data;
  if (kind == Index && takesIndices(op, *this))
    kind = Data;
  unsigned others = 0;
  bool hasRaw = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!carriesElements(op, index))
      continue;
    hasRaw |= isRaw(operand);
    others += get(operand) != Constant && !isRaw(operand);
  }
  bool staysRaw = hasRaw && !others && isRearranged(op);
  for (Value result : op->getResults()) {
    set(result, kind);
    if (staysRaw)
      raw.insert(result);
  }
}

} // namespace mp
