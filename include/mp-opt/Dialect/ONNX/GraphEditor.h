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
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

class GraphEditor {
public:
  explicit GraphEditor(onnxir::GraphOp graph) : GraphEditor(graph.getBody()) {}
  /// The same for a subgraph.
  explicit GraphEditor(mlir::Region &region)
      : region(region), builder(region.getContext()) {}

  mlir::Block &getBlock() { return region.front(); }
  onnxir::YieldOp getYield() { return onnxir::getYield(region); }

  // Each call rewrites whole lists: add many inputs or outputs in one call.

  /// Adds an input at the end of the inputs. `name` must be new. `sizes` are
  /// names of unknown sizes, one per axis, empty for no name.
  mlir::BlockArgument addInput(llvm::StringRef name, mlir::Type type,
                               llvm::ArrayRef<llvm::StringRef> sizes = {});
  /// The same with a default: an initializer of the same name.
  mlir::BlockArgument addInput(llvm::StringRef name, mlir::TypedAttr value) {
    return addInputs(std::pair(name, value)).front();
  }
  mlir::Block::BlockArgListType
  addInputs(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::TypedAttr>> inputs);
  /// Makes an initializer the default of an input of its name, which takes over
  /// its uses. The initializer must not be one already.
  mlir::BlockArgument makeInput(onnxir::InitializerOp initializer) {
    return makeInputs(initializer).front();
  }
  mlir::Block::BlockArgListType
  makeInputs(llvm::ArrayRef<onnxir::InitializerOp> initializers);

  /// Changes the types and defaults of inputs that have some. The caller
  /// updates readers of an input, and an output that is its next value.
  void setInputs(
      llvm::ArrayRef<std::pair<mlir::BlockArgument, mlir::TypedAttr>> inputs);

  /// Changes the type of an input without a default. `sizes` are as for
  /// `addInput`.
  void setInputType(mlir::BlockArgument input, mlir::Type type,
                    llvm::ArrayRef<llvm::StringRef> sizes = {});

  /// Removes an input without uses.
  void eraseInput(unsigned index);

  /// Removes outputs; their values stay.
  void eraseOutputs(llvm::function_ref<bool(unsigned index)> isErased);

  /// Adds an output at the end of the outputs, under the value's name.
  void addOutput(mlir::Value value) { addOutputs(value); }
  void addOutputs(llvm::ArrayRef<mlir::Value> values);
  /// Adds an output before all others.
  void addFirstOutput(mlir::Value value);

  /// The initializer that is the default of an input; null if it has none.
  onnxir::InitializerOp getDefault(mlir::BlockArgument input);

private:
  mlir::DictionaryAttr describe(llvm::StringRef name, mlir::Type type,
                                llvm::ArrayRef<llvm::StringRef> sizes = {});
  void insert(llvm::StringRef list, unsigned position,
              llvm::ArrayRef<mlir::Attribute> added);

  mlir::Region &region;
  mlir::Builder builder;
};

/// The module's main graph; null if it has none.
onnxir::GraphOp getMainGraph(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_DIALECT_ONNX_GRAPHEDITOR_H
