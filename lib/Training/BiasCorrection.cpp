//===- BiasCorrection.cpp - Bias correction of means ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In fp32 the difference of 1 and a power near 1 has few digits. The power is
// therefore a product of two numbers in float64 tables: one for the step modulo
// the table size, one for the quotient. Look-ups and products give the same
// results on all runtimes and devices, unlike Pow.
//
//===----------------------------------------------------------------------===//

#include "BiasCorrection.h"

#include <cmath>

using namespace mlir;

namespace mp {

/// The table (rate^stride)^0, ^1, ... with `count` entries.
static Value getPowers(NodeBuilder &b, double rate, int64_t stride,
                       int64_t count) {
  SmallVector<double> powers;
  for (int64_t index = 0; index < count; ++index)
    powers.push_back(std::pow(rate, double(index * stride)));
  auto type = RankedTensorType::get({count}, b.getBuilder().getF64Type());
  return b.constant(DenseElementsAttr::get(type, ArrayRef(powers)));
}

/// The square root of the number of steps after which fp32 rounds the result to
/// 1; at most 46341.
static int64_t getTableSize(double rate) {
  constexpr double digits = 26, most = 0x1p31;
  double steps = rate == 0 ? 1 : -digits / std::log2(rate);
  return int64_t(std::ceil(std::sqrt(std::min(most, steps))));
}

Value getBiasCorrection(NodeBuilder &b, Value step, double rate, Type type) {
  Type f64 = b.getBuilder().getF64Type();
  int64_t size = getTableSize(rate);
  step = b.castTo(step, b.getBuilder().getI64Type());
  Value chunk = b.create("Clip", {b.div(step, b.intScalar(size)),
                                  b.intScalar(0), b.intScalar(size)});
  Value place = b.create("Mod", {step, b.intScalar(size)});
  Value power = b.mul(b.gather(getPowers(b, rate, size, size + 1), chunk, 0),
                      b.gather(getPowers(b, rate, 1, size), place, 0));
  return b.castTo(b.sub(b.scalar(1, f64), power), type);
}

} // namespace mp
