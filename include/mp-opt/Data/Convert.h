//===- Convert.h - Tensors of one type as those of another ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_CONVERT_H
#define MPOPT_DATA_CONVERT_H

#include "mp-opt/Data/Tensor.h"

namespace mp {

/// True for kinds of real floating-point numbers.
bool isFloat(ElementKind kind);

/// Converts the elements of a float tensor to another float kind, rounding
/// once. Returns the tensor itself if it is not a float tensor or has that kind
/// already.
llvm::Expected<Tensor> convertFloats(const Tensor &tensor, ElementKind kind);

/// True for integers of 8 to 64 bits, but not for booleans.
bool isInteger(ElementKind kind);

//===----------------------------------------------------------------------===//
// Numbers of any kind
//===----------------------------------------------------------------------===//
//
// Real numbers and booleans become those of another kind where no value
// changes. Float takes all of them, rounded, but for finite numbers that would
// become infinite; so do float16 and bfloat16 of floats.

/// True if there are rules for converting elements of `from` to `to`;
/// findRefused checks the elements.
bool isConvertible(ElementKind from, ElementKind to);

/// True if `to` can hold all values of `from`.
bool takesAllOf(ElementKind to, ElementKind from);

/// The index of the first element that `kind` does not take; absent if it takes
/// all.
std::optional<uint64_t> findRefused(const Tensor &tensor, ElementKind kind);

/// Copies the elements of a tensor to one of another kind, which must be able
/// to hold all of them and have the same number of elements.
void copyElements(const Tensor &from, const Tensor &to);

/// Formats one element: "-3", "0.5", "NaN", "infinity".
std::string formatElement(const Tensor &tensor, uint64_t place);

/// NumPy's name of a kind: "float32", "bool".
llvm::StringRef getArrayTypeName(ElementKind kind);

/// Returns "float32[2,3]"; negative sizes are printed as `?`.
std::string describeArray(ElementKind kind, llvm::ArrayRef<int64_t> sizes);

} // namespace mp

#endif // MPOPT_DATA_CONVERT_H
