//===- MultiplyAdds.h - The products that nodes add up ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of products of matrices, convolutions, recurrent cells, attention
// and their gradients, from shapes: most of what a network computes, and what
// 16 bit makes faster. How an operator's shapes say it is a fact of its row
// (ProductCount). Sizes are those of ValueSizes: an unknown one is a guess, and
// so is the count then.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_MULTIPLYADDS_H
#define MPOPT_GRAPH_MULTIPLYADDS_H

#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Operators/OperatorTraits.h"

namespace mp {

/// The multiply-adds of a node with these traits, at most the greatest number;
/// absent where shapes do not say, or nobody has described how they do. 0 for
/// what adds up no products. Bodies of control flow are not the node's.
std::optional<uint64_t> countMultiplyAdds(mlir::Operation *node,
                                          const OperatorTraits &traits,
                                          const ValueSizes &sizes);

} // namespace mp

#endif // MPOPT_GRAPH_MULTIPLYADDS_H
