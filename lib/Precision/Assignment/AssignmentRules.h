//===- AssignmentRules.h - The rules behind Assignment ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ASSIGNMENT_ASSIGNMENTRULES_H
#define MPOPT_LIB_PRECISION_ASSIGNMENT_ASSIGNMENTRULES_H

#include "PrecisionGraph.h"

namespace mp {

/// Before both rules: what computes with inputs of the model is fp32.
void keepInputArithmetic(PrecisionGraph &graph);

/// Before both rules: what a step computes with its parameters alone, or with
/// their gradients, is fp32.
void keepParameterArithmetic(PrecisionGraph &graph, mlir::ModuleOp module);

/// Both rules give each free variable but constants a state and a reason.
/// Fails only if a proof is asked for and does not succeed.
llvm::Error decideByMinimumCut(PrecisionGraph &graph);
void decideByFirstOperand(PrecisionGraph &graph,
                          llvm::ArrayRef<NodePrecision> nodes);

/// Fails if an assignment of the `decided` variables costs less than the one
/// that they have, or as much with fewer of them in 16 bit, or if they are too
/// many to try all.
llvm::Error proveOptimum(PrecisionGraph &graph,
                         llvm::ArrayRef<unsigned> decided);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ASSIGNMENT_ASSIGNMENTRULES_H
