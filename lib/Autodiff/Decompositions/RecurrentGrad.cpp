//===- RecurrentGrad.cpp - Gradients of recurrent operators as Scan -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Scan from the last step to the first carries the gradients of the states
// and yields those of the gates' arguments. From these, the gradients of
// inputs, weights and biases follow for all steps at once. The activations are
// the default ones, as in onnxruntime's kernels.
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

class RecurrentGrad {
public:
  RecurrentGrad(NodeDecomposition &op, unsigned gates)
      : op(op), b(op.b), gates(gates) {}

  LogicalResult run();

private:
  bool isLSTM() const { return gates == 4; }
  /// Operands of both operators, at different indices.
  Value lengths() { return op.in(isLSTM() ? 3 : 4); }
  Value initialHidden() { return op.in(isLSTM() ? 4 : 5); }
  Value allHidden() { return op.in(6); }
  Value allGates() { return op.in(isLSTM() ? 8 : 7); }
  Value allHiddenGrad() { return op.in(isLSTM() ? 9 : 8); }
  Value lastHiddenGrad() { return op.in(isLSTM() ? 10 : 9); }

  struct Direction {
    /// Gradients of the arguments of the gates: those in the products with
    /// inputs and those in the products with states.
    Value input, recurrent;
    Value hidden, cell;
  };

  LogicalResult check();
  Value getSequence(Value value, unsigned direction);
  Value getState(Value value, unsigned direction);
  Value getBefore(Value all, Value first, bool isReverse);
  Direction write(unsigned direction);
  void writeLSTM(ValueRange inputs, Value matrix, SmallVector<Value> &results);
  void writeGRU(ValueRange inputs, Value matrix, Value bias,
                SmallVector<Value> &results);
  Value getProduct(Value gradient, Value value);
  Value getBiases(const Direction &made);
  Value getRecurrentWeights(unsigned direction, const Direction &made);
  void replace(unsigned result, ArrayRef<Value> parts);

  NodeDecomposition &op;
  NodeBuilder &b;
  unsigned gates, directions = 1;
  bool isReverse = false, isLinear = false;
  Type state;
};

} // namespace

LogicalResult RecurrentGrad::check() {
  Operation *node = op.getNode();
  StringRef direction = op.getString("direction");
  directions = direction == "bidirectional" ? 2 : 1;
  isReverse = direction == "reverse";
  isLinear = op.getFlag("linear_before_reset");
  if (lengths())
    return op.fail("lengths of sequences are not supported");
  if (op.getFloat("clip", 0) > 0)
    return op.fail("clipping is not supported");
  if (op.getFlag("input_forget"))
    return op.fail("coupled gates are not supported");
  if (isLSTM() && op.wants(6))
    return op.fail("the gradient of peepholes is not supported");
  if (auto names = node->getAttrOfType<ArrayAttr>("activations"))
    for (auto [index, entry] : llvm::enumerate(names)) {
      auto name = dyn_cast<StringAttr>(entry);
      unsigned place = index % (isLSTM() ? 3 : 2);
      if (name &&
          !name.getValue().equals_insensitive(place ? "Tanh" : "Sigmoid"))
        return op.fail("activation '" + name.getValue() + "' is not supported");
    }
  if (!allHidden() || !allGates() || (isLSTM() && !op.has(7)))
    return op.fail("the states and gates of all steps are needed");
  Type element = getTensorElementType(op.in(0).getType());
  state = RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                                element);
  return success();
}

/// One direction of [sequence, direction, batch, size].
Value RecurrentGrad::getSequence(Value value, unsigned direction) {
  return b.squeeze(split(b, value, 1, directions)[direction], 1);
}

/// One direction of [direction, batch, size], zeros if it is absent.
Value RecurrentGrad::getState(Value value, unsigned direction) {
  if (value)
    return b.squeeze(split(b, value, 0, directions)[direction], 0);
  Value sizes = b.concat({b.dimOf(op.in(0), 1), b.dimOf(op.in(2), 2)}, 0);
  return b.expand(b.scalarLike(0, op.in(0)), sizes);
}

/// The states at the beginning of steps.
Value RecurrentGrad::getBefore(Value all, Value first, bool isReverse) {
  Value begin = b.unsqueeze(first, 0);
  if (isReverse)
    return b.concat({b.slice(all, 0, 1, INT64_MAX), begin}, 0);
  return b.concat({begin, b.slice(all, 0, 0, -1)}, 0);
}

/// The gradient times the derivative of a sigmoid or tanh, from its result.
static Value throughSigmoid(NodeBuilder &b, Value gradient, Value y) {
  return b.mul(gradient, b.mul(y, b.sub(b.scalarLike(1, y), y)));
}
static Value throughTanh(NodeBuilder &b, Value gradient, Value y) {
  return b.mul(gradient, b.sub(b.scalarLike(1, y), b.mul(y, y)));
}

/// Inputs: gradients of both states, of the output; gates, the cell before and
/// after. Results: gradients of both states, and of the gates' arguments.
void RecurrentGrad::writeLSTM(ValueRange inputs, Value matrix,
                              SmallVector<Value> &results) {
  Value hidden = b.add(inputs[0], inputs[2]), cell = inputs[1];
  SmallVector<Value> parts = split(b, inputs[3], -1, 4);
  Value in = parts[0], out = parts[1], forget = parts[2], candidate = parts[3];
  Value squashed = b.create("Tanh", {inputs[5]});
  cell = b.add(cell, throughTanh(b, b.mul(hidden, out), squashed));
  Value all = b.concat({throughSigmoid(b, b.mul(cell, candidate), in),
                        throughSigmoid(b, b.mul(hidden, squashed), out),
                        throughSigmoid(b, b.mul(cell, inputs[4]), forget),
                        throughTanh(b, b.mul(cell, in), candidate)},
                       -1);
  results = {b.matmul(all, matrix), b.mul(cell, forget), all};
}

/// Inputs: gradients of the state, of the output; gates, the state before.
/// Results: gradients of the state, and of the gates' arguments, once where
/// inputs enter, once where the state does.
void RecurrentGrad::writeGRU(ValueRange inputs, Value matrix, Value bias,
                             SmallVector<Value> &results) {
  Value hidden = b.add(inputs[0], inputs[1]), before = inputs[3];
  SmallVector<Value> parts = split(b, inputs[2], -1, 3);
  Value update = parts[0], reset = parts[1], candidate = parts[2];
  SmallVector<Value> rows = split(b, matrix, 0, 3);
  Value rest = b.sub(b.scalarLike(1, update), update);
  Value inner = throughTanh(b, b.mul(hidden, rest), candidate);
  Value ofUpdate =
      throughSigmoid(b, b.mul(hidden, b.sub(before, candidate)), update);
  Value ofReset, innerState = inner, toState;
  if (isLinear) {
    Value sum = b.matmul(before, b.transpose(rows[2], {1, 0}));
    if (bias)
      sum = b.add(sum, bias);
    ofReset = b.mul(inner, sum);
    innerState = b.mul(inner, reset);
    toState = b.matmul(innerState, rows[2]);
  } else {
    Value product = b.matmul(inner, rows[2]);
    ofReset = b.mul(product, before);
    toState = b.mul(product, reset);
  }
  ofReset = throughSigmoid(b, ofReset, reset);
  Value sum = b.add(b.mul(hidden, update), toState);
  sum = b.add(sum, b.matmul(ofUpdate, rows[0]));
  sum = b.add(sum, b.matmul(ofReset, rows[1]));
  results = {sum, b.concat({ofUpdate, ofReset, inner}, -1),
             b.concat({ofUpdate, ofReset, innerState}, -1)};
}

RecurrentGrad::Direction RecurrentGrad::write(unsigned direction) {
  bool backwards = isReverse || direction == 1;
  SmallVector<Value> operands{getState(lastHiddenGrad(), direction)};
  if (isLSTM())
    operands.push_back(getState(op.in(11), direction));
  size_t states = operands.size();
  operands.push_back(allHiddenGrad()
                         ? getSequence(allHiddenGrad(), direction)
                         : b.zerosLike(getSequence(allHidden(), direction)));
  operands.push_back(getSequence(allGates(), direction));
  Value all = getSequence(isLSTM() ? op.in(7) : allHidden(), direction);
  Value first = getState(isLSTM() ? op.in(5) : initialHidden(), direction);
  operands.push_back(getBefore(all, first, backwards));
  if (isLSTM())
    operands.push_back(all);
  Value matrix = getState(op.in(2), direction), bias;
  if (isLinear && op.has(3))
    bias = split(b, getState(op.in(3), direction), 0, 6).back();

  size_t sequences = operands.size() - states, yielded = isLSTM() ? 1 : 2;
  Type element = cast<RankedTensorType>(state).getElementType();
  Type sequence = RankedTensorType::get(
      SmallVector<int64_t>(3, ShapedType::kDynamic), element);
  SmallVector<Type> types(states, state);
  types.append(yielded, sequence);
  SmallVector<NamedAttribute> attributes{
      b.attr("num_scan_inputs", int64_t(sequences))};
  if (!backwards) {
    attributes.push_back(
        b.attr("scan_input_directions", SmallVector<int64_t>(sequences, 1)));
    attributes.push_back(
        b.attr("scan_output_directions", SmallVector<int64_t>(yielded, 1)));
  }
  Operation *scan = b.createNode("Scan", operands, types, attributes, {"body"});
  OpBuilder::InsertionGuard guard(b.getBuilder());
  Region &body = scan->getRegion(0);
  GraphEditor editor(body);
  SmallVector<Value> inputs, results;
  for (size_t index = 0; index < operands.size(); ++index)
    inputs.push_back(editor.addInput(
        b.getNames().getValueName(b.getBase() + "/step"), state));
  b.setInsertionPointToEnd(&body.front());
  if (isLSTM())
    writeLSTM(inputs, matrix, results);
  else
    writeGRU(inputs, matrix, bias, results);
  for (Value result : results)
    editor.addOutput(result);
  Direction made;
  made.hidden = scan->getResult(0);
  made.cell = isLSTM() ? scan->getResult(1) : Value();
  made.input = scan->getResult(states);
  made.recurrent = scan->getResult(states + yielded - 1);
  return made;
}

//===----------------------------------------------------------------------===//
// For all steps
//===----------------------------------------------------------------------===//

/// Reshapes both to the rows of all steps; multiplies one, transposed, by the
/// other.
Value RecurrentGrad::getProduct(Value gradient, Value value) {
  auto rows = [&](Value all) {
    return b.reshape(all, b.concat({b.ints(-1), b.dimOf(all, 2)}, 0));
  };
  return b.matmul(b.transpose(rows(gradient), {1, 0}), rows(value));
}

Value RecurrentGrad::getBiases(const Direction &made) {
  return b.concat({b.reduceSum(made.input, {0, 1}, /*keepDims=*/false),
                   b.reduceSum(made.recurrent, {0, 1}, /*keepDims=*/false)},
                  0);
}

Value RecurrentGrad::getRecurrentWeights(unsigned direction,
                                         const Direction &made) {
  Value before = getBefore(getSequence(allHidden(), direction),
                           getState(initialHidden(), direction),
                           isReverse || direction == 1);
  Value product = getProduct(made.recurrent, before);
  if (isLSTM() || isLinear)
    return product;
  // The candidate's weights were multiplied with the state after the reset
  // gate.
  Value reset = split(b, getSequence(allGates(), direction), -1, 3)[1];
  Value candidate = split(b, made.recurrent, -1, 3)[2];
  SmallVector<Value> parts = split(b, product, 0, 3);
  parts[2] = getProduct(candidate, b.mul(reset, before));
  return b.concat(parts, 0);
}

void RecurrentGrad::replace(unsigned result, ArrayRef<Value> parts) {
  SmallVector<Value> values;
  for (Value part : parts)
    values.push_back(b.unsqueeze(part, 0));
  op.replace(result, b.concat(values, 0));
}

LogicalResult RecurrentGrad::run() {
  if (failed(check()))
    return failure();
  SmallVector<Direction> made;
  for (unsigned direction = 0; direction < directions; ++direction)
    made.push_back(write(direction));
  auto collect = [&](auto make) {
    SmallVector<Value> parts;
    for (auto [direction, entry] : llvm::enumerate(made))
      parts.push_back(make(unsigned(direction), entry));
    return parts;
  };
  if (op.wants(0)) {
    Value sum;
    for (auto [direction, entry] : llvm::enumerate(made)) {
      Value part = b.matmul(entry.input, getState(op.in(1), direction));
      sum = sum ? b.add(sum, part) : part;
    }
    op.replace(0, sum);
  }
  if (op.wants(1))
    replace(1, collect([&](unsigned, const Direction &entry) {
              return getProduct(entry.input, op.in(0));
            }));
  if (op.wants(2))
    replace(2, collect([&](unsigned direction, const Direction &entry) {
              return getRecurrentWeights(direction, entry);
            }));
  if (op.wants(3))
    replace(3, collect([&](unsigned, const Direction &entry) {
              return getBiases(entry);
            }));
  if (op.wants(4))
    replace(4, collect([&](unsigned, const Direction &entry) {
              return entry.hidden;
            }));
  if (op.wants(5))
    replace(5, collect([&](unsigned, const Direction &entry) {
              return entry.cell;
            }));
  return success();
}

static LogicalResult lstmGrad(NodeDecomposition &op) {
  return RecurrentGrad(op, 4).run();
}
static LogicalResult gruGrad(NodeDecomposition &op) {
  return RecurrentGrad(op, 3).run();
}

static constexpr Decomposition recurrentGradDecompositions[] = {
    {"com.microsoft.GRUGrad", gruGrad, true},
    {"com.microsoft.LSTMGrad", lstmGrad, true}};

ArrayRef<Decomposition> getRecurrentGradDecompositions() {
  return recurrentGradDecompositions;
}

} // namespace mp
