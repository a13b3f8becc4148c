//===- NodeAttributes.h - What a node has beside its operator ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The identity that a node has in its model (`onnx.`) and the marks of passes
// (`mp.`) differ from node to node. In MLIR's dictionaries, which the context
// hashes and keeps for ever, each mark on each node would be a new one. So
// these two kinds are properties of the node: a list of its own. All other
// attributes are those of the operator, which many nodes share.
//
// Operation::getAttr, setAttr, removeAttr and getAttrs know both places, and
// IR is printed and read as if there were one. A loop over the attributes of
// the operator is one over Operation::getDiscardableAttrs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ONNX_NODEATTRIBUTES_H
#define MPOPT_DIALECT_ONNX_NODEATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace mp::onnxir {

/// The properties of an op that a schema has made.
class NodeAttributes {
public:
  /// True for the names that are kept here.
  static bool holds(llvm::StringRef name) {
    return name.starts_with("onnx.") || name.starts_with("mp.");
  }

  /// Null if there is none of this name.
  mlir::Attribute get(llvm::StringRef name) const;
  /// Replaces, adds, or, with null, removes.
  void set(mlir::StringAttr name, mlir::Attribute value);
  void removeIf(llvm::function_ref<bool(llvm::StringRef)> isRemoved);

  /// The element of `onnx.results` for this result; null if there is none.
  mlir::Attribute getResultName(unsigned index) const;

  /// In no order, names and lists in the form that they are kept in.
  llvm::ArrayRef<mlir::NamedAttribute> getEntries() const { return entries; }
  /// Sorted by name.
  llvm::SmallVector<mlir::NamedAttribute> getAll() const;
  llvm::hash_code getHash() const {
    return llvm::hash_combine_range(entries.begin(), entries.end());
  }

  bool operator==(const NodeAttributes &other) const {
    return entries == other.entries;
  }

private:
  /// `onnx.results` with one name is that name: the list would be one more
  /// attribute that the context hashes and keeps for each node.
  static mlir::Attribute pack(mlir::StringAttr name, mlir::Attribute value);
  static mlir::Attribute unpack(llvm::StringRef name, mlir::Attribute value);

  /// Apart from the op: most walks look at operands and results only, and go
  /// the faster the less lies between two ops.
  llvm::SmallVector<mlir::NamedAttribute, 0> entries;
};

/// The properties of `op`; null for an op that no schema has made.
NodeAttributes *getNodeAttributes(mlir::Operation *op);

/// Sets attributes of any op: those of one call at once, since each change of
/// a dictionary makes a new one.
void setAttributes(mlir::Operation *op,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// Adds an attribute to an op that is about to be made.
void addAttribute(mlir::OperationState &state, mlir::StringAttr name,
                  mlir::Attribute value);
void addAttribute(mlir::OperationState &state, llvm::StringRef name,
                  mlir::Attribute value);

} // namespace mp::onnxir

MLIR_DECLARE_EXPLICIT_TYPE_ID(mp::onnxir::NodeAttributes)

#endif // MPOPT_DIALECT_ONNX_NODEATTRIBUTES_H
