//===- NodeTypes.h - Types that the IR does not state -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After import, values inside functions and results of calls have the type
// `!onnx.unknown`. As soon as the operands of a node have types, ONNX's own
// inference and the schema's type variables determine those of its results.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TARGET_ONNX_NODETYPES_H
#define MPOPT_TARGET_ONNX_NODETYPES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include <memory>

namespace mp {

/// The values of a function's attributes, by name.
using AttributeValues = llvm::StringMap<mlir::Attribute>;

class NodeTypes {
public:
  NodeTypes();
  ~NodeTypes();

  /// Adds types and shapes that results of `node` lack, as far as they can be
  /// inferred. Nodes must be visited after the nodes of their subgraphs.
  /// `attributes` resolves references to the function's attributes.
  void inferResults(mlir::Operation *node, const AttributeValues &attributes);

  /// Does the same for the inputs of the node's subgraphs. Must be called
  /// before visiting these.
  void inferSubgraphInputs(mlir::Operation *node);

  /// Does both for the node and all nodes of its subgraphs.
  void inferNested(mlir::Operation *node);

  /// Drops cached data of a node that is about to be erased.
  void forget(mlir::Operation *node);

  /// Returns `better` if `type` is vague and `better` does not contradict it.
  static mlir::Type refine(mlir::Type type, mlir::Type better);

  /// Returns `attribute` itself or, if it refers to a function's attribute, the
  /// value of that; null if it has no value.
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

  /// Infers types for a node outside of functions, together with the names of
  /// sizes that each result has from operands. Names are numbers from 1 on; 0
  /// means no name.
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
