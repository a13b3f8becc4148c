//===- Decompositions.h - Gradient ops in standard ones ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator of the com.microsoft training vocabulary that the gradient
// rules or onnxruntime's training graphs use, written in standard ONNX ops of
// opset 13 or later. Nonlinear functions of 16-bit values are computed in fp32
// between casts: a chain of roundings is what the one op does not have.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_AUTODIFF_DECOMPOSITIONS_H
#define MPOPT_AUTODIFF_DECOMPOSITIONS_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {

/// One node that is written in others, which go in front of it.
class NodeDecomposition : public NodeView {
public:
  NodeDecomposition(NodeBuilder &builder, mlir::Operation *node)
      : NodeView(node), b(builder) {}

  NodeBuilder &b;

  /// Operand `index`; null if it is absent.
  mlir::Value in(unsigned index) const {
    return has(index) ? node->getOperand(index) : mlir::Value();
  }
  /// A 16-bit float operand as fp32, others as they are.
  mlir::Value wide(unsigned index);
  /// True if result `index` is there and has uses.
  bool wants(unsigned index = 0) const {
    return hasResult(node, index) && !node->getResult(index).use_empty();
  }
  mlir::Value out(unsigned index = 0) const { return node->getResult(index); }

  /// `value` takes the place of result `index`, cast to its element type.
  void replace(unsigned index, mlir::Value value);
  void replace(mlir::Value value) { replace(0, value); }
};

struct Decomposition {
  /// Qualified: "com.microsoft.ReluGrad".
  llvm::StringLiteral op;
  mlir::LogicalResult (*apply)(NodeDecomposition &);
  /// Turns into matrix products or convolutions, which the precision passes
  /// should see as such.
  bool isContraction = false;
};

/// The decomposition of the operator of `node`; null if there is none.
const Decomposition *findDecomposition(mlir::Operation *node);

/// True for the recurrent operators of the default domain, which turn into
/// Scan.
bool isRecurrent(mlir::Operation *node);

/// Writes `node` in standard ops and erases it.
mlir::LogicalResult decompose(NodeBuilder &builder, mlir::Operation *node,
                              const Decomposition &decomposition);

} // namespace mp

#endif // MPOPT_AUTODIFF_DECOMPOSITIONS_H
