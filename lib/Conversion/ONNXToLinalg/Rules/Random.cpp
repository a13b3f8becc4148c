//===- Random.cpp - Numbers that look random ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Number i of a node is a mix of its seed and i (SplitMix64: Steele, Lea and
// Flood, "Fast Splittable Pseudorandom Number Generators", 2014). The numbers
// do not depend on the order in which they are computed. A node without a seed
// derives one from its name: every run gives the same numbers, and every call
// in a run gives different ones.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// The generator
//===----------------------------------------------------------------------===//

static constexpr uint64_t goldenRatio = 0x9E3779B97F4A7C15;
static constexpr uint64_t firstFactor = 0xBF58476D1CE4E5B9;
static constexpr uint64_t secondFactor = 0x94D049BB133111EB;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * firstFactor;
  z = (z ^ (z >> 27)) * secondFactor;
  return z ^ (z >> 31);
}

/// Seeds that are close to each other give distant start values.
static uint64_t getSeed(NodeLowering &node) {
  if (node.states("seed")) {
    double seed = node.getFloat("seed");
    return mix(llvm::bit_cast<uint64_t>(seed) + goldenRatio);
  }
  return mix(llvm::xxh3_64bits(onnxir::describe(node.getNode())) + goldenRatio);
}

namespace {

class Generator {
public:
  explicit Generator(NodeLowering &node)
      : e(node.e), s(node.s),
        start(runtime::DrawOp::create(node.e.b, node.e.loc,
                                      node.e.b.getI64Type(), getSeed(node))) {}

  /// 64 bits: number `counter` (i64).
  Value bits(Value counter) {
    Type wide = e.b.getI64Type();
    Value step = s.mul(counter, s.integer(wide, goldenRatio));
    Value z = s.add(step, start);
    z = s.mul(foldBits(z, 30), s.integer(wide, firstFactor));
    z = s.mul(foldBits(z, 27), s.integer(wide, secondFactor));
    return foldBits(z, 31);
  }

  /// Uniform in [0, 1), with as many bits as `type` (f32 or f64) has.
  Value uniform(Value counter, Type type) {
    unsigned kept = type.isF64() ? 53 : 24;
    return fraction(shift(bits(counter), 64 - kept), kept, type);
  }

  /// Normal with mean 0 and deviation 1, by the transform of Box and Muller.
  Value normal(Value counter, Type type) {
    Value one = s.integer(e.b.getI64Type(), 1);
    Value first = s.add(counter, counter);
    // The radius is in (0, 1]: its logarithm is finite.
    Value radius = s.sub(s.constant(type, 1), uniform(first, type));
    Value turn = uniform(s.add(first, one), type);
    Value length = s.sqrt(s.mul(s.constant(type, -2), s.log(radius)));
    Value angle = s.mul(s.constant(type, 6.283185307179586), turn);
    return s.mul(length, s.math<math::CosOp>(angle));
  }

private:
  Value shift(Value x, unsigned count) {
    return arith::ShRUIOp::create(e.b, e.loc, x, s.integer(x.getType(), count));
  }
  Value foldBits(Value x, unsigned count) {
    return arith::XOrIOp::create(e.b, e.loc, x, shift(x, count));
  }
  Value fraction(Value x, unsigned kept, Type type) {
    Value number = arith::UIToFPOp::create(e.b, e.loc, type, x);
    return s.mul(number, s.constant(type, std::ldexp(1.0, -int(kept))));
  }

  Emitter &e;
  Scalars &s;
  Value start;
};

} // namespace

/// The place of an element in row-major order, as i64.
static Value getCounter(Emitter &e, ArrayRef<Size> sizes, ValueRange indices) {
  Value place = e.s.index(0);
  for (auto [extent, i] : llvm::zip(sizes, indices))
    place = e.s.add(e.s.mul(place, e.index(extent)), i);
  return e.s.fromIndex(place, e.b.getI64Type());
}

/// The same inside of Emitter::map.
static Value getCounter(Emitter &e, ArrayRef<Size> sizes) {
  SmallVector<Value> indices;
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
    indices.push_back(linalg::IndexOp::create(e.b, e.loc, axis));
  return getCounter(e, sizes, indices);
}

//===----------------------------------------------------------------------===//
// RandomUniform, RandomNormal, Bernoulli
//===----------------------------------------------------------------------===//

/// The sizes of an operand, or those of the attribute 'shape'.
static FailureOr<Sizes> getRandomSizes(NodeLowering &node) {
  if (node.getNumOperands() > 0)
    return node.e.sizes(node.in(0));
  Sizes sizes;
  for (int64_t extent : node.getInts("shape")) {
    if (extent < 0) {
      (void)node.fail("size " + Twine(extent) + " in 'shape'");
      return failure();
    }
    sizes.push_back(node.e.size(extent));
  }
  return sizes;
}

static LogicalResult randomRule(NodeLowering &node, bool isNormal) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  FailureOr<Sizes> sizes = getRandomSizes(node);
  if (failed(sizes))
    return failure();
  Type element = node.outElement();
  if (!isa_and_nonnull<FloatType>(element))
    return node.fail("expected a float output");
  double low = node.getFloat(isNormal ? "mean" : "low");
  double width =
      isNormal ? node.getFloat("scale") : node.getFloat("high") - low;
  Type type = getComputeType(element);
  Generator random(node);
  node.set(e.generate(*sizes, element, [&](ValueRange indices) {
    Value counter = getCounter(e, *sizes, indices);
    Value x =
        isNormal ? random.normal(counter, type) : random.uniform(counter, type);
    return s.add(s.mul(x, s.constant(type, width)), s.constant(type, low));
  }));
  return success();
}

static LogicalResult randomUniformRule(NodeLowering &node) {
  return randomRule(node, false);
}
static LogicalResult randomNormalRule(NodeLowering &node) {
  return randomRule(node, true);
}

static LogicalResult bernoulliRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue chance = node.in(0);
  Sizes sizes = e.sizes(chance);
  Type element = node.outElement(), type = getComputeType(element);
  Generator random(node);
  node.set(e.map(element, chance, [&](ValueRange values) {
    Value u = random.uniform(getCounter(e, sizes), values[0].getType());
    Value isOn = s.compare(Scalars::LT, u, values[0]);
    return s.select(isOn, s.constant(type, 1), s.constant(type, 0));
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Multinomial
//===----------------------------------------------------------------------===//

/// Draws classes by logarithms of unscaled probabilities: the first one at
/// which the sum of probabilities exceeds a random part of the total.
static LogicalResult multinomialRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue logits = node.in(0);
  int64_t count = node.getInt("sample_size");
  if (logits.getRank() != 2 || count < 0)
    return node.fail("expected a matrix and a number of samples");
  Sizes from = e.sizes(logits), to = {from[0], e.size(count)};
  Type type = getComputeType(logits.element);
  TensorValue most =
      e.reduce(logits, 1, true, type, s.constant(type, -INFINITY),
               [&](Value x, Value high) { return s.max(high, x); });
  TensorValue chances = e.map(type, {logits, most}, [&](ValueRange v) {
    return s.exp(s.sub(v[0], v[1]));
  });
  TensorValue totals =
      e.reduce(chances, 1, false, type, s.constant(type, 0),
               [&](Value x, Value sum) { return s.add(sum, x); });
  Generator random(node);
  Type element = node.outElement();
  node.set(e.generate(to, element, [&](ValueRange at) {
    Value u = random.uniform(getCounter(e, to, at), type);
    Value bound = s.mul(u, e.load(totals, at[0]));
    Value start[] = {s.constant(type, 0), s.index(0)};
    SmallVector<Value> end =
        e.loop(e.size(0), e.sub(from[1], e.size(1)), start,
               [&](Value i, ValueRange carried) -> SmallVector<Value> {
                 Value sum = s.add(carried[0], e.load(chances, {at[0], i}));
                 Value isBehind = s.compare(Scalars::LE, sum, bound);
                 Value next = s.add(i, s.index(1));
                 return {sum, s.select(isBehind, next, carried[1])};
               });
    return s.fromIndex(end[1], getComputeType(element));
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

namespace {

/// The mode and the ratio of a Dropout.
struct DropoutMode {
  /// An i1; null if it never drops.
  Value isTraining;
  /// f32
  Value ratio;
};

} // namespace

static FailureOr<DropoutMode> getDropoutMode(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  DropoutMode mode;
  Type f32 = e.b.getF32Type();
  if (node.getVersion() < 12) {
    // From version 7 on, these nodes are for inference.
    if (node.getVersion() < 7 && !node.getFlag("is_test"))
      mode.isTraining = s.integer(e.b.getI1Type(), 1);
    mode.ratio = s.constant(f32, node.getFloat("ratio"));
    return mode;
  }
  mode.ratio = s.constant(f32, 0.5);
  if (node.has(1)) {
    FailureOr<Value> ratio = loadScalar(node, 1);
    if (failed(ratio))
      return failure();
    mode.ratio = s.convert(*ratio, node.in(1).element, f32);
  }
  auto known = node.constantInts(2);
  if (!node.has(2) || (known && known->size() == 1 && !known->front()))
    return mode;
  FailureOr<Value> isTraining = loadScalar(node, 2);
  if (failed(isTraining))
    return failure();
  mode.isTraining = *isTraining;
  return mode;
}

/// Elements are kept with probability 1 - ratio, and scaled by its inverse.
static LogicalResult dropoutRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  FailureOr<DropoutMode> mode = getDropoutMode(node);
  if (failed(mode))
    return failure();
  TensorValue x = node.in(0);
  Sizes sizes = e.sizes(x);
  Type boolean = e.b.getI1Type(), f32 = e.b.getF32Type();
  if (!mode->isTraining) {
    node.forward(0);
    if (node.wants(1))
      node.set(1, e.full(sizes, node.outElement(1), 1.0));
    return success();
  }
  Generator random(node);
  Value isInference = s.logicalNot(mode->isTraining);
  Value one = s.constant(f32, 1);
  Value kept = s.sub(one, mode->ratio);
  Value isSome = s.compare(Scalars::GT, kept, s.constant(f32, 0));
  Value factor = s.div(one, s.select(isSome, kept, one));
  factor = s.select(mode->isTraining, factor, one);
  auto keeps = [&](Value counter) {
    Value u = random.uniform(counter, f32);
    Value isKept = s.compare(Scalars::GE, u, mode->ratio);
    return arith::OrIOp::create(e.b, e.loc, isKept, isInference).getResult();
  };
  auto scale = [&](Value value, Value isKept) {
    Value by = factor;
    if (by.getType() != value.getType())
      by = arith::ExtFOp::create(e.b, e.loc, value.getType(), by);
    return s.select(isKept, s.mul(value, by), s.like(value, 0));
  };
  if (!node.wants(1)) {
    node.set(e.map(x.element, x, [&](ValueRange v) {
      return scale(v[0], keeps(getCounter(e, sizes)));
    }));
    return success();
  }
  TensorValue mask = e.generate(sizes, boolean, [&](ValueRange indices) {
    return keeps(getCounter(e, sizes, indices));
  });
  node.set(0, e.map(x.element, {x, mask},
                    [&](ValueRange v) { return scale(v[0], v[1]); }));
  node.set(1, e.cast(mask, node.outElement(1)));
  return success();
}

ArrayRef<LoweringRule> getRandomLowerings() {
  static const LoweringRule rules[] = {
      {"Bernoulli", bernoulliRule},
      {"Dropout", dropoutRule},
      {"Multinomial", multinomialRule},
      {"RandomNormal", randomNormalRule},
      {"RandomNormalLike", randomNormalRule},
      {"RandomUniform", randomUniformRule},
      {"RandomUniformLike", randomUniformRule},
  };
  return rules;
}

} // namespace mp
