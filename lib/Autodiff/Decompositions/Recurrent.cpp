//===- Recurrent.cpp - Recurrent operators as Scan ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of inputs and weights are computed for all steps at once, before
// the Scan; its body has the products of the recurrence. After the end of a
// sequence, states stay as they are and outputs are zero. This works for both
// directions, since the reverse one begins in the padding.
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"
#include "../Recurrent/Cells.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

using namespace recurrent;

namespace {

/// Operands, which are the same for all recurrent operators.
enum Operand : unsigned {
  inputX,
  weightsW,
  weightsR,
  biases,
  lengths,
  initialH,
  initialC,
  peepholes
};

/// The indices of the results; -1 for none.
struct Results {
  int outputs, lastHidden, lastCell = -1, cells = -1, gates = -1;
};

/// One recurrent node.
class RecurrentNode {
public:
  RecurrentNode(NodeDecomposition &op, const Cell &cell, Results results)
      : op(op), b(op.b), cell(cell), results(results) {}

  LogicalResult run();

private:
  /// The values that a Scan yields; null if they are not needed.
  struct Direction {
    Value hidden, lastCell, outputs, cells, gates;
  };

  LogicalResult readAttributes();
  Value getPart(Value value, unsigned direction);
  Value getInitial(Operand operand, unsigned direction);
  Value getInputs(unsigned direction, Weights &weights);
  void getWeights(unsigned direction, Weights &weights);
  Value getMask();
  FailureOr<Direction> write(unsigned direction);
  Operation *writeScan(ArrayRef<Value> operands, unsigned states,
                       bool isReverse);
  void writeBody(Region &body, unsigned direction, const Weights &weights,
                 ArrayRef<Activation> activations);
  void replace(int result, ArrayRef<Value> parts, int64_t axis);
  bool wants(int result) const {
    return result >= 0 && op.wants(unsigned(result));
  }

  NodeDecomposition &op;
  NodeBuilder &b;
  const Cell &cell;
  Results results;
  unsigned directions = 1;
  bool isReverse = false, isBatchFirst = false, isLinear = false;
  /// The axes are [sequence, batch, input].
  Value inputs, mask;
  int64_t steps, batch, hidden;
};

} // namespace

LogicalResult RecurrentNode::readAttributes() {
  StringRef direction = op.getString("direction");
  if (!llvm::is_contained({"forward", "reverse", "bidirectional"}, direction))
    return op.fail("direction '" + direction + "' is unknown");
  directions = direction == "bidirectional" ? 2 : 1;
  isReverse = direction == "reverse";
  isBatchFirst = op.getFlag("layout");
  isLinear = op.getFlag("linear_before_reset");
  inputs = op.in(inputX);
  if (isBatchFirst)
    inputs = b.transpose(inputs, {1, 0, 2});
  auto sizeOf = [](Value value, unsigned axis) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && axis < type.getRank() ? type.getDimSize(axis)
                                         : ShapedType::kDynamic;
  };
  steps = sizeOf(inputs, 0);
  batch = sizeOf(inputs, 1);
  hidden = op.getInt("hidden_size", sizeOf(op.in(weightsR), 2));
  if (hidden < 1 || hidden > INT32_MAX)
    hidden = ShapedType::kDynamic;
  return success();
}

/// The part of `value` for one direction, without the direction axis.
Value RecurrentNode::getPart(Value value, unsigned direction) {
  return b.squeeze(split(b, value, 0, directions)[direction], 0);
}

Value RecurrentNode::getInitial(Operand operand, unsigned direction) {
  if (Value given = op.in(operand))
    return getPart(isBatchFirst ? b.transpose(given, {1, 0, 2}) : given,
                   direction);
  Value sizes =
      batch != ShapedType::kDynamic && hidden != ShapedType::kDynamic
          ? b.ints({batch, hidden})
          : b.concat({b.dimOf(inputs, 1), b.dimOf(op.in(weightsR), 2)}, 0);
  return b.expand(b.scalarLike(0, inputs), sizes);
}

/// The contribution of all inputs to the gates, including biases.
Value RecurrentNode::getInputs(unsigned direction, Weights &weights) {
  Value matrix = b.transpose(getPart(op.in(weightsW), direction), {1, 0});
  Value sums = b.matmul(inputs, matrix);
  if (!op.has(biases))
    return sums;
  SmallVector<Value> halves = split(b, getPart(op.in(biases), direction), 0, 2);
  sums = b.add(sums, halves[0]);
  if (!isLinear)
    return b.add(sums, halves[1]);
  // The reset gate also applies to the candidate's bias.
  SmallVector<Value> parts = split(b, halves[1], 0, cell.gates);
  weights.candidateBias = parts.back();
  parts.back() = b.zerosLike(parts.back());
  return b.add(sums, b.concat(parts, 0));
}

void RecurrentNode::getWeights(unsigned direction, Weights &weights) {
  Value matrix = getPart(op.in(weightsR), direction);
  if (cell.gates == 3 && !isLinear) {
    SmallVector<Value> parts = split(b, matrix, 0, 3);
    weights.candidate = b.transpose(parts[2], {1, 0});
    matrix = b.concat({parts[0], parts[1]}, 0);
  }
  weights.recurrent = b.transpose(matrix, {1, 0});
  if (cell.hasCellState && op.has(peepholes)) {
    SmallVector<Value> parts =
        split(b, getPart(op.in(peepholes), direction), 0, 3);
    llvm::copy(parts, weights.peepholes);
  }
}

/// True for each step of a sequence that has not ended: [sequence, batch, 1].
Value RecurrentNode::getMask() {
  if (!op.has(lengths))
    return {};
  Type int64 = b.getBuilder().getI64Type();
  Value count = b.squeeze(b.dimOf(inputs, 0), 0);
  Value numbers = b.create("Range", {b.intScalar(0), count, b.intScalar(1)}, {},
                           RankedTensorType::get({steps}, int64));
  Value ends = b.castTo(op.in(lengths), int64);
  return b.create("Less",
                  {b.unsqueeze(numbers, {1, 2}), b.unsqueeze(ends, {0, 2})});
}

//===----------------------------------------------------------------------===//
// The Scan
//===----------------------------------------------------------------------===//

void RecurrentNode::writeBody(Region &body, unsigned direction,
                              const Weights &weights,
                              ArrayRef<Activation> activations) {
  GraphEditor editor(body);
  Type element = getTensorElementType(inputs.getType());
  auto addInput = [&](StringRef name, int64_t size, Type type) {
    return editor.addInput(b.getNames().getValueName(b.getBase() + "/" + name),
                           RankedTensorType::get({batch, size}, type));
  };
  int64_t width =
      hidden == ShapedType::kDynamic ? hidden : hidden * int64_t(cell.gates);
  Step step{b, op.getNode(), weights, activations, {}, {}, {}, {}, {}, {}};
  step.hidden = addInput("hidden", hidden, element);
  if (cell.hasCellState)
    step.cell = addInput("cell", hidden, element);
  step.input = addInput("input", width, element);
  Value isInside =
      mask ? addInput("inside", 1, b.getBuilder().getI1Type()) : Value();
  b.setInsertionPointToEnd(&body.front());
  cell.write(step);
  auto choose = [&](Value now, Value before) {
    return isInside ? b.where(isInside, now, before) : now;
  };
  auto orZero = [&](Value now) {
    return isInside ? b.where(isInside, now, b.scalarLike(0, now)) : now;
  };
  auto yield = [&](Value value) {
    // A body must not yield the same value twice.
    if (llvm::is_contained(editor.getYield().getOperands(), value))
      value = b.create("Identity", {value}, {}, value.getType());
    editor.addOutput(value);
  };
  yield(choose(step.newHidden, step.hidden));
  if (cell.hasCellState)
    yield(choose(step.newCell, step.cell));
  if (wants(results.outputs))
    yield(orZero(step.newHidden));
  if (wants(results.cells))
    yield(orZero(step.newCell));
  if (wants(results.gates))
    yield(orZero(b.concat(step.gates, -1)));
}

Operation *RecurrentNode::writeScan(ArrayRef<Value> operands, unsigned states,
                                    bool isReverse) {
  Type element = getTensorElementType(inputs.getType());
  SmallVector<Type> types(states,
                          RankedTensorType::get({batch, hidden}, element));
  auto addOutput = [&](int result, int64_t parts) {
    int64_t width = hidden == ShapedType::kDynamic ? hidden : hidden * parts;
    if (wants(result))
      types.push_back(RankedTensorType::get({steps, batch, width}, element));
  };
  addOutput(results.outputs, 1);
  addOutput(results.cells, 1);
  addOutput(results.gates, cell.gates);
  unsigned sequences = operands.size() - states;
  SmallVector<NamedAttribute> attributes{
      b.attr("num_scan_inputs", int64_t(sequences))};
  if (isReverse) {
    SmallVector<int64_t> ones(std::max<size_t>(sequences, types.size()), 1);
    attributes.push_back(
        b.attr("scan_input_directions", ArrayRef(ones).take_front(sequences)));
    if (types.size() > states)
      attributes.push_back(
          b.attr("scan_output_directions",
                 ArrayRef(ones).take_front(types.size() - states)));
  }
  return b.createNode("Scan", operands, types, attributes, {"body"});
}

FailureOr<RecurrentNode::Direction> RecurrentNode::write(unsigned direction) {
  FailureOr<SmallVector<Activation>> activations =
      getActivations(op, directions, direction, cell.activations);
  if (failed(activations))
    return failure();
  Weights weights;
  getWeights(direction, weights);
  SmallVector<Value> operands{getInitial(initialH, direction)};
  if (cell.hasCellState)
    operands.push_back(getInitial(initialC, direction));
  unsigned states = operands.size();
  operands.push_back(getInputs(direction, weights));
  if (mask)
    operands.push_back(mask);
  Operation *scan = writeScan(operands, states, isReverse || direction == 1);
  {
    OpBuilder::InsertionGuard guard(b.getBuilder());
    writeBody(scan->getRegion(0), direction, weights, *activations);
  }
  Direction made;
  unsigned next = 0;
  made.hidden = scan->getResult(next++);
  if (cell.hasCellState)
    made.lastCell = scan->getResult(next++);
  if (wants(results.outputs))
    made.outputs = scan->getResult(next++);
  if (wants(results.cells))
    made.cells = scan->getResult(next++);
  if (wants(results.gates))
    made.gates = scan->getResult(next++);
  return made;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Replaces a result by the parts of all directions, stacked along `axis`.
void RecurrentNode::replace(int result, ArrayRef<Value> parts, int64_t axis) {
  if (!wants(result))
    return;
  SmallVector<Value> values;
  for (Value part : parts)
    values.push_back(b.unsqueeze(part, axis));
  Value all = b.concat(values, axis);
  if (isBatchFirst)
    all = axis == 0 ? b.transpose(all, {1, 0, 2})
                    : b.transpose(all, {2, 0, 1, 3});
  op.replace(unsigned(result), all);
}

LogicalResult RecurrentNode::run() {
  if (failed(readAttributes()))
    return failure();
  mask = getMask();
  SmallVector<Direction> made;
  for (unsigned direction = 0; direction < directions; ++direction) {
    FailureOr<Direction> written = write(direction);
    if (failed(written))
      return failure();
    made.push_back(*written);
  }
  auto collect = [&](Value Direction::*field) {
    return llvm::map_to_vector(
        made, [&](const Direction &entry) { return entry.*field; });
  };
  replace(results.outputs, collect(&Direction::outputs), 1);
  replace(results.lastHidden, collect(&Direction::hidden), 0);
  replace(results.lastCell, collect(&Direction::lastCell), 0);
  replace(results.cells, collect(&Direction::cells), 1);
  replace(results.gates, collect(&Direction::gates), 1);
  return success();
}

static LogicalResult lstm(NodeDecomposition &op) {
  return RecurrentNode(op, getLSTM(), {0, 1, 2}).run();
}
static LogicalResult gru(NodeDecomposition &op) {
  return RecurrentNode(op, getGRU(), {0, 1}).run();
}
static LogicalResult rnn(NodeDecomposition &op) {
  return RecurrentNode(op, getRNN(), {0, 1}).run();
}
static LogicalResult lstmTraining(NodeDecomposition &op) {
  return RecurrentNode(op, getLSTM(), {0, 1, 2, 3, 4}).run();
}
static LogicalResult gruTraining(NodeDecomposition &op) {
  return RecurrentNode(op, getGRU(), {0, 1, -1, -1, 2}).run();
}

static constexpr Decomposition recurrentDecompositions[] = {
    {"GRU", gru, true},
    {"LSTM", lstm, true},
    {"RNN", rnn, true},
    {"com.microsoft.GRUTraining", gruTraining, true},
    {"com.microsoft.LSTMTraining", lstmTraining, true}};

ArrayRef<Decomposition> getRecurrentDecompositions() {
  return recurrentDecompositions;
}

bool isRecurrent(Operation *node) {
  return isNode(node) && getDomain(node).empty() &&
         llvm::any_of(recurrentDecompositions, [&](const Decomposition &entry) {
           return entry.op == getOpType(node);
         });
}

} // namespace mp
