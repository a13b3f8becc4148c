//===- SyncBatchNorm.cpp - Statistics of the batches of all ranks ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks have batches of one size, so means over ranks of means are means over
// all rows. The variance is the mean square of the differences from the mean of
// all rows. It takes two reductions one after the other, and nothing cancels.
// Gradients need two more means, in one bucket.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Autodiff/NormGradients.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Training/Distribution.h"

#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {
class Synchronizer {
public:
  Synchronizer(GraphOp graph, NodeBuilder &nodes)
      : editor(graph), b(nodes), builder(graph) {}

  LogicalResult run();

private:
  struct Normalized {
    Value values, factor;
  };

  LogicalResult normalize(Operation *node);
  void differentiate(Operation *node, const Normalized &norm);
  LogicalResult fail(Operation *node) const;
  SmallVector<Value> reduce(ArrayRef<Value> values);
  Value average(Value value) { return reduce(value).front(); }
  Value spread(Value vector, int64_t rank);
  void replace(Operation *node, unsigned result, Value value);

  GraphEditor editor;
  NodeBuilder &b;
  OpBuilder builder;
  int64_t numBuckets = 0;

  /// Indexed by the node's operand and its epsilon.
  std::map<std::pair<void *, double>, Normalized> known;
};
} // namespace

LogicalResult Synchronizer::fail(Operation *node) const {
  return node->emitError() << describe(node)
                           << ": statistics over all ranks need an operand of "
                              "known rank, 2 or more, got "
                           << node->getOperand(0).getType();
}

/// Means over all ranks, in one bucket.
SmallVector<Value> Synchronizer::reduce(ArrayRef<Value> values) {
  SmallVector<Value> means;
  for (Value value : values) {
    builder.setInsertionPointAfterValue(value);
    means.push_back(AllReduceOp::create(
        builder, value.getLoc(), value.getType(), value, Value(), Value(),
        numBuckets, int64_t(values.size())));
  }
  ++numBuckets;
  return means;
}

Value Synchronizer::spread(Value vector, int64_t rank) {
  return alongChannels(b, b.castTo(vector, builder.getF32Type()), rank);
}

void Synchronizer::replace(Operation *node, unsigned result, Value value) {
  if (!hasResult(node, result))
    return;
  Value old = node->getResult(result);
  std::string name = onnxir::getValueName(old).str();
  value = b.castLike(value, old);
  old.replaceAllUsesWith(value);
  b.rename(old, name + "_own");
  setValueName(cast<OpResult>(value), name);
}

LogicalResult Synchronizer::normalize(Operation *node) {
  Value x = node->getOperand(0);
  auto rank = NodeBuilder::getRank(x);
  if (!rank || *rank < 2)
    return fail(node);
  SmallVector<int64_t> axes = axesBesideChannels(*rank);
  b.setInsertionPoint(node);
  b.setBase(getNodeName(node).empty() ? "BatchNormalization"
                                      : getNodeName(node));
  Value wide = b.castTo(x, builder.getF32Type());
  Value mean = average(b.reduceMean(wide, axes, /*keepDims=*/true));
  Value centered = b.sub(wide, mean);
  Value variance = average(b.reduceMean(b.mul(centered, centered), axes, true));
  NodeView view(node);
  double epsilon = view.getFloat("epsilon");
  Value deviation = b.create("Sqrt", {b.addScalar(variance, epsilon)});
  Value factor = b.create("Reciprocal", {deviation});
  Value normalized = b.mul(centered, factor);
  known[{x.getAsOpaquePointer(), epsilon}] = {normalized, factor};
  Value scaled = b.mul(normalized, spread(node->getOperand(1), *rank));
  double momentum = view.getFloat("momentum");
  for (auto [index, value] : {std::pair(1u, mean), std::pair(2u, variance)}) {
    if (!hasResult(node, index))
      continue;
    Value old = node->getOperand(index + 2);
    Value next = b.castLike(b.squeeze(value, axes), old);
    replace(node, index,
            b.add(b.scale(old, momentum), b.scale(next, 1 - momentum)));
  }
  replace(node, 0, b.add(scaled, spread(node->getOperand(2), *rank)));
  return success();
}

/// BatchNormalizationGrad(dY, X, scale, mean, inverse deviation) -> dX, dScale,
/// dBias
void Synchronizer::differentiate(Operation *node, const Normalized &norm) {
  int64_t rank = *NodeBuilder::getRank(node->getOperand(1));
  SmallVector<int64_t> axes = axesBesideChannels(rank);
  b.setInsertionPoint(node);
  Value gradient = b.castTo(node->getOperand(0), builder.getF32Type());
  Value product = b.mul(gradient, norm.values);
  Value own[] = {b.reduceMean(gradient, axes, true),
                 b.reduceMean(product, axes, true)};
  SmallVector<Value> means = reduce(own);
  Value rest = b.sub(b.sub(gradient, means[0]), b.mul(norm.values, means[1]));
  Value slope = b.mul(norm.factor, spread(node->getOperand(2), rank));
  replace(node, 0, b.mul(rest, slope));
  // Sums over a rank's own rows; they are reduced like other gradients.
  replace(node, 1, b.reduceSum(product, axes, false));
  replace(node, 2, b.reduceSum(gradient, axes, false));
}

LogicalResult Synchronizer::run() {
  SmallVector<Operation *> done;
  for (Operation &node : llvm::make_early_inc_range(editor.getBlock())) {
    bool isForward = isStandardOp(&node, "BatchNormalization") &&
                     NodeView(&node).getFlag("training_mode");
    auto found = known.end();
    if (isMicrosoftOp(&node, "BatchNormalizationGrad"))
      found = known.find({node.getOperand(1).getAsOpaquePointer(),
                          NodeView(&node).getFloat("epsilon")});
    bool isBackward = found != known.end();
    if (isForward && failed(normalize(&node)))
      return failure();
    if (isBackward)
      differentiate(&node, found->second);
    if (isForward || isBackward)
      done.push_back(&node);
  }
  for (Operation *node : llvm::reverse(done))
    node->erase();
  // Nothing reads the statistics of a rank's own rows any more.
  for (Operation &node :
       llvm::make_early_inc_range(llvm::reverse(editor.getBlock())))
    if (isNode(&node) && node.use_empty())
      node.erase();
  return success();
}

LogicalResult syncBatchNorm(GraphOp graph, NodeBuilder &nodes) {
  return Synchronizer(graph, nodes).run();
}

} // namespace mp
