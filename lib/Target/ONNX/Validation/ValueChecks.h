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

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_VALUECHECKS_H
