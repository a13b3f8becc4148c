//===- Reduction.cpp - Reductions over axes -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are accumulated in the compute type: 16-bit floats in fp32, rounded
// once.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

namespace {

/// The functions applied to each element, between elements, and to the result.
struct Reduction {
  Value (*before)(Scalars &, Value);
  Value (*combine)(Scalars &, Value, Value, bool isUnsigned);
  Value (*after)(Scalars &, Value);
  /// The result for an empty set.
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

namespace {

/// The reduced axes. If they are known at run time only, `flags` has an i1 per
/// axis that says if it is reduced. Their number is known if reduced axes are
/// dropped.
struct Axes {
  SmallVector<int64_t> known;
  SmallVector<Value> flags;
  unsigned count = 0;
};

} // namespace

/// One flag for each axis: true if it is in `list`, whose length is known at
/// run time only. `all` is the flag for an empty list.
static SmallVector<Value> findFlags(NodeLowering &node, TensorValue list,
                                    int64_t rank, bool all) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type type = list.element;
  Value no = s.constant(type, 0), yes = s.constant(type, 1);
  // 1 if the condition holds for an entry of the list.
  auto findSome = [&](function_ref<Value(Value)> condition) {
    TensorValue some = e.reduce(list, {0}, /*keepDims=*/false, type, no,
                                [&](Value axis, Value found) {
                                  return s.select(condition(axis), yes, found);
                                });
    return s.compare(Scalars::NE, e.load(some, {}), no);
  };
  Value isWrong = findSome([&](Value axis) {
    Value low = s.compare(Scalars::LT, axis, s.constant(type, -rank));
    Value high = s.compare(Scalars::GE, axis, s.constant(type, rank));
    return arith::OrIOp::create(e.b, e.loc, low, high).getResult();
  });
  Size count = e.dim(list, 0);
  e.check(s.logicalNot(isWrong),
          "one of %0 axes is none of a tensor of rank %1", count, e.size(rank));
  Value isEmpty = s.compare(Scalars::EQ, e.index(count), s.index(0));
  SmallVector<Value> flags;
  for (int64_t i = 0; i < rank; ++i) {
    Value flag = findSome([&](Value axis) {
      Value same = s.compare(Scalars::EQ, axis, s.constant(type, i));
      Value fromEnd = s.compare(Scalars::EQ, axis, s.constant(type, i - rank));
      return arith::OrIOp::create(e.b, e.loc, same, fromEnd).getResult();
    });
    if (all)
      flag = arith::OrIOp::create(e.b, e.loc, flag, isEmpty);
    flags.push_back(flag);
  }
  return flags;
}

/// The axes to reduce over; absent if nothing is to be done.
static FailureOr<std::optional<Axes>> getAxes(NodeLowering &node,
                                              int64_t rank) {
  Axes axes;
  bool isAttribute = node.states("axes");
  if (isAttribute) {
    axes.known = node.getInts("axes");
  } else if (auto constants = node.constantInts(1)) {
    axes.known = *constants;
  } else if (node.has(1)) {
    std::optional<Sizes> list = node.ints(1);
    if (!list && node.in(1) && node.in(1).getRank() == 1 && node.keepDims()) {
      bool all = !node.getFlag("noop_with_empty_axes");
      axes.flags = findFlags(node, node.in(1), rank, all);
      return std::optional(axes);
    }
    if (!list)
      return node.fail("the number of axes is known at run time only, and they "
                       "are dropped (keepdims = 0)");
    if (int64_t(list->size()) > rank)
      return node.fail("expected at most " + Twine(rank) + " axes");
    if (!list->empty()) {
      axes.flags = getAxisFlags(node.e, *list, rank);
      axes.count = list->size();
      return std::optional(axes);
    }
  }
  if (axes.known.empty() && node.getFlag("noop_with_empty_axes"))
    return std::optional<Axes>();
  if (axes.known.empty())
    axes.known = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto normal = node.normalizeAxes(axes.known, rank);
  if (failed(normal))
    return failure();
  axes.known = *normal;
  axes.count = axes.known.size();
  if (axes.count == 0)
    return std::optional<Axes>();
  return std::optional(axes);
}

/// Element by element into a tensor whose flagged axes are of size 1.
static TensorValue reduceFlagged(Emitter &e, TensorValue x,
                                 ArrayRef<Value> flags, Type element,
                                 Value init,
                                 function_ref<Value(Value, Value)> combine,
                                 Emitter::BodyFn finish) {
  Sizes from = e.sizes(x), to;
  for (auto [flag, extent] : llvm::zip(flags, from))
    to.push_back(e.select(flag, e.size(1), extent));
  TensorValue sums = e.full(to, init.getType(), init);
  sums.value = e.loopNest(from, sums.value, [&](ValueRange at, ValueRange v) {
    SmallVector<Value> target;
    for (auto [flag, i] : llvm::zip(flags, at))
      target.push_back(e.s.select(flag, e.s.index(0), i));
    Value old = e.load({v[0], sums.element}, target);
    Value sum = combine(e.load(x, at), old);
    return SmallVector<Value>{e.store(v[0], sums.element, target, sum)};
  })[0];
  e.noteSizes(sums.value, to);
  return e.map(element, sums, [&](ValueRange values) {
    return finish ? finish(values) : values[0];
  });
}

/// Like Emitter::reduce, over axes of either kind.
static TensorValue reduceOver(Emitter &e, TensorValue x, const Axes &axes,
                              bool keepDims, Type element, Value init,
                              function_ref<Value(Value, Value)> combine,
                              Emitter::BodyFn finish = nullptr) {
  if (axes.flags.empty())
    return e.reduce(x, axes.known, keepDims, element, init, combine, finish);
  TensorValue result =
      reduceFlagged(e, x, axes.flags, element, init, combine, finish);
  return keepDims ? result : dropFlagged(e, result, axes.flags, axes.count);
}

/// The number of elements that are reduced to one.
static Size getReducedCount(Emitter &e, TensorValue x, const Axes &axes) {
  Size count = e.size(1);
  Sizes sizes = e.sizes(x);
  for (int64_t axis : axes.known)
    count = e.mul(count, sizes[axis]);
  for (auto [flag, extent] : llvm::zip_first(axes.flags, sizes))
    count = e.mul(count, e.select(flag, extent, e.size(1)));
  return count;
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
  if (!*axes) {
    node.set(e.map(node.outElement(), x, [&](ValueRange values) {
      Value value = before(values[0]);
      return reduction.after ? reduction.after(s, value) : value;
    }));
    return success();
  }
  Type type = getComputeType(x.element);
  Value divisor =
      isMean ? s.fromIndex(e.index(getReducedCount(e, x, **axes)), type)
             : Value();
  auto finish = [&](ValueRange values) {
    Value value = values[0];
    if (isMean)
      return s.div(value, divisor);
    return reduction.after ? reduction.after(s, value) : value;
  };
  Emitter::BodyFn end = finish;
  node.set(reduceOver(
      e, x, **axes, node.keepDims(), node.outElement(),
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
  if (!*axes) {
    node.set(e.cast(x, node.outElement()));
    return success();
  }
  TensorValue greatest = reduceOver(
      e, x, **axes, true, type, lowest(s, type, false),
      [&](Value value, Value high) { return s.max(high, value); },
      [&](ValueRange values) {
        // If all are -inf, or one is +inf, the difference would be NaN.
        Value finite = s.compare(Scalars::LT, s.abs(values[0]),
                                 s.constant(type, INFINITY));
        return s.select(finite, values[0], s.constant(type, 0));
      });
  TensorValue powers = e.map(type, {x, greatest}, [&](ValueRange values) {
    return s.exp(s.sub(values[0], values[1]));
  });
  TensorValue sums =
      reduceOver(e, powers, **axes, true, type, s.constant(type, 0),
                 [&](Value value, Value total) { return s.add(total, value); });
  TensorValue result =
      e.map(node.outElement(), {sums, greatest}, [&](ValueRange values) {
        Value sum = s.add(s.log(values[0]), values[1]);
        return s.convert(sum, element, node.outElement());
      });
  if (!node.keepDims() && !(*axes)->flags.empty()) {
    result = dropFlagged(e, result, (*axes)->flags, (*axes)->count);
  } else if (!node.keepDims()) {
    Sizes kept;
    for (auto [axis, extent] : llvm::enumerate(e.sizes(x)))
      if (!llvm::is_contained((*axes)->known, axis))
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
