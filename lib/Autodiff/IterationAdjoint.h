//===- IterationAdjoint.h - Gradients of Scan and Loop ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward node also yields the states that each iteration starts with. The
// backward node goes through the iterations from the last to the first: it
// carries the gradients of the states and the sums of those of captured values,
// computes the body again from the saved states, and differentiates it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_ITERATIONADJOINT_H
#define MPOPT_LIB_AUTODIFF_ITERATIONADJOINT_H

#include "BodyAdjoint.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

class IterationAdjoint {
protected:
  /// The positions of the states among operands, inputs of the body and yields.
  struct Layout {
    unsigned states, firstOperand, firstInput, firstYield;
  };

  IterationAdjoint(NodeAdjoint &op, Layout layout)
      : op(op), b(op.b), node(op.getNode()), layout(layout) {}

  mlir::Region &getBody() { return op.getNode()->getRegion(0); }
  onnxir::YieldOp getYield() { return onnxir::getYield(getBody()); }
  mlir::BlockArgument getInput(unsigned state) {
    return getBody().getArgument(layout.firstInput + state);
  }
  mlir::Value getInitial(unsigned state) {
    return node->getOperand(layout.firstOperand + state);
  }

  /// Infers the types of the body from the types of its inputs.
  void inferBody();
  /// Fills `captured` and `active`; gradients also come from `inputs`.
  mlir::LogicalResult findActive(llvm::ArrayRef<mlir::Value> inputs);
  mlir::LogicalResult checkStates();

  /// A placeholder for a future result of the forward node: the values that
  /// `value`, of the body, has in all iterations.
  mlir::Value save(mlir::Value value);
  /// Adds the saved results that are in use to the forward node.
  void extendForward();

  /// Adds operands and types of the gradients and sums that are carried.
  void addCarried(llvm::SmallVectorImpl<mlir::Value> &operands,
                  llvm::SmallVectorImpl<mlir::Type> &types);
  void addCarriedInputs(BodyAdjoint &body);
  void addCarriedOutputs(BodyAdjoint &body);
  void setCarried(mlir::Operation *made);

  NodeAdjoint &op;
  NodeBuilder &b;
  mlir::Operation *node;
  Layout layout;
  /// States that gradients flow through.
  llvm::SmallVector<unsigned> active;
  llvm::SmallVector<mlir::Value> captured, containers;

private:
  struct Saved {
    mlir::Value value, placeholder;
  };
  llvm::SmallVector<Saved> saved;
  llvm::SmallVector<mlir::BlockArgument> carried;
};

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_ITERATIONADJOINT_H
