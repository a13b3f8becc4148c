//===- GraphEditor.h - Inputs, outputs and states of a graph ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph describes its inputs and outputs in its yield; this class keeps the
// two together.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ONNX_GRAPHEDITOR_H
#define MPOPT_DIALECT_ONNX_GRAPHEDITOR_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "mlir/IR/Builders.h"

namespace mp {

class GraphEditor {
public:
  explicit GraphEditor(onnxir::GraphOp graph) : GraphEditor(graph.getBody()) {}
  /// The same of a subgraph.
  explicit GraphEditor(mlir::Region &region)
      : region(region), builder(region.getContext()) {}

  mlir::Block &getBlock() { return region.front(); }
  onnxir::YieldOp getYield() { return onnxir::getYield(region); }

  /// An input at the end of the inputs. `name` must be new.
  mlir::BlockArgument addInput(llvm::StringRef name, mlir::Type type);
  /// The same with a default: an initializer of the same name.
  mlir::BlockArgument addInput(llvm::StringRef name, mlir::TypedAttr value);
  /// Makes an initializer the default of an input of its name, which takes over
  /// its uses. The initializer must not be one already.
  mlir::BlockArgument makeInput(onnxir::InitializerOp initializer);

  /// Takes away an input without uses.
  void eraseInput(unsigned index);

  /// An output at the end of the outputs, under the value's name.
  void addOutput(mlir::Value value);
  /// The same before all others.
  void addFirstOutput(mlir::Value value);

  /// The initializer that is the default of an input; null if it has none.
  onnxir::InitializerOp getDefault(mlir::BlockArgument input);

private:
  mlir::DictionaryAttr describe(llvm::StringRef name, mlir::Type type);
  void insert(llvm::StringRef list, unsigned position, mlir::Attribute entry);

  mlir::Region &region;
  mlir::Builder builder;
};

/// The module's main graph; null if it has none.
onnxir::GraphOp getMainGraph(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_DIALECT_ONNX_GRAPHEDITOR_H
