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

/// The points are zero and pairs of opposite points, which share half of their
/// sums. Errors grow with their number; these multiples of powers of two were
/// found to have the smallest errors.
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

ShortConvolution::ShortConvolution(int64_t results, int64_t length)
    : results(results) {
  SmallVector<double> points = getPoints(results + length - 2);
  sumFactors.resize(results);
  for (auto [number, point] : llvm::enumerate(points)) {
    patchFactors.push_back(expand(points, number));
    double scale = 1;
    for (auto [other, value] : llvm::enumerate(points))
      scale *= other == number ? 1 : point - value;
    filterFactors.emplace_back();
    double power = 1;
    for (int64_t filterIndex = 0; filterIndex < length;
         ++filterIndex, power *= point)
      filterFactors.back().push_back(power / scale);
    power = 1;
    for (int64_t result = 0; result < results; ++result, power *= point)
      sumFactors[result].push_back(power);
  }
  patchFactors.push_back(expand(points, points.size()));
  filterFactors.emplace_back(length, 0.0);
  filterFactors.back().back() = 1;
  for (int64_t result = 0; result < results; ++result)
    sumFactors[result].push_back(result + 1 == results);
}

//===----------------------------------------------------------------------===//
// Their products
//===----------------------------------------------------------------------===//

static Value add(LoopBuilder &e, Value a, Value b) {
  return arith::AddFOp::create(e, a, b);
}
static Value subtract(LoopBuilder &e, Value a, Value b) {
  return arith::SubFOp::create(e, a, b);
}

/// Null if all factors are zero.
static Value combine(LoopBuilder &e, ArrayRef<double> factors,
                     ArrayRef<Value> values) {
  auto constant = [&](double factor, Type type) -> Value {
    auto vector = cast<VectorType>(type);
    return arith::ConstantOp::create(
        e, DenseElementsAttr::get(
               vector, FloatAttr::get(vector.getElementType(), factor)));
  };
  // A term that needs no multiplication comes first.
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
/// Two lines that differ only in signs, as a line of their common factors and
/// one of the opposite factors.
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

SmallVector<Value> multiply(LoopBuilder &e, const Factors &factors,
                            ArrayRef<Value> values) {
  // Use sums and differences of two values if rows need nothing else.
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

void transformSquare(LoopBuilder &e, const Factors &factors,
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

} // namespace mp::kernel
