//===- ParameterRoles.cpp - Roles of constants ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/ParameterRoles.h"
#include "mp-opt/Operators/NodeView.h"

#include "CirclePairs.h"
#include "ExportMetadata.h"
#include "ModuleScopes.h"
#include "RoleRules.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Graph/Casts.h"

#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

StringRef getName(ParameterRole role) {
  static constexpr StringLiteral names[] = {"none",  "weight",    "bias",
                                            "scale", "embedding", "position",
                                            "token", "state"};
  return names[unsigned(role)];
}

const ParameterUse *ParameterCandidate::getRole() const {
  for (const ParameterUse &use : uses)
    if (use.role != ParameterRole::None)
      return &use;
  return nullptr;
}

std::string ParameterCandidate::getReason() const {
  return uses.empty() ? "the loss does not depend on it" : uses.front().reason;
}

bool ParameterCandidate::isReached() const {
  return llvm::any_of(uses,
                      [](const ParameterUse &use) { return !use.isStopped; });
}

llvm::DenseSet<Value> findAncestors(Value loss, bool byGradients) {
  llvm::DenseSet<Value> found{loss};
  std::vector<Value> queue{loss};
  while (!queue.empty()) {
    Operation *op = queue.back().getDefiningOp();
    queue.pop_back();
    if (!op || (byGradients && !passesGradients(op)))
      continue;
    auto inputs = getCaptured(op);
    inputs.insert(op->operand_begin(), op->operand_end());
    for (Value input : inputs)
      if (found.insert(input).second)
        queue.push_back(input);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// From a constant to its uses
//===----------------------------------------------------------------------===//

namespace {

class RoleFinder {
public:
  RoleFinder(GraphOp graph, Value loss)
      : block(graph.getBody().front()), loss(loss), flow(graph),
        ancestors(findAncestors(loss)),
        reached(findAncestors(loss, /*byGradients=*/true)), metadata(graph) {}

  std::vector<ParameterCandidate> run();

private:
  /// A value that is computed from a constant alone.
  struct Step {
    Value value;
    bool isPeriodic;
    /// The use of the constant that leads to it; null at the start.
    OpOperand *origin;
  };

  void add(Operation *constant, Value value, StringRef name);
  void follow(ParameterCandidate &candidate);
  void follow(OpOperand &use, Step from, const RoleRules &rules,
              ParameterCandidate &candidate);
  void followRegions(OpOperand &use, Step from, const RoleRules &rules,
                     ParameterCandidate &candidate);
  void push(Value value, Step from);
  bool leadsTo(const llvm::DenseSet<Value> &values, Operation *op) const;
  void settle(ParameterCandidate &candidate,
              std::optional<StringRef> kind) const;
  bool meetsConstants(OpOperand &use) const;
  void findCircles();

  Block &block;
  Value loss;
  BatchFlow flow;
  /// Values that the loss depends on, and values that its gradients reach.
  llvm::DenseSet<Value> ancestors, reached;
  ValueMetadata metadata;
  std::vector<ParameterCandidate> found;
  std::vector<Step> queue;
  /// True if a product with constants has reduced the candidate to one number.
  bool isSummedUp = false;
  llvm::DenseSet<std::pair<Value, OpOperand *>> seen;
};

} // namespace

/// A node in a body counts if the node that holds the body does.
bool RoleFinder::leadsTo(const llvm::DenseSet<Value> &values,
                         Operation *op) const {
  op = block.findAncestorOpInBlock(*op);
  return op && llvm::any_of(op->getResults(), [&](Value result) {
           return values.contains(result);
         });
}

bool RoleFinder::meetsConstants(OpOperand &use) const {
  Operation *op = use.getOwner();
  for (OpOperand &operand : op->getOpOperands())
    if (&operand != &use && carriesElements(op, operand.getOperandNumber()) &&
        flow.get(operand.get()) != BatchFlow::Constant)
      return false;
  return true;
}

/// True for floats, and for integers that a QuantizeLinear yields.
static bool carriesWeights(Value value) {
  Operation *definer = value.getDefiningOp();
  bool isRounded = definer && isNode(definer) &&
                   getOpType(definer).ends_with("QuantizeLinear");
  return isDifferentiable(value) || isRounded;
}

void RoleFinder::push(Value value, Step from) {
  if (carriesWeights(value) && seen.insert({value, from.origin}).second)
    queue.push_back({value, from.isPeriodic, from.origin});
}

/// Follows yields of branches, and states and elements of loops.
void RoleFinder::followRegions(OpOperand &use, Step from,
                               const RoleRules &rules,
                               ParameterCandidate &candidate) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isa<YieldOp>(op)) {
    Operation *parent = op->getParentOp();
    if (isNode(parent) && isStandardOp(parent, "If") &&
        index < parent->getNumResults())
      push(parent->getResult(index), from);
    return;
  }
  if (isStandardOp(op, "Scan")) {
    unsigned scanned = NodeView(op).getInt("num_scan_inputs");
    if (index >= op->getNumOperands() - scanned) {
      Region &body = op->getRegion(0);
      if (index < body.getNumArguments())
        push(body.getArgument(index), from);
      return;
    }
  }
  candidate.uses.push_back(rules.judge({op, index, from.isPeriodic}));
  candidate.uses.back().node = op;
  candidate.uses.back().origin = from.origin;
}

void RoleFinder::follow(OpOperand &use, Step from, const RoleRules &rules,
                        ParameterCandidate &candidate) {
  Operation *op = use.getOwner();
  if (!from.origin)
    from.origin = &use;
  if (!leadsTo(ancestors, op))
    return;
  if (!leadsTo(reached, op) || !passesGradients(op)) {
    ParameterUse stopped;
    stopped.node = op;
    stopped.reason = "no gradient passes between it and the loss";
    stopped.isStopped = true;
    stopped.origin = from.origin;
    candidate.uses.push_back(stopped);
    return;
  }
  if (isa<YieldOp>(op) || op->getNumRegions())
    return followRegions(use, from, rules, candidate);
  if (!isNode(op) || llvm::none_of(op->getResults(), carriesWeights))
    return;
  unsigned index = use.getOperandNumber();
  WeightOperandRole operandRole = getWeightOperandRole(op, index);
  bool isElementwise = operandRole == WeightOperandRole::Summand ||
                       operandRole == WeightOperandRole::Factor;
  // Operands that are not elements of the result end here, such as the scale of
  // a rounding.
  bool isPassed = index == 0 || operandRole != WeightOperandRole::None;
  // A number among constants is part of their formula.
  bool isNumber = isElementwise && rules.isSingle() && op->getNumOperands() > 1;
  if (isPassed && !isNumber && operandRole != WeightOperandRole::Statistic &&
      meetsConstants(use)) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    isSummedUp |= operandRole == WeightOperandRole::Product && type &&
                  type.hasStaticShape() && type.getNumElements() == 1;
    from.isPeriodic |= isStandardOp(op, "Sin") || isStandardOp(op, "Cos");
    for (Value result : op->getResults())
      push(result, from);
    return;
  }
  candidate.uses.push_back(rules.judge({op, index, from.isPeriodic}));
  candidate.uses.back().node = op;
  candidate.uses.back().origin = from.origin;
}

/// Applies the exporter's own kind, and facts that no single use shows.
void RoleFinder::settle(ParameterCandidate &candidate,
                        std::optional<StringRef> kind) const {
  StringRef reason;
  if (kind == StringRef("BUFFER"))
    reason = "a buffer of its module";
  else if (kind == StringRef("CONSTANT_TENSOR"))
    reason = "a constant of its module";
  else if (isSummedUp && isUnitVector(candidate.constant))
    reason = "a vector of a power iteration, as in spectral_norm";
  for (ParameterUse &use : candidate.uses) {
    use.isDoubtful &= !kind && reason.empty();
    if (reason.empty() || use.role == ParameterRole::None)
      continue;
    use.role = ParameterRole::None;
    use.reason = reason;
  }
}

void RoleFinder::follow(ParameterCandidate &candidate) {
  std::optional<StringRef> kind = metadata.get(candidate.name, inputKindKey);
  RoleRules rules(flow, candidate.constant, candidate.name,
                  kind == StringRef("PARAMETER"));
  candidate.isUniform = rules.isUniform();
  isSummedUp = false;
  seen.clear();
  queue.push_back({candidate.value, false, nullptr});
  while (!queue.empty()) {
    Step step = queue.back();
    queue.pop_back();
    // Uses are listed from the last to the first.
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : step.value.getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::reverse(uses))
      follow(*use, step, rules, candidate);
    if (step.value != loss)
      continue;
    ParameterUse use;
    use.node = loss.getDefiningOp();
    use.reason = "it meets nothing of the batch";
    use.origin = step.origin;
    candidate.uses.push_back(use);
  }
  settle(candidate, kind);
}

void RoleFinder::add(Operation *constant, Value value, StringRef name) {
  if (!isDifferentiable(value))
    return;
  ParameterCandidate candidate;
  candidate.constant = constant;
  candidate.value = value;
  candidate.name = name;
  follow(candidate);
  found.push_back(std::move(candidate));
}

/// Tables of equal size whose squares add up to one number are the sine and the
/// cosine of the same angles, even if they are small.
void RoleFinder::findCircles() {
  std::map<int64_t, SmallVector<std::pair<size_t, CircleTable>>> tables;
  for (auto [index, candidate] : llvm::enumerate(found)) {
    auto elements = FloatElements::get(candidate.constant);
    if (!candidate.getRole() || candidate.isUniform || !elements ||
        elements->size() < 4)
      continue;
    ArrayRef<int64_t> shape = elements->getShape();
    if (llvm::count_if(shape, [](int64_t size) { return size != 1; }) > 1)
      tables[elements->size()].emplace_back(index, CircleTable(*elements));
  }
  for (auto &[size, alike] : tables)
    for (auto &[lhs, left] : alike)
      for (auto &[rhs, right] : alike)
        if (lhs != rhs && left.isCircleWith(right))
          for (ParameterUse &use : found[lhs].uses) {
            use.role = ParameterRole::None;
            use.reason = "sines and cosines of the same angles";
          }
}

std::vector<ParameterCandidate> RoleFinder::run() {
  llvm::StringMap<Value> inputs;
  for (BlockArgument input : block.getArguments())
    inputs[onnxir::getValueName(input)] = input;
  block.getParentOp()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto initializer = dyn_cast<InitializerOp>(op)) {
      Value value = initializer.getOverridable()
                        ? inputs.lookup(initializer.getName())
                        : Value(initializer.getResult());
      if (value && initializer.getValueAttr())
        add(op, value, initializer.getName());
    } else if (isNode(op) && isStandardOp(op, "Constant") && getElements(op) &&
               !op->hasAttr(mark::added)) {
      // Constants of an added loss have the mark.
      add(op, op->getResult(0), onnxir::getValueName(op->getResult(0)));
    }
  });
  findCircles();
  return std::move(found);
}

std::vector<ParameterCandidate> findParameterRoles(GraphOp graph, Value loss) {
  return RoleFinder(graph, loss).run();
}

//===----------------------------------------------------------------------===//
// Values before a use
//===----------------------------------------------------------------------===//

/// The constant that `value` is, rearranged; null if it is computed.
static Value findConstant(Value value) {
  constexpr unsigned most = 4;
  for (unsigned step = 0; step < most; ++step) {
    Operation *definer = value.getDefiningOp();
    if (!definer || getElements(definer))
      return definer ? value : Value();
    if (definer->getNumOperands() != 1 || !isRearranged(definer))
      return {};
    value = definer->getOperand(0);
  }
  return {};
}

Value findWeightBefore(Operation *node) {
  constexpr unsigned most = 16;
  for (unsigned step = 0; step < most && node; ++step) {
    Operation *next = nullptr;
    for (auto [index, operand] : llvm::enumerate(node->getOperands())) {
      Value constant = findConstant(operand);
      WeightOperandRole operandRole = getWeightOperandRole(node, index);
      if (constant && (operandRole == WeightOperandRole::Product ||
                       operandRole == WeightOperandRole::Weight))
        return constant;
      if (!next && !constant && isDifferentiable(operand))
        next = operand.getDefiningOp();
    }
    node = next;
  }
  return {};
}

} // namespace mp
