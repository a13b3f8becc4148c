//===- ValueChecks.h - Values of attributes, sizes of operands --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_VALUECHECKS_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_VALUECHECKS_H

#include "../TypeInference.h"

namespace mp {

/// What speaks against a node's attributes, or the sizes of its operands, by
/// the rules of its operator; empty if nothing does.
std::string whyValuesRefused(const ::onnx::NodeProto &node,
                             const OpSchema &schema,
                             llvm::ArrayRef<InferenceOperand> operands);

/// What speaks against its operands alone: their ranks, and the numbers in
/// those that are constant.
std::string whyOperandsRefused(const ::onnx::NodeProto &node,
                               const OpSchema &schema,
                               llvm::ArrayRef<InferenceOperand> operands);

/// As many elements as a tensor may have.
inline constexpr int64_t maxElements = int64_t(1) << 48;

/// Whether a tensor of these sizes has more than that. Sizes below 0 are
/// unknown, and count 1.
bool hasTooManyElements(llvm::ArrayRef<int64_t> sizes);

/// What speaks against a type that a node gives to a result: sizes that are
/// negative, or too big together.
std::string whySizesRefused(const ::onnx::TypeProto &type);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_VALUECHECKS_H
