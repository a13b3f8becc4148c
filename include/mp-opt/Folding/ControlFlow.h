//===- ControlFlow.h - Known branches and iterations ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses the integers of KnownTensors to decide which branch of an If is taken,
// and how often the body of a Loop runs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FOLDING_CONTROLFLOW_H
#define MPOPT_FOLDING_CONTROLFLOW_H

#include "mp-opt/Folding/KnownTensors.h"

namespace mp {

/// The branch that an If takes; null if its condition is unknown, or if the
/// branch does not fit the node.
mlir::Region *getTakenBranch(mlir::Operation *node, const KnownTensors &known);

/// The number of iterations of a Loop; absent if it is unknown, or if the Loop
/// cannot be replaced by copies of its body. Several copies must have at most
/// `limit` nodes: known nodes, and branches that are not taken, do not count.
std::optional<int64_t> countIterations(mlir::Operation *loop,
                                       const KnownTensors &known,
                                       int64_t limit);

} // namespace mp

#endif // MPOPT_FOLDING_CONTROLFLOW_H
