//===- ConstantContents.h - What a constant's elements tell -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables that somebody computed - sampled sines, masks, grids, filters - stand
// where weights do, and only their elements tell them apart. No weight that is
// random or trained has these forms. Elements are read where they are mapped,
// and reading ends at the first element that is against a form.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_CONSTANTCONTENTS_H
#define MPOPT_LIB_TRAINING_ROLES_CONSTANTCONTENTS_H

#include "mp-opt/Training/Parameters.h"

namespace mp {

/// The elements of an initializer or Constant of 16, 32 or 64 bit floats.
class FloatElements {
public:
  /// Absent for other ops and types, and for elements that are not there.
  static std::optional<FloatElements> get(mlir::Operation *constant);

  int64_t size() const { return count; }
  double operator[](int64_t index) const;
  /// The type's: half the distance from 1 to the next number.
  double getRoundoff() const;
  llvm::ArrayRef<int64_t> getShape() const { return shape; }

  /// The number that all elements are; absent if they differ.
  std::optional<double> getUniform() const;

private:
  llvm::ArrayRef<char> bytes;
  ElementKind kind = ElementKind::Undefined;
  unsigned width = 0;
  bool isSplat = false;
  int64_t count = 0;
  llvm::SmallVector<int64_t, 4> shape;
};

/// How a constant is used decides what it could be instead of a weight.
enum class ContentUse { Product, Convolution, Table, Elementwise };

/// What the elements are if they are no weight's: "sampled sines and cosines".
/// Empty where they may be a weight's. A few elements tell nothing.
llvm::StringRef describeFixedContents(const FloatElements &elements,
                                      ContentUse use);

/// True for whole and half numbers, not all equal, and no mask: positions,
/// distances, grids.
bool holdsPositions(const FloatElements &elements);

/// Numbers that formulas hold: whole ones and their reciprocals, roots of small
/// fractions, multiples of pi, what is very large or very small.
bool isFormulaNumber(double number);
/// These, the small fractions themselves, and decimals of five digits.
bool isPlainNumber(double number);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_CONSTANTCONTENTS_H
