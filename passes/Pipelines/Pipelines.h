//===- Pipelines.h - Passes in the order that does a job --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PIPELINES_PIPELINES_H
#define MPOPT_PASSES_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mp {

struct MixedPrecisionOptions
    : public mlir::PassPipelineOptions<MixedPrecisionOptions> {
  Option<std::string> precision{*this, "precision",
                                llvm::cl::desc("16-bit type: bf16 or fp16"),
                                llvm::cl::init("bf16")};
  ListOption<std::string> allow{*this, "allow",
                                llvm::cl::desc("operators that run in 16 bit")};
  ListOption<std::string> deny{*this, "deny",
                               llvm::cl::desc("operators that stay fp32")};
  ListOption<std::string> promote{
      *this, "promote",
      llvm::cl::desc("operators that run in the widest type of operands")};
  ListOption<std::string> allowNodes{
      *this, "allow-nodes",
      llvm::cl::desc("patterns for names of nodes that run in 16 bit")};
  ListOption<std::string> denyNodes{
      *this, "deny-nodes",
      llvm::cl::desc("patterns for names of nodes that stay fp32")};
  Option<bool> raiseOpset{
      *this, "raise-opset",
      llvm::cl::desc("raise the opset if the 16-bit type needs a newer one"),
      llvm::cl::init(true)};
  Option<int64_t> opsetLimit{
      *this, "opset-limit",
      llvm::cl::desc("newest opset to raise to; what comes later few runtimes "
                     "load"),
      llvm::cl::init(25)};
};

/// Decides precision and carries it out: classify, raise the opset, assign,
/// insert casts, simplify, convert weights, verify.
void buildMixedPrecisionPipeline(mlir::OpPassManager &pm,
                                 const MixedPrecisionOptions &options);

/// Registers `mp-mixed-precision`.
void registerPipelines();

} // namespace mp

#endif // MPOPT_PASSES_PIPELINES_PIPELINES_H
