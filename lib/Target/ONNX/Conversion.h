//===- Conversion.h - Types, tensors, attributes of ONNX --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions used by import and export, in both directions: TypeProto and MLIR
// types, TensorProto and elements attributes, AttributeProto and attributes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_CONVERSION_H
#define MPOPT_LIB_TARGET_ONNX_CONVERSION_H

#include "ExternalData.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "onnx/onnx_pb.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>
#include <optional>
#include <string>

namespace mp {

/// The error for a field that only import itself may set.
inline constexpr llvm::StringLiteral reservedField =
    "uses a field that is reserved";

using EmitErrorFn = llvm::function_ref<mlir::InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The element type with this number in TensorProto.DataType; null if there is
/// none.
mlir::Type convertElementType(mlir::MLIRContext *context, int32_t dataType);

/// The MLIR type; `!onnx.unknown` if the proto does not specify one.
mlir::Type convertType(mlir::MLIRContext *context,
                       const ::onnx::TypeProto &type);

/// Converts a type to a proto, with dimensions but without their names.
void convertType(mlir::Type type, ::onnx::TypeProto &result);

/// Replaces element types in `proto` by those of `type`, as far as both have
/// the same structure; dimensions and their names stay.
void patchType(mlir::Type type, ::onnx::TypeProto &proto);

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The result of converting a TensorProto: its elements, if they have a plain
/// MLIR form, and the remaining fields.
struct TensorParts {
  mlir::Type type;
  mlir::TypedAttr value;
  mlir::DictionaryAttr fields;
};

/// Files that constants refer to: the model's cut-out tensors and its
/// external data.
class TensorSource {
public:
  TensorSource(std::shared_ptr<llvm::MemoryBuffer> model, ExternalData external)
      : files(std::make_shared<Files>(
            Files{std::move(model), std::move(external)})) {}

  std::vector<llvm::StringRef> pieces;

  /// The data that import has cut out and replaced by `token`. Absent if import
  /// has not created the token, i.e. the field is the model's own or was copied
  /// from another tensor.
  std::optional<llvm::StringRef> take(uint64_t token);
  /// Restores cut-out data in every tensor inside `message`; false if it
  /// contains an invalid token.
  bool restore(google::protobuf::Message &message);

  ExternalData &getExternal() { return files->external; }
  /// Keeps the files mapped.
  std::shared_ptr<void> getOwner() const { return files; }

private:
  struct Files {
    std::shared_ptr<llvm::MemoryBuffer> model;
    ExternalData external;
  };
  std::shared_ptr<Files> files;
  std::vector<bool> taken;
};

/// The data in the typed field of its type as raw bytes; absent if the field is
/// empty or the data do not fit.
std::optional<std::string> packTyped(const ::onnx::TensorProto &tensor);

/// Protobuf writes parse errors to stderr; our messages are more detailed.
void silenceProtobuf();

/// Converts `tensor`; the name is left to the caller.
mlir::FailureOr<TensorParts> convertTensor(mlir::MLIRContext *context,
                                           const ::onnx::TensorProto &tensor,
                                           TensorSource &source,
                                           EmitErrorFn emitError);

/// Elements as bytes, and the element kinds between which they are converted
/// while they are written (equal for no conversion).
struct TensorData {
  llvm::ArrayRef<char> bytes;
  ElementKind from = ElementKind::Undefined;
  ElementKind to = ElementKind::Undefined;
  /// An intermediate kind to round to first, for emulation.
  ElementKind through = ElementKind::Undefined;
  /// Finite fp32 elements beyond +-`clamp` are replaced by that before
  /// rounding.
  float clamp = std::numeric_limits<float>::infinity();
  /// Holds the bytes if no attribute does.
  std::shared_ptr<const void> owner;
  /// True if all bytes are zero, as for the first states of an optimizer.
  bool isZero = false;

  uint64_t getSize() const;
  /// Fills `to` with the bytes from `begin` on. Thread-safe.
  void read(uint64_t begin, llvm::MutableArrayRef<char> to) const;
  /// Reads all bytes.
  std::string readAll() const;

private:
  /// Makes elements, to.size() bytes of them.
  void convert(uint64_t first, llvm::MutableArrayRef<char> to) const;
};

/// The bytes of `value`. Fails if the text had them elided.
mlir::FailureOr<TensorData> getTensorData(mlir::TypedAttr value,
                                          EmitErrorFn emitError);

/// Decides where the data of big tensors are stored in an exported model.
class TensorSink {
public:
  virtual ~TensorSink() = default;
  /// Stores the data of `tensor`: inside it, as a token, or outside.
  virtual void place(const TensorData &data, bool wasExternal,
                     ::onnx::TensorProto &tensor) = 0;
};

mlir::LogicalResult convertTensor(mlir::TypedAttr value, mlir::Type type,
                                  mlir::DictionaryAttr fields, TensorSink &sink,
                                  ::onnx::TensorProto &tensor,
                                  EmitErrorFn emitError);

//===----------------------------------------------------------------------===//
// Attributes (of all kinds but graphs)
//===----------------------------------------------------------------------===//

/// Fails if the attribute has a value of another type than the one it states.
mlir::LogicalResult checkAttributeType(const ::onnx::AttributeProto &attribute,
                                       EmitErrorFn emitError);

/// Converts an attribute that passes this check.
mlir::FailureOr<mlir::Attribute>
convertAttribute(mlir::MLIRContext *context,
                 const ::onnx::AttributeProto &attribute, TensorSource &source,
                 EmitErrorFn emitError);

mlir::LogicalResult convertAttribute(mlir::Attribute attribute,
                                     llvm::StringRef name, TensorSink &sink,
                                     ::onnx::AttributeProto &result,
                                     EmitErrorFn emitError);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_CONVERSION_H
