//===- GradientStops.h - Values without gradients ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward model computes the same with and without torch's `detach`; only the
// exporter's metadata on its nodes, and the user, can tell them apart.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_GRADIENTSTOPS_H
#define MPOPT_TRAINING_GRADIENTSTOPS_H

#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"

namespace mp {

/// Keys of node metadata: the torch call, from its newer exporter; the mark of
/// an Identity that passes no gradient; the row of a Gather's table that gets
/// no gradient.
inline constexpr llvm::StringLiteral fxNodeKey = "pkg.torch.onnx.fx_node";
inline constexpr llvm::StringLiteral stopGradientKey = "mp-opt.stop_gradient";
inline constexpr llvm::StringLiteral paddingIndexKey = "mp-opt.padding_index";

/// Switches each BatchNormalization that an exporter has written for inference
/// to training mode if its metadata say that it trains.
void restoreTrainingModes(onnxir::GraphOp graph);

/// Marks each Identity that passes no gradient with `mp.stop_gradient`. These
/// are torch's `detach`, and new Identities after buffers that the model
/// updates and after values that match `patterns`, regular expressions for
/// whole names. Fails if a pattern matches no value that a node computes.
mlir::LogicalResult markGradientStops(onnxir::GraphOp graph,
                                      llvm::ArrayRef<std::string> patterns);

/// Marks each Gather of a table that has a row for padding with
/// `mp.padding_index`. The row is that of the export's metadata, or else the
/// only row of zeros, with a warning. Fails if metadata name a row that the
/// table does not have.
mlir::LogicalResult markPadding(onnxir::GraphOp graph);

} // namespace mp

#endif // MPOPT_TRAINING_GRADIENTSTOPS_H
