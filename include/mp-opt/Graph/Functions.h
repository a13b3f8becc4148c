//===- Functions.h - Model-local functions and their calls ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Precision is decided per scope. Scopes are the main graph, and functions that
// onnx-specialize-functions has cloned and typed for one call. A call carries
// `mp.callee`, the clone's name, and keeps the op type that it has in the model
// until onnx-merge-functions decides the final name of the clone.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_FUNCTIONS_H
#define MPOPT_GRAPH_FUNCTIONS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

/// The functions of a module by domain, name and overload.
class FunctionTable {
public:
  explicit FunctionTable(mlir::ModuleOp module);

  /// The function that `node` calls: its clone if it has one. Null for nodes
  /// that do not call a function.
  onnxir::FunctionOp lookup(mlir::Operation *node) const;
  /// The function with the name of the node's op type, even if there is a
  /// clone.
  onnxir::FunctionOp lookupOriginal(mlir::Operation *node) const;

  onnxir::FunctionOp lookup(llvm::StringRef domain, llvm::StringRef name,
                            llvm::StringRef overload) const;

  /// Adds a function; false if there is one with its name, which stays.
  bool insert(onnxir::FunctionOp function);
  void erase(onnxir::FunctionOp function);
  bool empty() const { return functions.empty(); }

private:
  llvm::StringMap<onnxir::FunctionOp> functions;
};

/// The numbers of nodes of functions, with and without those of the functions
/// that they call.
class FunctionSizes {
public:
  FunctionSizes(mlir::ModuleOp module, const FunctionTable &table);

  struct Size {
    /// The number of nodes in the body and its subgraphs.
    uint64_t own = 0;
    /// The same, including all called functions; saturates at 2^62.
    uint64_t expanded = 0;
    /// A chain of calls leads back to the function. At least one function of
    /// each cycle of calls is marked.
    bool isRecursive = false;
  };
  const Size &lookup(onnxir::FunctionOp function) const {
    return sizes.find(function)->second;
  }

private:
  void visit(onnxir::FunctionOp root, const FunctionTable &table);

  llvm::DenseMap<mlir::Operation *, Size> sizes;
};

/// True for functions that onnx-specialize-functions has made.
bool isSpecialized(onnxir::FunctionOp function);

/// The `overload` field of a function or of a node; mostly empty.
llvm::StringRef getOverload(mlir::Operation *op);

/// Lets a specialized function import the model's opsets if this changes none
/// of its nodes: nodes that passes add to it must be valid in the model.
void importModelOpsets(onnxir::FunctionOp function, mlir::ModuleOp module);

/// All scopes in the module's order: each onnx.graph, each specialized
/// onnx.function.
llvm::SmallVector<mlir::Operation *> getScopes(mlir::ModuleOp module);
inline void forEachScope(mlir::ModuleOp module,
                         llvm::function_ref<void(mlir::Operation *)> visit) {
  for (mlir::Operation *scope : getScopes(module))
    visit(scope);
}

} // namespace mp

#endif // MPOPT_GRAPH_FUNCTIONS_H
