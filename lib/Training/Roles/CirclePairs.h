//===- CirclePairs.h - Pairs of sines and cosines ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The squares of a sine and a cosine of one angle add up to 1, in any
// arrangement of the two in a model: concatenated, interleaved, repeated,
// stacked.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_CIRCLEPAIRS_H
#define MPOPT_LIB_TRAINING_ROLES_CIRCLEPAIRS_H

#include "ConstantContents.h"

namespace mp {

/// True if elements form pairs whose squares add up to the same number, except
/// for zeros and the ends of the circle. False if all elements are such: masks,
/// signs, identities.
bool pairsUp(const FloatElements &elements);

/// A table of two or more elements that may be the sines or the cosines of
/// another table's angles.
class CircleTable {
public:
  explicit CircleTable(const FloatElements &elements);

  /// True if the squares of elements at the same position have one sum
  /// everywhere.
  bool isCircleWith(const CircleTable &other) const;

private:
  FloatElements elements;
  /// Squares of the first two elements, which rule out most pairs of tables.
  double first, second;
};

/// True for a constant with one axis whose squares add up to 1.
bool isUnitVector(mlir::Operation *constant);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_CIRCLEPAIRS_H
