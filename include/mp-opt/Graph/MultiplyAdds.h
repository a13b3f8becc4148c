//===- MultiplyAdds.h - Multiply-adds of nodes ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the work of products of matrices, convolutions, recurrent cells,
// attention and their gradients from shapes. This is most of a network's work,
// and the part that 16 bit makes faster. The row of an operator says how to
// compute it from its shapes (ProductCount). Sizes are those of ValueSizes: if
// one is unknown, it and the count are guesses.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_MULTIPLYADDS_H
#define MPOPT_GRAPH_MULTIPLYADDS_H

#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Operators/OperatorTraits.h"

namespace mp {

/// The multiply-adds of a node with these traits, saturated at the greatest
/// number; absent if they do not follow from shapes, or if the operator is not
/// described. 0 for nodes that do not sum products. Bodies of control flow do
/// not count.
std::optional<uint64_t> countMultiplyAdds(mlir::Operation *node,
                                          const OperatorTraits &traits,
                                          const ValueSizes &sizes);

} // namespace mp

#endif // MPOPT_GRAPH_MULTIPLYADDS_H
