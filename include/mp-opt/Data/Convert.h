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

/// True if every number of the integer kind `from` is one of `to`, too.
bool holdsAllOf(ElementKind to, ElementKind from);

/// The first element of an integer tensor, as text, that the integer kind has
/// not; absent if it has them all.
std::optional<std::string> findOutside(const Tensor &tensor, ElementKind kind);

/// Writes the elements of an integer tensor to one of another integer kind,
/// which has them all, and of as many elements.
void copyIntegers(const Tensor &from, const Tensor &to);

} // namespace mp

#endif // MPOPT_DATA_CONVERT_H
