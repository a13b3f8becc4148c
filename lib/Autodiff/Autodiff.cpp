//===- Autodiff.cpp - Gradients of ONNX graphs ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Autodiff/Autodiff.h"

#include "FreezeAdvice.h"
#include "Rules.h"

#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Value NodeAdjoint::gradOrZeros(unsigned index) {
  Value gradient = grad(index);
  return gradient ? gradient : b.zerosLike(out(index));
}

void NodeAdjoint::set(Value value, Value gradient) {
  // The gradient has the shape of its value, even if inference does not know
  // it.
  gradient.setType(NodeTypes::refine(gradient.getType(), value.getType()));
  found.emplace_back(value, gradient);
}

Value NodeAdjoint::require(unsigned index, Type type) {
  Value result = b.addResult(node, index, type);
  if (result.getDefiningOp() != node)
    replaced.push_back(node);
  node = result.getDefiningOp();
  return result;
}

const GradientRule *findGradientRule(Operation *node) {
  static const llvm::StringMap<const GradientRule *> table = [] {
    llvm::StringMap<const GradientRule *> made;
    for (ArrayRef<GradientRule> family :
         {getActivationGradients(),   getContractionGradients(),
          getControlFlowGradients(),  getConvolutionGradients(),
          getDataMovementGradients(), getDropoutGradients(),
          getEinsumGradients(),       getElementwiseGradients(),
          getFourierGradients(),      getFunctionGradients(),
          getGridSampleGradients(),   getIndexingGradients(),
          getIterationGradients(),    getLayerNormGradients(),
          getLossGradients(),         getNormalizationGradients(),
          getPaddingGradients(),      getPoolingGradients(),
          getQuantizationGradients(), getReductionGradients(),
          getResizeGradients(),       getRoiAlignGradients()})
      for (const GradientRule &rule : family)
        made[rule.op] = &rule;
    return made;
  }();
  return table.lookup(getQualifiedName(getDomain(node), getOpType(node)));
}

bool isDifferentiable(Value value) {
  return isa_and_nonnull<FloatType>(getTensorElementType(value.getType()));
}

bool holdsDifferentiable(Value value) {
  Type type = value.getType();
  while (isa<SequenceType, OptionalType>(type)) {
    auto sequence = dyn_cast<SequenceType>(type);
    type = sequence ? sequence.getElementType()
                    : cast<OptionalType>(type).getElementType();
  }
  if (isa<UnknownType>(type))
    return true;
  return isa_and_nonnull<FloatType>(getTensorElementType(type));
}

llvm::SetVector<Value> getCaptured(Operation *op) {
  llvm::SetVector<Value> captured;
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), captured);
  return captured;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {

class Differentiator {
public:
  Differentiator(NodeBuilder &builder, DifferentiationRequest &request)
      : builder(builder), request(request) {}

  FailureOr<Gradients> run();

private:
  void replace(Operation *node, Operation *made);
  LogicalResult visit(Operation *node);
  Value take(Value value);
  LogicalResult checkTypes();
  LogicalResult reportMissingRule(Operation *node);

  NodeBuilder &builder;
  DifferentiationRequest &request;
  DimSymbols symbols;
  /// Nodes of the block, in order.
  std::vector<Operation *> nodes;
  /// Values that depend on wanted values.
  llvm::DenseSet<Value> active;
  /// The summands of each value's gradient that were found so far.
  llvm::DenseMap<Value, SmallVector<Value, 2>> parts;
  /// Nodes that were replaced by others. They are kept, because values are
  /// identified by their addresses.
  SmallVector<Operation *> replaced;
};

} // namespace

llvm::SetVector<Value> getGradientInputs(Operation *op) {
  llvm::SetVector<Value> inputs = getCaptured(op);
  inputs.insert(op->operand_begin(), op->operand_end());
  if (Value source = getRoundedSource(op))
    inputs.insert(source);
  return inputs;
}

bool passesGradients(Operation *node) {
  return !node->hasAttr(mark::stopGradient);
}

llvm::DenseSet<Value> findDependents(Block &block, ArrayRef<Value> from) {
  llvm::DenseSet<Value> found(from.begin(), from.end());
  for (Operation &op : block)
    if (isNode(&op) && passesGradients(&op) &&
        llvm::any_of(getGradientInputs(&op),
                     [&](Value input) { return found.contains(input); }))
      for (Value result : op.getResults())
        if (holdsDifferentiable(result))
          found.insert(result);
  return found;
}

/// The sum of all parts of the gradient of `value`; null if there are none.
Value Differentiator::take(Value value) {
  auto it = parts.find(value);
  if (it == parts.end() || it->second.empty())
    return {};
  SmallVector<Value, 2> &list = it->second;
  if (list.size() > 1) {
    builder.setBase(onnxir::getValueName(value) + "_grad");
    list = {builder.create("Sum", list, {}, value.getType())};
  }
  return list.front();
}

/// A path from `from` along uses to a value for which `isEnd` is true; empty if
/// there is none.
static std::vector<Operation *>
findPath(ArrayRef<Value> from, llvm::function_ref<bool(Operation *)> isEnd,
         Block *block) {
  llvm::DenseMap<Operation *, Operation *> cameFrom;
  std::vector<Operation *> queue;
  auto push = [&](Value value, Operation *definer) {
    for (Operation *user : value.getUsers()) {
      user = block->findAncestorOpInBlock(*user);
      if (user && isNode(user) && passesGradients(user) &&
          cameFrom.try_emplace(user, definer).second)
        queue.push_back(user);
    }
  };
  for (Value value : from)
    push(value, nullptr);
  for (size_t next = 0; next < queue.size(); ++next) {
    Operation *op = queue[next];
    if (isEnd(op)) {
      std::vector<Operation *> path;
      for (; op; op = cameFrom.lookup(op))
        path.push_back(op);
      std::reverse(path.begin(), path.end());
      return path;
    }
    for (Value result : op->getResults())
      if (holdsDifferentiable(result))
        push(result, op);
  }
  return {};
}

LogicalResult Differentiator::reportMissingRule(Operation *node) {
  InFlightDiagnostic diag = node->emitError()
                            << describe(node)
                            << ": there is no gradient for this operator";
  std::vector<Operation *> before = findPath(
      request.wanted, [&](Operation *op) { return op == node; }, request.block);
  llvm::DenseSet<Operation *> ends;
  for (auto &[value, gradient] : request.seeds)
    if (Operation *definer = value.getDefiningOp())
      ends.insert(definer);
  std::vector<Operation *> after = findPath(
      llvm::to_vector_of<Value>(node->getResults()),
      [&](Operation *op) { return ends.contains(op); }, request.block);
  before.insert(before.end(), after.begin(), after.end());
  // The middle of a long path is not informative.
  constexpr size_t most = 12;
  std::string text;
  for (auto [index, op] : llvm::enumerate(before)) {
    if (before.size() > most && index == most / 2)
      text += " -> ...";
    if (before.size() > most && index >= most / 2 &&
        index < before.size() - most / 2 && op != node)
      continue;
    StringRef name = getNodeName(op);
    if (name.empty())
      name = onnxir::getValueName(op->getResult(0));
    text += (text.empty() ? "'" : " -> '") + name.str() + "'";
  }
  diag << "; it is on the path " << text << " to the loss";
  if (!request.trains)
    return diag;
  // A suggestion must cover all such nodes, or the next one would fail.
  SmallVector<Operation *> nodes = findNodesOnPath(request);
  llvm::erase_if(nodes, [&](Operation *other) {
    return other != node && findGradientRule(other);
  });
  if (!llvm::is_contained(nodes, node))
    nodes.push_back(node);
  diag << "; " << adviseFreezing(nodes, request.wanted);
  return diag;
}

LogicalResult Differentiator::visit(Operation *node) {
  // Gradients stop at a wanted value in the middle of the graph.
  if (llvm::none_of(getGradientInputs(node),
                    [&](Value input) { return active.contains(input); }))
    return success();
  SmallVector<Value> gradients;
  for (Value result : node->getResults())
    gradients.push_back(active.contains(result) ? take(result) : Value());
  if (llvm::none_of(gradients, [](Value value) { return bool(value); }))
    return success();
  const GradientRule *rule = findGradientRule(node);
  if (!rule)
    return reportMissingRule(node);
  if (!rule->apply)
    return success();
  StringRef name = getNodeName(node);
  if (name.empty())
    name = onnxir::getValueName(node->getResult(0));
  builder.setBase(name + "_grad");
  for (auto [result, gradient] : llvm::zip(node->getResults(), gradients))
    if (gradient)
      symbols.copy(gradient, result);
  NodeAdjoint adjoint(builder, node, gradients, active, request.options);
  if (failed(rule->apply(adjoint)))
    return failure();
  for (auto [value, gradient] : adjoint.getFound())
    parts[value].push_back(gradient);
  for (Operation *former : adjoint.getReplaced())
    replace(former, adjoint.getNode());
  return success();
}

/// `made` takes over the uses of the results of `node`.
void Differentiator::replace(Operation *node, Operation *made) {
  for (auto [from, to] : llvm::zip(node->getResults(), made->getResults())) {
    if (active.contains(from))
      active.insert(to);
    if (auto it = parts.find(from); it != parts.end()) {
      SmallVector<Value, 2> gradients = it->second;
      parts[to] = gradients;
    }
    llvm::replace(request.wanted, Value(from), Value(to));
    for (auto &[value, gradient] : request.seeds)
      value = value == from ? Value(to) : value;
  }
  replaced.push_back(node);
}

/// Rules need the types of the values whose gradients they compute.
LogicalResult Differentiator::checkTypes() {
  // A range-based loop would not keep a temporary alive.
  auto nodesOnPath = findNodesOnPath(request);
  for (Operation *node : llvm::reverse(nodesOnPath))
    for (OpResult result : node->getResults()) {
      if (!isa<UnknownType>(result.getType()) || result.use_empty())
        continue;
      if (!findGradientRule(node))
        return reportMissingRule(node);
      return node->emitError() << describe(node) << ": the type of its output #"
                               << result.getResultNumber() << " is unknown";
    }
  return success();
}

FailureOr<Gradients> Differentiator::run() {
  if (failed(expandFunctions(builder, request)) || failed(checkTypes()))
    return failure();
  active = findDependents(*request.block, request.wanted);
  for (Operation &op : *request.block)
    if (isNode(&op))
      nodes.push_back(&op);
  for (auto [value, gradient] : request.seeds)
    parts[value].push_back(gradient);
  symbols = DimSymbols(*request.block, builder.getTypes());
  llvm::SaveAndRestore known(builder.getSymbols(), &symbols);
  LogicalResult result = success();
  for (size_t index = nodes.size(); index > 0 && succeeded(result); --index)
    result = visit(nodes[index - 1]);
  Gradients found;
  for (Value value : request.wanted)
    if (Value gradient = succeeded(result) ? take(value) : Value())
      found[value] = gradient;
  for (Operation *node : replaced) {
    builder.getTypes().forget(node);
    node->erase();
  }
  if (failed(result))
    return failure();
  return found;
}

FailureOr<Gradients> differentiate(NodeBuilder &builder,
                                   DifferentiationRequest &request) {
  return Differentiator(builder, request).run();
}

} // namespace mp
