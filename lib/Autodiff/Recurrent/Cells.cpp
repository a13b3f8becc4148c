//===- Cells.cpp - Steps of recurrent operators ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cells.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp::recurrent {

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {

struct ActivationKind {
  StringLiteral name;
  Value (*write)(NodeBuilder &, Value, double, double);
  /// Defaults; absent if the function has no such parameter.
  std::optional<double> alpha, beta;
};

} // namespace

static Value affine(NodeBuilder &b, Value x, double alpha, double beta) {
  return b.addScalar(b.scale(x, alpha), beta);
}

static Value scaledTanh(NodeBuilder &b, Value x, double alpha, double beta) {
  return b.scale(b.create("Tanh", {b.scale(x, beta)}), alpha);
}

static Value hardSigmoid(NodeBuilder &b, Value x, double alpha, double beta) {
  return b.create("HardSigmoid", {x},
                  {b.floatAttr("alpha", alpha), b.floatAttr("beta", beta)});
}

/// A function without parameters, and one with alpha.
static Value relu(NodeBuilder &b, Value x, double, double) {
  return b.create("Relu", {x});
}
static Value tanh(NodeBuilder &b, Value x, double, double) {
  return b.create("Tanh", {x});
}
static Value sigmoid(NodeBuilder &b, Value x, double, double) {
  return b.create("Sigmoid", {x});
}
static Value softsign(NodeBuilder &b, Value x, double, double) {
  return b.create("Softsign", {x});
}
static Value softplus(NodeBuilder &b, Value x, double, double) {
  return b.create("Softplus", {x});
}
static Value leakyRelu(NodeBuilder &b, Value x, double alpha, double) {
  return b.create("LeakyRelu", {x}, b.floatAttr("alpha", alpha));
}
static Value thresholdedRelu(NodeBuilder &b, Value x, double alpha, double) {
  return b.create("ThresholdedRelu", {x}, b.floatAttr("alpha", alpha));
}
static Value elu(NodeBuilder &b, Value x, double alpha, double) {
  return b.create("Elu", {x}, b.floatAttr("alpha", alpha));
}

static const ActivationKind kinds[] = {
    {"Affine", affine, 1, 0},
    {"Elu", elu, 1, std::nullopt},
    {"HardSigmoid", hardSigmoid, 0.2, 0.5},
    {"LeakyRelu", leakyRelu, 0.01, std::nullopt},
    {"Relu", relu, std::nullopt, std::nullopt},
    {"ScaledTanh", scaledTanh, 1, 1},
    {"Sigmoid", sigmoid, std::nullopt, std::nullopt},
    {"Softplus", softplus, std::nullopt, std::nullopt},
    {"Softsign", softsign, std::nullopt, std::nullopt},
    {"Tanh", tanh, std::nullopt, std::nullopt},
    {"ThresholdedRelu", thresholdedRelu, 1, std::nullopt},
};

static SmallVector<double> getFloats(Operation *node, StringRef name) {
  auto list = node->getAttrOfType<DenseF32ArrayAttr>(name);
  return list ? llvm::to_vector_of<double>(list.asArrayRef())
              : SmallVector<double>();
}

/// True for the default of RNN, written out: it has entries for two directions.
static bool isWrittenDefault(ArrayAttr given,
                             ArrayRef<StringLiteral> byDefault) {
  return given.size() == 2 && byDefault.size() == 1 &&
         llvm::all_of(given, [&](Attribute entry) {
           auto text = dyn_cast<StringAttr>(entry);
           return text && text.getValue() == byDefault.front();
         });
}

FailureOr<SmallVector<Activation>>
getActivations(NodeDecomposition &op, unsigned directions, unsigned direction,
               ArrayRef<StringLiteral> byDefault) {
  SmallVector<StringRef> names;
  for (unsigned count = 0; count < directions; ++count)
    names.append(byDefault.begin(), byDefault.end());
  if (auto given = op.getNode()->getAttrOfType<ArrayAttr>("activations")) {
    if (given.size() != names.size() && !isWrittenDefault(given, byDefault))
      return op.fail("expected " + Twine(names.size()) + " activations, got " +
                     Twine(given.size()));
    for (auto [name, entry] : llvm::zip(names, given))
      if (auto text = dyn_cast<StringAttr>(entry))
        name = text.getValue();
  }
  // Lists of parameters only have entries for functions that take one.
  SmallVector<double> alphas = getFloats(op.getNode(), "activation_alpha");
  SmallVector<double> betas = getFloats(op.getNode(), "activation_beta");
  auto take = [](SmallVector<double> &list, std::optional<double> byDefault) {
    if (!byDefault || list.empty())
      return byDefault.value_or(0);
    double first = list.front();
    list.erase(list.begin());
    return first;
  };
  SmallVector<Activation> all;
  for (StringRef name : names) {
    const auto *kind = llvm::find_if(kinds, [&](const ActivationKind &entry) {
      return name.equals_insensitive(entry.name);
    });
    if (kind == std::end(kinds))
      return op.fail("activation '" + name + "' is unknown");
    Activation made;
    made.write = kind->write;
    made.alpha = take(alphas, kind->alpha);
    made.beta = take(betas, kind->beta);
    all.push_back(made);
  }
  return SmallVector<Activation>(
      ArrayRef(all).slice(direction * byDefault.size(), byDefault.size()));
}

/// The input of an activation is clipped first, except for the cell's state, as
/// in onnxruntime.
Value Step::activate(unsigned index, Value value) {
  double clip = node.getFloat("clip", 0);
  if (clip > 0 && value != newCell)
    value = b.create(
        "Clip", {value, b.scalarLike(-clip, value), b.scalarLike(clip, value)});
  const Activation &function = activations[index];
  return function.write(b, value, function.alpha, function.beta);
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

SmallVector<Value> split(NodeBuilder &b, Value value, int64_t axis,
                         unsigned parts) {
  if (parts == 1)
    return {value};
  SmallVector<NamedAttribute> attributes{b.attr("axis", axis)};
  // In older versions, the number of results gives the number of parts.
  Operation *around = b.getBuilder().getInsertionBlock()->getParentOp();
  if (getOpset(around, "").value_or(1) >= 18)
    attributes.push_back(b.attr("num_outputs", int64_t(parts)));
  SmallVector<Type> types(parts);
  return llvm::to_vector_of<Value>(
      b.createNode("Split", {value}, types, attributes)->getResults());
}

/// Gates i, o, f, c.
static void writeLSTM(Step &step) {
  NodeBuilder &b = step.b;
  Value sums = b.add(step.input, b.matmul(step.hidden, step.weights.recurrent));
  SmallVector<Value> gates = split(b, sums, -1, 4);
  auto peep = [&](unsigned gate, Value cell) {
    Value weight = step.weights.peepholes[gate];
    return weight ? b.add(gates[gate], b.mul(weight, cell)) : gates[gate];
  };
  Value input = step.activate(0, peep(0, step.cell));
  Value forget = step.node.getFlag("input_forget")
                     ? b.sub(b.scalarLike(1, input), input)
                     : step.activate(0, peep(2, step.cell));
  Value candidate = step.activate(1, gates[3]);
  step.newCell = b.add(b.mul(forget, step.cell), b.mul(input, candidate));
  Value output = step.activate(0, peep(1, step.newCell));
  step.newHidden = b.mul(output, step.activate(2, step.newCell));
  step.gates = {input, output, forget, candidate};
}

/// Gates z, r, h.
static void writeGRU(Step &step) {
  NodeBuilder &b = step.b;
  bool isLinear = step.node.getFlag("linear_before_reset");
  SmallVector<Value> inputs = split(b, step.input, -1, 3);
  SmallVector<Value> recurrent = split(
      b, b.matmul(step.hidden, step.weights.recurrent), -1, isLinear ? 3 : 2);
  Value update = step.activate(0, b.add(inputs[0], recurrent[0]));
  Value reset = step.activate(0, b.add(inputs[1], recurrent[1]));
  Value inner;
  if (isLinear) {
    Value sum = recurrent[2];
    if (Value bias = step.weights.candidateBias)
      sum = b.add(sum, bias);
    inner = b.mul(reset, sum);
  } else {
    inner = b.matmul(b.mul(reset, step.hidden), step.weights.candidate);
  }
  Value candidate = step.activate(1, b.add(inputs[2], inner));
  Value rest = b.sub(b.scalarLike(1, update), update);
  step.newHidden = b.add(b.mul(rest, candidate), b.mul(update, step.hidden));
  step.gates = {update, reset, candidate};
}

static void writeRNN(Step &step) {
  NodeBuilder &b = step.b;
  Value sum = b.add(step.input, b.matmul(step.hidden, step.weights.recurrent));
  step.newHidden = step.activate(0, sum);
}

static constexpr StringLiteral activationsOfLSTM[] = {"Sigmoid", "Tanh",
                                                      "Tanh"};
static constexpr StringLiteral activationsOfGRU[] = {"Sigmoid", "Tanh"};
static constexpr StringLiteral activationsOfRNN[] = {"Tanh"};

const Cell &getLSTM() {
  static const Cell cell{4, true, activationsOfLSTM, writeLSTM};
  return cell;
}
const Cell &getGRU() {
  static const Cell cell{3, false, activationsOfGRU, writeGRU};
  return cell;
}
const Cell &getRNN() {
  static const Cell cell{1, false, activationsOfRNN, writeRNN};
  return cell;
}

} // namespace mp::recurrent
