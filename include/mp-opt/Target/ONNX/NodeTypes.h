//===- NodeTypes.h - Types that the IR does not state -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types of values inside functions, and of what calls of functions yield, are
// `!onnx.unknown` after import. Once the operands of a node have types, ONNX's
// own inference and the schema's type variables tell those of its results.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TARGET_ONNX_NODETYPES_H
#define MPOPT_TARGET_ONNX_NODETYPES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include <memory>

namespace mp {

/// The value of each attribute of a function, by its name.
using AttributeValues = llvm::StringMap<mlir::Attribute>;

class NodeTypes {
public:
  NodeTypes();
  ~NodeTypes();

  /// Gives results of `node` the types and shapes that they lack, as far as
  /// they can be told. Nodes are to be visited after the nodes of their
  /// subgraphs. `attributes` resolves references to the function's attributes.
  void inferResults(mlir::Operation *node, const AttributeValues &attributes);

  /// The same for the inputs of the node's subgraphs; before visiting these.
  void inferSubgraphInputs(mlir::Operation *node);

  /// Both, for the node and all nodes of its subgraphs.
  void inferNested(mlir::Operation *node);

  /// Forgets what is kept of a node that is about to be erased.
  void forget(mlir::Operation *node);

  /// `better` where `type` is vague and `better` does not contradict it.
  static mlir::Type refine(mlir::Type type, mlir::Type better);

  /// What `attribute` stands for: itself, or the value of the function's
  /// attribute that it refers to; null if that has no value.
  static mlir::Attribute resolve(mlir::Attribute attribute,
                                 const AttributeValues &attributes);

  /// A function's default in the form that an attribute of a node has.
  static mlir::Attribute getPlainForm(mlir::Attribute attribute,
                                      llvm::StringRef name);

  /// The values of the function's attributes in `call`, a node with the
  /// attributes `attributes` in force: the call's own, else the defaults.
  static AttributeValues getValues(onnxir::FunctionOp function,
                                   mlir::Operation *call,
                                   const AttributeValues &attributes);

  /// The same for a node outside of functions, with the names of sizes that
  /// each result has from operands with such names, from 1 on: 0 is no name.
  using Symbols = llvm::SmallVector<llvm::SmallVector<unsigned>>;
  Symbols inferSymbols(mlir::Operation *node,
                       llvm::ArrayRef<llvm::ArrayRef<unsigned>> operandSymbols);

private:
  llvm::SmallVector<mlir::Type>
  infer(mlir::Operation *node, const AttributeValues &attributes,
        llvm::ArrayRef<llvm::ArrayRef<unsigned>> operandSymbols,
        Symbols *symbols);

  struct Constants;
  std::unique_ptr<Constants> constants;
};

} // namespace mp

#endif // MPOPT_TARGET_ONNX_NODETYPES_H
