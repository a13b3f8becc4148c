//===- Transforms.cpp - Matrices of short convolutions --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transforms.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mp::kernel {

//===----------------------------------------------------------------------===//
// The matrices
//===----------------------------------------------------------------------===//

/// Zero and pairs of opposite points, which share half of their sums. With
/// more of them errors grow; these are multiples of powers of two for which
/// they were found to grow least.
static SmallVector<double> getPoints(int64_t count) {
  assert((count == 3 || count == 5) && "points for so many places");
  if (count == 3)
    return {0, 1, -1};
  return {0, 0.75, -0.75, 1.5, -1.5};
}

/// The factors of the product of x - p for all points p but number `omitted`.
static SmallVector<double> expand(ArrayRef<double> points, size_t omitted) {
  SmallVector<double> factors(points.size() + 1, 0.0);
  factors.front() = 1;
  for (auto [number, point] : llvm::enumerate(points)) {
    if (number == omitted)
      continue;
    for (size_t power = factors.size() - 1; power > 0; --power)
      factors[power] = factors[power - 1] - point * factors[power];
    factors.front() *= -point;
  }
  return factors;
}

ShortConvolution::ShortConvolution(int64_t results, int64_t taps)
    : results(results) {
  SmallVector<double> points = getPoints(results + taps - 2);
  sumFactors.resize(results);
  for (auto [number, point] : llvm::enumerate(points)) {
    patchFactors.push_back(expand(points, number));
    double scale = 1;
    for (auto [other, value] : llvm::enumerate(points))
      scale *= other == number ? 1 : point - value;
    tapFactors.emplace_back();
    double power = 1;
    for (int64_t tap = 0; tap < taps; ++tap, power *= point)
      tapFactors.back().push_back(power / scale);
    power = 1;
    for (int64_t result = 0; result < results; ++result, power *= point)
      sumFactors[result].push_back(power);
  }
  patchFactors.push_back(expand(points, points.size()));
  tapFactors.emplace_back(taps, 0.0);
  tapFactors.back().back() = 1;
  for (int64_t result = 0; result < results; ++result)
    sumFactors[result].push_back(result + 1 == results);
}

//===----------------------------------------------------------------------===//
// Their products
//===----------------------------------------------------------------------===//

static Value add(Emitter &e, Value a, Value b) {
  return arith::AddFOp::create(e, a, b);
}
static Value subtract(Emitter &e, Value a, Value b) {
  return arith::SubFOp::create(e, a, b);
}

/// Null if all factors are zero.
static Value combine(Emitter &e, ArrayRef<double> factors,
                     ArrayRef<Value> values) {
  auto constant = [&](double factor, Type type) -> Value {
    auto vector = cast<VectorType>(type);
    return arith::ConstantOp::create(
        e, DenseElementsAttr::get(
               vector, FloatAttr::get(vector.getElementType(), factor)));
  };
  // What needs no multiplication comes first.
  const double *one = llvm::find(factors, 1.0);
  size_t first = one == factors.end() ? factors.size() : one - factors.begin();
  Value sum = first < values.size() ? values[first] : Value();
  for (auto [number, factor] : llvm::enumerate(factors)) {
    if (factor == 0 || number == first)
      continue;
    Value value = values[number];
    if (!sum)
      sum = arith::MulFOp::create(e, value, constant(factor, value.getType()));
    else if (std::abs(factor) == 1)
      sum = factor > 0 ? add(e, sum, value) : subtract(e, sum, value);
    else
      sum = vector::FMAOp::create(e, value, constant(factor, value.getType()),
                                  sum);
  }
  return sum;
}

namespace {
/// Two lines that differ only in signs, as a line of what they share and one
/// of what is opposite.
struct Pair {
  SmallVector<double> same, opposite;
};
} // namespace

static std::optional<Pair> findPair(ArrayRef<double> a, ArrayRef<double> b) {
  Pair pair;
  for (auto [first, second] : llvm::zip_equal(a, b)) {
    if (std::abs(first) != std::abs(second))
      return std::nullopt;
    pair.same.push_back(first == second ? first : 0);
    pair.opposite.push_back(first == second ? 0 : first);
  }
  auto isZero = [](double factor) { return factor == 0; };
  if (llvm::all_of(pair.same, isZero) || llvm::all_of(pair.opposite, isZero))
    return std::nullopt;
  return pair;
}

static Factors exchange(const Factors &factors) {
  Factors result(factors.front().size());
  for (ArrayRef<double> row : factors)
    for (auto [column, factor] : llvm::enumerate(row))
      result[column].push_back(factor);
  return result;
}

SmallVector<Value> multiply(Emitter &e, const Factors &factors,
                            ArrayRef<Value> values) {
  // Sums and differences of two values, where rows ask for nothing else.
  SmallVector<Value> inputs(values);
  Factors columns = exchange(factors);
  for (size_t i = 0; i + 1 < columns.size(); ++i) {
    std::optional<Pair> pair = findPair(columns[i], columns[i + 1]);
    if (!pair)
      continue;
    inputs[i] = add(e, values[i], values[i + 1]);
    inputs[i + 1] = subtract(e, values[i], values[i + 1]);
    columns[i] = pair->same;
    columns[i + 1] = pair->opposite;
    ++i;
  }
  Factors rows = exchange(columns);
  SmallVector<Value> results;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::optional<Pair> pair;
    if (i + 1 < rows.size())
      pair = findPair(rows[i], rows[i + 1]);
    if (!pair) {
      results.push_back(combine(e, rows[i], inputs));
      continue;
    }
    Value same = combine(e, pair->same, inputs);
    Value opposite = combine(e, pair->opposite, inputs);
    results.append({add(e, same, opposite), subtract(e, same, opposite)});
    ++i;
  }
  return results;
}

void transformSquare(Emitter &e, const Factors &factors,
                     llvm::function_ref<SmallVector<Value>(int64_t)> read,
                     llvm::function_ref<void(int64_t, ArrayRef<Value>)> store) {
  SmallVector<SmallVector<Value>> lines;
  for (size_t line = 0; line < factors.front().size(); ++line)
    lines.push_back(multiply(e, factors, read(line)));
  for (size_t place = 0; place < factors.size(); ++place) {
    SmallVector<Value> across;
    for (ArrayRef<Value> line : lines)
      across.push_back(line[place]);
    store(place, multiply(e, factors, across));
  }
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

static SmallVector<Value> split(Emitter &e, Value vector, int64_t count) {
  if (count == 1)
    return {vector};
  auto apart = vector::DeinterleaveOp::create(e, vector);
  SmallVector<Value> result;
  for (auto [even, odd] : llvm::zip(split(e, apart.getRes1(), count / 2),
                                    split(e, apart.getRes2(), count / 2)))
    result.append({even, odd});
  return result;
}

SmallVector<Value> splitLanes(Emitter &e, Value vector, int64_t count) {
  Type element = getElementTypeOrSelf(vector.getType());
  if (element.getIntOrFloatBitWidth() != 16) {
    SmallVector<Value> result;
    for (Value part : split(e, vector, count))
      result.push_back(e.castFloat(part, e.getF32Type()));
    return result;
  }
  // Words are moved, of two elements each, and taken apart last.
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  Value words = vector::BitCastOp::create(
      e, e.vectorType(e.getI32Type(), size / 2), vector);
  VectorType type = e.vectorType(e.getI32Type(), size / count);
  Value shift = e.splat(e.i32(16), size / count);
  auto widen = [&](Value word) -> Value {
    if (element.isBF16())
      return arith::BitcastOp::create(e, type.clone(e.getF32Type()), word);
    Value high = arith::TruncIOp::create(
        e, type.clone(e.getI16Type()), arith::ShRUIOp::create(e, word, shift));
    return e.castFloat(arith::BitcastOp::create(e, type.clone(element), high),
                       e.getF32Type());
  };
  Value mask = e.splat(e.i32(int32_t(0xffff0000)), size / count);
  SmallVector<Value> result;
  for (Value part : split(e, words, count / 2))
    result.append({widen(arith::ShLIOp::create(e, part, shift)),
                   widen(arith::AndIOp::create(e, part, mask))});
  return result;
}

Value joinLanes(Emitter &e, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  SmallVector<Value> even, odd;
  for (auto [number, value] : llvm::enumerate(vectors))
    (number % 2 ? odd : even).push_back(value);
  return vector::InterleaveOp::create(e, joinLanes(e, even), joinLanes(e, odd));
}

SmallVector<Value> transpose(Emitter &e, ArrayRef<Value> rows) {
  // Interleaving row i with row i + n / 2, log2(n) times over.
  int64_t count = rows.size();
  SmallVector<Value> current(rows);
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < count; ++i) {
    low.push_back(i / 2 + (i % 2) * count);
    high.push_back(count / 2 + i / 2 + (i % 2) * count);
  }
  for (int64_t step = 1; step < count; step *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < count / 2; ++i)
      for (ArrayRef<int64_t> order : {low, high})
        next.push_back(vector::ShuffleOp::create(
            e, current[i], current[i + count / 2], order));
    current = next;
  }
  return current;
}

} // namespace mp::kernel
