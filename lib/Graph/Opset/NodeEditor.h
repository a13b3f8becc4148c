//===- NodeEditor.h - Rewrites one node for a newer opset -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builder for the adapters of an opset upgrade. It creates constants and nodes
// next to the node that is raised, named after it and marked for the precision
// passes. New nodes have their form at the opset that the model is raised to.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRAPH_OPSET_NODEEDITOR_H
#define MPOPT_LIB_GRAPH_OPSET_NODEEDITOR_H

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// True if the attribute is absent or has a value. A function's reference to
/// its caller's attribute is not a value.
bool isReadable(mlir::Operation *node, llvm::StringRef name);

/// The reason why the attribute cannot become a constant next to the node;
/// empty if it can. An attribute that a caller may omit cannot: a constant must
/// have a value.
std::string getConstantObstacle(mlir::Operation *node, llvm::StringRef name,
                                int opset);
/// The reason why numbers cannot get the element type of `like`; empty if they
/// can.
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

  /// Sets the node's input `index` to `value`; missing inputs before it become
  /// absent.
  void setOperand(unsigned index, mlir::Value value);
  /// Removes input `index`, or the placeholder of an absent input.
  void eraseOperand(unsigned index);
  void setString(llvm::StringRef name, llvm::StringRef value);
  void setInt(llvm::StringRef name, int64_t value);

  /// Creates a constant named after the node and `suffix`.
  mlir::Value createConstant(mlir::ElementsAttr value, llvm::StringRef suffix);
  mlir::Value createInts(llvm::ArrayRef<int64_t> values,
                         llvm::StringRef suffix);
  mlir::Value createScalar(int64_t value, llvm::StringRef suffix);
  /// A scalar of the element type of `like`.
  mlir::Value createScalarLike(double value, mlir::Value like,
                               llvm::StringRef suffix);
  /// Turns the attribute of the node into a constant: a list becomes a vector,
  /// a number a scalar. The attribute must exist and have no obstacle.
  mlir::Value takeConstant(llvm::StringRef name);
  /// The same for a number that gets the element type of `like`.
  mlir::Value takeConstantLike(llvm::StringRef name, mlir::Value like);

  /// Creates a node with one result at the current position: before the node,
  /// or after it once `moveBehind` was called.
  mlir::Value create(llvm::StringRef opType, mlir::ValueRange operands,
                     mlir::Type type, llvm::StringRef suffix,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value createCast(mlir::Value value, mlir::Type elementType,
                         llvm::StringRef suffix);
  /// The sizes of `value` as a vector.
  mlir::Value createShape(mlir::Value value, llvm::StringRef suffix);
  void moveBehind() { builder.setInsertionPointAfter(node); }

  /// Replaces the uses of the node's result by `by`, a node made from it, which
  /// takes over the result's name; the result is renamed with `suffix`.
  void replaceResult(unsigned index, mlir::Value by, llvm::StringRef suffix);
  /// Replaces the node by a node of another op or with fewer results.
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
