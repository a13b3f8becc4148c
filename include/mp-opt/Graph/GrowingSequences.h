//===- GrowingSequences.h - Sequences that loops append to ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_GROWINGSEQUENCES_H
#define MPOPT_GRAPH_GROWINGSEQUENCES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// A state of a Loop to which each iteration appends, and that it does not
/// read. A tensor along a new axis can replace it for all later readers.
struct GrowingState {
  /// Index among the states.
  unsigned index;
  /// Elements that exist before the first iteration.
  llvm::SmallVector<mlir::Value> before;
  /// SequenceInsert nodes of the body, in their order.
  llvm::SmallVector<mlir::Operation *> inserts;
};

/// True for a node that appends an element to a sequence.
bool isAppend(mlir::Operation *node);

/// `loop` is a Loop whose inputs and outputs are those of its body.
llvm::SmallVector<GrowingState> findGrowingStates(mlir::Operation *loop);

} // namespace mp

#endif // MPOPT_GRAPH_GROWINGSEQUENCES_H
