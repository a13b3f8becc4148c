//===- MixedPrecisionRequest.h - What runs in 16 bit ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_MIXEDPRECISIONREQUEST_H
#define MPOPT_PRECISION_POLICY_MIXEDPRECISIONREQUEST_H

#include "mp-opt/Precision/Policy/PolicyRequest.h"

namespace mp {

/// Selects the nodes that run in 16 bit.
struct MixedPrecisionRequest {
  PolicyRequest policy;
  /// "min-cut" or "first-operand".
  std::string assign = "min-cut";
  /// The minimum saving as a percentage; empty for none.
  std::string minSaving;
  /// "NAME=SIZE" of symbolic dimensions.
  std::vector<std::string> dims;
  /// In bytes.
  int64_t maxWeightCopy = 4096;
  bool raiseOpset = true;
  int64_t opsetLimit = 25;
  /// "NAME[:VERSION]" of the runtime that the model is for
  /// (Schema/RuntimeTable.h); empty or "any" for no particular one.
  std::string runtime;
  /// With TensorRT: for its deep learning accelerator.
  bool dla = false;
  /// "NAME:LOW..HIGH": what the user knows about inputs.
  std::vector<std::string> inputRanges;
  /// The factor by which values may exceed those of data; 0 for the defaults
  /// (Precision/Data/DataHazards.h).
  double headRoom = 0;
  /// Data may rule out what analyses fear.
  bool trustData = false;

  /// All but the policy, which has its own.
  static llvm::ArrayRef<RequestField<MixedPrecisionRequest>> getFields();
};

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_MIXEDPRECISIONREQUEST_H
