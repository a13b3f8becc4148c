//===- CirclePairs.cpp - Pairs of sines and cosines -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If squares pair up at all, the least goes with the largest, and so on, so
// they are sorted. A sample of few elements shows whether sorting is worth
// while: squares of random weights often exceed the limit that a constant sum
// implies.
//
//===----------------------------------------------------------------------===//

#include "CirclePairs.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// A share of the sum shows an angle only if it differs by more than this from
/// 0 and 1, the ends of the circle, and from 1/2, where all numbers of equal
/// size pair up.
static constexpr double margin = 0.01;

static bool isTelling(double share) {
  return share > margin && share < 1 - margin &&
         std::fabs(share - 0.5) > margin;
}

static double square(double number) { return number * number; }

/// True unless a square exceeds twice the mean of all, which is impossible for
/// sines and cosines.
static bool mayBeCircle(const FloatElements &elements) {
  constexpr int64_t most = 1024;
  constexpr double slack = 1.3;
  int64_t count = std::min(elements.size(), most);
  double sum = 0, largest = 0;
  for (int64_t index = 0; index < count; ++index) {
    // Positions are scattered: columns have different sizes.
    double place = std::fmod(double(index) * M_PI * 1e3, elements.size());
    double found = square(elements[count < most ? index : int64_t(place)]);
    sum += found;
    largest = std::max(largest, found);
  }
  return std::isfinite(sum) && largest <= slack * 2 * sum / double(count);
}

static bool pairsUp(ArrayRef<double> squares, double sum, double tolerance) {
  constexpr int64_t minPairs = 4, minAngles = 2;
  int64_t pairs = 0, angles = 0;
  double last = 0;
  size_t low = 0, high = squares.size();
  while (low + 1 < high) {
    double least = squares[low] / sum, largest = squares[high - 1] / sum;
    if (std::fabs(least + largest - 1) <= tolerance) {
      if (isTelling(least)) {
        ++pairs;
        angles += std::fabs(least - last) > tolerance;
        last = least;
      }
      ++low, --high;
    } else if (least <= tolerance) {
      ++low;
    } else if (std::fabs(largest - 1) <= tolerance) {
      --high;
    } else {
      return false;
    }
  }
  return pairs >= minPairs && angles >= minAngles &&
         pairs * 32 >= int64_t(squares.size());
}

/// A sine and a cosine of one angle each have a rounding error.
static double getTolerance(const FloatElements &elements) {
  return std::max(1e-5, 6 * elements.getRoundoff());
}

bool pairsUp(const FloatElements &elements) {
  if (!mayBeCircle(elements))
    return false;
  std::vector<double> squares(elements.size());
  for (int64_t index = 0; index < elements.size(); ++index) {
    squares[index] = square(elements[index]);
    if (!std::isfinite(squares[index]))
      return false;
  }
  llvm::sort(squares);
  double largest = squares.back(), tolerance = getTolerance(elements);
  double least = *llvm::find_if(squares, [&](double found) {
    return found > tolerance * largest || found == largest;
  });
  // Some tables are scaled, and some do not contain an end of the circle.
  for (double sum : {1.0, largest, least + largest})
    if (sum > 0 && pairsUp(squares, sum, tolerance))
      return true;
  return false;
}

CircleTable::CircleTable(const FloatElements &elements)
    : elements(elements), first(square(elements[0])),
      second(square(elements[1])) {}

bool CircleTable::isCircleWith(const CircleTable &other) const {
  double sum = first + other.first;
  auto isSum = [&](double left, double right) {
    return std::fabs(left + right - sum) <= margin * sum;
  };
  if (!isSum(second, other.second) || elements.size() != other.elements.size())
    return false;
  bool tells = false;
  for (int64_t index = 0; index < elements.size(); ++index) {
    double own = square(elements[index]);
    if (!isSum(own, square(other.elements[index])))
      return false;
    tells |= isTelling(own / sum);
  }
  return tells;
}

bool isUnitVector(Operation *constant) {
  auto elements = FloatElements::get(constant);
  if (!elements || llvm::count_if(elements->getShape(),
                                  [](int64_t size) { return size != 1; }) > 1)
    return false;
  double sum = 0;
  for (int64_t index = 0; index < elements->size(); ++index)
    sum += square((*elements)[index]);
  return std::fabs(sum - 1) <= std::max(1e-3, 4 * elements->getRoundoff());
}

} // namespace mp
