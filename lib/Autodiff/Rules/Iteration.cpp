//===- Iteration.cpp - Gradients of Scan and Loop -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../IterationAdjoint.h"
#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// A Scan in the opposite direction: along the saved states, the inputs of the
/// forward Scan and the gradients of its outputs.
class ScanAdjoint : IterationAdjoint {
public:
  ScanAdjoint(NodeAdjoint &op, unsigned states, unsigned inputs)
      : IterationAdjoint(op, {states, 0, 0, 0}), inputs(inputs) {}

  LogicalResult run();

private:
  /// The axis and direction in which one sequence is read or written.
  struct Sequence {
    int64_t axis, direction;
  };

  Sequence getSequence(StringRef kind, unsigned index, Value value);
  LogicalResult inferTypes();
  void addSequences(SmallVectorImpl<Value> &operands,
                    SmallVectorImpl<Type> &types);
  SmallVector<NamedAttribute> getAttributes();
  LogicalResult writeBody(Region &backward);
  void dropUnusedInputs(Operation *made);

  unsigned inputs;
  /// Operands and results of the backward node: it reads states, inputs and
  /// output gradients, and writes gradients of inputs.
  SmallVector<unsigned> savedStates, outputGradients, wantedInputs;
  SmallVector<Sequence> read, written;
};

/// A Loop with as many iterations as the forward one, which reads saved values
/// from the last iteration to the first.
class LoopAdjoint : IterationAdjoint {
public:
  explicit LoopAdjoint(NodeAdjoint &op)
      : IterationAdjoint(op, {unsigned(op.getNumOperands()) - 2, 2, 2, 1}) {}

  LogicalResult run();

private:
  LogicalResult writeBody(Region &backward, Value count);
};

} // namespace

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

ScanAdjoint::Sequence ScanAdjoint::getSequence(StringRef kind, unsigned index,
                                               Value value) {
  auto axes = op.getInts(("scan_" + kind + "_axes").str());
  auto directions = op.getInts(("scan_" + kind + "_directions").str());
  Sequence found{index < axes.size() ? axes[index] : 0,
                 index < directions.size() ? directions[index] : 0};
  return found;
}

/// Infers the types of the elements of sequences, which import does not.
LogicalResult ScanAdjoint::inferTypes() {
  for (unsigned index = 0; index < inputs; ++index) {
    Value sequence = node->getOperand(layout.states + index);
    auto type = dyn_cast<RankedTensorType>(sequence.getType());
    if (!type)
      continue;
    int64_t axis = getSequence("input", index, sequence).axis;
    axis += axis < 0 ? type.getRank() : 0;
    if (axis < 0 || axis >= type.getRank())
      return op.fail("scan input #" + Twine(index) + " has no axis " +
                     Twine(axis));
    SmallVector<int64_t> sizes(type.getShape());
    sizes.erase(sizes.begin() + axis);
    BlockArgument element = getBody().getArgument(layout.states + index);
    element.setType(
        NodeTypes::refine(element.getType(),
                          RankedTensorType::get(sizes, type.getElementType())));
  }
  inferBody();
  return success();
}

void ScanAdjoint::addSequences(SmallVectorImpl<Value> &operands,
                               SmallVectorImpl<Type> &types) {
  for (unsigned state = 0; state < layout.states; ++state) {
    if (getInput(state).use_empty())
      continue;
    savedStates.push_back(state);
    operands.push_back(save(getInput(state)));
    read.push_back({0, 1});
  }
  for (unsigned index = 0; index < inputs; ++index) {
    Value input = node->getOperand(layout.states + index);
    Sequence sequence = getSequence("input", index, input);
    operands.push_back(input);
    read.push_back({sequence.axis, 1 - sequence.direction});
    if (!op.wants(layout.states + index))
      continue;
    wantedInputs.push_back(index);
    written.push_back(read.back());
    types.push_back(input.getType());
  }
  for (unsigned index = layout.states; index < node->getNumResults(); ++index) {
    if (!op.grad(index))
      continue;
    Sequence sequence =
        getSequence("output", index - layout.states, op.grad(index));
    outputGradients.push_back(index);
    operands.push_back(op.grad(index));
    read.push_back({sequence.axis, 1 - sequence.direction});
  }
}

SmallVector<NamedAttribute> ScanAdjoint::getAttributes() {
  auto list = [&](StringRef name, ArrayRef<Sequence> sequences,
                  int64_t Sequence::*field) {
    SmallVector<int64_t> values;
    for (const Sequence &sequence : sequences)
      values.push_back(sequence.*field);
    return b.attr(name, values);
  };
  SmallVector<NamedAttribute> attributes{
      b.attr("num_scan_inputs", int64_t(read.size())),
      list("scan_input_axes", read, &Sequence::axis),
      list("scan_input_directions", read, &Sequence::direction)};
  if (!written.empty()) {
    attributes.push_back(list("scan_output_axes", written, &Sequence::axis));
    attributes.push_back(
        list("scan_output_directions", written, &Sequence::direction));
  }
  return attributes;
}

LogicalResult ScanAdjoint::writeBody(Region &backward) {
  BodyAdjoint body(op, getBody(), backward);
  addCarriedInputs(body);
  for (unsigned state : savedStates) {
    BlockArgument input = getInput(state);
    body.map(input, body.addInput("state", input.getType()));
  }
  for (unsigned index = 0; index < inputs; ++index) {
    BlockArgument input = getBody().getArgument(layout.states + index);
    body.map(input, body.addInput("input", input.getType()));
  }
  for (unsigned index : wantedInputs)
    body.want(getBody().getArgument(layout.states + index));
  for (unsigned index : outputGradients)
    body.addSeed(index, body.addInput("output_grad",
                                      getYield().getOperand(index).getType()));
  if (failed(body.differentiate()))
    return failure();
  addCarriedOutputs(body);
  for (unsigned index : wantedInputs) {
    BlockArgument input = getBody().getArgument(layout.states + index);
    Value gradient = body.getGradient(input);
    body.addOutput(gradient ? gradient : b.zerosLike(body.getCopy(input)));
  }
  return body.finish();
}

/// Removes sequences that no gradient needs; one must stay, because of its
/// length.
void ScanAdjoint::dropUnusedInputs(Operation *made) {
  Region &body = made->getRegion(0);
  unsigned first = made->getNumOperands() - read.size();
  for (unsigned index = read.size(); index > 0 && read.size() > 1; --index) {
    unsigned position = first + index - 1;
    if (!body.getArgument(position).use_empty())
      continue;
    made->eraseOperand(position);
    GraphEditor(body).eraseInput(position);
    read.erase(read.begin() + index - 1);
  }
  for (NamedAttribute attribute : getAttributes())
    made->setAttr(attribute.getName(), attribute.getValue());
}

LogicalResult ScanAdjoint::run() {
  if (failed(inferTypes()))
    return failure();
  SmallVector<Value> from;
  for (unsigned index = 0; index < inputs; ++index)
    if (op.wants(layout.states + index))
      from.push_back(getBody().getArgument(layout.states + index));
  if (failed(findActive(from)) || failed(checkStates()))
    return failure();
  SmallVector<Value> operands;
  SmallVector<Type> types;
  addCarried(operands, types);
  addSequences(operands, types);
  Operation *made =
      b.createNode("Scan", operands, types, getAttributes(), {"body"});
  {
    OpBuilder::InsertionGuard guard(b.getBuilder());
    if (failed(writeBody(made->getRegion(0))))
      return failure();
  }
  dropUnusedInputs(made);
  setCarried(made);
  unsigned next = active.size() + captured.size();
  for (unsigned index : wantedInputs)
    op.set(layout.states + index, made->getResult(next++));
  extendForward();
  // If these lists are given, they have an entry for each output.
  for (StringRef name : {"scan_output_axes", "scan_output_directions"}) {
    SmallVector<int64_t> list = op.getInts(name);
    if (list.empty())
      continue;
    list.resize(node->getNumResults() - layout.states, 0);
    NamedAttribute attribute = b.attr(name, list);
    node->setAttr(name, attribute.getValue());
  }
  return success();
}

static LogicalResult scanRule(NodeAdjoint &op) {
  Operation *node = op.getNode();
  int64_t inputs = op.getInt("num_scan_inputs");
  unsigned operands = node->getNumOperands();
  if (inputs < 1 || inputs > operands || node->getNumRegions() != 1 ||
      node->getRegion(0).empty() ||
      node->getRegion(0).getNumArguments() != operands)
    return op.fail("its inputs are not those of its body");
  YieldOp yield = getYield(node->getRegion(0));
  if (!yield || yield.getNumOperands() != node->getNumResults() ||
      node->getNumResults() < operands - unsigned(inputs))
    return op.fail("its outputs are not those of its body");
  return ScanAdjoint(op, operands - unsigned(inputs), unsigned(inputs)).run();
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

LogicalResult LoopAdjoint::writeBody(Region &backward, Value count) {
  BodyAdjoint body(op, getBody(), backward);
  Type int64 = b.getBuilder().getI64Type();
  BlockArgument number =
      body.addInput("number", RankedTensorType::get({}, int64));
  BlockArgument condition = body.addInput(
      "condition", RankedTensorType::get({}, b.getBuilder().getI1Type()));
  addCarriedInputs(body);
  b.setInsertionPointToEnd(&backward.front());
  Value last = b.sub(count, b.intScalar(1));
  Value iteration = b.sub(last, number);
  body.map(getBody().getArgument(0), iteration);
  body.map(getBody().getArgument(1), b.boolScalar(true));
  for (unsigned state = 0; state < layout.states; ++state) {
    BlockArgument input = getInput(state);
    if (input.use_empty())
      continue;
    Value value = b.create("Gather", {save(input), iteration},
                           b.attr("axis", int64_t(0)), input.getType());
    body.map(input, value);
  }
  for (unsigned index = layout.states; index < node->getNumResults(); ++index)
    if (op.grad(index)) {
      Value yielded = getYield().getOperand(layout.firstYield + index);
      body.addSeed(layout.firstYield + index,
                   b.create("Gather", {op.grad(index), iteration},
                            b.attr("axis", int64_t(0)), yielded.getType()));
    }
  if (failed(body.differentiate()))
    return failure();
  body.addOutput(condition);
  addCarriedOutputs(body);
  return body.finish();
}

LogicalResult LoopAdjoint::run() {
  Type int64 = b.getBuilder().getI64Type();
  BlockArgument number = getBody().getArgument(0);
  number.setType(
      NodeTypes::refine(number.getType(), RankedTensorType::get({}, int64)));
  inferBody();
  if (failed(findActive({})) || failed(checkStates()))
    return failure();
  // The number of iterations: each of them saves one number.
  Value count = b.squeeze(b.create("Shape", {save(number)}), 0);
  SmallVector<Value> operands{count, b.boolScalar(true)};
  SmallVector<Type> types;
  addCarried(operands, types);
  Operation *made = b.createNode("Loop", operands, types, {}, {"body"});
  {
    OpBuilder::InsertionGuard guard(b.getBuilder());
    if (failed(writeBody(made->getRegion(0), count)))
      return failure();
  }
  setCarried(made);
  extendForward();
  return success();
}

static LogicalResult loopRule(NodeAdjoint &op) {
  Operation *node = op.getNode();
  unsigned operands = node->getNumOperands();
  if (operands < 2 || node->getNumRegions() != 1 ||
      node->getRegion(0).empty() ||
      node->getRegion(0).getNumArguments() != operands)
    return op.fail("its inputs are not those of its body");
  YieldOp yield = getYield(node->getRegion(0));
  if (!yield || yield.getNumOperands() != node->getNumResults() + 1 ||
      node->getNumResults() + 2 < operands)
    return op.fail("its outputs are not those of its body");
  return LoopAdjoint(op).run();
}

static constexpr GradientRule iterationGradients[] = {{"Loop", loopRule},
                                                      {"Scan", scanRule}};

ArrayRef<GradientRule> getIterationGradients() { return iterationGradients; }

} // namespace mp
