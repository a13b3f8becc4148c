//===- TensorRules.h - Rules for data of tensors ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_TENSORRULES_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_TENSORRULES_H

#include "../Conversion.h"

namespace mp {

/// The number of elements of tensors with these dimensions. Fails if the
/// dimensions are invalid.
mlir::FailureOr<uint64_t>
countElements(const google::protobuf::RepeatedField<int64_t> &dims,
              EmitErrorFn emitError);

/// The bytes that `count` elements of a type take, several to a byte if they
/// are narrow; absent for types without a fixed size.
std::optional<uint64_t> getDataSize(int32_t dataType, uint64_t count);

/// Fails unless the data of `tensor` are in exactly one field, which must be
/// the one for its type, and match its dimensions. `outside` is the size of
/// data that are not in the tensor itself, but in an external file or cut out
/// by import.
mlir::LogicalResult checkTensorData(const ::onnx::TensorProto &tensor,
                                    std::optional<uint64_t> outside,
                                    EmitErrorFn emitError);

/// Checks a sparse tensor whose data are all in the message. Its indices must
/// be sorted and within its dimensions.
mlir::LogicalResult checkSparseTensor(const ::onnx::SparseTensorProto &tensor,
                                      EmitErrorFn emitError);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_TENSORRULES_H
