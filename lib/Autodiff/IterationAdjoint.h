//===- IterationAdjoint.h - What Scan and Loop have in common ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward node yields, besides, the states that each iteration starts
// with. The backward one goes through the iterations from the last to the
// first: it carries the gradients of the states and the sums of those of
// captured values, computes the body again from the saved states, and
// differentiates it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_ITERATIONADJOINT_H
#define MPOPT_LIB_AUTODIFF_ITERATIONADJOINT_H

#include "BodyAdjoint.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

class IterationAdjoint {
protected:
  /// Where the states are among operands, inputs of the body and yields.
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

  /// Infers the types of the body from those that its inputs have now.
  void inferBody();
  /// Fills `captured` and `active`; gradients also come from `inputs`.
  mlir::LogicalResult findActive(llvm::ArrayRef<mlir::Value> inputs);
  mlir::LogicalResult checkStates();

  /// Stands for a result that the forward node is going to have: `value`, of
  /// the body, in all iterations.
  mlir::Value save(mlir::Value value);
  /// Gives the forward node those of them that are in use.
  void extendForward();

  /// Operands and types of the gradients and sums that are carried.
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
