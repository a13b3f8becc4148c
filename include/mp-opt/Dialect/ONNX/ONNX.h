//===- ONNX.h - The onnx dialect --------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect's classes, and queries of passes about its operators: the schema
// in force, the name of a node, the formal parameter of an operand.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ONNX_ONNX_H
#define MPOPT_DIALECT_ONNX_ONNX_H

#include "mp-opt/Schema/Schema.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mp-opt/Dialect/ONNX/ONNXDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mp-opt/Dialect/ONNX/ONNXTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/ONNX/ONNXAttrs.h.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/ONNX/ONNXOps.h.inc"

namespace mp::onnxir {

/// Names of attributes that nodes and graphs have in addition to those of
/// operators; ONNX.td describes their contents.
namespace attr {
inline constexpr llvm::StringLiteral name = "onnx.name";
inline constexpr llvm::StringLiteral results = "onnx.results";
inline constexpr llvm::StringLiteral regions = "onnx.regions";
inline constexpr llvm::StringLiteral regionFields = "onnx.region_fields";
inline constexpr llvm::StringLiteral order = "onnx.attr_order";
inline constexpr llvm::StringLiteral extra = "onnx.extra";
inline constexpr llvm::StringLiteral inputs = "onnx.inputs";
inline constexpr llvm::StringLiteral outputs = "onnx.outputs";
inline constexpr llvm::StringLiteral valueInfo = "onnx.value_info";
inline constexpr llvm::StringLiteral graph = "onnx.graph";
/// On the module or a function: array of [domain, version] pairs.
inline constexpr llvm::StringLiteral opsets = "onnx.opset_import";
/// On the module: names of external data files; ModelProto's other fields.
inline constexpr llvm::StringLiteral externalFiles = "onnx.external_files";
inline constexpr llvm::StringLiteral model = "onnx.model";
} // namespace attr

/// The opset version that `op`'s model or function imports for `domain`;
/// absent if it imports none.
std::optional<int64_t> getOpset(mlir::Operation *op, llvm::StringRef domain);

/// The schema in force for `op`: the newest version that its opset import
/// admits. Runtimes also write ops that came later, or com.microsoft ops in
/// the default domain; for those the nearest schema is the answer. Null for
/// the dialect's own ops and for ops that no schema describes.
const OpSchema *getSchema(mlir::Operation *op);
/// The same for an operator whose domain is imported at `opset`, or not at all.
const OpSchema *getSchemaAt(const OpFamily &family,
                            std::optional<int64_t> opset);

/// The domain and op type that the node has in ONNX.
llvm::StringRef getDomain(mlir::Operation *op);
llvm::StringRef getOpType(mlir::Operation *op);

/// True for nodes: schema-made ops and `onnx.custom`.
bool isNode(mlir::Operation *op);
/// True if `op` is the default domain's operator `opType`.
bool isStandardOp(mlir::Operation *op, llvm::StringRef opType);
/// The same for com.microsoft.
bool isMicrosoftOp(mlir::Operation *op, llvm::StringRef opType);

/// The node's name, empty if it has none.
llvm::StringRef getNodeName(mlir::Operation *op);
/// The ONNX name of a value; empty for absent ones.
llvm::StringRef getValueName(mlir::Value value);
/// The same as an attribute, which is null for a value without a name.
mlir::StringAttr getValueNameAttr(mlir::Value value);
/// Renames a node's or initializer's result; other values keep their names.
void setValueName(mlir::OpResult value, llvm::StringRef name);

/// The name of a value for printing: characters that MLIR would spell out as
/// numbers become underscores.
std::string getPrintableName(mlir::Value value);

/// `node 'enc/3/Softmax' (Softmax-13)`, with an output's name for a node
/// that has none.
std::string describe(mlir::Operation *op);

/// The yield that ends a graph region; null if there is none.
YieldOp getYield(mlir::Region &region);

/// The schema-made operation name of an op family, e.g. "onnx.Cast".
mlir::OperationName getOperationName(mlir::MLIRContext *context,
                                     const OpFamily &family);

/// The element kind of an MLIR element type, Undefined for other types.
ElementKind getElementKind(mlir::Type elementType);
/// The MLIR type of an element kind; null for Undefined or unknown numbers.
mlir::Type getElementType(mlir::MLIRContext *context, ElementKind kind);
/// The element type of a tensor value; null for every other type.
mlir::Type getTensorElementType(mlir::Type type);
/// True for float tensors of 16, 32 or 64 bits; of fp32; of bf16 or fp16.
bool isFloatTensor(mlir::Type type);
bool isF32Tensor(mlir::Type type);
bool is16BitTensor(mlir::Type type);
/// The same tensor type with another element type.
mlir::Type withElementType(mlir::Type tensorType, mlir::Type elementType);
/// The same type without any information about dimensions, also in elements of
/// sequences and optionals.
mlir::Type withoutShape(mlir::Type type);
/// True if the type is `!onnx.unknown`, or nothing is known about its
/// dimensions.
bool isVague(mlir::Type type);

} // namespace mp::onnxir

#endif // MPOPT_DIALECT_ONNX_ONNX_H
