//===- AssignmentRules.h - Rules of the assignment --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ASSIGNMENT_ASSIGNMENTRULES_H
#define MPOPT_LIB_PRECISION_ASSIGNMENT_ASSIGNMENTRULES_H

#include "PrecisionGraph.h"

namespace mp {

/// Keeps arithmetic on inputs of the model fp32; called before both rules.
void keepInputArithmetic(PrecisionGraph &graph);

/// Keeps arithmetic on parameters alone, or on their gradients, fp32; called
/// before both rules.
void keepParameterArithmetic(PrecisionGraph &graph, mlir::ModuleOp module);

/// Both rules give each free variable except constants a state and a reason.
/// They fail only if a proof is requested and does not succeed.
llvm::Error decideByMinimumCut(PrecisionGraph &graph);
void decideByFirstOperand(PrecisionGraph &graph,
                          llvm::ArrayRef<NodePrecision> nodes);

/// Keeps free nodes that may not round their operands f32 if an operand is
/// certainly f32.
void keepNotNarrowableF32(PrecisionGraph &graph);

/// Decides free variables by bytes within the error limit of the options;
/// returns the predicted error.
double decideWithinError(PrecisionGraph &graph);

/// Fails if another assignment of the `decided` variables costs less than the
/// present one, or costs the same with fewer of them in 16 bit, or if there are
/// too many to try all.
llvm::Error proveOptimum(PrecisionGraph &graph,
                         llvm::ArrayRef<unsigned> decided);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ASSIGNMENT_ASSIGNMENTRULES_H
