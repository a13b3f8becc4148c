//===- Assignment.cpp - The precision of every node -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Constants.h"
#include "mp-opt/Precision/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The initializers that are defaults of graph inputs, by their inputs.
static llvm::DenseMap<Value, Operation *> collectDefaults(GraphOp graph) {
  llvm::StringMap<Operation *> byName;
  for (auto initializer : graph.getBody().getOps<InitializerOp>())
    if (initializer.getOverridable())
      byName[initializer.getName()] = initializer;
  llvm::DenseMap<Value, Operation *> defaults;
  if (!byName.empty())
    for (BlockArgument argument : graph.getBody().getArguments())
      if (Operation *initializer = byName.lookup(getValueName(argument)))
        defaults[argument] = initializer;
  return defaults;
}

llvm::DenseSet<Value> collectParameters(GraphOp graph) {
  Block &body = graph.getBody().front();
  llvm::DenseSet<Value> parameters;
  for (auto [argument, initializer] : collectDefaults(graph))
    parameters.insert(argument);
  llvm::DenseSet<Type> bufferTypes;
  for (Operation &op : body) {
    StringRef domain = getDomain(&op), opType = getOpType(&op);
    if (!updatesInPlace(domain, opType))
      continue;
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (isa<BlockArgument>(operand) && isF32Tensor(operand.getType()) &&
          isUpdatedInPlace(domain, opType, index))
        bufferTypes.insert(operand.getType());
  }
  for (BlockArgument argument : body.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.hasStaticShape() && bufferTypes.contains(type))
      parameters.insert(argument);
  }
  return parameters;
}

//===----------------------------------------------------------------------===//
// The first-operand rule
//===----------------------------------------------------------------------===//

namespace {

/// What a value says about the precision of its users.
enum class Vote : uint8_t { Weak, Low, F32 };

class FirstOperand {
public:
  FirstOperand(GraphOp graph, Type lowType, std::vector<NodePrecision> &nodes);
  void run();

private:
  /// Per node, beside its precision.
  struct Extra {
    FloatSignature signature;
    Vote vote = Vote::F32;
  };

  void decide(unsigned index);
  std::string getLegalityReason(unsigned index);
  std::string getWideConstant(unsigned index);
  Vote combine(unsigned index);
  void resolveWeak(unsigned index);
  bool allUsersLow(unsigned index);

  Vote getVote(Value value);
  bool fits(Value value);
  std::optional<unsigned> getIndex(Operation *op) const {
    auto it = indices.find(op);
    return it == indices.end() ? std::nullopt
                               : std::optional<unsigned>(it->second);
  }
  std::string inLow(StringRef before, StringRef after = "") const {
    return (before + lowName + after).str();
  }

  GraphOp graph;
  ElementKind low;
  StringRef lowName;
  std::vector<NodePrecision> &nodes;
  std::vector<Extra> extras;
  llvm::DenseMap<Operation *, unsigned> indices;
  llvm::DenseSet<Value> parameters;
  /// Of graph inputs that have one.
  llvm::DenseMap<Value, Operation *> defaults;
  SchemaCache schemas;
  ConstantRange range;
  /// Whether values, as far as asked, fit into 16 bit.
  llvm::DenseMap<Value, bool> fitting;
  bool canCast = true;
};

} // namespace

FirstOperand::FirstOperand(GraphOp graph, Type lowType,
                           std::vector<NodePrecision> &nodes)
    : graph(graph), low(getElementKind(lowType)),
      lowName(getPrecisionName(lowType)), nodes(nodes), extras(nodes.size()),
      parameters(collectParameters(graph)), defaults(collectDefaults(graph)),
      schemas(graph), range(low) {
  indices.reserve(nodes.size());
  for (auto [index, entry] : llvm::enumerate(nodes))
    indices[entry.node] = index;
  auto *dialect = graph->getContext()->getLoadedDialect<ONNXDialect>();
  const OpSchema *cast = dialect->getSchemas()
                             .lookup("", "Cast")
                             ->at(getOpset(graph, "").value_or(1));
  canCast = cast && cast->typesOf(cast->outputs[0]).containsTensor(low);
}

void FirstOperand::run() {
  for (unsigned index = 0; index < nodes.size(); ++index)
    decide(index);
  for (unsigned index = nodes.size(); index-- > 0;)
    if (nodes[index].state == NodePrecision::F32 &&
        extras[index].vote == Vote::Weak)
      resolveWeak(index);
}

Vote FirstOperand::getVote(Value value) {
  if (isa<BlockArgument>(value))
    return parameters.contains(value) ? Vote::Weak : Vote::F32;
  auto result = cast<OpResult>(value);
  std::optional<unsigned> index = getIndex(result.getOwner());
  if (isConstant(result.getOwner()))
    return index && nodes[*index].opClass == OpClass::Deny ? Vote::F32
                                                           : Vote::Weak;
  if (!index || !extras[*index].signature ||
      !extras[*index].signature.hasResult(result.getResultNumber()))
    return Vote::F32;
  return extras[*index].vote;
}

/// A weak value fits if all constants that it is made of do.
bool FirstOperand::fits(Value value) {
  // Operands first, each value once: many users ask about the same weights.
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.back();
    bool isWeak = isF32Tensor(next.getType()) && getVote(next) == Vote::Weak;
    Operation *source = next.getDefiningOp();
    if (!source)
      source = defaults.lookup(next);
    if (fitting.contains(next) || !isWeak || !source || isConstant(source)) {
      if (!fitting.contains(next))
        fitting[next] = !isWeak || !source || range.fits(source);
      worklist.pop_back();
      continue;
    }
    bool allKnown = true, allFit = true;
    for (Value operand : source->getOperands()) {
      auto it = fitting.find(operand);
      if (it == fitting.end()) {
        worklist.push_back(operand);
        allKnown = false;
      } else {
        allFit &= it->second;
      }
    }
    if (!allKnown)
      continue;
    fitting[next] = allFit;
    worklist.pop_back();
  }
  return fitting.lookup(value);
}

/// Why the schema keeps the node fp32; empty if it does not.
std::string FirstOperand::getLegalityReason(unsigned index) {
  const FloatSignature &signature = extras[index].signature;
  if (!signature.getObstacle().empty())
    return signature.getObstacle().str();
  const SchemaCache::Entry &entry = schemas.lookup(nodes[index].node);
  if (entry.isExtension)
    return "the op came after the opset in force";
  if (!signature.admits(low)) {
    int first = signature.getFirstOpset(*entry.family, low);
    std::string reason =
        entry.schema->getDisplayName() + inLow(" does not admit ");
    return first ? reason + ", opset " + std::to_string(first) + " does"
                 : reason;
  }
  return canCast ? "" : inLow("Cast does not admit ", " at this opset");
}

/// The description of an operand that would not survive; empty if all would.
std::string FirstOperand::getWideConstant(unsigned index) {
  Operation *node = nodes[index].node;
  for (unsigned operand : extras[index].signature.getOperands()) {
    Value value = node->getOperand(operand);
    if (getVote(value) == Vote::Weak && !fits(value))
      return "constant '" + getValueName(value).str() + "' is out of range";
  }
  return "";
}

Vote FirstOperand::combine(unsigned index) {
  const NodePrecision &entry = nodes[index];
  if (entry.opClass == OpClass::Allow)
    return Vote::Low;
  if (entry.opClass == OpClass::Deny)
    return Vote::F32;
  Vote vote = Vote::Weak;
  for (unsigned operand : extras[index].signature.getOperands()) {
    Vote next = getVote(entry.node->getOperand(operand));
    vote = std::max(vote, next);
    if (entry.opClass == OpClass::Follow && next != Vote::Weak)
      return next;
  }
  return vote;
}

void FirstOperand::decide(unsigned index) {
  NodePrecision &entry = nodes[index];
  Extra &extra = extras[index];
  if (isConstant(entry.node)) {
    entry.state = entry.opClass == OpClass::Deny &&
                          isF32Tensor(entry.node->getResult(0).getType())
                      ? NodePrecision::F32
                      : NodePrecision::Other;
    return;
  }
  extra.signature =
      FloatSignature(entry.node, schemas.lookup(entry.node).schema);
  bool is16Bit = extra.signature.getKind() == ElementKind::Float16 ||
                 extra.signature.getKind() == ElementKind::BFloat16;
  if (is16Bit || extra.signature.getKind() != ElementKind::Float) {
    bool hasF32 = llvm::any_of(entry.node->getResultTypes(), isF32Tensor) ||
                  llvm::any_of(entry.node->getOperandTypes(), isF32Tensor);
    entry.state =
        hasF32 && !is16Bit ? NodePrecision::F32 : NodePrecision::Other;
    if (entry.reason.empty() || is16Bit)
      entry.reason = is16Bit ? "16 bit in the source" : "no f32 operand";
    return;
  }
  entry.state = NodePrecision::F32;
  if (entry.opClass == OpClass::Deny)
    return;
  if (std::string reason = getLegalityReason(index); !reason.empty()) {
    entry.reason = std::move(reason);
    return;
  }
  extra.vote = combine(index);
  if (extra.vote == Vote::Low) {
    if (std::string wide = getWideConstant(index); !wide.empty()) {
      extra.vote = Vote::F32;
      entry.reason = std::move(wide);
      return;
    }
    entry.state = NodePrecision::Low;
  }
  if (entry.opClass == OpClass::Follow && extra.vote == Vote::F32)
    entry.reason = followsF32.str();
  else if (entry.opClass == OpClass::Follow)
    entry.reason = inLow("its first operand is ");
  else if (entry.opClass == OpClass::Promote)
    entry.reason = extra.vote == Vote::F32 ? "an operand is f32"
                                           : inLow("its operands are ");
}

bool FirstOperand::allUsersLow(unsigned index) {
  bool hasUse = false;
  for (OpResult result : nodes[index].node->getResults()) {
    if (!extras[index].signature.hasResult(result.getResultNumber()))
      continue;
    for (OpOperand &use : result.getUses()) {
      hasUse = true;
      std::optional<unsigned> user = getIndex(use.getOwner());
      if (!user || nodes[*user].state != NodePrecision::Low ||
          !extras[*user].signature.hasOperand(use.getOperandNumber()))
        return false;
    }
  }
  return hasUse;
}

void FirstOperand::resolveWeak(unsigned index) {
  NodePrecision &entry = nodes[index];
  if (allUsersLow(index)) {
    entry.state = NodePrecision::Low;
    entry.reason = inLow("its users are ");
  } else {
    entry.reason = "a user is f32";
  }
}

Assignment Assignment::computeFirstOperand(GraphOp graph, Type lowType,
                                           std::vector<NodePrecision> nodes) {
  Assignment assignment;
  assignment.nodes = std::move(nodes);
  FirstOperand(graph, lowType, assignment.nodes).run();
  return assignment;
}

} // namespace mp
