//===- Reduction.cpp - Reductions over axes -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accumulated in the compute type: 16-bit floats in fp32, rounded once.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

namespace {

/// What is done with each element, between elements, and in the end.
struct Reduction {
  Value (*before)(Scalars &, Value);
  Value (*combine)(Scalars &, Value, Value, bool isUnsigned);
  Value (*after)(Scalars &, Value);
  /// Of an empty set.
  Value (*start)(Scalars &, Type, bool isUnsigned);
};

} // namespace

static Value sum(Scalars &s, Value x, Value y, bool) { return s.add(x, y); }
static Value product(Scalars &s, Value x, Value y, bool) { return s.mul(x, y); }
static Value least(Scalars &s, Value x, Value y, bool isUnsigned) {
  return s.min(x, y, isUnsigned);
}
static Value most(Scalars &s, Value x, Value y, bool isUnsigned) {
  return s.max(x, y, isUnsigned);
}

static Value zero(Scalars &s, Type type, bool) { return s.constant(type, 0); }
static Value one(Scalars &s, Type type, bool) { return s.constant(type, 1); }

static Value greatest(Scalars &s, Type type, bool isUnsigned) {
  if (isa<FloatType>(type))
    return s.constant(type, INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  return s.integer(type, isUnsigned || width == 1 ? -1 : llvm::maxIntN(width));
}

static Value lowest(Scalars &s, Type type, bool isUnsigned) {
  if (isa<FloatType>(type))
    return s.constant(type, -INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  return s.integer(type, isUnsigned || width == 1 ? 0 : llvm::minIntN(width));
}

static Value square(Scalars &s, Value x) { return s.mul(x, x); }
static Value absolute(Scalars &s, Value x) { return s.abs(x); }
static Value root(Scalars &s, Value x) {
  if (Scalars::isFloat(x))
    return s.sqrt(x);
  Type wide = s.b.getF64Type();
  Value y = arith::SIToFPOp::create(s.b, s.loc, wide, x);
  return arith::FPToSIOp::create(s.b, s.loc, x.getType(), s.sqrt(y));
}
static Value logarithm(Scalars &s, Value x) {
  if (Scalars::isFloat(x))
    return s.log(x);
  Type wide = s.b.getF64Type();
  Value y = arith::SIToFPOp::create(s.b, s.loc, wide, x);
  return arith::FPToSIOp::create(s.b, s.loc, x.getType(), s.log(y));
}

/// The axes to reduce over; absent if nothing is to be done.
static FailureOr<std::optional<SmallVector<int64_t>>>
getAxes(NodeLowering &node, int64_t rank) {
  auto list = node.constantList("axes", 1);
  if (failed(list))
    return failure();
  if (list->empty() && getInt(node.getNode(), "noop_with_empty_axes", 0))
    return std::optional<SmallVector<int64_t>>();
  if (list->empty())
    list = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto axes = node.normalizeAxes(*list, rank);
  if (failed(axes))
    return failure();
  return std::optional(*axes);
}

static LogicalResult reduce(NodeLowering &node, const Reduction &reduction,
                            bool isMean = false) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  auto axes = getAxes(node, x.getRank());
  if (failed(axes))
    return failure();
  Scalars &s = node.s;
  bool isUnsigned = x.isUnsigned();
  auto before = [&](Value value) {
    return reduction.before ? reduction.before(s, value) : value;
  };
  if (!*axes || (*axes)->empty()) {
    node.set(e.map(node.outElement(), x, [&](ValueRange values) {
      Value value = before(values[0]);
      return reduction.after ? reduction.after(s, value) : value;
    }));
    return success();
  }
  Type type = getComputeType(x.element);
  Size count = e.size(1);
  for (int64_t axis : **axes)
    count = e.mul(count, e.dim(x, axis));
  Value divisor = isMean ? s.fromIndex(e.index(count), type) : Value();
  auto finish = [&](ValueRange values) {
    Value value = values[0];
    if (isMean)
      return s.div(value, divisor);
    return reduction.after ? reduction.after(s, value) : value;
  };
  Emitter::BodyFn end = finish;
  node.set(e.reduce(
      x, **axes, getInt(node.getNode(), "keepdims", 1), node.outElement(),
      reduction.start(s, type, isUnsigned),
      [&](Value value, Value sum) {
        return reduction.combine(s, sum, before(value), isUnsigned);
      },
      isMean || reduction.after ? end : nullptr));
  return success();
}

static LogicalResult sumRule(NodeLowering &node) {
  return reduce(node, {nullptr, sum, nullptr, zero});
}
static LogicalResult meanRule(NodeLowering &node) {
  return reduce(node, {nullptr, sum, nullptr, zero}, /*isMean=*/true);
}
static LogicalResult maxRule(NodeLowering &node) {
  return reduce(node, {nullptr, most, nullptr, lowest});
}
static LogicalResult minRule(NodeLowering &node) {
  return reduce(node, {nullptr, least, nullptr, greatest});
}
static LogicalResult prodRule(NodeLowering &node) {
  return reduce(node, {nullptr, product, nullptr, one});
}
static LogicalResult sumSquareRule(NodeLowering &node) {
  return reduce(node, {square, sum, nullptr, zero});
}
static LogicalResult l1Rule(NodeLowering &node) {
  return reduce(node, {absolute, sum, nullptr, zero});
}
static LogicalResult l2Rule(NodeLowering &node) {
  return reduce(node, {square, sum, root, zero});
}
static LogicalResult logSumRule(NodeLowering &node) {
  return reduce(node, {nullptr, sum, logarithm, zero});
}

/// log(sum(exp(x - m))) + m with the greatest element m: no overflow.
static LogicalResult logSumExpRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  auto axes = getAxes(node, x.getRank());
  if (failed(axes))
    return failure();
  Type element = x.isFloat() ? x.element : Type(e.b.getF64Type());
  Type type = getComputeType(element);
  if (x.element != element)
    x = e.cast(x, element);
  if (!*axes || (*axes)->empty()) {
    node.set(e.cast(x, node.outElement()));
    return success();
  }
  TensorValue greatest = e.reduce(
      x, **axes, true, type, lowest(s, type, false),
      [&](Value value, Value high) { return s.max(high, value); },
      [&](ValueRange values) {
        // All of them -inf, or one +inf: the difference would be NaN.
        Value finite = s.compare(Scalars::LT, s.abs(values[0]),
                                 s.constant(type, INFINITY));
        return s.select(finite, values[0], s.constant(type, 0));
      });
  TensorValue powers = e.map(type, {x, greatest}, [&](ValueRange values) {
    return s.exp(s.sub(values[0], values[1]));
  });
  TensorValue sums =
      e.reduce(powers, **axes, true, type, s.constant(type, 0),
               [&](Value value, Value total) { return s.add(total, value); });
  TensorValue result =
      e.map(node.outElement(), {sums, greatest}, [&](ValueRange values) {
        Value sum = s.add(s.log(values[0]), values[1]);
        return s.convert(sum, element, node.outElement());
      });
  if (!getInt(node.getNode(), "keepdims", 1)) {
    Sizes kept;
    for (auto [axis, extent] : llvm::enumerate(e.sizes(x)))
      if (!llvm::is_contained(**axes, axis))
        kept.push_back(extent);
    result = e.reshape(result, kept);
  }
  node.set(result);
  return success();
}

ArrayRef<LoweringRule> getReductionLowerings() {
  static const LoweringRule rules[] = {
      {"ReduceL1", l1Rule},         {"ReduceL2", l2Rule},
      {"ReduceLogSum", logSumRule}, {"ReduceLogSumExp", logSumExpRule},
      {"ReduceMax", maxRule},       {"ReduceMean", meanRule},
      {"ReduceMin", minRule},       {"ReduceProd", prodRule},
      {"ReduceSum", sumRule},       {"ReduceSumSquare", sumSquareRule},
  };
  return rules;
}

} // namespace mp
