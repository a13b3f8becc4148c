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
                                llvm::cl::init("")};
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
  Option<std::string> assign{
      *this, "assign",
      llvm::cl::desc("rule between allow and deny: min-cut or first-operand"),
      llvm::cl::init("min-cut")};
  Option<std::string> minSaving{
      *this, "min-saving",
      llvm::cl::desc("percentage of its bytes that a 16-bit region must save")};
  ListOption<std::string> dims{
      *this, "dim",
      llvm::cl::desc("NAME=SIZE of symbolic dimensions, for weighing casts")};
  Option<int64_t> maxWeightCopy{
      *this, "max-weight-copy",
      llvm::cl::desc("bytes up to which a constant is stored in both types"),
      llvm::cl::init(4096)};
  ListOption<std::string> allowFiles{
      *this, "allow-files",
      llvm::cl::desc("files with operators that run in 16 bit")};
  ListOption<std::string> denyFiles{
      *this, "deny-files",
      llvm::cl::desc("files with operators that stay fp32")};
  ListOption<std::string> promoteFiles{
      *this, "promote-files",
      llvm::cl::desc("files with operators that run in their widest type")};
  Option<std::string> gaudiConfig{
      *this, "gaudi-config",
      llvm::cl::desc("gaudi_config.json with operator lists")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("policy in YAML, or a policy of Keras by its name")};
  Option<bool> strict{
      *this, "strict",
      llvm::cl::desc("make it an error that a wish cannot be granted"),
      llvm::cl::init(false)};
  Option<bool> raiseOpset{
      *this, "raise-opset",
      llvm::cl::desc("raise the opset if the 16-bit type needs a newer one"),
      llvm::cl::init(true)};
};

/// Decides precision and carries it out: specialize functions, safety analyses,
/// classify, raise the opset, assign, check strictness, insert casts, simplify,
/// convert weights, verify, merge functions.
void buildMixedPrecisionPipeline(mlir::OpPassManager &pm,
                                 const MixedPrecisionOptions &options);

/// Shows what 16-bit storage does in fp32: mp-emulate, in functions too.
void buildEmulationPipeline(mlir::OpPassManager &pm);

/// Registers `mp-mixed-precision`.
void registerPipelines();

} // namespace mp

#endif // MPOPT_PASSES_PIPELINES_PIPELINES_H
