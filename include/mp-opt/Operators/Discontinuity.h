//===- Discontinuity.h - Discontinuous results ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds discontinuous results: integers and truth values computed from floats,
// and floats that are truncated, chosen or drawn. A change in the last digit of
// an operand may change such a result as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPERATORS_DISCONTINUITY_H
#define MPOPT_OPERATORS_DISCONTINUITY_H

#include "mlir/IR/Operation.h"

namespace mp {

/// False for nodes whose results depend on their operands' sizes alone.
bool readsElements(mlir::Operation *node);

/// True for a tensor that a node makes discontinuous. Nodes with subgraphs make
/// none themselves; sizes do not depend on elements.
bool isDiscontinuous(mlir::OpResult result);

/// True if a node in a subgraph of `node` makes such a result.
bool hasDiscontinuity(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_OPERATORS_DISCONTINUITY_H
