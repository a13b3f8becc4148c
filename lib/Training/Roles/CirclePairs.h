//===- CirclePairs.h - Sines beside their cosines ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The squares of a sine and a cosine of one angle make up 1, wherever a model
// has moved the two: concatenated, interleaved, repeated, stacked.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_CIRCLEPAIRS_H
#define MPOPT_LIB_TRAINING_ROLES_CIRCLEPAIRS_H

#include "ConstantContents.h"

namespace mp {

/// True if elements pair up so that the squares of each pair make up one
/// number, the same for all, but for zeros and the ends of the circle. False
/// where all elements are such: masks, signs, identities.
bool pairsUp(const FloatElements &elements);

/// A table of two elements or more that may be the sines or the cosines of
/// another one's angles.
class CircleTable {
public:
  explicit CircleTable(const FloatElements &elements);

  /// True if the squares of elements at one place have one sum everywhere.
  bool isCircleWith(const CircleTable &other) const;

private:
  FloatElements elements;
  /// Squares of the first two elements: they rule out most pairs of tables.
  double first, second;
};

/// True for a constant with one axis whose squares make up 1.
bool isUnitVector(mlir::Operation *constant);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_CIRCLEPAIRS_H
