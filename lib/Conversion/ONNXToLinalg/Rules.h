//===- Rules.h - The families of lowering rules -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table per file of Rules/. Operators without a rule are decomposed
// (lib/Autodiff/Decompositions) or expanded into the function body that ONNX
// defines them by.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_RULES_H
#define MPOPT_LIB_CONVERSION_RULES_H

#include "NodeLowering.h"

namespace mp {

llvm::ArrayRef<LoweringRule> getContractionLowerings();
llvm::ArrayRef<LoweringRule> getControlFlowLowerings();
llvm::ArrayRef<LoweringRule> getConvolutionLowerings();
llvm::ArrayRef<LoweringRule> getDataMovementLowerings();
llvm::ArrayRef<LoweringRule> getEinsumLowerings();
llvm::ArrayRef<LoweringRule> getElementwiseLowerings();
llvm::ArrayRef<LoweringRule> getIndexingLowerings();
llvm::ArrayRef<LoweringRule> getInterpolationLowerings();
llvm::ArrayRef<LoweringRule> getLossLowerings();
llvm::ArrayRef<LoweringRule> getNormalizationLowerings();
llvm::ArrayRef<LoweringRule> getOrderingLowerings();
llvm::ArrayRef<LoweringRule> getPaddingLowerings();
llvm::ArrayRef<LoweringRule> getPoolingLowerings();
llvm::ArrayRef<LoweringRule> getQuantizationLowerings();
llvm::ArrayRef<LoweringRule> getRandomLowerings();
llvm::ArrayRef<LoweringRule> getReductionLowerings();
llvm::ArrayRef<LoweringRule> getSamplingLowerings();
llvm::ArrayRef<LoweringRule> getSelectionLowerings();
llvm::ArrayRef<LoweringRule> getSequenceLowerings();
llvm::ArrayRef<LoweringRule> getShapeLowerings();
llvm::ArrayRef<LoweringRule> getSignalLowerings();
llvm::ArrayRef<LoweringRule> getTrainingLowerings();

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_RULES_H
