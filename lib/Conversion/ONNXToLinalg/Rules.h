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

llvm::ArrayRef<LoweringRule> getContractionRules();
llvm::ArrayRef<LoweringRule> getElementwiseRules();
llvm::ArrayRef<LoweringRule> getNormalizationRules();
llvm::ArrayRef<LoweringRule> getReductionRules();
llvm::ArrayRef<LoweringRule> getShapeRules();

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_RULES_H
