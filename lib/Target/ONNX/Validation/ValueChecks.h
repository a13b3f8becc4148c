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

/// The error in a node's attributes or in the sizes of its operands, by the
/// rules of its operator; empty if there is none.
std::string whyValuesRefused(const ::onnx::NodeProto &node,
                             const OpSchema &schema,
                             llvm::ArrayRef<InferenceOperand> operands);

/// The error in its operands alone: in their ranks, or in the elements of
/// constant operands.
std::string whyOperandsRefused(const ::onnx::NodeProto &node,
                               const OpSchema &schema,
                               llvm::ArrayRef<InferenceOperand> operands);

/// The maximum number of elements of a tensor.
inline constexpr int64_t maxElements = int64_t(1) << 48;

/// True if a tensor of these sizes has more than that. Sizes below 0 are
/// unknown, and count as 1.
bool hasTooManyElements(llvm::ArrayRef<int64_t> sizes);

/// The error in a result type given by a node: negative sizes, or sizes that
/// are too big together.
std::string whySizesRefused(const ::onnx::TypeProto &type);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_VALUECHECKS_H
