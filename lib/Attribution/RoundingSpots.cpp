//===- RoundingSpots.cpp - Where 16 bit would round values ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Attribution/RoundingSpots.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Finding spots
//===----------------------------------------------------------------------===//

static bool isF32(Value value) {
  Type element = getTensorElementType(value.getType());
  return element && element.isF32();
}

/// True for nodes whose results are exact if their operands are.
static bool isExactNode(Operation *node) {
  const OperatorTraits &traits = getOperatorTraits(node);
  return traits.has(Exact) || traits.movesData() ||
         traits.kind == OperatorKind::Combination;
}

static bool mayBeLow(Operation *node) {
  return isNode(node) && !mp::isConstant(node) && !node->getNumRegions() &&
         !hasClass(node, OpClass::Deny);
}

void RoundingSpots::addResults(Operation *node, ArrayRef<Value> written) {
  if (isExactNode(node))
    return;
  for (Value value : written) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || result.getOwner() != node || !isF32(value) ||
        value.use_empty())
      continue;
    results[value] = numMarkers;
    spots.push_back({node, result.getResultNumber(), false, numMarkers++});
  }
}

void RoundingSpots::addOperands(Operation *node, ArrayRef<OpOperand *> read) {
  for (OpOperand *operand : read) {
    Value value = operand->get();
    if (operand->getOwner() != node || !isF32(value))
      continue;
    auto source = results.find(value);
    unsigned marker = source != results.end() && value.hasOneUse()
                          ? source->second
                          : numMarkers++;
    spots.push_back({node, operand->getOperandNumber(), true, marker});
  }
}

RoundingSpots RoundingSpots::find(ModuleOp module) {
  RoundingSpots found;
  GraphOp graph = getMainGraph(module);
  SchemaCache schemas(graph);
  FunctionTable functions(module);
  for (Operation &node : graph.getBody().getOps()) {
    if (!mayBeLow(&node))
      continue;
    for (const FloatTypeVariable &variable : getFloatTypeVariables(
             &node, schemas.lookup(&node).schema, functions)) {
      if (variable.kind != ElementKind::Float || !variable.obstacle.empty())
        continue;
      found.addOperands(&node, variable.reads);
      found.addResults(&node, variable.writes);
    }
  }
  return found;
}

bool isLowNode(Operation *node) {
  Type type = node ? getPrecisionType(node) : Type();
  return type && (type.isBF16() || type.isF16());
}

std::vector<unsigned> RoundingSpots::findActive() const {
  std::vector<unsigned> active;
  for (auto [number, spot] : llvm::enumerate(spots))
    if (isLowNode(spot.node) &&
        !(spot.isOperand && isLowNode(spot.getValue().getDefiningOp())))
      active.push_back(unsigned(number));
  return active;
}

//===----------------------------------------------------------------------===//
// Markers
//===----------------------------------------------------------------------===//

namespace {

class MarkerBuilder {
public:
  explicit MarkerBuilder(ModuleOp module)
      : builder(module),
        first(&getMainGraph(module).getBody().front().front()) {}

  void mark(OpResult value, unsigned number);
  void mark(OpOperand &use, unsigned number);

private:
  Value create(Value value, unsigned number);

  NodeBuilder builder;
  Operation *first;
};

} // namespace

Value MarkerBuilder::create(Value value, unsigned number) {
  builder.setBase("spot");
  Value marker = builder.create("Identity", {value}, {}, value.getType());
  Operation *node = marker.getDefiningOp();
  Builder attributes(value.getContext());
  node->setAttr(mark::spot, attributes.getI64IntegerAttr(number));
  // Masks that are clamped in 16 bit are clamped before they are rounded.
  Operation *source = value.getDefiningOp();
  if (Attribute bound = source ? source->getAttr(mark::clamp) : Attribute())
    node->setAttr(mark::clamp, bound);
  return marker;
}

/// Marks a result for all its uses.
void MarkerBuilder::mark(OpResult value, unsigned number) {
  builder.setInsertionPointAfter(value.getOwner());
  Value marker = create(value, number);
  value.replaceAllUsesExcept(marker, marker.getDefiningOp());
}

void MarkerBuilder::mark(OpOperand &use, unsigned number) {
  builder.setInsertionPoint(use.getOwner());
  use.set(create(use.get(), number));
}

OwningOpRef<ModuleOp> RoundingSpots::mark(ModuleOp module) const {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone(mapping)));
  MarkerBuilder builder(*copy);
  // Markers of results come first: those of operands are between them and the
  // readers.
  for (const RoundingSpot &spot : spots)
    if (!spot.isOperand)
      builder.mark(mapping.lookup(spot.node)->getResult(spot.index),
                   spot.marker);
  for (const RoundingSpot &spot : spots)
    if (spot.isOperand)
      if (auto source = results.find(spot.getValue());
          source == results.end() || source->second != spot.marker)
        builder.mark(mapping.lookup(spot.node)->getOpOperand(spot.index),
                     spot.marker);
  return copy;
}

static bool isMarker(Operation *op) { return op && op->hasAttr(mark::spot); }

std::vector<Operation *> findMarkers(ModuleOp module, unsigned count) {
  std::vector<Operation *> markers(count);
  for (Operation &op : getMainGraph(module).getBody().getOps())
    if (isMarker(&op))
      markers[op.getAttrOfType<IntegerAttr>(mark::spot).getInt()] = &op;
  return markers;
}

Value skipMarkers(Value value) {
  while (isMarker(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

} // namespace mp
