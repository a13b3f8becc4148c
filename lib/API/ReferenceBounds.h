//===- ReferenceBounds.h - Tensors of comparisons ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_REFERENCEBOUNDS_H
#define MPOPT_LIB_API_REFERENCEBOUNDS_H

#include "mp-opt/Data/Tensor.h"

namespace mp {

/// The tensors with floats as float64.
llvm::Expected<std::vector<NamedTensor>>
widenTensors(llvm::ArrayRef<NamedTensor> tensors);

} // namespace mp

#endif // MPOPT_LIB_API_REFERENCEBOUNDS_H
