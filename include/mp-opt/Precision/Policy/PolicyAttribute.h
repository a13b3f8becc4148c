//===- PolicyAttribute.h - Policies in the IR -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts options of a policy to `#mp.policy` and back, without loss: a module
// that is written after any pass and read again continues in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICYATTRIBUTE_H
#define MPOPT_PRECISION_POLICY_POLICYATTRIBUTE_H

#include "mp-opt/Precision/Policy/Policy.h"

namespace mp {

/// `lowType` is that of the policy: f16 or bf16. Warnings are omitted.
PolicyAttr writePolicy(mlir::Type lowType, const PolicyOptions &options);

/// Fails with an error at the module if it has no policy, or an invalid one.
mlir::FailureOr<PrecisionPolicy> readPolicy(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICYATTRIBUTE_H
