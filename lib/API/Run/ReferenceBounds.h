//===- ReferenceBounds.h - Tensors of comparisons ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_RUN_REFERENCEBOUNDS_H
#define MPOPT_LIB_API_RUN_REFERENCEBOUNDS_H

#include "mp-opt/Data/Tensor.h"

#include "llvm/ADT/StringMap.h"

namespace mp {

/// The tensors with floats as float64.
llvm::Expected<std::vector<NamedTensor>>
widenTensors(llvm::ArrayRef<NamedTensor> tensors);

/// Finds outputs with data-dependent sizes that differ from the expected ones,
/// and replaces them by the expected ones. Returns "float[8,4] instead of
/// float[16,4]" by name.
llvm::StringMap<std::string>
takeOtherSizes(std::vector<NamedTensor> &outputs,
               llvm::ArrayRef<NamedTensor> expected);

} // namespace mp

#endif // MPOPT_LIB_API_RUN_REFERENCEBOUNDS_H
