//===- Iteration.h - Loops over the body of a node --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loop and Scan. The sizes of the states are first assumed to stay as they are
// at the start. If the emitted body shows that a size changes, that size
// becomes unknown and the body is emitted again. Outputs of iterations are
// slices of one tensor. It is made before the loop if the number of iterations
// and the sizes are known there; otherwise it doubles whenever it is full.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_ITERATION_H
#define MPOPT_LIB_CONVERSION_ITERATION_H

#include "NodeLowering.h"

namespace mp {

class Iteration {
public:
  Iteration(NodeLowering &node, mlir::Region &body);

  /// The number of iterations; absent if only the condition ends them.
  std::optional<Size> limit;
  /// Set for Loop: the body takes the iteration number and the condition, and
  /// yields the condition first.
  bool hasCondition = false;
  /// An i1; null if it holds.
  mlir::Value startCondition;
  /// Set for Scan: states keep their sizes.
  bool keepsSizes = false;
  /// The states before the first iteration.
  llvm::SmallVector<TensorValue> states;
  /// Makes the arguments of the body that follow the states, in iteration `i`.
  std::function<llvm::SmallVector<TensorValue>(mlir::Value i)> elements;

  /// One entry per output: true if the last iteration's element comes first.
  llvm::SmallVector<bool> reversed;

  /// Returns the final states, and the outputs of all iterations along axis 0.
  mlir::FailureOr<llvm::SmallVector<TensorValue>> run();

private:
  /// The body in its own block. The block's arguments are the iteration and the
  /// states, and later the outputs.
  struct Code {
    std::unique_ptr<mlir::Region> region;
    llvm::SmallVector<TensorValue> states, outputs;
    /// An i1; null if the iteration always continues.
    mlir::Value condition;
  };
  /// An output of all iterations.
  struct Output {
    mlir::Type element;
    /// The sizes of the buffer; unknown ones are null.
    Sizes sizes;
    /// True if the buffer was made before the loop.
    bool isWhole;
    /// The buffer after an iteration.
    mlir::Value next;
  };

  mlir::FailureOr<Code> emitBody();
  mlir::FailureOr<llvm::SmallVector<TensorValue>> getArguments(Code &code);
  mlir::LogicalResult sortResults(Code &code,
                                  llvm::ArrayRef<TensorValue> results);
  /// Drops the assumptions that did not hold; true if there were any.
  mlir::FailureOr<bool> weaken(Code &code);
  /// Emits the body until all assumptions hold.
  mlir::FailureOr<Code> emitResolvedBody();
  mlir::LogicalResult castStates(Code &code);
  bool isKnownOutside(llvm::ArrayRef<Size> sizes, mlir::Region &region);
  bool isReversed(unsigned index) const {
    return index < reversed.size() && reversed[index];
  }
  Output addOutput(Code &code, unsigned index);
  mlir::Value getStart(const Output &output);
  TensorValue finish(const Output &output, TensorValue buffer, Size count,
                     bool reverses);
  mlir::Value makeRoom(mlir::Value buffer, TensorValue element, mlir::Value i);
  llvm::SmallVector<mlir::Value> emitFor(Code &code,
                                         llvm::ArrayRef<mlir::Value> starts,
                                         llvm::ArrayRef<mlir::Value> next);
  llvm::SmallVector<mlir::Value> emitWhile(Code &code,
                                           llvm::ArrayRef<mlir::Value> starts,
                                           llvm::ArrayRef<mlir::Value> next);

  NodeLowering &node;
  Emitter &e;
  Scalars &s;
  mlir::Region &body;
  /// The sizes of each state; sizes that may change are null.
  llvm::SmallVector<Sizes> assumed;
};

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_ITERATION_H
