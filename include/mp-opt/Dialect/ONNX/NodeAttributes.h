//===- NodeAttributes.h - Node-specific attributes --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The identity that a node has in its model (`onnx.`) and the marks of passes
// (`mp.`) differ from node to node. In MLIR's dictionaries, which the context
// hashes and keeps for ever, each mark on each node would be a new one. These
// two kinds are therefore properties of the node, in its own list. All other
// attributes are those of the operator, which many nodes share.
//
// Operation::getAttr, setAttr, removeAttr and getAttrs access both, and IR is
// printed and read as if there were one dictionary.
// Operation::getDiscardableAttrs has only the attributes of the operator.
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

  /// Null if no attribute has this name.
  mlir::Attribute get(llvm::StringRef name) const;
  /// Replaces or adds the attribute; null removes it.
  void set(mlir::StringAttr name, mlir::Attribute value);
  void removeIf(llvm::function_ref<bool(llvm::StringRef)> isRemoved);

  /// The element of `onnx.results` for this result; null if there is none.
  mlir::Attribute getResultName(unsigned index) const;

  /// The attributes sorted by name; names and lists have their packed form.
  llvm::ArrayRef<mlir::NamedAttribute> getEntries() const { return entries; }
  /// The attributes sorted by name.
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

  /// The list is not stored in the op: most walks read operands and results
  /// only, and are faster if ops are small.
  llvm::SmallVector<mlir::NamedAttribute, 0> entries;
};

/// The properties of `op`; null for an op that no schema has made.
NodeAttributes *getNodeAttributes(mlir::Operation *op);

/// Sets attributes of any op, all of one call at once, since each change of a
/// dictionary makes a new one.
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
