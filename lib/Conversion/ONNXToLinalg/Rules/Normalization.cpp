//===- Normalization.cpp - Softmax and normalizations ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

/// Before opset 13, the operand is flattened to two dimensions at `axis`.
static LogicalResult softmax(NodeLowering &node, bool isLog) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  bool isFlat = node.getVersion() < 13;
  auto axis = node.axis(std::max<int64_t>(x.getRank(), 1));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> axes = {*axis};
  if (isFlat)
    axes = llvm::to_vector(llvm::seq<int64_t>(*axis, x.getRank()));
  Type type = getComputeType(x.element);
  TensorValue greatest =
      e.reduce(x, axes, true, type, s.constant(type, -INFINITY),
               [&](Value value, Value high) { return s.max(high, value); });
  TensorValue powers = e.map(type, {x, greatest}, [&](ValueRange values) {
    return s.exp(s.sub(values[0], values[1]));
  });
  TensorValue sums =
      e.reduce(powers, axes, true, type, s.constant(type, 0),
               [&](Value value, Value total) { return s.add(total, value); });
  if (isLog) {
    node.set(e.map(node.outElement(), {x, greatest, sums}, [&](ValueRange v) {
      return s.sub(s.sub(v[0], v[1]), s.log(v[2]));
    }));
    return success();
  }
  node.set(e.map(node.outElement(), {powers, sums},
                 [&](ValueRange v) { return s.div(v[0], v[1]); }));
  return success();
}

static LogicalResult softmaxRule(NodeLowering &node) {
  return softmax(node, false);
}
static LogicalResult logSoftmaxRule(NodeLowering &node) {
  return softmax(node, true);
}

/// The first of the greatest elements becomes 1, all others 0. Before opset 13,
/// the operand is flattened to two dimensions at `axis`.
static LogicalResult hardmaxRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  Sizes sizes = e.sizes(x);
  bool isFlat = node.getVersion() < 13;
  int64_t rank = x.getRank();
  auto axis = node.axis(std::max<int64_t>(rank, 1));
  if (failed(axis))
    return failure();
  int64_t place = *axis;
  if (isFlat || rank == 0) {
    ArrayRef<Size> all(sizes);
    int64_t first = std::min(place, rank);
    x = e.reshape(x, {e.product(all.take_front(first)),
                      e.product(all.drop_front(first))});
    place = 1;
  }
  Type type = getComputeType(x.element), i64 = e.b.getI64Type();
  TensorValue greatest =
      e.reduce(x, place, true, x.element, s.constant(type, -INFINITY),
               [&](Value value, Value high) { return s.max(high, value); });
  TensorValue isGreatest =
      e.map(e.b.getI1Type(), {x, greatest}, [&](ValueRange values) {
        return s.compare(Scalars::EQ, values[0], values[1]);
      });
  auto getPosition = [&] {
    return s.fromIndex(linalg::IndexOp::create(e.b, e.loc, place), i64);
  };
  Value none = s.integer(i64, llvm::maxIntN(64));
  TensorValue first =
      e.reduce(isGreatest, place, true, i64, none, [&](Value is, Value least) {
        return s.min(least, s.select(is, getPosition(), none));
      });
  TensorValue result =
      e.map(node.outElement(), {first, x}, [&](ValueRange values) {
        Value is = s.compare(Scalars::EQ, values[0], getPosition());
        return s.select(is, s.constant(type, 1), s.constant(type, 0));
      });
  node.set(e.reshape(result, sizes));
  return success();
}

//===----------------------------------------------------------------------===//
// Normalization by mean and variance
//===----------------------------------------------------------------------===//

static TensorValue addUp(Emitter &e, TensorValue x, ArrayRef<int64_t> axes,
                         bool keepDims = true) {
  Type type = getComputeType(x.element);
  return e.reduce(x, axes, keepDims, type, e.s.constant(type, 0),
                  [&](Value value, Value sum) { return e.s.add(sum, value); });
}

/// The mean over axes, which keep size 1, in the compute type.
static TensorValue getMean(Emitter &e, TensorValue x, ArrayRef<int64_t> axes) {
  Type type = getComputeType(x.element);
  Sizes sizes = e.sizes(x);
  Size count = e.size(1);
  for (int64_t axis : axes)
    count = e.mul(count, sizes[axis]);
  Value divisor = e.s.fromIndex(e.index(count), type);
  return e.map(type, addUp(e, x, axes),
               [&](ValueRange values) { return e.s.div(values[0], divisor); });
}

/// The mean of squares of x, or of x - mean.
static TensorValue getVariance(Emitter &e, TensorValue x, TensorValue mean,
                               ArrayRef<int64_t> axes) {
  SmallVector<TensorValue> operands = {x};
  if (mean)
    operands.push_back(mean);
  TensorValue squares =
      e.map(getComputeType(x.element), operands, [&](ValueRange values) {
        Value centered = mean ? e.s.sub(values[0], values[1]) : values[0];
        return e.s.mul(centered, centered);
      });
  return getMean(e, squares, axes);
}

/// 1 / sqrt(variance + epsilon)
static TensorValue getFactor(Emitter &e, TensorValue variance, double epsilon) {
  return e.map(variance.element, variance, [&](ValueRange values) {
    Value sum = e.s.add(values[0], e.s.like(values[0], epsilon));
    return e.s.div(e.s.like(sum, 1), e.s.sqrt(sum));
  });
}

/// (x - mean) * factor * scale + bias; mean and bias may be null.
static TensorValue normalize(Emitter &e, TensorValue x, TensorValue mean,
                             TensorValue factor, TensorValue scale,
                             TensorValue bias, Type element) {
  SmallVector<TensorValue> operands = {x, factor};
  for (TensorValue operand : {mean, scale, bias})
    if (operand)
      operands.push_back(operand);
  Type type = getComputeType(x.element);
  for (TensorValue &operand : operands)
    if (getComputeType(operand.element) != type)
      operand = e.cast(operand, type);
  return e.map(element, operands, [&](ValueRange values) {
    Value result = values[0];
    unsigned next = 2;
    if (mean)
      result = e.s.sub(result, values[next++]);
    result = e.s.mul(result, values[1]);
    if (scale)
      result = e.s.mul(result, values[next++]);
    return bias ? e.s.add(result, values[next]) : result;
  });
}

/// LayerNormalization and RMSNormalization: over the axes from `axis` on.
static LogicalResult normalizeLayer(NodeLowering &node, bool subtractsMean) {
  Emitter &e = node.e;
  TensorValue x = node.in(0), scale = node.in(1), bias;
  if (subtractsMean && node.has(2))
    bias = node.in(2);
  auto axis = node.axis(x.getRank());
  if (failed(axis))
    return failure();
  for (TensorValue operand : {scale, bias})
    if (operand && operand.getRank() > x.getRank())
      return node.fail("a scale or bias of " + Twine(operand.getRank()) +
                       " axes for an operand of " + Twine(x.getRank()));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(*axis, x.getRank()));
  double epsilon = node.getFloat("epsilon");
  TensorValue mean;
  if (subtractsMean)
    mean = getMean(e, x, axes);
  TensorValue factor = getFactor(e, getVariance(e, x, mean, axes), epsilon);
  node.set(normalize(e, x, mean, factor, scale, bias, node.outElement()));
  if (!subtractsMean)
    return success();
  for (auto [index, statistic] : {std::pair(1u, mean), std::pair(2u, factor)})
    if (node.wants(index))
      node.set(index, e.cast(statistic, node.outElement(index)));
  return success();
}

static LogicalResult layerNormRule(NodeLowering &node) {
  return normalizeLayer(node, true);
}
static LogicalResult rmsNormRule(NodeLowering &node) {
  return normalizeLayer(node, false);
}

/// A vector along axis 1 of a tensor of `rank` axes.
static TensorValue alongChannels(Emitter &e, TensorValue vector, int64_t rank) {
  Sizes sizes = e.sizes(vector);
  sizes.append(rank - 2, e.size(1));
  return e.reshape(vector, sizes);
}

/// Checks that operands `indices` are vectors of x's number of channels.
static LogicalResult checkChannels(NodeLowering &node, TensorValue x,
                                   ArrayRef<unsigned> indices) {
  Emitter &e = node.e;
  if (x.getRank() < 2)
    return node.fail("an operand of " + Twine(x.getRank()) +
                     " axes, expected at least 2");
  Size channels = e.dim(x, 1);
  for (unsigned index : indices) {
    TensorValue vector = node.in(index);
    if (vector.getRank() != 1)
      return node.fail("operand #" + Twine(index) + " has " +
                       Twine(vector.getRank()) + " axes, expected 1");
    Size have = e.dim(vector, 0);
    if (have != channels)
      e.check(node.s.compare(Scalars::EQ, e.index(have), e.index(channels)),
              "operand #" + Twine(index) + " has %0 elements, expected %1",
              have, channels);
  }
  return success();
}

static LogicalResult instanceNormRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  if (failed(checkChannels(node, x, {1, 2})))
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, x.getRank()));
  TensorValue mean = getMean(e, x, axes);
  TensorValue factor =
      getFactor(e, getVariance(e, x, mean, axes), node.getFloat("epsilon"));
  TensorValue scale = alongChannels(e, node.in(1), x.getRank());
  TensorValue bias = alongChannels(e, node.in(2), x.getRank());
  node.set(normalize(e, x, mean, factor, scale, bias, node.outElement()));
  return success();
}

/// Scale and bias are of the groups before opset 21, then of the channels.
static LogicalResult groupNormRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  Sizes sizes = e.sizes(x);
  int64_t groups = node.getInt("num_groups", 1);
  if (x.getRank() < 3 || groups < 1)
    return node.fail(Twine(groups) + " groups in an operand of " +
                     Twine(x.getRank()) + " axes");
  auto channels = Emitter::getConstant(sizes[1]);
  if (channels && *channels % groups != 0)
    return node.fail(Twine(groups) + " groups of " + Twine(*channels) +
                     " channels");
  Size each = e.floorDiv(sizes[1], e.size(groups));
  if (!channels)
    e.check(node.s.compare(Scalars::EQ, e.index(e.mul(each, e.size(groups))),
                           e.index(sizes[1])),
            "%1 groups of %0 channels", sizes[1], e.size(groups));
  Sizes split = {sizes[0], e.size(groups), each};
  split.append(sizes.begin() + 2, sizes.end());
  TensorValue parts = e.reshape(x, split);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, split.size()));
  TensorValue mean = getMean(e, parts, axes);
  TensorValue factor =
      getFactor(e, getVariance(e, parts, mean, axes), node.getFloat("epsilon"));
  bool ofGroups = node.getVersion() < 21;
  SmallVector<TensorValue> vectors;
  for (unsigned index : {1, 2}) {
    TensorValue vector = node.in(index);
    Size wanted = ofGroups ? e.size(groups) : sizes[1];
    if (vector.getRank() != 1)
      return node.fail("operand #" + Twine(index) + " is not a vector");
    Size have = e.dim(vector, 0);
    if (have != wanted)
      e.check(node.s.compare(Scalars::EQ, e.index(have), e.index(wanted)),
              "operand #" + Twine(index) + " has %0 elements, expected %1",
              have, wanted);
    Sizes to = {e.size(groups), ofGroups ? e.size(1) : each};
    to.append(x.getRank() - 2, e.size(1));
    vectors.push_back(e.reshape(vector, to));
  }
  TensorValue result = normalize(e, parts, mean, factor, vectors[0], vectors[1],
                                 node.outElement());
  node.set(e.reshape(result, sizes));
  return success();
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// The mode is given by `is_test` before opset 7, then (until 14) by the number
/// of results.
static bool isTraining(NodeLowering &node) {
  if (node.getVersion() >= 14)
    return node.getFlag("training_mode");
  if (node.getVersion() < 7)
    return !node.getFlag("is_test");
  return node.wants(1) || node.wants(2) || node.wants(3) || node.wants(4);
}

static LogicalResult batchNormRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  // From opset 9 on, 1 is the only value.
  if (!node.getInt("spatial", 1))
    return node.fail("'spatial' is 0: only statistics of channels can be "
                     "compiled");
  if (failed(checkChannels(node, x, {1, 2, 3, 4})))
    return failure();
  int64_t rank = x.getRank();
  TensorValue scale = alongChannels(e, node.in(1), rank);
  TensorValue bias = alongChannels(e, node.in(2), rank);
  TensorValue mean = node.in(3), variance = node.in(4);
  double momentum = node.getFloat("momentum");
  if (isTraining(node)) {
    SmallVector<int64_t> axes = {0};
    llvm::append_range(axes, llvm::seq<int64_t>(2, rank));
    TensorValue batchMean = getMean(e, x, axes);
    TensorValue batchVariance = getVariance(e, x, batchMean, axes);
    auto update = [&](TensorValue old, TensorValue now, unsigned result) {
      now = e.reshape(now, e.sizes(old));
      now = e.cast(now, getComputeType(old.element));
      if (node.wants(result))
        node.set(result,
                 e.map(node.outElement(result), {old, now}, [&](ValueRange v) {
                   Value kept = s.mul(v[0], s.like(v[0], momentum));
                   Value added = s.mul(v[1], s.like(v[1], 1 - momentum));
                   return s.add(kept, added);
                 }));
      if (node.wants(result + 2))
        node.set(result + 2, e.cast(now, node.outElement(result + 2)));
      return now;
    };
    mean = update(mean, batchMean, 1);
    variance = update(variance, batchVariance, 2);
  }
  TensorValue factor =
      getFactor(e, e.cast(variance, getComputeType(variance.element)),
                node.getFloat("epsilon"));
  node.set(normalize(e, x, alongChannels(e, mean, rank),
                     alongChannels(e, factor, rank), scale, bias,
                     node.outElement()));
  return success();
}

//===----------------------------------------------------------------------===//
// Normalization by norms
//===----------------------------------------------------------------------===//

/// x / |x|, or 0 if the norm is 0.
static LogicalResult lpNormRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  auto axis = node.axis(x.getRank());
  if (failed(axis))
    return failure();
  bool isFirst = node.getInt("p") == 1;
  TensorValue powers =
      e.map(getComputeType(x.element), x, [&](ValueRange values) {
        return isFirst ? s.abs(values[0]) : s.mul(values[0], values[0]);
      });
  TensorValue sums = addUp(e, powers, *axis);
  node.set(e.map(node.outElement(), {x, sums}, [&](ValueRange values) {
    Value norm = isFirst ? values[1] : s.sqrt(values[1]);
    Value zero = s.like(norm, 0);
    return s.select(s.compare(Scalars::EQ, norm, zero), zero,
                    s.div(values[0], norm));
  }));
  return success();
}

static LogicalResult meanVarianceNormRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  auto axes = node.normalizeAxes(node.getInts("axes"), x.getRank());
  if (failed(axes))
    return failure();
  TensorValue mean = getMean(e, x, *axes);
  TensorValue variance = getVariance(e, x, mean, *axes);
  node.set(e.map(node.outElement(), {x, mean, variance}, [&](ValueRange v) {
    Value deviation = s.add(s.sqrt(v[2]), s.like(v[2], 1e-9));
    return s.div(s.sub(v[0], v[1]), deviation);
  }));
  return success();
}

/// Divides by a power of the mean square of the neighbouring channels.
static LogicalResult localResponseRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  int64_t size = node.getInt("size");
  if (x.getRank() < 2 || size < 1)
    return node.fail(Twine(size) + " channels of an operand of " +
                     Twine(x.getRank()) + " axes");
  Type type = getComputeType(x.element);
  Sizes sizes = e.sizes(x), padded = sizes;
  Sizes offsets(sizes.size(), e.size(0)), steps(sizes.size(), e.size(1));
  padded[1] = e.add(sizes[1], e.size(size - 1));
  offsets[1] = e.size((size - 1) / 2);
  Value zeros = e.full(padded, x.element, s.constant(type, 0)).value;
  TensorValue around = {tensor::InsertSliceOp::create(
                            e.b, e.loc, x.value, zeros, offsets, sizes, steps),
                        x.element};
  e.noteSizes(around.value, padded);
  double alpha = node.getFloat("alpha") / size;
  double beta = node.getFloat("beta"), bias = node.getFloat("bias");
  node.set(e.generate(sizes, node.outElement(), [&](ValueRange i) {
    auto add = [&](Value offset, ValueRange sum) -> SmallVector<Value> {
      SmallVector<Value> place(i);
      place[1] = e.index(e.add(i[1], offset));
      Value value = e.load(around, place);
      return {s.add(sum[0], s.mul(value, value))};
    };
    Value sum = e.loop(e.size(0), e.size(size), s.constant(type, 0), add)[0];
    Value base = s.add(s.mul(sum, s.like(sum, alpha)), s.like(sum, bias));
    Value power = math::PowFOp::create(e.b, e.loc, base, s.like(base, beta));
    return s.div(e.load(x, i), power);
  }));
  return success();
}

ArrayRef<LoweringRule> getNormalizationLowerings() {
  static const LoweringRule rules[] = {
      {"BatchNormalization", batchNormRule},
      {"GroupNormalization", groupNormRule},
      {"Hardmax", hardmaxRule},
      {"InstanceNormalization", instanceNormRule},
      {"LRN", localResponseRule},
      {"LayerNormalization", layerNormRule},
      {"LogSoftmax", logSoftmaxRule},
      {"LpNormalization", lpNormRule},
      {"MeanVarianceNormalization", meanVarianceNormRule},
      {"RMSNormalization", rmsNormRule},
      {"Softmax", softmaxRule},
  };
  return rules;
}

} // namespace mp
