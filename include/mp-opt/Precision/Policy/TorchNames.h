//===- TorchNames.h - ONNX ops behind the names of torch --------*- C++ -*-===//
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

/// The ONNX ops that a function of torch becomes: none if it is always
/// written as ops that stand for other functions too; absent if nobody knows
/// the name. A name that ends in '_' is the function in place.
std::optional<llvm::ArrayRef<const char *>>
getTorchOperators(llvm::StringRef name);

/// All names, for suggestions.
std::vector<llvm::StringRef> getTorchNames();

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_TORCHNAMES_H
