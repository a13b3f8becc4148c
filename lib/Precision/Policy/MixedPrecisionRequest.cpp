//===- MixedPrecisionRequest.cpp - What runs in 16 bit --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/MixedPrecisionRequest.h"

namespace mp {

using R = MixedPrecisionRequest;

static constexpr llvm::StringRef rules[] = {"min-cut", "first-operand"};

static constexpr RequestField<R> fields[] = {
    {"assign",
     "assign",
     "rule between allow and deny",
     &R::assign,
     "",
     false,
     false,
     {},
     rules},
    {"min-saving", "min-saving", "percentage that a 16-bit region must save",
     &R::minSaving, "PERCENT"},
    {"dim", "dim", "sizes of symbolic dimensions", &R::dims, "NAME=SIZE,...",
     /*hasCommas=*/true},
    {"max-weight-copy", "max-weight-copy",
     "bytes up to which weights are stored in both types", &R::maxWeightCopy},
    {"raise-opset", "raise-opset", "raise the opset where 16 bit needs it",
     &R::raiseOpset},
    {"opset-limit", "opset-limit", "newest opset to raise to", &R::opsetLimit},
};

llvm::ArrayRef<RequestField<R>> R::getFields() { return fields; }

} // namespace mp
