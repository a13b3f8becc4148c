//===- GrowingSequences.h - Lists that loops append to ----------*- C++ -*-===//
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
/// read; a tensor along a new axis serves all who read it afterwards.
struct GrowingState {
  /// Among the states.
  unsigned index;
  /// Elements that are there before the first iteration.
  llvm::SmallVector<mlir::Value> before;
  /// SequenceInsert nodes of the body, in their order.
  llvm::SmallVector<mlir::Operation *> inserts;
};

/// True for a node that puts an element behind the last one of a sequence.
bool isAppend(mlir::Operation *node);

/// `loop` is a Loop whose inputs and outputs are those of its body.
llvm::SmallVector<GrowingState> findGrowingStates(mlir::Operation *loop);

} // namespace mp

#endif // MPOPT_GRAPH_GROWINGSEQUENCES_H
