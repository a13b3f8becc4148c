//===- Difference.cpp - Differences between tensors -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/Difference.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace mp {

bool Tolerance::parse(StringRef text) {
  if (text.empty())
    return true;
  auto [first, second] = text.split(',');
  return !first.getAsDouble(relative) && relative >= 0 &&
         (second.empty() ? first.size() == text.size()
                         : !second.getAsDouble(absolute) && absolute >= 0);
}

/// The multi-dimensional index of an element in a tensor of these sizes: "[1,
/// 2]".
static std::string formatPlace(ArrayRef<int64_t> sizes, int64_t index) {
  std::string text;
  for (int64_t size : llvm::reverse(sizes)) {
    std::string place = std::to_string(index % size);
    text = text.empty() ? place : place + ", " + text;
    index /= size;
  }
  return "[" + text + "]";
}

Difference Difference::compute(const Tensor &actual, const Tensor &expected,
                               const Tolerance &tolerance) {
  std::vector<double> a = actual.toDoubles(), e = expected.toDoubles();
  Difference result;
  result.count = int64_t(a.size());
  double squares = 0, ofExpected = 0, ofActual = 0, product = 0;
  int64_t worst = -1;
  double worstExcess = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    bool bothFinite = std::isfinite(a[i]) && std::isfinite(e[i]);
    bool isSame = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]));
    double excess = 0;
    if (bothFinite) {
      double error = std::abs(a[i] - e[i]);
      ++result.compared;
      squares += error * error;
      ofExpected += e[i] * e[i];
      ofActual += a[i] * a[i];
      product += a[i] * e[i];
      result.maxAbs = std::max(result.maxAbs, error);
      if (e[i] != 0)
        result.maxRel = std::max(result.maxRel, error / std::abs(e[i]));
      double allowed = tolerance.absolute + tolerance.relative * std::abs(e[i]);
      result.outside += error > allowed;
      // Without any tolerance, differences are ranked by their size.
      excess = allowed > 0 ? error / allowed : error;
    } else if (isSame) {
      result.nans += std::isnan(a[i]);
    } else {
      ++result.outside;
      ++result.specials;
      excess = std::numeric_limits<double>::infinity();
    }
    if (excess > worstExcess) {
      worstExcess = excess;
      worst = int64_t(i);
    }
  }
  if (int64_t finite = result.compared) {
    result.rmse = std::sqrt(squares / double(finite));
    result.rms = std::sqrt(ofExpected / double(finite));
  }
  // Two zeros have the same direction.
  double lengths = std::sqrt(ofExpected) * std::sqrt(ofActual);
  if (lengths > 0)
    result.cosine = std::min(1.0, product / lengths);
  else
    result.cosine = ofExpected == ofActual ? 1 : 0;
  if (worst >= 0) {
    int64_t parts =
        actual.getNumElements() ? result.count / actual.getNumElements() : 1;
    result.worstPlace = formatPlace(actual.getSizes(), worst / parts);
    result.worstActual = a[worst];
    result.worstExpected = e[worst];
  }
  return result;
}

double Difference::getError() const {
  if (!compared)
    return std::numeric_limits<double>::quiet_NaN();
  if (rms > 0)
    return rmse / rms;
  return rmse > 0 ? std::numeric_limits<double>::infinity() : 0;
}

} // namespace mp
