//===- InferenceGuard.h - What ONNX's inference may see ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's inference functions take for granted that a node is as its schema
// says: they divide by attributes, size vectors with them and index one list
// by the length of another. This guard stands in front of all of them. A node
// that contradicts its schema is refused; what is merely out of range - the
// value of a constant operand, a dimension - is hidden, so that the functions
// still say what they can.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_INFERENCEGUARD_H
#define MPOPT_LIB_TARGET_ONNX_INFERENCEGUARD_H

#include "TypeInference.h"

namespace onnx {
class TypeProto;
} // namespace onnx

namespace mp {

/// Why ONNX's inference must not see `node`; empty if it may.
std::string whyRefused(const ::onnx::NodeProto &node, const OpSchema &schema,
                       llvm::ArrayRef<InferenceOperand> operands);

/// Whether inference may read `value`, the constant operand for `parameter`.
bool isSafeValue(const ::onnx::TensorProto &value,
                 const FormalParameter &parameter);

/// Strides, pads, sizes: of two such numbers neither sum nor product overflows.
inline constexpr int64_t maxParameter = int64_t(1) << 31;

/// Whether an integer attribute of this name may be greater than that: bounds
/// that are cut to a dimension, and data.
bool mayBeHuge(llvm::StringRef attribute);

/// Makes the dimensions of `type` unknown with which sums could overflow.
void hideHugeDimensions(::onnx::TypeProto &type);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_INFERENCEGUARD_H
