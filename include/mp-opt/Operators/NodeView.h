//===- NodeView.h - A node, with its schema's defaults ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Access to a node for rules. An absent attribute has the default of the
// operator's schema at the opset in force: `node.getInt("axis")` of a Softmax
// is 1 up to opset 12, and -1 from opset 13 on. A rule gives a value of its own
// only if schemas have none: `node.getInt("seed", 0)`.
//
// A node without a schema has its own attributes, and no defaults. An attribute
// of another kind than the requested one counts as absent; the verifier only
// admits that for operators outside their opsets.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPERATORS_NODEVIEW_H
#define MPOPT_OPERATORS_NODEVIEW_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

namespace mp {

/// `axis` counted from the front; absent if it is not in [-rank, rank).
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// Cheap to create: the schema is looked up once, when it is first needed.
class NodeView {
public:
  NodeView(mlir::Operation *node) : node(node) {}

  mlir::Operation *getNode() const { return node; }
  llvm::StringRef getOpType() const { return onnxir::getOpType(node); }
  /// Null if no schema describes the node.
  const OpSchema *getSchema() const;
  /// The version of the schema; 1 if there is none.
  int getVersion() const;

  unsigned getNumOperands() const { return node->getNumOperands(); }
  /// True if the operand exists and is not absent.
  bool has(unsigned operand) const { return hasOperand(node, operand); }

  /// True if the node has the attribute itself.
  bool states(llvm::StringRef name) const { return node->hasAttr(name); }

  // The node's value, or else the schema's default, or else `otherwise`.

  int64_t getInt(llvm::StringRef name, int64_t otherwise = 0) const;
  /// The value, which is an fp32 number like all floats of ONNX's attributes.
  double getFloat(llvm::StringRef name, double otherwise = 0) const;
  llvm::StringRef getString(llvm::StringRef name,
                            llvm::StringRef otherwise = "") const;
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name) const;
  /// Reads an integer that is 0 or 1.
  bool getFlag(llvm::StringRef name) const { return getInt(name) != 0; }

  // Attributes that many operators have.

  /// The axis, which may count from the end.
  int64_t axis() const { return getInt("axis"); }
  /// The axis, counted from the front; absent if a tensor of this rank does not
  /// have it.
  std::optional<int64_t> axisIn(int64_t rank) const {
    return normalizeAxis(axis(), rank);
  }
  bool keepDims() const { return getFlag("keepdims"); }
  /// `perm`; if it is absent, the reverse order of the axes.
  llvm::SmallVector<int64_t> permutation(int64_t rank) const;

  /// Emits an error that names the node and the reason.
  mlir::LogicalResult fail(const llvm::Twine &reason) const;

protected:
  mlir::Operation *node;

private:
  /// The schema's default in its printed form, if it is of this kind; else
  /// empty.
  llvm::StringRef getDefault(llvm::StringRef name, llvm::StringRef kind) const;

  mutable std::optional<const OpSchema *> schema;
};

} // namespace mp

#endif // MPOPT_OPERATORS_NODEVIEW_H
