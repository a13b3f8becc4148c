//===- Assignment.h - The precision of every node ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first-operand rule. One pass forward over the graph decides nodes from
// their operands: allow is 16 bit, deny is fp32, promote takes the widest,
// follow the first. Constants and parameters do not vote; what only depends
// on them is decided by one pass backward, from its users.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_H
#define MPOPT_PRECISION_ASSIGNMENT_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Policy.h"

#include <string>

namespace mp {

struct NodePrecision {
  enum State : uint8_t {
    /// No fp32 values whose type could be chosen: left alone.
    Other,
    F32,
    Low,
  };
  mlir::Operation *node;
  OpClass opClass;
  State state = Other;
  std::string reason;
};

/// The reason of a follow op that is fp32 only because its operand is.
inline constexpr llvm::StringLiteral followsF32 = "its first operand is f32";

class Assignment {
public:
  /// `nodes` are all nodes of `graph` and its subgraphs in order, with their
  /// classes.
  static Assignment computeFirstOperand(onnxir::GraphOp graph,
                                        mlir::Type lowType,
                                        std::vector<NodePrecision> nodes);

  llvm::ArrayRef<NodePrecision> getNodes() const { return nodes; }

private:
  std::vector<NodePrecision> nodes;
};

/// Graph inputs that hold trainable parameters or the defaults of
/// initializers: values that take the type their users want. In a graph that
/// accumulates gradients in place, an input shaped like a gradient buffer is a
/// parameter.
llvm::DenseSet<mlir::Value> collectParameters(onnxir::GraphOp graph);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_H
