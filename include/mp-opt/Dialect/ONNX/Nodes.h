//===- Nodes.h - Reading nodes, and names for new ones ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ONNX_NODES_H
#define MPOPT_DIALECT_ONNX_NODES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Twine.h"

namespace mp {

/// True if operand or result `index` exists and is not left out.
bool hasOperand(mlir::Operation *node, unsigned index);
bool hasResult(mlir::Operation *node, unsigned index);

/// The attribute's value, or `byDefault` if the node has no such attribute.
int64_t getInt(mlir::Operation *node, llvm::StringRef name, int64_t byDefault);
double getFloat(mlir::Operation *node, llvm::StringRef name, double byDefault);
llvm::StringRef getString(mlir::Operation *node, llvm::StringRef name,
                          llvm::StringRef byDefault);

/// The integers of a list; empty if it is absent.
llvm::ArrayRef<int64_t> getInts(mlir::Operation *node, llvm::StringRef name);

/// The elements of a small integer constant (initializer or Constant); absent
/// for every other value.
std::optional<llvm::SmallVector<int64_t>> getConstantInts(mlir::Value value);

/// True for a constant of which all bytes are zero, as in a zero point.
bool isZeroConstant(mlir::Value value);

/// The element of a float constant that has one; absent for every other value.
std::optional<double> getConstantFloat(mlir::Value value);

/// The value of a key in the metadata of a node; absent if there is none.
std::optional<llvm::StringRef> getNodeMetadata(mlir::Operation *node,
                                               llvm::StringRef key);
/// The same for the model.
std::optional<llvm::StringRef> getModelMetadata(mlir::ModuleOp module,
                                                llvm::StringRef key);
/// Sets the value of a key in the metadata of the model.
void setModelMetadata(mlir::ModuleOp module, llvm::StringRef key,
                      llvm::StringRef value);

/// Names that no node and no value of the model has.
class UniqueNames {
public:
  explicit UniqueNames(mlir::ModuleOp module);
  /// Returns `base`, or `base_<n>` with the least n that is new; no name is
  /// returned twice. The context keeps the string.
  llvm::StringRef getValueName(const llvm::Twine &base) {
    return takeValueName(mlir::StringAttr::get(context, base)).getValue();
  }
  llvm::StringRef getNodeName(const llvm::Twine &base) {
    return takeNodeName(mlir::StringAttr::get(context, base)).getValue();
  }
  /// The same for a string that the context has already.
  mlir::StringAttr takeValueName(mlir::StringAttr base) {
    return take(values, base);
  }
  mlir::StringAttr takeNodeName(mlir::StringAttr base) {
    return take(nodes, base);
  }

private:
  /// Strings are unique in a context: their addresses identify them.
  struct Space {
    llvm::DenseSet<mlir::StringAttr> taken;
    llvm::DenseMap<mlir::StringAttr, unsigned> next;
  };
  mlir::StringAttr take(Space &space, mlir::StringAttr base);
  void add(Space &space, mlir::StringAttr name);

  mlir::MLIRContext *context;
  Space values, nodes;
};

} // namespace mp

#endif // MPOPT_DIALECT_ONNX_NODES_H
