//===- NodeEditor.h - Rewrites one node for a newer opset -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the adapters of an opset upgrade are written in: constants and nodes
// beside the one that is raised, named after it and marked for the precision
// passes. New nodes have their form at the opset that the model is raised to.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRAPH_OPSET_NODEEDITOR_H
#define MPOPT_LIB_GRAPH_OPSET_NODEEDITOR_H

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// True if the attribute is absent or holds its value: a function's reference
/// to what its callers give does not.
bool isReadable(mlir::Operation *node, llvm::StringRef name);

/// Why the attribute cannot become a constant beside the node; empty if it
/// can. What a caller may leave out cannot: a constant must have a value.
std::string getConstantObstacle(mlir::Operation *node, llvm::StringRef name,
                                int opset);
/// Why numbers cannot get the element type of `like`; empty if they can.
std::string getTypeObstacle(mlir::Value like, int opset);

class NodeEditor {
public:
  NodeEditor(mlir::Operation *node, int opset, UniqueNames &names);

  mlir::Operation *getNode() const { return node; }
  mlir::Value getOperand(unsigned index) const {
    return node->getOperand(index);
  }
  /// The opset that the model is raised to.
  int getOpset() const { return opset; }
  mlir::OpBuilder &getBuilder() { return builder; }
  UniqueNames &getNames() { return names; }

  /// The node's input `index` becomes `value`; gaps before it are left out.
  void setOperand(unsigned index, mlir::Value value);
  /// Takes input `index` away, and what stood for it if it was left out.
  void eraseOperand(unsigned index);
  void setString(llvm::StringRef name, llvm::StringRef value);
  void setInt(llvm::StringRef name, int64_t value);

  /// A constant called after the node and `suffix`.
  mlir::Value createConstant(mlir::ElementsAttr value, llvm::StringRef suffix);
  mlir::Value createInts(llvm::ArrayRef<int64_t> values,
                         llvm::StringRef suffix);
  mlir::Value createScalar(int64_t value, llvm::StringRef suffix);
  /// A scalar of the element type of `like`.
  mlir::Value createScalarLike(double value, mlir::Value like,
                               llvm::StringRef suffix);
  /// Takes the attribute from the node: a list becomes a vector, a number a
  /// scalar. The attribute is there, and nothing stands against it.
  mlir::Value takeConstant(llvm::StringRef name);
  /// The same for a number that is to have the element type of `like`.
  mlir::Value takeConstantLike(llvm::StringRef name, mlir::Value like);

  /// A node with one result at the place of the last one: before the node, or
  /// after it once `moveBehind` was called.
  mlir::Value create(llvm::StringRef opType, mlir::ValueRange operands,
                     mlir::Type type, llvm::StringRef suffix,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value createCast(mlir::Value value, mlir::Type elementType,
                         llvm::StringRef suffix);
  /// The sizes of `value` as a vector.
  mlir::Value createShape(mlir::Value value, llvm::StringRef suffix);
  void moveBehind() { builder.setInsertionPointAfter(node); }

  /// What used the node's result uses `by`, a node made from it, under the
  /// name that the result had; the result is named after `suffix`.
  void replaceResult(unsigned index, mlir::Value by, llvm::StringRef suffix);
  /// Puts a node of another op or with fewer results in place of the node.
  void recreate(llvm::StringRef opType, unsigned results);

private:
  mlir::OperationState getState(llvm::StringRef opType);
  void mark(mlir::OperationState &state, llvm::StringRef opType);
  std::string getBase(llvm::StringRef suffix) const;

  mlir::Operation *node;
  int opset;
  UniqueNames &names;
  mlir::OpBuilder builder;
};

} // namespace mp

#endif // MPOPT_LIB_GRAPH_OPSET_NODEEDITOR_H
