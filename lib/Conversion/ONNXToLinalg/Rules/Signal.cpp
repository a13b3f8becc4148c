//===- Signal.cpp - Fourier transforms, filter banks, determinants --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transforms are products with a matrix of roots of unity, whose angles are
// reduced exactly.
//
//===----------------------------------------------------------------------===//

#include "../Contractions.h"
#include "../Rules.h"

#include <cmath>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Fourier transforms
//===----------------------------------------------------------------------===//

namespace {

/// A transform of `length` values, of which `from` are given, to `to`.
struct Transform {
  Size length, from, to;
  bool isInverse = false;
  /// A real result of half of a spectrum (the rest is its mirror image).
  bool isMirrored = false;
  /// 1 for real numbers, 2 for complex ones.
  int64_t partsIn = 1, partsOut = 2;

  /// to x from x partsOut x partsIn
  TensorValue getMatrix(Emitter &e, Type element) const;
};

} // namespace

TensorValue Transform::getMatrix(Emitter &e, Type element) const {
  Scalars &s = e.s;
  Type f64 = e.b.getF64Type();
  Sizes sizes = {to, from, e.size(partsOut), e.size(partsIn)};
  Value points = s.fromIndex(e.index(length), f64);
  return e.generate(sizes, element, [&](ValueRange i) {
    Size turn = e.rem(e.mul(i[0], i[1]), length);
    Value angle = s.div(s.fromIndex(e.index(turn), f64), points);
    angle = s.mul(angle, s.constant(f64, 2 * M_PI * (isInverse ? 1 : -1)));
    Value cosine = s.math<math::CosOp>(angle);
    Value sine = s.math<math::SinOp>(angle);
    // (cos + i sin)(re + i im)
    Value isSame = s.compare(Scalars::EQ, i[2], i[3]);
    Value isReal = s.compare(Scalars::EQ, i[2], s.index(0));
    Value value = s.select(isSame, cosine, s.select(isReal, s.neg(sine), sine));
    if (isMirrored) {
      // All but the first and, of an even number, the middle one count twice.
      Value isFirst = s.compare(Scalars::EQ, i[1], s.index(0));
      Value isMiddle = s.compare(Scalars::EQ, e.index(e.mul(i[1], e.size(2))),
                                 e.index(length));
      Value once = arith::OrIOp::create(e.b, e.loc, isFirst, isMiddle);
      value = s.mul(value, s.select(once, s.like(value, 1), s.like(value, 2)));
    }
    if (isInverse)
      value = s.div(value, points);
    return s.convert(value, f64, element);
  });
}

/// The transform of `x` (... x values x parts) along `axis`.
static TensorValue transform(Emitter &e, TensorValue x, int64_t axis,
                             const Transform &how, Type element) {
  Type type = getComputeType(x.element);
  Sizes sizes = e.sizes(x);
  unsigned rank = sizes.size();
  if (sizes[axis] != how.from) {
    Sizes cut = sizes;
    cut[axis] = how.from;
    x = e.slice(x, Sizes(rank, e.size(0)), cut, Sizes(rank, e.size(1)));
  }
  sizes[axis] = how.to;
  sizes.back() = e.size(how.partsOut);
  // Loops: those of the result, then the given values and their parts.
  MLIRContext *context = e.b.getContext();
  SmallVector<AffineExpr> result, source;
  for (unsigned dim = 0; dim < rank; ++dim)
    result.push_back(getAffineDimExpr(dim, context));
  source = result;
  source[axis] = getAffineDimExpr(rank, context);
  source.back() = getAffineDimExpr(rank + 1, context);
  AffineExpr matrix[] = {result[axis], source[axis], result.back(),
                         source.back()};
  auto get = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(rank + 2, 0, exprs, context);
  };
  return contract(e, x, how.getMatrix(e, type), sizes, element,
                  {get(source), get(matrix), get(result)});
}

static LogicalResult checkParts(NodeLowering &node, TensorValue x,
                                int64_t &parts) {
  auto known = x.getRank() < 2
                   ? std::nullopt
                   : Emitter::getConstant(node.e.dim(x, x.getRank() - 1));
  if (!known || *known < 1 || *known > 2)
    return node.fail("its operand's last axis is expected to have the size 1 "
                     "or 2");
  parts = *known;
  return success();
}

/// The one integer of operand `index`; absent if that is not given.
static FailureOr<std::optional<Size>> readInteger(NodeLowering &node,
                                                  unsigned index) {
  if (!node.has(index))
    return std::optional<Size>();
  std::optional<Sizes> list = node.ints(index);
  if (!list || list->size() != 1) {
    (void)node.fail("operand #" + Twine(index) + " is not an integer");
    return failure();
  }
  return std::optional<Size>(list->front());
}

static void checkRange(NodeLowering &node, Size value, Size low, Size high,
                       const Twine &what) {
  Emitter &e = node.e;
  Value fits = arith::AndIOp::create(
      e.b, e.loc, node.s.compare(Scalars::GE, e.index(value), e.index(low)),
      node.s.compare(Scalars::LE, e.index(value), e.index(high)));
  e.check(fits, what + " %0, expected at most %1", value, high);
}

static constexpr int64_t maxPoints = int64_t(1) << 24;

static LogicalResult dftRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  Transform how;
  if (failed(checkParts(node, x, how.partsIn)))
    return failure();
  int64_t axis = node.axis();
  if (node.getVersion() >= 20) {
    axis = -2;
    if (node.has(2)) {
      auto given = node.constantInts(2);
      if (!given || given->size() != 1)
        return node.fail("its axis is computed at run time: only constants can "
                         "be compiled");
      axis = given->front();
    }
  }
  auto normal = node.normalizeAxis(axis, x.getRank());
  if (failed(normal))
    return failure();
  if (*normal == x.getRank() - 1)
    return node.fail("its axis is that of the parts of numbers");
  auto length = readInteger(node, 1);
  if (failed(length))
    return failure();
  how.isInverse = node.getFlag("inverse");
  bool isHalf = node.getFlag("onesided");
  how.isMirrored = how.isInverse && isHalf;
  Size given = e.dim(x, *normal);
  Size mirrored = e.mul(e.sub(given, e.size(1)), e.size(2));
  how.length = length->value_or(how.isMirrored ? mirrored : given);
  checkRange(node, how.length, e.size(1), e.size(maxPoints), "a length of");
  Size half = e.add(e.floorDiv(how.length, e.size(2)), e.size(1));
  how.from = e.min(given, how.isMirrored ? half : how.length);
  how.to = isHalf && !how.isInverse ? half : how.length;
  how.partsOut = how.isMirrored ? 1 : 2;
  node.set(transform(e, x, *normal, how, node.outElement()));
  return success();
}

/// (signal, frame_step, window, frame_length)
static LogicalResult stftRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue signal = node.in(0), window;
  Transform how;
  if (signal.getRank() == 2) {
    Sizes sizes = e.sizes(signal);
    sizes.push_back(e.size(1));
    signal = e.reshape(signal, sizes);
  }
  if (signal.getRank() != 3)
    return node.fail("a signal of " + Twine(signal.getRank()) +
                     " axes, expected 3");
  if (failed(checkParts(node, signal, how.partsIn)))
    return failure();
  auto step = readInteger(node, 1), length = readInteger(node, 3);
  if (failed(step) || failed(length) || !*step)
    return failure();
  Sizes sizes = e.sizes(signal);
  if (node.has(2)) {
    window = node.in(2);
    if (window.getRank() != 1)
      return node.fail("its window is not a vector");
  }
  Size frame = *length ? **length : window ? e.dim(window, 0) : sizes[1];
  checkRange(node, frame, e.size(1), sizes[1], "a frame of");
  checkRange(node, **step, e.size(1), e.size(maxPoints), "a step of");
  if (window && e.dim(window, 0) != frame)
    e.check(s.compare(Scalars::EQ, e.index(e.dim(window, 0)), e.index(frame)),
            "a window of %0 for frames of %1", e.dim(window, 0), frame);
  Size count = e.add(e.floorDiv(e.sub(sizes[1], frame), **step), e.size(1));
  Type type = getComputeType(signal.element);
  Sizes cut = {sizes[0], count, frame, sizes[2]};
  TensorValue frames = e.generate(cut, type, [&](ValueRange i) {
    Value place = e.index(e.add(e.mul(i[1], **step), i[2]));
    Value value = e.load(signal, {i[0], place, i[3]});
    if (!window)
      return value;
    return s.mul(value, s.convert(e.load(window, i[2]), window.element, type));
  });
  how.length = how.from = how.to = frame;
  if (node.getFlag("onesided"))
    how.to = e.add(e.floorDiv(frame, e.size(2)), e.size(1));
  node.set(transform(e, frames, 2, how, node.outElement()));
  return success();
}

//===----------------------------------------------------------------------===//
// MelWeightMatrix
//===----------------------------------------------------------------------===//

/// The spectrum's bins at the edges of the filters.
static TensorValue getMelBins(NodeLowering &node, Size edges, Size length,
                              Size rate) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type f64 = e.b.getF64Type();
  auto number = [&](double value) { return s.constant(f64, value); };
  double perLog = 2595 / std::log(10.0);
  auto toMel = [&](unsigned index) {
    Value hertz =
        s.convert(e.loadAt(node.in(index)), node.inElement(index), f64);
    Value part = s.math<math::Log1pOp>(s.div(hertz, number(700)));
    return s.mul(part, number(perLog));
  };
  Value low = toMel(3), high = toMel(4);
  Value step = s.div(s.sub(high, low), s.fromIndex(e.index(edges), f64));
  Value points = s.fromIndex(e.index(e.add(length, e.size(1))), f64);
  Value perSecond = s.fromIndex(e.index(rate), f64);
  return e.generate(edges, e.b.getI64Type(), [&](ValueRange i) {
    Value mel = s.add(s.mul(s.fromIndex(i[0], f64), step), low);
    Value part = s.math<math::ExpM1Op>(s.div(mel, number(perLog)));
    Value bin = s.div(s.mul(points, s.mul(part, number(700))), perSecond);
    return s.convert(s.math<math::FloorOp>(bin), f64, e.b.getI64Type());
  });
}

/// (num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)
static LogicalResult melRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Sizes numbers;
  for (unsigned index : {0, 1, 2}) {
    auto number = readInteger(node, index);
    if (failed(number) || !*number)
      return failure();
    checkRange(node, **number, e.size(1), e.size(maxPoints),
               "operand #" + Twine(index) + " is");
    numbers.push_back(**number);
  }
  TensorValue bins =
      getMelBins(node, e.add(numbers[0], e.size(2)), numbers[1], numbers[2]);
  Size rows = e.add(e.floorDiv(numbers[1], e.size(2)), e.size(1));
  Type f64 = e.b.getF64Type(), i64 = e.b.getI64Type();
  node.set(e.generate({rows, numbers[0]}, node.outElement(), [&](ValueRange i) {
    auto getEdge = [&](int64_t offset) {
      return e.load(bins, e.index(e.add(i[1], e.size(offset))));
    };
    auto both = [&](Value x, Value y) {
      return arith::AndIOp::create(e.b, e.loc, x, y).getResult();
    };
    Value row = s.fromIndex(i[0], i64);
    Value low = getEdge(0), center = getEdge(1), high = getEdge(2);
    auto divide = [&](Value x, Value y) {
      return s.div(s.convert(x, i64, f64), s.convert(y, i64, f64));
    };
    Value zero = s.constant(f64, 0), one = s.constant(f64, 1);
    Value rising = divide(s.sub(row, low), s.sub(center, low));
    Value inRise = both(s.compare(Scalars::GE, row, low),
                        s.compare(Scalars::LE, row, center));
    Value isSteep = s.compare(Scalars::EQ, low, center);
    Value value = s.select(inRise, s.select(isSteep, one, rising), zero);
    Value falling = divide(s.sub(high, row), s.sub(high, center));
    Value inFall = both(s.compare(Scalars::GE, row, center),
                        s.compare(Scalars::LT, row, high));
    return s.convert(s.select(inFall, falling, value), f64, node.outElement());
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Det
//===----------------------------------------------------------------------===//

/// Row `pivot` and row `k` of matrix `batch` change places.
static Value swapRows(Emitter &e, Value matrices, Type type, Value batch,
                      Value k, Value pivot, Size extent) {
  auto swap = [&](Value j, ValueRange carried) -> SmallVector<Value> {
    TensorValue now = {carried[0], type};
    Value upper = e.load(now, {batch, k, j});
    Value lower = e.load(now, {batch, pivot, j});
    Value next = e.store(now.value, type, {batch, k, j}, lower);
    return {e.store(next, type, {batch, pivot, j}, upper)};
  };
  return e.loop(e.size(0), extent, matrices, swap)[0];
}

/// Eliminates column `k` below the diagonal.
static Value eliminate(Emitter &e, Value matrices, Type type, Value batch,
                       Value k, Size extent) {
  Size next = e.add(k, e.size(1));
  auto row = [&](Value i, ValueRange carried) -> SmallVector<Value> {
    TensorValue now = {carried[0], type};
    Value diagonal = e.load(now, {batch, k, k});
    Value isZero = e.s.compare(Scalars::EQ, diagonal, e.s.like(diagonal, 0));
    Value factor = e.s.div(e.load(now, {batch, i, k}), diagonal);
    factor = e.s.select(isZero, e.s.like(diagonal, 0), factor);
    auto cell = [&](Value j, ValueRange inner) -> SmallVector<Value> {
      TensorValue at = {inner[0], type};
      Value value = e.load(at, {batch, i, j});
      Value less = e.s.mul(factor, e.load(at, {batch, k, j}));
      return {e.store(at.value, type, {batch, i, j}, e.s.sub(value, less))};
    };
    return e.loop(k, extent, carried[0], cell);
  };
  return e.loop(next, extent, matrices, row)[0];
}

/// Gaussian elimination with the greatest pivot of each column.
static LogicalResult detRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  Sizes sizes = e.sizes(x);
  if (sizes.size() < 2)
    return node.fail("an operand of " + Twine(sizes.size()) +
                     " axes, expected at least 2");
  Size extent = sizes.back(), rows = sizes.end()[-2];
  if (extent != rows)
    e.check(s.compare(Scalars::EQ, e.index(extent), e.index(rows)),
            "matrices of %0 x %1, expected square ones", rows, extent);
  Sizes batch(ArrayRef<Size>(sizes).drop_back(2));
  Size count = e.product(batch);
  Type type = getComputeType(x.element);
  TensorValue flat = e.reshape(x, {count, extent, extent});
  Value matrices = e.map(type, flat, [](ValueRange v) { return v[0]; }).value;
  Value results = e.full(count, type, 1.0).value;
  auto column = [&](Value b, Value k, ValueRange carried) {
    TensorValue now = {carried[0], type};
    auto find = [&](Value i, ValueRange best) -> SmallVector<Value> {
      Value value = s.abs(e.load(now, {b, i, k}));
      Value isGreater = s.compare(Scalars::GT, value, best[0]);
      return {s.select(isGreater, value, best[0]),
              s.select(isGreater, i, best[1])};
    };
    Value start = s.abs(e.load(now, {b, k, k}));
    Value pivot = e.loop(k, extent, {start, k}, find)[1];
    Value next = swapRows(e, carried[0], type, b, k, pivot, extent);
    next = eliminate(e, next, type, b, k, extent);
    Value diagonal = e.load({next, type}, {b, k, k});
    Value isSame = s.compare(Scalars::EQ, pivot, k);
    diagonal = s.select(isSame, diagonal, s.neg(diagonal));
    Value product = s.mul(e.load({carried[1], type}, b), diagonal);
    return SmallVector<Value>{next, e.store(carried[1], type, b, product)};
  };
  auto matrix = [&](Value b, ValueRange carried) -> SmallVector<Value> {
    return e.loop(e.size(0), extent, carried, [&](Value k, ValueRange inner) {
      return column(b, k, inner);
    });
  };
  Value found = e.loop(e.size(0), count, {matrices, results}, matrix)[1];
  e.noteSizes(found, count);
  node.set(e.cast(e.reshape({found, type}, batch), node.outElement()));
  return success();
}

ArrayRef<LoweringRule> getSignalLowerings() {
  static const LoweringRule rules[] = {
      {"DFT", dftRule},
      {"Det", detRule},
      {"MelWeightMatrix", melRule},
      {"STFT", stftRule},
  };
  return rules;
}

} // namespace mp
