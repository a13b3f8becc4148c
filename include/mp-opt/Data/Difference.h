//===- Difference.h - How far tensors are apart -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_DIFFERENCE_H
#define MPOPT_DATA_DIFFERENCE_H

#include "mp-opt/Data/Tensor.h"

namespace mp {

/// An element may be `absolute + relative * |expected|` away.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-5;

  /// Reads "RTOL,ATOL" or "RTOL"; the empty text changes nothing. False if it
  /// is neither.
  bool parse(llvm::StringRef text);
};

/// Numbers about two tensors of the same sizes, in float64. NaNs are equal to
/// NaNs, infinities to themselves.
struct Difference {
  int64_t count = 0;
  /// Elements that are finite in both, and those that are NaN in both.
  int64_t compared = 0, nans = 0;
  /// Elements outside of the tolerance, and those where one is a finite number
  /// and the other is not, or is another one that is not.
  int64_t outside = 0, specials = 0;
  /// Over the finite elements; relative differences where the expected element
  /// is not zero.
  double maxAbs = 0, maxRel = 0;
  /// Root mean squares of the difference and of what is expected.
  double rmse = 0, rms = 0;
  double cosine = 1;
  /// The element furthest outside, or else the one with the greatest
  /// difference: "[3, 0, 1]".
  std::string worstPlace;
  double worstActual = 0, worstExpected = 0;

  static Difference compute(const Tensor &actual, const Tensor &expected,
                            const Tolerance &tolerance);

  /// The root mean square error, relative to what is expected; where all of
  /// that is zero, infinite unless there is no error; NaN where nothing was
  /// compared.
  double getError() const;
  /// No element is finite in both tensors, and they do not differ: the numbers
  /// say nothing.
  bool isEmpty() const { return !compared && !specials; }
};

} // namespace mp

#endif // MPOPT_DATA_DIFFERENCE_H
