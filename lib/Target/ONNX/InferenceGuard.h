//===- InferenceGuard.h - Protects ONNX's inference -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's inference functions assume that a node matches its schema: they divide
// by attributes, use them as sizes of vectors, and index one list by the length
// of another. This guard protects all of them. A node that contradicts its
// schema is refused. Values that are merely out of range, such as constant
// operands or dimensions, are hidden, so that the functions can still infer the
// rest.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_INFERENCEGUARD_H
#define MPOPT_LIB_TARGET_ONNX_INFERENCEGUARD_H

#include "TypeInference.h"

namespace onnx {
class TypeProto;
} // namespace onnx

namespace mp {

/// The reason why ONNX's inference must not see `node`; empty if it may.
std::string whyRefused(const ::onnx::NodeProto &node, const OpSchema &schema,
                       llvm::ArrayRef<InferenceOperand> operands);

/// True if inference may read `value`, the constant operand for `parameter`.
bool isSafeValue(const ::onnx::TensorProto &value,
                 const FormalParameter &parameter);

/// The limit for strides, pads and sizes: sums and products of two such numbers
/// do not overflow.
inline constexpr int64_t maxParameter = int64_t(1) << 31;

/// True if an integer attribute of this name may exceed maxParameter: bounds
/// that are clipped to a dimension, and data.
bool mayBeHuge(llvm::StringRef attribute);

/// Makes the dimensions of `type` unknown with which sums could overflow.
void hideHugeDimensions(::onnx::TypeProto &type);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_INFERENCEGUARD_H
