//===- Indexing.cpp - Gradients of gathering and scattering ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

#include "mp-opt/Dialect/MP/AttributeNames.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

/// Lookups of the padding row pass no gradient to it.
static Value withoutPadding(NodeAdjoint &op, int64_t row) {
  NodeBuilder &b = op.b;
  Value grad = op.grad();
  auto kept =
      b.create("Equal", {op.in(1), b.scalarLike(double(row), op.in(1))});
  std::optional<int64_t> rank = NodeBuilder::getRank(op.in(1)),
                         all = NodeBuilder::getRank(grad);
  if (rank && all && *all > *rank)
    kept = b.unsqueeze(kept, llvm::to_vector(llvm::seq(*rank, *all)));
  return b.where(kept, b.scalarLike(0, grad), grad);
}

static LogicalResult gatherRule(NodeAdjoint &op) {
  Value grad = op.grad();
  if (auto row = op.getNode()->getAttrOfType<IntegerAttr>(mark::paddingIndex))
    grad = withoutPadding(op, row.getInt());
  op.set(0, op.b.create("com.microsoft.GatherGrad",
                        {op.b.shapeOf(op.in(0)), op.in(1), grad},
                        op.b.attr("axis", op.axis()), op.in(0).getType()));
  return success();
}

static LogicalResult gatherElementsRule(NodeAdjoint &op) {
  op.set(0, op.b.create("com.microsoft.GatherElementsGrad",
                        {op.grad(), op.b.shapeOf(op.in(0)), op.in(1)},
                        op.b.attr("axis", op.axis()), op.in(0).getType()));
  return success();
}

static LogicalResult gatherNDRule(NodeAdjoint &op) {
  int64_t batch = op.getInt("batch_dims");
  op.set(0, op.b.create("com.microsoft.GatherNDGrad",
                        {op.b.shapeOf(op.in(0)), op.in(1), op.grad()},
                        op.b.attr("batch_dims", batch), op.in(0).getType()));
  return success();
}

/// A condition picks the elements at the positions where it is true.
static LogicalResult compressRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value places = b.reshape(b.create("NonZero", {op.in(1)}), {-1});
  bool isFlat = !op.states("axis");
  Value flat = isFlat ? b.reshape(op.in(0), {-1}) : op.in(0);
  Value grad =
      b.create("com.microsoft.GatherGrad", {b.shapeOf(flat), places, op.grad()},
               b.attr("axis", op.axis()), flat.getType());
  op.set(0, isFlat ? b.reshapeLike(grad, op.in(0)) : grad);
  return success();
}

//===----------------------------------------------------------------------===//
// Scattering
//===----------------------------------------------------------------------===//

namespace {

/// ScatterElements or ScatterND: Y = data, with updates at indices. If an index
/// occurs twice and there is no reduction, the result is not defined.
class Scatter {
public:
  Scatter(NodeAdjoint &op, bool isND) : op(op), b(op.b), isND(isND) {}

  LogicalResult replaces();
  LogicalResult adds();
  LogicalResult multiplies();
  LogicalResult chooses();

private:
  Value scatter(Value data, Value updates, StringRef reduction) {
    SmallVector<NamedAttribute> attributes{b.attr("reduction", reduction)};
    if (!isND)
      attributes.push_back(b.attr("axis", op.axis()));
    return b.create(isND ? "ScatterND" : "ScatterElements",
                    {data, op.in(1), updates}, attributes);
  }
  /// The elements of `value` at the positions of the updates.
  Value gather(Value value) {
    if (isND)
      return b.create("GatherND", {value, op.in(1)});
    return b.create("GatherElements", {value, op.in(1)},
                    b.attr("axis", op.axis()));
  }
  Value isEqualTo(Value value, double number) {
    return b.create("Equal", {value, b.scalarLike(number, value)});
  }

  NodeAdjoint &op;
  NodeBuilder &b;
  bool isND;
};

} // namespace

LogicalResult Scatter::replaces() {
  if (op.wants(0))
    op.set(0, scatter(op.grad(), b.zerosLike(op.in(2)), "none"));
  if (op.wants(2))
    op.set(2, gather(op.grad()));
  return success();
}

LogicalResult Scatter::adds() {
  op.set(0, op.grad());
  if (op.wants(2))
    op.set(2, gather(op.grad()));
  return success();
}

/// The derivative by a factor is the product of the others. A division gives it
/// only if no factor is zero, so zeros are counted and left out.
LogicalResult Scatter::multiplies() {
  Value data = op.in(0), updates = op.in(2);
  if (op.wants(0))
    op.set(0, b.mul(op.grad(), scatter(b.fullLike(1, data), updates, "mul")));
  if (!op.wants(2))
    return success();
  Value one = b.scalarLike(1, data), zero = b.scalarLike(0, data);
  Value isDataZero = isEqualTo(data, 0), isZero = isEqualTo(updates, 0);
  Value nonzero = b.where(isZero, one, updates);
  Value product =
      gather(scatter(b.where(isDataZero, one, data), nonzero, "mul"));
  Value count = gather(
      scatter(b.castLike(isDataZero, data), b.castLike(isZero, data), "add"));
  Value ofZero = b.where(isEqualTo(count, 1), product, zero);
  Value ofOther = b.where(isEqualTo(count, 0), product, zero);
  Value others = b.where(isZero, ofZero, b.div(ofOther, nonzero));
  op.set(2, b.mul(gather(op.grad()), others));
  return success();
}

/// Maximum or minimum: elements that have the result's value share its
/// gradient.
LogicalResult Scatter::chooses() {
  Value data = op.in(0), updates = op.in(2), zero = b.scalarLike(0, data);
  Value isData = b.create("Equal", {data, op.out()});
  Value isUpdate = b.create("Equal", {updates, gather(op.out())});
  Value count =
      scatter(b.castLike(isData, data), b.castLike(isUpdate, data), "add");
  Value share = b.div(op.grad(), count);
  if (op.wants(0))
    op.set(0, b.where(isData, share, zero));
  if (op.wants(2))
    op.set(2, b.where(isUpdate, gather(share), zero));
  return success();
}

static LogicalResult scatterRule(NodeAdjoint &op, bool isND) {
  using Method = LogicalResult (Scatter::*)();
  static const std::pair<StringRef, Method> reductions[] = {
      {"none", &Scatter::replaces},
      {"add", &Scatter::adds},
      {"mul", &Scatter::multiplies},
      {"max", &Scatter::chooses},
      {"min", &Scatter::chooses}};
  StringRef reduction = op.getString("reduction");
  for (auto [name, method] : reductions)
    if (name == reduction)
      return (Scatter(op, isND).*method)();
  return op.fail("there is no reduction '" + reduction + "'");
}

static LogicalResult scatterElementsRule(NodeAdjoint &op) {
  return scatterRule(op, /*isND=*/false);
}

static LogicalResult scatterNDRule(NodeAdjoint &op) {
  return scatterRule(op, /*isND=*/true);
}

//===----------------------------------------------------------------------===//
// OneHot
//===----------------------------------------------------------------------===//

/// Y has the second of the values at the indices, and the first elsewhere.
static LogicalResult oneHotRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  if (!op.wants(2))
    return success();
  Type element = onnxir::getTensorElementType(op.in(2).getType());
  SmallVector<Value> sums;
  for (double on : {0, 1}) {
    Attribute pair[] = {b.getBuilder().getFloatAttr(element, 1 - on),
                        b.getBuilder().getFloatAttr(element, on)};
    Value values = b.constant(DenseElementsAttr::get(
        RankedTensorType::get({2}, element), ArrayRef<Attribute>(pair)));
    Value mask = b.create("OneHot", {op.in(0), op.in(1), values},
                          b.attr("axis", op.axis()));
    Value sum = b.reduceSum(b.mul(op.grad(), mask), {}, /*keepDims=*/false);
    sums.push_back(b.reshape(sum, {1}));
  }
  op.set(2, b.concat(sums, 0));
  return success();
}

static constexpr GradientRule indexingGradients[] = {
    {"Compress", compressRule},
    {"Gather", gatherRule},
    {"GatherElements", gatherElementsRule},
    {"GatherND", gatherNDRule},
    {"OneHot", oneHotRule},
    {"ScatterElements", scatterElementsRule},
    {"ScatterND", scatterNDRule}};

ArrayRef<GradientRule> getIndexingGradients() { return indexingGradients; }

} // namespace mp
