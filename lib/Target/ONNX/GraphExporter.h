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

/// Builds the ModelProto of `module`; tensor data goes where `sink` says. The
/// nodes of its graph, which may be a million, go to `nodes` one after another
/// as the bytes of a GraphProto's fields, so that they are not in memory a
/// second time.
mlir::LogicalResult exportModule(mlir::ModuleOp module, TensorSink &sink,
                                 ::onnx::ModelProto &model, std::string &nodes);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_GRAPHEXPORTER_H
