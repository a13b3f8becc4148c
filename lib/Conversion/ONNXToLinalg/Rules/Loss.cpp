//===- Loss.cpp - Losses of classes ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are N x C x ..., labels N x ...; 16-bit scores are summed up in
// fp32, and the loss is rounded once.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

namespace {

/// A loss by labels of the classes on axis 1.
struct LabelLoss {
  NodeLowering &node;
  TensorValue scores, labels, weights;

  /// Checks that the operands fit.
  LogicalResult verify();
  /// The loss of each label, or their sum or mean. `getLogarithm` returns the
  /// logarithm of the probability at an index of the scores.
  TensorValue emit(function_ref<Value(ValueRange)> getLogarithm);

private:
  struct Label {
    Value index, weight;
  };
  Label read(Value label);
  TensorValue sum(TensorValue values);
};

} // namespace

LogicalResult LabelLoss::verify() {
  Emitter &e = node.e;
  if (scores.getRank() < 2 || labels.getRank() != scores.getRank() - 1)
    return node.fail("labels of " + Twine(labels.getRank()) +
                     " axes for scores of " + Twine(scores.getRank()));
  StringRef reduction = node.getString("reduction");
  if (!llvm::is_contained({"none", "mean", "sum"}, reduction))
    return node.fail("'reduction' is '" + reduction + "'");
  Sizes sizes = e.sizes(scores);
  auto expect = [&](Size have, Size want, const Twine &text) {
    if (have != want)
      e.check(node.s.compare(Scalars::EQ, e.index(have), e.index(want)), text,
              have, want);
  };
  for (auto [axis, extent] : llvm::enumerate(e.sizes(labels)))
    expect(extent, sizes[axis == 0 ? 0 : axis + 1],
           "%0 labels along axis " + Twine(axis) + ", expected %1");
  if (weights && weights.getRank() != 1)
    return node.fail("weights of " + Twine(weights.getRank()) +
                     " axes, expected 1");
  if (weights)
    expect(e.dim(weights, 0), sizes[1], "%0 weights, expected %1");
  e.check(node.s.compare(Scalars::GT, e.index(sizes[1]), node.s.index(0)),
          "%0 classes", sizes[1], sizes[1]);
  return success();
}

LabelLoss::Label LabelLoss::read(Value label) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Size classes = e.dim(scores, 1);
  Type type = getComputeType(scores.element);
  Value weight = s.constant(type, 1), ignored;
  if (node.states("ignore_index")) {
    Value which = s.integer(label.getType(), node.getInt("ignore_index"));
    ignored = s.compare(Scalars::EQ, label, which);
    label = s.select(ignored, s.like(label, 0), label);
  }
  Value index = s.toIndex(label);
  Value fits =
      s.compare(Scalars::LT, index, e.index(classes), /*isUnsigned=*/true);
  index = e.checked(fits, "label %0 of %1 classes", index, classes, s.index(0));
  if (weights)
    weight = s.convert(e.load(weights, index), weights.element, type);
  if (ignored)
    weight = s.select(ignored, s.constant(type, 0), weight);
  return {index, weight};
}

TensorValue LabelLoss::sum(TensorValue values) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, values.getRank()));
  Scalars &s = node.s;
  return node.e.reduce(
      values, axes, /*keepDims=*/false, values.element,
      s.constant(values.element, 0),
      [&](Value value, Value total) { return s.add(total, value); });
}

TensorValue LabelLoss::emit(function_ref<Value(ValueRange)> getLogarithm) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type type = getComputeType(scores.element), element = node.outElement();
  StringRef reduction = node.getString("reduction");
  bool isWhole = reduction == "none";
  unsigned rank = labels.getRank();
  TensorValue losses =
      e.map(isWhole ? element : type, labels, [&](ValueRange values) {
        Label label = read(values[0]);
        SmallVector<Value> place;
        for (unsigned axis = 0; axis < rank; ++axis)
          place.push_back(linalg::IndexOp::create(e.b, e.loc, axis));
        place.insert(place.begin() + 1, label.index);
        Value loss = s.mul(s.neg(getLogarithm(place)), label.weight);
        // Ignored labels count as 0 even if their loss is infinite.
        Value isZero = s.compare(Scalars::EQ, label.weight, s.like(loss, 0));
        return s.select(isZero, s.like(loss, 0), loss);
      });
  if (isWhole)
    return losses;
  TensorValue total = sum(losses);
  if (reduction == "sum")
    return e.cast(total, element);
  bool isPlain = !weights && !node.states("ignore_index");
  if (isPlain) {
    Value count = s.fromIndex(e.index(e.product(e.sizes(labels))), type);
    return e.map(element, total,
                 [&](ValueRange values) { return s.div(values[0], count); });
  }
  TensorValue counted = sum(e.map(
      type, labels, [&](ValueRange values) { return read(values[0]).weight; }));
  return e.map(element, {total, counted},
               [&](ValueRange values) { return s.div(values[0], values[1]); });
}

static LogicalResult likelihoodRule(NodeLowering &node) {
  LabelLoss loss{node, node.in(0), node.in(1), TensorValue()};
  if (node.has(2))
    loss.weights = node.in(2);
  if (failed(loss.verify()))
    return failure();
  node.set(loss.emit(
      [&](ValueRange place) { return node.e.load(loss.scores, place); }));
  return success();
}

static LogicalResult crossEntropyRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue scores = node.in(0);
  LabelLoss loss{node, scores, node.in(1), TensorValue()};
  if (node.has(2))
    loss.weights = node.in(2);
  if (failed(loss.verify()))
    return failure();
  Type type = getComputeType(scores.element);
  TensorValue greatest =
      e.reduce(scores, 1, true, type, s.constant(type, -INFINITY),
               [&](Value value, Value high) { return s.max(high, value); });
  TensorValue powers = e.map(type, {scores, greatest}, [&](ValueRange values) {
    return s.exp(s.sub(values[0], values[1]));
  });
  TensorValue sums =
      e.reduce(powers, 1, true, type, s.constant(type, 0),
               [&](Value value, Value total) { return s.add(total, value); });
  auto getLogarithm = [&](Value score, Value high, Value sum) {
    return s.sub(s.sub(score, high), s.log(sum));
  };
  if (node.wants(1))
    node.set(1, e.map(node.outElement(1), {scores, greatest, sums},
                      [&](ValueRange values) {
                        return getLogarithm(values[0], values[1], values[2]);
                      }));
  node.set(loss.emit([&](ValueRange place) {
    SmallVector<Value> row(place);
    row[1] = s.index(0);
    return getLogarithm(e.load(scores, place), e.load(greatest, row),
                        e.load(sums, row));
  }));
  return success();
}

ArrayRef<LoweringRule> getLossLowerings() {
  static const LoweringRule rules[] = {
      {"NegativeLogLikelihoodLoss", likelihoodRule},
      {"SoftmaxCrossEntropyLoss", crossEntropyRule},
  };
  return rules;
}

} // namespace mp
