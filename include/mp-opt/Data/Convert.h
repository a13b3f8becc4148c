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

/// The elements of a float tensor in another float kind, rounded once; the
/// tensor itself if it is no float, or has that kind already.
llvm::Expected<Tensor> convertFloats(const Tensor &tensor, ElementKind kind);

/// True for integers of 8 to 64 bits; booleans are none.
bool isInteger(ElementKind kind);

//===----------------------------------------------------------------------===//
// Numbers of any kind
//===----------------------------------------------------------------------===//
//
// Real numbers and booleans become those of another kind where no value
// changes. Float takes all of them, rounded, but for finite numbers that would
// become infinite.

/// True if there are rules for elements of `from` in the place of `to`.
bool isConvertible(ElementKind from, ElementKind to);

/// True if `to` takes all elements of `from`, whatever they are.
bool takesAllOf(ElementKind to, ElementKind from);

/// The place of the first element that `kind` does not take; absent if it
/// takes them all.
std::optional<uint64_t> findRefused(const Tensor &tensor, ElementKind kind);

/// Writes the elements of a tensor to one of another kind, which takes them
/// all, and of as many elements.
void copyElements(const Tensor &from, const Tensor &to);

/// One element as text: "-3", "0.5", "NaN", "infinity".
std::string formatElement(const Tensor &tensor, uint64_t place);

/// The name that numpy has for a kind: "float32", "bool".
llvm::StringRef getArrayTypeName(ElementKind kind);

/// "float32[2,3]"; `?` stands for a negative size.
std::string describeArray(ElementKind kind, llvm::ArrayRef<int64_t> sizes);

} // namespace mp

#endif // MPOPT_DATA_CONVERT_H
