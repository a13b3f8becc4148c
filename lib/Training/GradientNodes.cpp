//===- GradientNodes.cpp - Gradient of ai.onnx.preview.training -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Training/TrainingInfo.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/MP/MP.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// One Gradient node.
class GradientExpander {
public:
  GradientExpander(GraphOp graph, NodeBuilder &builder, Operation *node)
      : graph(graph), b(builder), node(node) {}

  /// `values` are those of the graph so far; the gradients are added to them.
  LogicalResult run(llvm::StringMap<Value> &values);

private:
  LogicalResult findNamed(const llvm::StringMap<Value> &values);
  LogicalResult checkOperands();
  LogicalResult checkOrder();
  void substitute();
  void replaceResults(Gradients &gradients, llvm::StringMap<Value> &values);
  InFlightDiagnostic error() {
    return node->emitError() << describe(node) << ": ";
  }

  GraphOp graph;
  NodeBuilder &b;
  Operation *node;
  /// The values that xs and zs name, and the one that y names.
  SmallVector<Value> named;
  unsigned count = 0;
  Value y;
};

} // namespace

static SmallVector<std::string> getNames(Operation *node, StringRef name) {
  SmallVector<std::string> names;
  if (auto list = node->getAttrOfType<ArrayAttr>(name))
    for (Attribute entry : list)
      if (auto text = dyn_cast<StringAttr>(entry))
        names.push_back(text.str());
  return names;
}

LogicalResult
GradientExpander::findNamed(const llvm::StringMap<Value> &values) {
  SmallVector<std::string> xs = getNames(node, "xs"), zs = getNames(node, "zs");
  count = xs.size();
  if (node->getNumOperands() != xs.size() + zs.size() ||
      node->getNumResults() > xs.size())
    return error() << "expected an operand for each of the " << xs.size()
                   << " names in xs and the " << zs.size()
                   << " in zs, and no more results than xs, got "
                   << node->getNumOperands() << " and "
                   << node->getNumResults();
  xs.append(zs);
  for (const std::string &name : xs) {
    named.push_back(values.lookup(name));
    if (!named.back())
      return error() << "it names '" << name << "', which the model does not "
                     << "define";
  }
  StringRef target = NodeView(node).getString("y");
  y = values.lookup(target);
  if (!y)
    return error() << "it names '" << target << "', which the model does not "
                   << "define";
  auto type = dyn_cast<RankedTensorType>(y.getType());
  if (!isDifferentiable(y) || !type ||
      llvm::any_of(type.getShape(), [](int64_t size) { return size != 1; }))
    return error() << "expected a scalar float to differentiate, got '"
                   << target << "' of type " << y.getType();
  for (unsigned index = 0; index < count; ++index)
    if (hasResult(node, index) && !isDifferentiable(named[index]))
      return error() << "cannot differentiate with respect to '" << xs[index]
                     << "' of type " << named[index].getType();
  return success();
}

/// Operands correspond to the values of xs and zs.
LogicalResult GradientExpander::checkOperands() {
  for (auto [value, operand] : llvm::zip(named, node->getOperands())) {
    Type element = getTensorElementType(value.getType());
    if (!element || element != getTensorElementType(operand.getType()))
      return error() << "expected an operand like '"
                     << onnxir::getValueName(value) << "' of type "
                     << value.getType() << ", got " << operand.getType();
  }
  return success();
}

/// The values that `from` are computed from, up to values with `isEnd`.
static llvm::DenseSet<Value>
findAncestors(ArrayRef<Value> from, llvm::function_ref<bool(Value)> isEnd) {
  llvm::DenseSet<Value> found;
  std::vector<Value> queue(from.begin(), from.end());
  while (!queue.empty()) {
    Value value = queue.back();
    queue.pop_back();
    Operation *op = value.getDefiningOp();
    if (!found.insert(value).second || isEnd(value) || !op)
      continue;
    auto inputs = getCaptured(op);
    inputs.insert(op->operand_begin(), op->operand_end());
    queue.insert(queue.end(), inputs.begin(), inputs.end());
  }
  return found;
}

/// A gradient must not be differentiated again: its operands are scaled with
/// the loss, and the second gradient would not be a multiple of the scale.
LogicalResult GradientExpander::checkOrder() {
  llvm::DenseSet<Value> wanted(named.begin(), named.begin() + count);
  SmallVector<Value> gradients;
  for (Value value :
       findAncestors(y, [&](Value value) { return wanted.contains(value); }))
    if (auto marker = value.getDefiningOp<GradientOp>();
        marker && !wanted.contains(value))
      gradients.push_back(marker.getGradient());
  llvm::DenseSet<Value> sources =
      findAncestors(gradients, [](Value) { return false; });
  for (Value value : wanted)
    if (sources.contains(value))
      return error() << "'" << NodeView(node).getString("y") << "' depends on '"
                     << onnxir::getValueName(value)
                     << "' through another Gradient; gradients of gradients "
                     << "are not supported";
  return success();
}

/// Operands may differ from the named values: the function is then that of the
/// graph, at another point.
void GradientExpander::substitute() {
  IRMapping mapping;
  for (auto [value, operand] : llvm::zip(named, node->getOperands()))
    mapping.map(value, operand);
  llvm::SetVector<Operation *> needed;
  std::vector<Value> queue{y};
  while (!queue.empty()) {
    Value value = queue.back();
    queue.pop_back();
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op || !isNode(op) || !needed.insert(op))
      continue;
    auto inputs = getCaptured(op);
    inputs.insert(op->operand_begin(), op->operand_end());
    queue.insert(queue.end(), inputs.begin(), inputs.end());
  }
  SmallVector<Operation *> order(needed.begin(), needed.end());
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : order) {
    Operation *copy = b.getBuilder().clone(*op, mapping);
    if (!getNodeName(op).empty())
      copy->setAttr(attr::name, b.getBuilder().getStringAttr(
                                    b.getNames().getNodeName(getNodeName(op))));
    for (OpResult result : copy->getResults())
      if (StringRef name = onnxir::getValueName(result); !name.empty())
        setValueName(result, b.getNames().getValueName(name));
  }
  named.assign(node->operand_begin(), node->operand_end());
  y = mapping.lookupOrDefault(y);
}

void GradientExpander::replaceResults(Gradients &gradients,
                                      llvm::StringMap<Value> &values) {
  for (OpResult result : node->getResults()) {
    if (isa<NoneType>(result.getType()))
      continue;
    Value parameter = named[result.getResultNumber()];
    Value gradient = gradients.lookup(parameter);
    if (!gradient)
      gradient = b.zerosLike(parameter);
    auto marker = GradientOp::create(b.getBuilder(), node->getLoc(),
                                     gradient.getType(), gradient, parameter);
    std::string name = onnxir::getValueName(result).str();
    setValueName(result, b.getNames().getValueName(name + "_replaced"));
    setValueName(cast<OpResult>(marker.getResult()), name);
    result.replaceAllUsesWith(marker.getResult());
    values[name] = marker.getResult();
  }
  node->erase();
}

LogicalResult GradientExpander::run(llvm::StringMap<Value> &values) {
  if (failed(findNamed(values)) || failed(checkOperands()) ||
      failed(checkOrder()))
    return failure();
  b.setInsertionPoint(node);
  if (!llvm::equal(named, node->getOperands()))
    substitute();
  auto seed =
      LossSeedOp::create(b.getBuilder(), node->getLoc(), y.getType(), y);
  b.rename(seed.getResult(), onnxir::getValueName(y) + "_grad");
  DifferentiationRequest request;
  request.block = &graph.getBody().front();
  request.seeds.emplace_back(y, seed.getResult());
  for (unsigned index = 0; index < count; ++index)
    if (hasResult(node, index))
      request.wanted.push_back(named[index]);
  FailureOr<Gradients> gradients = differentiate(b, request);
  if (failed(gradients))
    return failure();
  replaceResults(*gradients, values);
  return success();
}

LogicalResult expandGradients(GraphOp graph, NodeBuilder &builder) {
  llvm::StringMap<Value> values;
  Block &block = graph.getBody().front();
  for (BlockArgument input : block.getArguments())
    values[onnxir::getValueName(input)] = input;
  NodeTypes &types = builder.getTypes();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto initializer = dyn_cast<InitializerOp>(op))
      if (initializer.getOverridable())
        continue;
    if (isNode(&op) && getDomain(&op) == "ai.onnx.preview.training" &&
        getOpType(&op) == "Gradient") {
      if (failed(GradientExpander(graph, builder, &op).run(values)))
        return failure();
      continue;
    }
    // Values after a gradient had no type until now.
    if (isNode(&op))
      types.inferResults(&op, {});
    for (Value result : op.getResults())
      if (StringRef name = onnxir::getValueName(result); !name.empty())
        values[name] = result;
  }
  return success();
}

} // namespace mp
