//===- Difference.h - Differences between tensors ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_DIFFERENCE_H
#define MPOPT_DATA_DIFFERENCE_H

#include "mp-opt/Data/Tensor.h"

namespace mp {

/// An element may differ by `absolute + relative * |expected|`.
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
  /// The number of elements that are finite in both, and of those that are NaN
  /// in both.
  int64_t compared = 0, nans = 0;
  /// The number of elements outside of the tolerance, and of elements that are
  /// finite in only one tensor or are different non-finite values.
  int64_t outside = 0, specials = 0;
  /// Maxima over the finite elements. Relative differences are only counted if
  /// the expected element is not zero.
  double maxAbs = 0, maxRel = 0;
  /// Root mean squares of the difference and of the expected elements.
  double rmse = 0, rms = 0;
  double cosine = 1;
  /// The index of the element furthest outside of the tolerance, or else of the
  /// greatest difference: "[3, 0, 1]".
  std::string worstPlace;
  double worstActual = 0, worstExpected = 0;

  static Difference compute(const Tensor &actual, const Tensor &expected,
                            const Tolerance &tolerance);

  /// The root mean square error relative to the expected elements. If these are
  /// all zero, it is infinite unless there is no error. NaN if no element is
  /// finite in both tensors.
  double getError() const;
  /// True if no element is finite in both tensors and the tensors are equal, in
  /// which case nothing was compared.
  bool isEmpty() const { return !compared && !specials; }
};

} // namespace mp

#endif // MPOPT_DATA_DIFFERENCE_H
