//===- QuantizedTypes.cpp - Types around quantized values -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizedTypes.h"

#include "mp-opt/Precision/Analysis/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

/// The reason with the name of the node's scale.
DecisionReason QuantizedTypes::getReason(StringRef text, Operation *op) const {
  Value scale = getQuantizationScale(op);
  return graph.getReason(text,
                         scale ? onnxir::getValueName(scale) : StringRef());
}

/// Runtimes do not dequantize 32-bit integers to 16 bit: fp16 does not hold
/// them. Constants are dequantized at once, and rounded then.
DecisionReason QuantizedTypes::getInt32Obstacle(Operation *dequantizer) {
  auto results = dequantizeInt32(dequantizer);
  if (!results)
    return graph.getReason("32-bit integers are dequantized in f32");
  LowLimits limits(graph.low);
  for (float result : *results)
    if (!(std::fabs(result) < limits.overflow))
      return graph.getReason("its values are out of range of " +
                             graph.getLowName());
  return {};
}

/// True if the type of the floats must hold the scale.
bool QuantizedTypes::mustHoldScale(Operation *op) const {
  return sharesScaleType(op) || !graph.getOptions().ownScales;
}

/// The reason, besides the schema, that the floats of a node must be fp32.
DecisionReason QuantizedTypes::getObstacle(Operation *op) {
  if (graph.getOptions().keepQuantizedF32)
    return graph.getReason(
        "the runtime has integer kernels for fp32 pairs only");
  if (isDequantizer(op) && readsInt32(op))
    return getInt32Obstacle(op);
  if (!getDomain(op).empty() && !graph.getOptions().microsoftPairs)
    return graph.getReason(
        "not every runtime takes this form with 16-bit floats");
  Value scale = getQuantizationScale(op);
  // Scales of 8 bits are powers of two, and keep their type.
  bool isF32 = scale && isF32Tensor(scale.getType());
  if (scale && !isF32 && !is16BitTensor(scale.getType()) &&
      graph.low == ElementKind::Float16)
    return getReason("the range of scale '{0}' is not known", op);
  if (isF32 && mustHoldScale(op)) {
    Operation *source = scale.getDefiningOp();
    if (source && hasClass(source, OpClass::Deny) && !isDequantizer(source))
      return getReason("scale '{0}' is kept in f32", op);
    if (std::string text = scales.getObstacle(op); !text.empty())
      return getReason(text, op);
    // A scale that is a quantized value follows the same rules.
    auto inner = graph.producers.find(scale);
    if (inner != graph.producers.end()) {
      const Variable &variable = variables[graph.find(inner->second)];
      if (variable.kind == Variable::Dequantized &&
          variable.state == Variable::F32)
        return variable.reason;
    }
  }
  if (isDequantizer(op))
    if (std::string text = scales.getRangeObstacle(op); !text.empty())
      return getReason(text, op);
  return {};
}

//===----------------------------------------------------------------------===//
// DequantizeLinear and its users
//===----------------------------------------------------------------------===//

/// Keeps users of a value fp32, also after data movement.
void QuantizedTypes::keepUsersF32(Value value, DecisionReason reason) {
  DecisionReason operand = {
      StringAttr::get(graph.context, "its operand is dequantized in f32: " +
                                         reason.text.getValue()),
      reason.values};
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      auto consumer = graph.consumers.find(&use);
      if (consumer == graph.consumers.end())
        continue;
      Variable &user = variables[graph.find(consumer->second)];
      bool isMoved = getOperatorTraits(use.getOwner()).movesData() &&
                     use.getOperandNumber() == 0;
      if (isMoved && user.kind == Variable::Node &&
          seen.insert(use.getOwner()).second)
        llvm::append_range(worklist, use.getOwner()->getResults());
      if (user.state == Variable::F32 || user.kind == Variable::Dequantized)
        continue;
      user.state = Variable::F32;
      user.reason = operand;
    }
}

void QuantizedTypes::addDequantizer(unsigned index) {
  const NodePrecision &entry = graph.nodes[index];
  Operation *op = entry.node;
  int number = graph.nodeVariables[index].front();
  Variable &variable = variables[number];
  // All others are joined with other nodes, or are not fp32.
  if (graph.find(number) != number || variable.kind != Variable::Node)
    return;
  variable.kind = Variable::Dequantized;
  // The scale has the type that the result gets; it casts nothing.
  for (OpOperand &operand : op->getOpOperands())
    graph.consumers.erase(&operand);
  bool isFolded = readsInt32(op) && entry.opClass != OpClass::Deny;
  if (variable.state == Variable::F32 && !isFolded)
    return keepUsersF32(op->getResult(0), variable.reason);
  variable.state = Variable::Free;
  variable.reason = getObstacle(op);
  if (!variable.reason)
    return;
  variable.state = Variable::F32;
  keepUsersF32(op->getResult(0), variable.reason);
}

//===----------------------------------------------------------------------===//
// Biases
//===----------------------------------------------------------------------===//

/// True if only QuantizeLinear reads the result of a product, perhaps after
/// activations.
static bool isOnlyQuantized(Operation *product) {
  constexpr unsigned maxSteps = 4;
  Operation *next = product;
  for (unsigned step = 0; step < maxSteps; ++step) {
    if (next->getNumResults() != 1 || !next->getResult(0).hasOneUse())
      return false;
    next = *next->getUsers().begin();
    if (isQuantizer(next))
      return true;
    if (!getOperatorTraits(next).isElementwise())
      return false;
  }
  return false;
}

/// The least magnitude of a scale that is not zero; absent if the value is not
/// dequantized with a constant scale.
static std::optional<double> getMinScale(Value value) {
  Operation *source = value.getDefiningOp();
  Value scale = isDequantizer(source) ? getQuantizationScale(source) : Value();
  Operation *constant = scale ? getFixedConstant(scale) : nullptr;
  auto elements = constant ? readFloats(constant) : std::nullopt;
  if (!elements)
    return std::nullopt;
  double least = std::numeric_limits<double>::infinity();
  for (float element : *elements)
    if (element != 0)
      least = std::min<double>(least, std::fabs(element));
  return least;
}

/// The least scale that fp16 may have as a product of two scales: below it, a
/// subnormal number changes by more than 2^-9.
static constexpr double minBiasScale = 0x1p-16;

/// onnxruntime quantizes the constant bias of a product of dequantized values
/// again, with the product of both scales in their type. If that loses its
/// digits, the bias is wrong.
void QuantizedTypes::checkBias(Operation *product) {
  if (!getOperatorTraits(product).contracts() || !hasOperand(product, 2) ||
      !isOnlyQuantized(product))
    return;
  Value bias = product->getOperand(2);
  Operation *source = bias.getDefiningOp();
  bool isConstantBias =
      source &&
      (mp::isConstant(source) || (isDequantizer(source) && readsInt32(source)));
  auto left = getMinScale(product->getOperand(0));
  auto right = getMinScale(product->getOperand(1));
  auto consumer = graph.consumers.find(&product->getOpOperand(0));
  if (!isConstantBias || !left || !right || *left * *right >= minBiasScale ||
      consumer == graph.consumers.end())
    return;
  Variable &variable = variables[graph.find(consumer->second)];
  if (variable.state == Variable::F32)
    return;
  variable.state = Variable::F32;
  variable.reason = graph.getReason(
      "a runtime that quantizes bias '{0}' with the scales of its product "
      "would lose it in fp16",
      onnxir::getValueName(bias));
}

//===----------------------------------------------------------------------===//
// QuantizeLinear and its producers
//===----------------------------------------------------------------------===//

/// Makes one variable of a node and the QuantizeLinear that reads its result.
void QuantizedTypes::joinProducer(int producer, int quantizer) {
  Variable kept = variables[producer], other = variables[quantizer];
  int index = graph.join(producer, quantizer);
  Variable &joined = variables[index];
  // The quantizer rounds no operand that its producer has not rounded.
  joined.kind = kept.kind;
  joined.node = kept.node;
  joined.neverNarrows = kept.neverNarrows;
  joined.isAsked = kept.isAsked || other.isAsked;
  if (kept.state == Variable::F32) {
    joined.reason = kept.reason;
  } else if (other.state == Variable::F32) {
    joined.reason = {
        StringAttr::get(graph.context, "its result is quantized in f32: " +
                                           other.reason.text.getValue()),
        other.reason.values};
  } else if (kept.state == Variable::Low || other.state == Variable::Low) {
    joined.state = Variable::Low;
    joined.reason = kept.state == Variable::Low ? kept.reason : other.reason;
  }
}

/// True for operators that runtimes fuse with the product before them.
static bool mayFollowProduct(Operation *op) {
  switch (getOperatorTraits(op).kind) {
  case OperatorKind::Elementwise:
  case OperatorKind::Movement:
  case OperatorKind::Selection:
  case OperatorKind::Combination:
  case OperatorKind::Window:
    return true;
  default:
    return false;
  }
}

/// Keeps the nodes that yield a value fp32, up to and including the products.
void QuantizedTypes::keepProducersF32(Value value, DecisionReason reason) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto producer = graph.producers.find(next);
    if (!op || producer == graph.producers.end() ||
        !keptProducers.insert(op).second)
      continue;
    Variable &variable = variables[graph.find(producer->second)];
    bool isPlain = variable.kind == Variable::Node && !op->getNumRegions();
    if (!isPlain || isDequantizer(op))
      continue;
    if (variable.state != Variable::F32) {
      variable.state = Variable::F32;
      variable.reason = reason;
    }
    if (mayFollowProduct(op))
      llvm::append_range(worklist, op->getOperands());
  }
}

/// Joins a QuantizeLinear with the node that makes its data, and with those
/// that only move them. Returns false if the data are fp32 for good.
bool QuantizedTypes::joinProducers(Value data, int own) {
  while (true) {
    auto producer = graph.producers.find(data);
    if (producer == graph.producers.end())
      return false;
    int source = graph.find(producer->second);
    Variable::Kind kind = variables[source].kind;
    if (kind != Variable::Node && kind != Variable::Tied)
      return true;
    if (source != graph.find(own))
      joinProducer(source, graph.find(own));
    Operation *op = data.getDefiningOp();
    if (kind != Variable::Node || !op || !canMoveDequantized(op))
      return true;
    data = op->getOperand(0);
  }
}

void QuantizedTypes::addQuantizer(unsigned index) {
  Operation *op = graph.nodes[index].node;
  OpOperand &data = op->getOpOperand(0);
  int own = graph.find(graph.nodeVariables[index].front());
  if (!graph.consumers.contains(&data) || variables[own].kind != Variable::Node)
    return;
  auto keep = [&](DecisionReason reason) {
    Variable &variable = variables[graph.find(own)];
    if (variable.state == Variable::F32)
      return;
    variable.state = Variable::F32;
    variable.reason = reason;
  };
  if (variables[own].state != Variable::F32)
    if (DecisionReason reason = getObstacle(op))
      keep(reason);
  bool isObstacle = variables[own].state == Variable::F32;
  if (!joinProducers(data.get(), own))
    keep(graph.getReason("operand '{0}' is f32",
                         onnxir::getValueName(data.get())));
  else if (isObstacle)
    keepProducersF32(data.get(), variables[graph.find(own)].reason);
}

/// The result of a node that only moves a dequantized value is one, too.
void QuantizedTypes::addMovement(unsigned index) {
  const NodePrecision &entry = graph.nodes[index];
  int number = graph.nodeVariables[index].front();
  Variable &variable = variables[number];
  if (graph.find(number) != number || variable.kind != Variable::Node ||
      variable.state != Variable::Free || entry.isOverride)
    return;
  OpOperand &data = entry.node->getOpOperand(0);
  auto producer = graph.producers.find(data.get());
  if (producer == graph.producers.end())
    return;
  const Variable &source = variables[graph.find(producer->second)];
  if (source.kind != Variable::Dequantized || source.state != Variable::Free)
    return;
  variable.kind = Variable::Dequantized;
  variable.quantizer = source.quantizer;
  graph.consumers.erase(&data);
}

/// Connects a DequantizeLinear with the QuantizeLinear of its pair.
void QuantizedTypes::connect(unsigned index) {
  Operation *quantizer = findQuantizer(graph.nodes[index].node);
  if (!quantizer)
    return;
  auto consumer = graph.consumers.find(&quantizer->getOpOperand(0));
  if (consumer != graph.consumers.end())
    variables[graph.nodeVariables[index].front()].quantizer =
        graph.find(consumer->second);
}

void QuantizedTypes::run() {
  SmallVector<unsigned> dequantizers, quantizers, movements;
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    if (graph.nodeVariables[index].size() != 1)
      continue;
    Operation *node = graph.nodes[index].node;
    if (isDequantizer(node))
      dequantizers.push_back(index);
    else if (isQuantizer(node))
      quantizers.push_back(index);
    else if (canMoveDequantized(node))
      movements.push_back(index);
  }
  // Nodes are in order, so scales come before their users.
  llvm::for_each(dequantizers, [&](unsigned index) { addDequantizer(index); });
  if (graph.getOptions().requantizedBiases && graph.low == ElementKind::Float16)
    for (unsigned index : dequantizers)
      for (OpOperand &use : graph.nodes[index].node->getUses())
        if (use.getOperandNumber() == 0)
          checkBias(use.getOwner());
  llvm::for_each(dequantizers, [&](unsigned index) { connect(index); });
  llvm::for_each(movements, [&](unsigned index) { addMovement(index); });
  llvm::for_each(quantizers, [&](unsigned index) { addQuantizer(index); });
  // Joins may have replaced variables.
  for (Variable &variable : variables)
    if (variable.quantizer >= 0)
      variable.quantizer = graph.find(variable.quantizer);
}

//===----------------------------------------------------------------------===//
// After the decision
//===----------------------------------------------------------------------===//

void QuantizedTypes::addUse(OpOperand &use, Wanted &wanted) const {
  Operation *user = use.getOwner();
  auto consumer = graph.consumers.find(&use);
  int variable = -1;
  if (consumer != graph.consumers.end()) {
    variable = graph.find(consumer->second);
  } else if (user->getNumResults() == 1) {
    // Dequantized values are no consumers.
    bool isData = use.getOperandNumber() == 0;
    auto result = graph.producers.find(user->getResult(0));
    bool isFollowed =
        isDequantizer(user) ? !isData && mustHoldScale(user) : isData;
    if (result != graph.producers.end() && isFollowed)
      variable = graph.find(result->second);
    if (variable >= 0 && variables[variable].kind != Variable::Dequantized)
      variable = -1;
  }
  bool isCopied = copied.contains(variable);
  bool isLow = variable >= 0 && variables[variable].state == Variable::Low;
  wanted.low |= isLow || isCopied;
  wanted.f32 |= !isLow || isCopied;
}

void QuantizedTypes::settleDequantized(unsigned index) {
  Variable &variable = variables[index];
  if (variable.state == Variable::F32)
    return;
  Wanted wanted;
  for (unsigned number : variable.writes)
    for (OpOperand &use : graph.values[number].value.getUses())
      addUse(use, wanted);
  bool isLow = wanted.low && !wanted.f32;
  if (wanted.low && wanted.f32)
    copied.insert(index);
  variable.state = isLow ? Variable::Low : Variable::F32;
  variable.reason =
      graph.getReason(isLow        ? "its users are " + graph.getLowName()
                      : wanted.low ? "users want f32 and " +
                                         graph.getLowName() + ": it is copied"
                                   : "its users are f32");
}

/// A QuantizeLinear has the reason of its producer, which is not about it.
void QuantizedTypes::explainQuantizer(unsigned index) {
  NodePrecision &entry = graph.nodes[index];
  int joined = graph.nodeVariables[index].front();
  if (variables[joined].node == index || entry.state == NodePrecision::Other)
    return;
  bool isLow = variables[joined].state == Variable::Low;
  entry.reason = graph.getReason(
      "operand '{0}' is " + (isLow ? graph.getLowName() : StringRef("f32")),
      onnxir::getValueName(entry.node->getOperand(0)));
}

void QuantizedTypes::settle() {
  // Users come after what they use.
  for (unsigned index = variables.size(); index-- > 0;)
    if (variables[index].kind == Variable::Dequantized)
      settleDequantized(index);
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    if (graph.nodeVariables[index].size() != 1)
      continue;
    NodePrecision &entry = graph.nodes[index];
    const Variable &variable = variables[graph.nodeVariables[index].front()];
    if (variable.kind == Variable::Dequantized) {
      entry.state = variable.state == Variable::Low ? NodePrecision::Low
                                                    : NodePrecision::F32;
      entry.reason = variable.reason;
    } else if (isQuantizer(entry.node)) {
      explainQuantizer(index);
    }
  }
}

} // namespace mp
