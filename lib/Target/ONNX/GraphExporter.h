//===- GraphExporter.h - Modules into ModelProtos ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_GRAPHEXPORTER_H
#define MPOPT_LIB_TARGET_ONNX_GRAPHEXPORTER_H

#include "Conversion.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Builds the ModelProto of `module`; tensor data goes where `sink` says.
mlir::LogicalResult exportModule(mlir::ModuleOp module, TensorSink &sink,
                                 ::onnx::ModelProto &model);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_GRAPHEXPORTER_H
