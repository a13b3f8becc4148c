//===- MapFusion.cpp - Maps that follow each other ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MapFusion.h"

#include "mp-opt/Codegen/Common/MemoryAccesses.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

using device::Kind;

static linalg::GenericOp getMap(device::GroupOp group) {
  for (auto op : group.getBody().front().getOps<linalg::GenericOp>())
    return op;
  return nullptr;
}

/// True if both accesses touch the same element in each point, and no other
/// point touches it.
static bool areAtSamePoint(const Access &one, const Access &other,
                           linalg::GenericOp first, linalg::GenericOp second) {
  if (one.operand->getOwner() != first || other.operand->getOwner() != second ||
      one.operand->get() != other.operand->get())
    return false;
  AffineMap map = first.getMatchingIndexingMap(one.operand);
  return map == second.getMatchingIndexingMap(other.operand) &&
         map.isPermutation();
}

bool canFuseMaps(device::GroupOp firstGroup, device::GroupOp secondGroup) {
  // The most operands that a kernel has and can keep in registers.
  constexpr unsigned maxOperands = 24;
  if (firstGroup.getKind() != Kind::Elementwise ||
      secondGroup.getKind() != Kind::Elementwise)
    return false;
  linalg::GenericOp first = getMap(firstGroup), second = getMap(secondGroup);
  if (!first || !second ||
      first.getStaticLoopRanges() != second.getStaticLoopRanges() ||
      first->getNumOperands() + second->getNumOperands() > maxOperands)
    return false;
  SmallVector<Access> before = findAccesses(firstGroup),
                      after = findAccesses(secondGroup);
  for (const Access &one : before)
    for (const Access &other : after)
      if ((one.isWrite || other.isWrite) && one.range.overlaps(other.range) &&
          !areAtSamePoint(one, other, first, second))
        return false;
  return true;
}

namespace {

/// The operands of both, outputs once.
class Fusion {
public:
  Fusion(linalg::GenericOp first, linalg::GenericOp second)
      : first(first), second(second), b(first) {}

  void run();

private:
  using Place = std::pair<Value, AffineMap>;

  static Place getPlace(linalg::GenericOp op, OpOperand &operand) {
    return {operand.get(), op.getMatchingIndexingMap(&operand)};
  }
  void addOutputs(linalg::GenericOp op);
  void addInputs(linalg::GenericOp op);
  unsigned findOutput(const Place &place) const {
    return llvm::find(outputs, place) - outputs.begin();
  }
  void copyBody(linalg::GenericOp op, Block *body);

  linalg::GenericOp first, second;
  OpBuilder b;
  SmallVector<Place> inputs, outputs;
  /// The current value of each output; null until it is known.
  SmallVector<Value> current;
  IRMapping mapping;
};

} // namespace

void Fusion::addOutputs(linalg::GenericOp op) {
  for (OpOperand &output : op.getDpsInitsMutable())
    if (Place place = getPlace(op, output); !llvm::is_contained(outputs, place))
      outputs.push_back(place);
}

void Fusion::addInputs(linalg::GenericOp op) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Place place = getPlace(op, *operand);
    bool isKnown = op == second && llvm::is_contained(outputs, place);
    if (!isKnown && !llvm::is_contained(inputs, place))
      inputs.push_back(place);
  }
}

void Fusion::copyBody(linalg::GenericOp op, Block *body) {
  Block &old = *op.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    Place place = getPlace(op, operand);
    unsigned output = findOutput(place);
    Value value;
    // The value that is in memory at this point by now.
    if (output < outputs.size() && current[output]) {
      value = current[output];
    } else if (op.isDpsInit(&operand)) {
      value = body->getArgument(inputs.size() + output);
    } else {
      unsigned input = llvm::find(inputs, place) - inputs.begin();
      value = body->getArgument(input);
    }
    mapping.map(old.getArgument(operand.getOperandNumber()), value);
  }
  for (Operation &inner : old.without_terminator())
    b.clone(inner, mapping);
  for (auto [value, output] :
       llvm::zip(old.getTerminator()->getOperands(), op.getDpsInitsMutable()))
    current[findOutput(getPlace(op, output))] = mapping.lookupOrDefault(value);
}

void Fusion::run() {
  addOutputs(first);
  addInputs(first);
  // Outputs of the first map are not inputs of the fused one: the second map
  // gets their values directly.
  addInputs(second);
  addOutputs(second);
  current.resize(outputs.size());
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  for (auto &[value, map] : inputs) {
    ins.push_back(value);
    maps.push_back(map);
  }
  for (auto &[value, map] : outputs) {
    outs.push_back(value);
    maps.push_back(map);
  }
  auto fused =
      linalg::GenericOp::create(b, first.getLoc(), TypeRange(), ins, outs, maps,
                                first.getIteratorTypesArray());
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (Value value : llvm::concat<Value>(ins, outs)) {
    types.push_back(getElementTypeOrSelf(value.getType()));
    locs.push_back(first.getLoc());
  }
  Block *body = b.createBlock(&fused.getRegion(), {}, types, locs);
  copyBody(first, body);
  copyBody(second, body);
  linalg::YieldOp::create(b, first.getLoc(), current);
  first.erase();
  second.erase();
}

void fuseMaps(device::GroupOp firstGroup, device::GroupOp secondGroup) {
  linalg::GenericOp first = getMap(firstGroup), second = getMap(secondGroup);
  Block &target = firstGroup.getBody().front();
  // Scalars that the second map uses are computed before both.
  for (Operation &op :
       llvm::make_early_inc_range(secondGroup.getBody().front()))
    op.moveBefore(&op == second.getOperation() ? &target : first->getBlock(),
                  &op == second.getOperation() ? target.end()
                                               : Block::iterator(first));
  Fusion(first, second).run();
  secondGroup.erase();
}

} // namespace mp
