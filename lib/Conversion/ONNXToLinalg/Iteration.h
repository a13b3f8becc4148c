//===- Iteration.h - Loops over the body of a node --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loop and Scan. Of each size of a state it is assumed that it stays as it is
// in the beginning; where the body, once emitted, shows that it does not, the
// size is unknown, and the body is emitted anew. Outputs of iterations are
// slices of one tensor: one made before the loop if the number of iterations
// and the sizes are known there, else one that doubles whenever it is full.
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
  /// Of Loop: the body takes the number of the iteration and the condition,
  /// and yields the condition first.
  bool hasCondition = false;
  /// i1; null if it holds.
  mlir::Value startCondition;
  /// Of Scan: states keep their sizes.
  bool keepsSizes = false;
  /// Before the first iteration.
  llvm::SmallVector<TensorValue> states;
  /// Arguments of the body behind the states, in iteration `i`.
  std::function<llvm::SmallVector<TensorValue>(mlir::Value i)> elements;

  /// Outputs that go in the order of the last iteration first.
  llvm::SmallVector<bool> reversed;

  /// The states in the end, and the outputs of all iterations along axis 0.
  mlir::FailureOr<llvm::SmallVector<TensorValue>> run();

private:
  /// The body in a block of its own, whose arguments are the iteration and the
  /// states, and later the outputs.
  struct Code {
    std::unique_ptr<mlir::Region> region;
    llvm::SmallVector<TensorValue> states, outputs;
    /// i1; null if the iteration always goes on.
    mlir::Value condition;
  };
  /// An output of all iterations.
  struct Output {
    mlir::Type element;
    /// Of the buffer: null where it grows.
    Sizes sizes;
    /// It was made before the loop.
    bool isWhole;
    /// The buffer behind an iteration.
    mlir::Value next;
  };

  mlir::FailureOr<Code> emitBody();
  mlir::FailureOr<llvm::SmallVector<TensorValue>> getArguments(Code &code);
  mlir::LogicalResult sortResults(Code &code,
                                  llvm::ArrayRef<TensorValue> results);
  /// Forgets what did not hold; true if something did not.
  mlir::FailureOr<bool> weaken(Code &code);
  mlir::FailureOr<Code> emitSettledBody();
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
  /// The sizes of each state: null where they may change.
  llvm::SmallVector<Sizes> assumed;
};

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_ITERATION_H
