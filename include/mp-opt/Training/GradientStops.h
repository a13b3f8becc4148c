//===- GradientStops.h - Where gradients end --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward model computes the same with and without torch's `detach`; only
// what the exporter has left beside its nodes, and the user, tell them apart.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_GRADIENTSTOPS_H
#define MPOPT_TRAINING_GRADIENTSTOPS_H

#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

/// Keys of the metadata of nodes: torch's call, by its newer exporter; an
/// Identity that passes no gradient; the row of a Gather's table that gets
/// none.
inline constexpr llvm::StringLiteral fxNodeKey = "pkg.torch.onnx.fx_node";
inline constexpr llvm::StringLiteral stopGradientKey = "mp-opt.stop_gradient";
inline constexpr llvm::StringLiteral paddingIndexKey = "mp-opt.padding_index";

/// Turns each BatchNormalization that an exporter has written for inference,
/// although its metadata say that it trains, into one of training.
void restoreTrainingModes(onnxir::GraphOp graph);

/// Marks each Identity that passes no gradient with `mp.stop_gradient`: torch's
/// `detach`, and new ones behind buffers that the model updates and behind the
/// values that `patterns` match, regular expressions for whole names. Fails if
/// one of these matches no value that a node computes.
mlir::LogicalResult markGradientStops(onnxir::GraphOp graph,
                                      llvm::ArrayRef<std::string> patterns);

/// Marks each Gather of a table that has a row for padding with
/// `mp.padding_index`: by the export's metadata; where an export has none, by
/// the only row of zeros, with a warning. Fails if metadata name a row that the
/// table has not.
mlir::LogicalResult markPadding(onnxir::GraphOp graph);

} // namespace mp

#endif // MPOPT_TRAINING_GRADIENTSTOPS_H
