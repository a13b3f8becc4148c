//===- OptimizerModels.cpp - Optimizers as separate models ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The training artifacts of onnxruntime have the optimizer in a second model:
// one node that updates sequences of parameters and states in place, from a
// sequence of gradients. Its schema has a signal that makes it keep them all.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/LossScaling.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The index of the operand of `node` with this formal name.
static std::optional<unsigned> findFormal(Operation *node, StringRef name) {
  const OpSchema *schema = getSchema(node);
  if (schema)
    for (auto [index, formal] : llvm::enumerate(schema->inputs))
      if (formal.name == name)
        return unsigned(index);
  return std::nullopt;
}

/// A scalar: zero, or NaN if an element is not finite.
static Value addUp(NodeBuilder &b, Value value) {
  Value sum = b.reduceSum(b.scale(value, 0), {}, /*keepDims=*/false);
  return b.castTo(sum, Float32Type::get(b.getContext()));
}

/// The same for all tensors of a sequence of any length.
static Value addUpAll(NodeBuilder &b, Value sequence, Type element) {
  Builder &types = b.getBuilder();
  auto scalar = RankedTensorType::get({}, types.getF32Type());
  Value count = b.create("SequenceLength", {sequence});
  Operation *loop = b.createNode(
      "Loop", {count, b.boolScalar(true), b.scalar(0, types.getF32Type())},
      {scalar}, {}, {"body"});
  OpBuilder::InsertionGuard guard(b.getBuilder());
  GraphEditor body(loop->getRegion(0));
  auto name = [&](StringRef suffix) {
    return b.getNames().getValueName(b.getBase() + "/" + suffix);
  };
  Value index = body.addInput(name("index"),
                              RankedTensorType::get({}, types.getI64Type()));
  Value condition = body.addInput(name("condition"),
                                  RankedTensorType::get({}, types.getI1Type()));
  Value sum = body.addInput(name("sum"), scalar);
  b.setInsertionPointToEnd(&body.getBlock());
  Value tensor = b.create("SequenceAt", {sequence, index}, {},
                          UnrankedTensorType::get(element));
  body.addOutput(b.create("Identity", {condition}));
  body.addOutput(b.add(sum, addUp(b, tensor)));
  return loop->getResult(0);
}

bool guardOptimizers(GraphOp graph, NodeBuilder &builder) {
  bool found = false;
  for (Operation &node : llvm::make_early_inc_range(graph.getBody().front())) {
    if (!isNode(&node))
      continue;
    std::optional<unsigned> signal = findFormal(&node, "update_signal");
    std::optional<unsigned> gradients = findFormal(&node, "gradients");
    if (!signal || !gradients || hasOperand(&node, *signal) ||
        !hasOperand(&node, *gradients))
      continue;
    Value value = node.getOperand(*gradients);
    auto sequence = dyn_cast<SequenceType>(value.getType());
    Type element = getTensorElementType(sequence ? sequence.getElementType()
                                                 : value.getType());
    if (!isa_and_nonnull<FloatType>(element))
      continue;
    builder.setInsertionPoint(&node);
    builder.setBase("gradients_finite");
    Value sum =
        sequence ? addUpAll(builder, value, element) : addUp(builder, value);
    Value isBad = builder.create("IsNaN", {sum});
    Value isFinite =
        builder.reshape(builder.create("Not", {isBad}), ArrayRef<int64_t>(1));
    SmallVector<Value> operands(node.getOperands());
    while (operands.size() <= *signal)
      operands.push_back(AbsentOp::create(builder.getBuilder(), node.getLoc(),
                                          builder.getBuilder().getNoneType()));
    operands[*signal] = isFinite;
    node.setOperands(operands);
    found = true;
  }
  return found;
}

} // namespace mp
