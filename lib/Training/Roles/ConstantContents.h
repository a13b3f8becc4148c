//===- ConstantContents.h - Contents of constants ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computed tables (sampled sines, masks, grids, filters) take the place of
// weights, and only their elements distinguish them. No random or trained
// weight has these forms. Elements are read where they are mapped, up to the
// first element that contradicts a form.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_CONSTANTCONTENTS_H
#define MPOPT_LIB_TRAINING_ROLES_CONSTANTCONTENTS_H

#include "mp-opt/Training/Parameters.h"

namespace mp {

/// The elements of an initializer or Constant of 16, 32 or 64 bit floats.
class FloatElements {
public:
  /// Absent for other ops and types, and if elements are not available.
  static std::optional<FloatElements> get(mlir::Operation *constant);

  int64_t size() const { return count; }
  double operator[](int64_t index) const;
  /// Half the distance from 1 to the next number of the type.
  double getRoundoff() const;
  llvm::ArrayRef<int64_t> getShape() const { return shape; }

  /// The value of all elements; absent if they differ.
  std::optional<double> getUniform() const;

private:
  llvm::ArrayRef<char> bytes;
  ElementKind kind = ElementKind::Undefined;
  unsigned width = 0;
  bool isSplat = false;
  int64_t count = 0;
  llvm::SmallVector<int64_t, 4> shape;
};

/// The use of a constant decides what it could be instead of a weight.
enum class ContentUse { Product, Convolution, Table, Elementwise };

/// A description of elements that cannot be a weight's: "sampled sines and
/// cosines". Empty if they may be a weight's, or if there are too few to tell.
llvm::StringRef describeFixedContents(const FloatElements &elements,
                                      ContentUse use);

/// True for whole and half numbers that are not all equal and not a mask:
/// positions, distances, grids.
bool holdsPositions(const FloatElements &elements);

/// True for numbers that formulas contain: whole ones and their reciprocals,
/// roots of small fractions, multiples of pi, very large or very small numbers.
bool isFormulaNumber(double number);
/// True for these, for small fractions themselves, and for decimals of five
/// digits.
bool isPlainNumber(double number);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_CONSTANTCONTENTS_H
