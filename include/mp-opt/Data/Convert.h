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

} // namespace mp

#endif // MPOPT_DATA_CONVERT_H
