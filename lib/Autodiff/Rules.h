//===- Rules.h - The families of gradient rules -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table per file of Rules/. An operator that ONNX defines by a function
// body needs no rule: it is expanded before it is differentiated.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_RULES_H
#define MPOPT_LIB_AUTODIFF_RULES_H

#include "mp-opt/Autodiff/Autodiff.h"

namespace mp {

llvm::ArrayRef<GradientRule> getActivationRules();
llvm::ArrayRef<GradientRule> getContractionRules();
llvm::ArrayRef<GradientRule> getControlFlowRules();
llvm::ArrayRef<GradientRule> getDataMovementRules();
llvm::ArrayRef<GradientRule> getEinsumRules();
llvm::ArrayRef<GradientRule> getElementwiseRules();
llvm::ArrayRef<GradientRule> getFunctionRules();
llvm::ArrayRef<GradientRule> getIndexingRules();
llvm::ArrayRef<GradientRule> getIterationRules();
llvm::ArrayRef<GradientRule> getPaddingRules();
llvm::ArrayRef<GradientRule> getReductionRules();

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_RULES_H
