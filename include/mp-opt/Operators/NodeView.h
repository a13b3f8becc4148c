//===- NodeView.h - A node, with its schema's defaults ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rules ask of a node. An attribute that it does not state has the default
// of its operator's schema at the opset in force: `node.getInt("axis")` of a
// Softmax is 1 up to opset 12, and -1 from opset 13 on. A rule states a value
// of its own only where schemas have none: `node.getInt("seed", 0)`.
//
// A node that no schema describes has the attributes that it states, and no
// defaults. An attribute of another kind than the one that is asked for counts
// as not stated; the verifier admits that only of operators outside their
// opsets.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPERATORS_NODEVIEW_H
#define MPOPT_OPERATORS_NODEVIEW_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

namespace mp {

/// `axis` counted from the front; absent if it is not in [-rank, rank).
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// Cheap to make: the schema is looked up once, when it is first needed.
class NodeView {
public:
  NodeView(mlir::Operation *node) : node(node) {}

  mlir::Operation *getNode() const { return node; }
  llvm::StringRef getOpType() const { return onnxir::getOpType(node); }
  /// Null if no schema describes the node.
  const OpSchema *getSchema() const;
  /// The schema's; 1 where there is none.
  int getVersion() const;

  unsigned getNumOperands() const { return node->getNumOperands(); }
  /// True if the operand is there and not left out.
  bool has(unsigned operand) const { return hasOperand(node, operand); }

  /// True if the node states the attribute itself.
  bool states(llvm::StringRef name) const { return node->hasAttr(name); }

  // What the node states, or else the schema's default, or else `otherwise`.

  int64_t getInt(llvm::StringRef name, int64_t otherwise = 0) const;
  /// The value of an element of fp32, as all floats of ONNX's attributes are.
  double getFloat(llvm::StringRef name, double otherwise = 0) const;
  llvm::StringRef getString(llvm::StringRef name,
                            llvm::StringRef otherwise = "") const;
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name) const;
  /// An integer that is 0 or 1.
  bool getFlag(llvm::StringRef name) const { return getInt(name) != 0; }

  // Attributes that many operators have.

  /// May count from the end.
  int64_t axis() const { return getInt("axis"); }
  /// Counted from the front; absent if a tensor of this rank has none such.
  std::optional<int64_t> axisIn(int64_t rank) const {
    return normalizeAxis(axis(), rank);
  }
  bool keepDims() const { return getFlag("keepdims"); }
  /// `perm`; without it, the reverse of a tensor's axes.
  llvm::SmallVector<int64_t> permutation(int64_t rank) const;

  /// Why something cannot be done with the node: an error that names it.
  mlir::LogicalResult fail(const llvm::Twine &reason) const;

protected:
  mlir::Operation *node;

private:
  /// The schema's default as it is printed, if it is of this kind; else empty.
  llvm::StringRef getDefault(llvm::StringRef name, llvm::StringRef kind) const;

  mutable std::optional<const OpSchema *> schema;
};

} // namespace mp

#endif // MPOPT_OPERATORS_NODEVIEW_H
