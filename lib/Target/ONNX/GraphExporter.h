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

/// Builds the ModelProto of `module`; `sink` decides where tensor data are
/// stored. The nodes of its graph, which may be a million, are appended to
/// `nodes` one by one as the bytes of a GraphProto's fields, to avoid a second
/// copy in memory.
mlir::LogicalResult exportModule(mlir::ModuleOp module, TensorSink &sink,
                                 ::onnx::ModelProto &model, std::string &nodes);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_GRAPHEXPORTER_H
