//===- TensorRules.h - What data a tensor has to have -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_TENSORRULES_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_TENSORRULES_H

#include "../Conversion.h"

namespace mp {

/// How many elements tensors of these dimensions have; fails at dimensions
/// that no tensor has.
mlir::FailureOr<uint64_t>
countElements(const google::protobuf::RepeatedField<int64_t> &dims,
              EmitErrorFn emitError);

/// The bytes that `count` elements of a type take, several to a byte if they
/// are narrow; absent for types without a fixed size.
std::optional<uint64_t> getDataSize(int32_t dataType, uint64_t count);

/// Fails unless the data of `tensor` are in one place, the one for its type,
/// and are as many as its dimensions say. `outside` is the size of data that
/// are not in the tensor itself: of an external file, or cut out by import.
mlir::LogicalResult checkTensorData(const ::onnx::TensorProto &tensor,
                                    std::optional<uint64_t> outside,
                                    EmitErrorFn emitError);

/// The same of a sparse tensor whose data are all in place; its indices have to
/// be in order and within its dimensions.
mlir::LogicalResult checkSparseTensor(const ::onnx::SparseTensorProto &tensor,
                                      EmitErrorFn emitError);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_TENSORRULES_H
