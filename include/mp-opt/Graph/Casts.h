//===- Casts.h - Casts that passes insert -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_CASTS_H
#define MPOPT_GRAPH_CASTS_H

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// The name of an element type in names and remarks: "bf16", "fp16", "f32".
llvm::StringRef getPrecisionName(mlir::Type elementType);

/// Creates casts with unique names.
class CastBuilder {
public:
  explicit CastBuilder(mlir::ModuleOp module);

  /// Creates a cast of `value` to `elementType` right after the definition of
  /// `value`, called `<value>_cast_<type>`.
  mlir::OpResult create(mlir::Value value, mlir::Type elementType);
  /// The same where `builder` stands.
  mlir::OpResult create(mlir::OpBuilder &builder, mlir::Value value,
                        mlir::Type elementType);
  UniqueNames &getNames() { return names; }

private:
  mlir::Attribute getTo(mlir::Operation *scope, mlir::Type elementType);

  UniqueNames names;
  mlir::OperationName castName;
  /// Names of a cast's attributes, looked up once.
  struct Keys {
    mlir::StringAttr inserted, name, results, to;
  } keys;
  /// The attribute `to`, by the scope that imports the opset and the type.
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Type>, mlir::Attribute>
      targets;
};

/// The element type of a Cast's `to`; null if it is not an element type.
mlir::Type getCastType(mlir::Operation *cast);

/// True for fp16, bf16, fp32 and float64.
bool isIEEEFloat(mlir::Type type);
/// False for truth values, which are i1.
bool isSignedNumber(mlir::IntegerType type);
/// True if both are integers, truth values or such floats, and `to` has every
/// number of `from`.
bool holdsAllNumbers(mlir::Type from, mlir::Type to);

/// True if Cast converts to `kind` at the opset of `scope`, a graph or a
/// function.
bool admitsCast(mlir::Operation *scope, ElementKind kind);

/// True for a Cast that a pass has inserted.
bool isInsertedCast(mlir::Operation *op);

/// Removes every `mp.` attribute except the module's mp.summary and those that
/// identify clones of functions until they are merged.
void stripMarks(mlir::ModuleOp module);

/// Adds to a counter attribute of the module.
void addToCounter(mlir::ModuleOp module, llvm::StringRef name, int64_t count);

} // namespace mp

#endif // MPOPT_GRAPH_CASTS_H
