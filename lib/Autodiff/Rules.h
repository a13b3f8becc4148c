//===- Rules.h - The families of gradient rules -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is one table per file of Rules/. An operator that ONNX defines by a
// function body needs no rule: it is expanded before it is differentiated.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_RULES_H
#define MPOPT_LIB_AUTODIFF_RULES_H

#include "mp-opt/Autodiff/Autodiff.h"

namespace mp {

llvm::ArrayRef<GradientRule> getActivationGradients();
llvm::ArrayRef<GradientRule> getContractionGradients();
llvm::ArrayRef<GradientRule> getControlFlowGradients();
llvm::ArrayRef<GradientRule> getConvolutionGradients();
llvm::ArrayRef<GradientRule> getDataMovementGradients();
llvm::ArrayRef<GradientRule> getDropoutGradients();
llvm::ArrayRef<GradientRule> getEinsumGradients();
llvm::ArrayRef<GradientRule> getElementwiseGradients();
llvm::ArrayRef<GradientRule> getFourierGradients();
llvm::ArrayRef<GradientRule> getFunctionGradients();
llvm::ArrayRef<GradientRule> getGridSampleGradients();
llvm::ArrayRef<GradientRule> getIndexingGradients();
llvm::ArrayRef<GradientRule> getIterationGradients();
llvm::ArrayRef<GradientRule> getLayerNormGradients();
llvm::ArrayRef<GradientRule> getLossGradients();
llvm::ArrayRef<GradientRule> getNormalizationGradients();
llvm::ArrayRef<GradientRule> getPaddingGradients();
llvm::ArrayRef<GradientRule> getPoolingGradients();
llvm::ArrayRef<GradientRule> getQuantizationGradients();
llvm::ArrayRef<GradientRule> getReductionGradients();
llvm::ArrayRef<GradientRule> getResizeGradients();
llvm::ArrayRef<GradientRule> getRoiAlignGradients();

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_RULES_H
