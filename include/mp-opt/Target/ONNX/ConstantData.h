//===- ConstantData.h - Constants of a model as tensors ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TARGET_ONNX_CONSTANTDATA_H
#define MPOPT_TARGET_ONNX_CONSTANTDATA_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace mp {

/// The elements of a constant. Elements that need no conversion are not copied,
/// so the context must outlive the tensor. Fails with an error if the elements
/// were elided from a text, or do not fit into memory.
mlir::FailureOr<Tensor>
getConstantData(mlir::TypedAttr value,
                llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The elements of a tensor of 4-bit or 2-bit integers, each in its own byte
/// (i8 or ui8); `fields` are those of its TensorProto. Null for other tensors.
/// Fails with an error if the data are in another file, or if their number does
/// not match the shape.
mlir::FailureOr<mlir::TypedAttr>
unpackNarrowIntegers(mlir::DictionaryAttr fields,
                     llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Returns the same as a tensor instead of an attribute; of kind Undefined for
/// other tensors.
mlir::FailureOr<Tensor>
unpackNarrowTensor(mlir::DictionaryAttr fields,
                   llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace mp

#endif // MPOPT_TARGET_ONNX_CONSTANTDATA_H
