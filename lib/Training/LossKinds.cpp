//===- LossKinds.cpp - The formula of each loss ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas are chosen so that derivatives are right at the ends of pieces: |x|
// has slope 0 at 0, as in torch.
//
//===----------------------------------------------------------------------===//

#include "LossKinds.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// One of the sizes as a scalar of the type of `like`.
static Value sizeLike(NodeBuilder &b, Value value, int64_t axis, Value like) {
  int64_t size = cast<ShapedType>(value.getType()).getDimSize(axis);
  if (size != ShapedType::kDynamic)
    return b.scalarLike(double(size), like);
  return b.castLike(b.reshape(b.dimOf(value, axis), ArrayRef<int64_t>()), like);
}

/// A vector of the element type of `like`.
static Value vectorLike(NodeBuilder &b, ArrayRef<double> numbers, Value like) {
  Type element = getTensorElementType(like.getType());
  Builder attributes(b.getContext());
  SmallVector<Attribute> values;
  for (double number : numbers)
    values.push_back(attributes.getFloatAttr(element, number));
  auto type = RankedTensorType::get({int64_t(numbers.size())}, element);
  return b.constant(DenseElementsAttr::get(type, values));
}

static Value reduce(LossTerm &term, Value losses) {
  NodeBuilder &b = term.b;
  if (term.request.reduction == "mean")
    return b.reduceMean(losses, {}, /*keepDims=*/false);
  Value sum = b.reduceSum(losses, {}, /*keepDims=*/false);
  return term.request.reduction == "batchmean"
             ? b.div(sum, sizeLike(b, term.prediction, 0, sum))
             : sum;
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace {

/// Losses for class labels.
struct ClassLoss {
  explicit ClassLoss(LossTerm &term) : term(term), b(term.b) {
    if (!term.request.weights.empty())
      weights = vectorLike(b, term.request.weights, term.prediction);
    attributes.push_back(b.attr("reduction", term.request.reduction));
    if (term.request.ignoreIndex)
      attributes.push_back(b.attr("ignore_index", *term.request.ignoreIndex));
  }

  SmallVector<Value> operands() const {
    SmallVector<Value> operands{term.prediction, term.labels};
    if (weights)
      operands.push_back(weights);
    return operands;
  }
  Value smoothLoss(Value logProb);

  LossTerm &term;
  NodeBuilder &b;
  /// One weight per class; null for ones.
  Value weights;
  SmallVector<NamedAttribute> attributes;
};

} // namespace

/// The loss of a target with equal probabilities, times the number of classes.
Value ClassLoss::smoothLoss(Value logProb) {
  Value spread = logProb;
  if (weights) {
    SmallVector<int64_t> shape(*NodeBuilder::getRank(logProb), 1);
    shape[1] = -1;
    spread = b.mul(logProb, b.reshape(weights, shape));
  }
  Value losses = b.neg(b.reduceSum(spread, 1, /*keepDims=*/false));
  Value ignored, labels = term.labels;
  if (auto index = term.request.ignoreIndex) {
    ignored =
        b.create("Equal", {labels, b.castLike(b.intScalar(*index), labels)});
    losses = b.where(ignored, b.scalarLike(0, losses), losses);
  }
  bool isMean = term.request.reduction == "mean";
  if (isMean && !weights && !ignored)
    return b.reduceMean(losses, {}, /*keepDims=*/false);
  Value sum = b.reduceSum(losses, {}, /*keepDims=*/false);
  if (!isMean)
    return sum;
  // Ignored labels need not be classes.
  if (weights && ignored)
    labels = b.where(ignored, b.castLike(b.intScalar(0), labels), labels);
  Value counts =
      weights ? b.gather(weights, labels, 0) : b.scalarLike(1, losses);
  if (ignored)
    counts = b.where(ignored, b.scalarLike(0, losses), counts);
  Value count = b.reduceSum(counts, {}, /*keepDims=*/false);
  // An empty sum has gradient zero, which is better than that of 0 / 0.
  Value isNone = b.create("Equal", {count, b.scalarLike(0, count)});
  return b.div(sum, b.where(isNone, b.scalarLike(1, count), count));
}

static Value buildCrossEntropy(LossTerm &term) {
  NodeBuilder &b = term.b;
  ClassLoss loss(term);
  Type scores = term.prediction.getType();
  Type scalar = RankedTensorType::get({}, getTensorElementType(scores));
  double smoothing = term.request.labelSmoothing;
  SmallVector<Type> types{scalar};
  if (smoothing)
    types.push_back(scores);
  Operation *node = b.createNode("SoftmaxCrossEntropyLoss", loss.operands(),
                                 types, loss.attributes);
  if (!smoothing)
    return node->getResult(0);
  Value smooth = loss.smoothLoss(node->getResult(1));
  smooth = b.div(b.scale(smooth, smoothing),
                 sizeLike(b, term.prediction, 1, smooth));
  return b.add(b.scale(node->getResult(0), 1 - smoothing), smooth);
}

static Value buildLikelihood(LossTerm &term) {
  ClassLoss loss(term);
  return term.b.create("NegativeLogLikelihoodLoss", loss.operands(),
                       loss.attributes);
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

static Value buildSquares(LossTerm &term) {
  NodeBuilder &b = term.b;
  Value difference = b.sub(term.prediction, term.labels);
  return reduce(term, b.mul(difference, difference));
}

static Value getDistance(LossTerm &term) {
  return term.b.create("Abs", {term.b.sub(term.prediction, term.labels)});
}

static Value buildDistances(LossTerm &term) {
  return reduce(term, getDistance(term));
}

/// m (d - m / 2) with m = min(d, bound): half the square up to the bound, and
/// its tangent beyond it.
static Value buildHuber(LossTerm &term, double bound) {
  NodeBuilder &b = term.b;
  Value distance = getDistance(term);
  Value near = b.create("Min", {distance, b.scalarLike(bound, distance)});
  return b.mul(near, b.sub(distance, b.scale(near, 0.5)));
}

static Value buildSmoothDistances(LossTerm &term) {
  double beta = term.request.beta;
  if (!beta)
    return buildDistances(term);
  return reduce(term, term.b.scale(buildHuber(term, beta), 1 / beta));
}

static Value buildHuberLoss(LossTerm &term) {
  return reduce(term, buildHuber(term, term.request.delta));
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

/// max(x, 0) - x t + log(1 + exp(-|x|)) of logits x: no overflow, and no
/// logarithm of a probability that was rounded to zero. (x + |x|) / 2 is the
/// maximum with the slope of 1/2 at 0 that the sum must have.
///
/// With weights p of the targets that are one, (1 - t) x + (1 + (p - 1) t)
/// log(1 + exp(-x)).
static Value buildLogits(LossTerm &term) {
  NodeBuilder &b = term.b;
  Value logits = term.prediction, labels = term.labels;
  Value size = b.create("Abs", {logits});
  Value decay = b.create("Softplus", {b.neg(size)});
  if (term.request.posWeight.empty()) {
    Value positive = b.scale(b.add(logits, size), 0.5);
    Value linear = b.sub(positive, b.mul(logits, labels));
    return reduce(term, b.add(linear, decay));
  }
  SmallVector<double> excess;
  for (double weight : term.request.posWeight)
    excess.push_back(weight - 1);
  Value one = b.scalarLike(1, logits);
  Value weights = b.add(b.mul(vectorLike(b, excess, logits), labels), one);
  Value negative = b.scale(b.sub(size, logits), 0.5);
  Value linear = b.mul(b.sub(one, labels), logits);
  return reduce(term, b.add(linear, b.mul(weights, b.add(decay, negative))));
}

/// t (log t - x) of log-probabilities x; 0 if t is 0.
static Value buildDivergence(LossTerm &term) {
  NodeBuilder &b = term.b;
  Value labels = term.labels;
  Value isZero = b.create("Equal", {labels, b.scalarLike(0, labels)});
  Value known = b.where(isZero, b.scalarLike(1, labels), labels);
  Value entropy = b.mul(labels, b.create("Log", {known}));
  return reduce(term, b.sub(entropy, b.mul(labels, term.prediction)));
}

ArrayRef<LossKind> getLossKinds() {
  static const LossKind kinds[] = {
      {"softmax-cross-entropy",
       {"cross_entropy", "CrossEntropyLoss", "sparse_categorical_crossentropy"},
       {"class-axis", "ignore-index", "weights", "label-smoothing"},
       true,
       Activation::SoftmaxInside,
       buildCrossEntropy},
      {"nll",
       {"nll_loss", "NLLLoss"},
       {"class-axis", "ignore-index", "weights"},
       true,
       Activation::NoSoftmax,
       buildLikelihood},
      {"mse",
       {"mse_loss", "MSELoss", "mean_squared_error"},
       {},
       false,
       Activation::Any,
       buildSquares},
      {"l1",
       {"l1_loss", "L1Loss", "mae", "mean_absolute_error"},
       {},
       false,
       Activation::Any,
       buildDistances},
      {"smooth-l1",
       {"smooth_l1_loss", "SmoothL1Loss"},
       {"beta"},
       false,
       Activation::Any,
       buildSmoothDistances},
      {"huber",
       {"huber_loss", "HuberLoss"},
       {"delta"},
       false,
       Activation::Any,
       buildHuberLoss},
      {"bce",
       {"binary_cross_entropy", "BCELoss", "binary_crossentropy"},
       {"pos-weight"},
       false,
       Activation::SigmoidInside,
       buildLogits},
      {"bce-with-logits",
       {"binary_cross_entropy_with_logits", "BCEWithLogitsLoss"},
       {"pos-weight"},
       false,
       Activation::NoSigmoid,
       buildLogits},
      {"kl-div",
       {"kl_div", "KLDivLoss"},
       {},
       false,
       Activation::NoSoftmax,
       buildDivergence},
  };
  return kinds;
}

} // namespace mp
