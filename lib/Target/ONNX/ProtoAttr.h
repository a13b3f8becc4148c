//===- ProtoAttr.h - Protobuf messages as attributes ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts any message of a model to a dictionary attribute and back, field by
// field with protobuf names. Presence of fields and unknown fields are
// preserved, so information that the dialect does not represent otherwise is
// not lost.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_PROTOATTR_H
#define MPOPT_LIB_TARGET_ONNX_PROTOATTR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace google::protobuf {
class Message;
}

namespace mp {

/// The fields of `message` that are set, without the field numbers in `skip`.
mlir::DictionaryAttr protoToAttr(mlir::MLIRContext *context,
                                 const google::protobuf::Message &message,
                                 llvm::ArrayRef<int> skip = {});

/// Sets the fields in `fields` on `message`. A field that the message does
/// not have, or of a wrong kind, is an error.
mlir::LogicalResult
attrToProto(mlir::DictionaryAttr fields, google::protobuf::Message &message,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_PROTOATTR_H
