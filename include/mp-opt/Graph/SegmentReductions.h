//===- SegmentReductions.h - Reductions of consecutive rows -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bag of embeddings is a sum, mean or maximum over some rows. Exporters write
// one reduction after the other: each takes its rows with a Slice, and a Concat
// joins the results.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_SEGMENTREDUCTIONS_H
#define MPOPT_GRAPH_SEGMENTREDUCTIONS_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// The result of `concat`, computed for all rows at once before it; null if its
/// operands are not such reductions of consecutive rows with known bounds.
mlir::Value joinSegments(NodeBuilder &builder, mlir::Operation *concat);

} // namespace mp

#endif // MPOPT_GRAPH_SEGMENTREDUCTIONS_H
