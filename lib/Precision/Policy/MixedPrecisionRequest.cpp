//===- MixedPrecisionRequest.cpp - What runs in 16 bit --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/MixedPrecisionRequest.h"

namespace mp {

static constexpr llvm::StringRef rules[] = {"min-cut", "first-operand"};

static constexpr RequestField<MixedPrecisionRequest> mixedPrecisionFields[] = {
    {"assign",
     "assign",
     "rule between allow and deny",
     &MixedPrecisionRequest::assign,
     "",
     false,
     false,
     {},
     rules},
    {"min-saving", "min-saving", "percentage that a 16-bit region must save",
     &MixedPrecisionRequest::minSaving, "PERCENT"},
    {"dim", "dim", "sizes of symbolic dimensions", &MixedPrecisionRequest::dims,
     "NAME=SIZE,...",
     /*hasCommas=*/true},
    {"max-weight-copy", "max-weight-copy",
     "bytes up to which weights are stored in both types",
     &MixedPrecisionRequest::maxWeightCopy},
    {"raise-opset", "raise-opset", "raise the opset where 16 bit needs it",
     &MixedPrecisionRequest::raiseOpset},
    {"opset-limit", "opset-limit", "newest opset to raise to",
     &MixedPrecisionRequest::opsetLimit},
    {"runtime", "runtime", "runtime that the model is for",
     &MixedPrecisionRequest::runtime, "NAME[:VERSION]"},
    {"dla", "", "with TensorRT, for its deep learning accelerator",
     &MixedPrecisionRequest::dla},
    {"input-range", "input-range", "least and greatest elements of inputs",
     &MixedPrecisionRequest::inputRanges, "NAME:LOW..HIGH"},
    {"head-room", "head-room",
     "factor by which values may exceed those of the data",
     &MixedPrecisionRequest::headRoom},
    {"trust-data", "trust-data",
     "16 bit where data rule out what analyses fear",
     &MixedPrecisionRequest::trustData},
};

llvm::ArrayRef<RequestField<MixedPrecisionRequest>>
MixedPrecisionRequest::getFields() {
  return mixedPrecisionFields;
}

} // namespace mp
