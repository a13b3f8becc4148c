//===- TorchNames.h - ONNX ops of torch functions ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_TORCHNAMES_H
#define MPOPT_PRECISION_POLICY_TORCHNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <vector>

namespace mp {

/// The ONNX ops that a function of torch becomes: empty if it is always written
/// as ops that other functions use too; absent if the name is unknown. A name
/// that ends in '_' is the in-place function.
std::optional<llvm::ArrayRef<const char *>>
getTorchOperators(llvm::StringRef name);

/// All names, for suggestions.
std::vector<llvm::StringRef> getTorchNames();

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_TORCHNAMES_H
