//===- Decompositions.h - Gradient ops in standard ones ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decomposes every operator of the com.microsoft training vocabulary that the
// gradient rules or onnxruntime's training graphs use into standard ONNX ops of
// opset 13 or later. Nonlinear functions of 16-bit values are computed in fp32
// between casts, since the single op does not round in between either.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_AUTODIFF_DECOMPOSITIONS_H
#define MPOPT_AUTODIFF_DECOMPOSITIONS_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {

/// A node that is replaced by other nodes, which are inserted before it.
class NodeDecomposition : public NodeView {
public:
  NodeDecomposition(NodeBuilder &builder, mlir::Operation *node)
      : NodeView(node), b(builder) {}

  NodeBuilder &b;

  /// Operand `index`; null if it is absent.
  mlir::Value in(unsigned index) const {
    return has(index) ? node->getOperand(index) : mlir::Value();
  }
  /// The operand, as fp32 if it is a 16-bit float.
  mlir::Value wide(unsigned index);
  /// True if result `index` exists and has uses.
  bool wants(unsigned index = 0) const {
    return hasResult(node, index) && !node->getResult(index).use_empty();
  }
  mlir::Value out(unsigned index = 0) const { return node->getResult(index); }

  /// Replaces result `index` by `value`, cast to its element type.
  void replace(unsigned index, mlir::Value value);
  void replace(mlir::Value value) { replace(0, value); }
};

struct Decomposition {
  /// Qualified: "com.microsoft.ReluGrad".
  llvm::StringLiteral op;
  mlir::LogicalResult (*apply)(NodeDecomposition &);
  /// True if the op becomes matrix products or convolutions, which the
  /// precision passes should treat as such.
  bool isContraction = false;
};

/// The decomposition of the operator of `node`; null if there is none.
const Decomposition *findDecomposition(mlir::Operation *node);

/// True for the recurrent operators of the default domain, which become a Scan.
bool isRecurrent(mlir::Operation *node);

/// Replaces `node` by standard ops.
mlir::LogicalResult decompose(NodeBuilder &builder, mlir::Operation *node,
                              const Decomposition &decomposition);

} // namespace mp

#endif // MPOPT_AUTODIFF_DECOMPOSITIONS_H
