//===- NodeLowering.cpp - One node on its way to loops --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphLowering.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

TensorValue NodeLowering::in(unsigned index) {
  return graph.get(node->getOperand(index));
}

SmallVector<TensorValue> NodeLowering::operands() {
  SmallVector<TensorValue> result;
  for (unsigned index = 0; index < getNumOperands(); ++index)
    result.push_back(in(index));
  return result;
}

Type NodeLowering::inElement(unsigned index) const {
  return has(index) ? graph.getElement(node->getOperand(index)) : Type();
}

Type NodeLowering::outElement(unsigned index) const {
  return graph.getElement(node->getResult(index));
}

const ShapeValue *NodeLowering::getKnown(unsigned index) const {
  return has(index) ? graph.getKnown(node->getOperand(index)) : nullptr;
}

std::optional<Sizes> NodeLowering::ints(unsigned index) {
  if (!isa_and_nonnull<IntegerType>(inElement(index)))
    return std::nullopt;
  if (const ShapeValue *ints = getKnown(index))
    return ints->values;
  TensorValue tensor = in(index);
  if (!tensor || !isa<IntegerType>(tensor.element) || tensor.getRank() > 1)
    return std::nullopt;
  Sizes extents = e.sizes(tensor);
  std::optional<int64_t> count =
      extents.empty() ? 1 : Emitter::getConstant(extents[0]);
  if (!count || *count > maxShapeElements)
    return std::nullopt;
  Sizes result;
  for (int64_t position = 0; position < *count; ++position)
    result.push_back(s.toIndex(e.loadAt(tensor, position)));
  return result;
}

std::optional<SmallVector<int64_t>> NodeLowering::constantInts(unsigned index) {
  if (!has(index))
    return std::nullopt;
  if (const ShapeValue *ints = getKnown(index))
    return mlir::getConstantIntValues(ints->values);
  return getConstantInts(node->getOperand(index));
}

FailureOr<SmallVector<int64_t>> NodeLowering::constantList(StringRef attribute,
                                                           unsigned operand) {
  if (states(attribute))
    return getInts(attribute);
  if (!has(operand))
    return SmallVector<int64_t>();
  std::optional<SmallVector<int64_t>> list = constantInts(operand);
  if (list)
    return *list;
  (void)fail("'" + attribute +
             "' is computed at run time: only constants can "
             "be compiled");
  return failure();
}

void NodeLowering::set(unsigned result, TensorValue value) {
  if (!hasResult(node, result))
    return;
  Value onnx = node->getResult(result);
  if (auto declared = dyn_cast<RankedTensorType>(onnx.getType()))
    value = e.refine(value, declared.getShape());
  graph.bind(onnx, value);
}

void NodeLowering::setKnown(unsigned result, ShapeValue ints) {
  if (hasResult(node, result))
    graph.bind(node->getResult(result), std::move(ints));
}

void NodeLowering::forward(unsigned index) {
  graph.alias(node->getResult(0), node->getOperand(index));
}

void NodeLowering::alias(unsigned index, Value same) {
  if (hasResult(node, index))
    graph.alias(node->getResult(index), same);
}

LogicalResult NodeLowering::update(unsigned index, TensorValue value) {
  auto input = dyn_cast<BlockArgument>(node->getOperand(index));
  if (!input || !isa<GraphOp>(input.getOwner()->getParentOp()) ||
      getDepth() > 1)
    return fail("operand " + Twine(index) +
                " is written over: expected an input of the main graph");
  if (!graph.addUpdate(input, value))
    return fail("operand " + Twine(index) + " is written over twice");
  return success();
}

const KnownList *NodeLowering::getList(unsigned operand) const {
  return has(operand) ? graph.getList(node->getOperand(operand)) : nullptr;
}

void NodeLowering::setList(unsigned result, KnownList list) {
  if (hasResult(node, result))
    graph.bind(node->getResult(result), std::move(list));
}

FailureOr<int64_t> NodeLowering::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  (void)fail("axis " + Twine(axis) + " of a tensor with " + Twine(rank) +
             " axes");
  return failure();
}

FailureOr<SmallVector<int64_t>>
NodeLowering::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = normalizeAxis(axis, rank);
    if (failed(normal))
      return failure();
    if (!llvm::is_contained(result, *normal))
      result.push_back(*normal);
  }
  llvm::sort(result);
  return result;
}

FailureOr<SmallVector<TensorValue>>
NodeLowering::inlineBody(Region &body, ArrayRef<TensorValue> arguments) {
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    if (value)
      graph.bind(argument, value);
  Location place = e.loc;
  std::string text = e.getPlace().str();
  auto results = graph.lowerBlock(body.front());
  e.setPlace(place, text);
  return results;
}

FailureOr<SmallVector<LoweredValue>>
NodeLowering::repeatBody(Region &body, ArrayRef<LoweredValue> arguments) {
  if (!graph.addRepeated(body.front().getOperations().size())) {
    (void)fail(
        "its iterations, of which each is code of its own, are too many");
    return failure();
  }
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    graph.bind(argument, value);
  if (failed(inlineBody(body, {})))
    return failure();
  SmallVector<LoweredValue> results;
  for (Value value : getYield(body).getOperands())
    results.push_back(graph.read(value));
  return results;
}

LoweredValue NodeLowering::read(unsigned operand) const {
  return has(operand) ? graph.read(node->getOperand(operand)) : LoweredValue();
}

void NodeLowering::bind(unsigned result, const LoweredValue &value) {
  if (!hasResult(node, result))
    return;
  if (value.tensor)
    set(result, value.tensor);
  else
    graph.bind(node->getResult(result), value);
}

Region *NodeLowering::getRegion(StringRef name) const {
  auto names = node->getAttrOfType<ArrayAttr>(attr::regions);
  for (unsigned index = 0; names && index < names.size(); ++index)
    if (auto text = dyn_cast<StringAttr>(names[index]);
        text && text.getValue() == name && index < node->getNumRegions())
      return &node->getRegion(index);
  return nullptr;
}

void NodeLowering::bindKnown(Value value, ShapeValue ints) {
  graph.bind(value, std::move(ints));
}

const ShapeValue *NodeLowering::getKnownValue(Value value) const {
  return graph.getKnown(value);
}

TensorValue NodeLowering::getTensor(Value value) { return graph.get(value); }

void NodeLowering::discard(std::unique_ptr<Region> code) {
  graph.discard(std::move(code));
}

unsigned NodeLowering::getDepth() const { return graph.getDepth(); }

} // namespace mp
