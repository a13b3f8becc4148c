//===- Distribution.h - Data-parallel training steps ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_DISTRIBUTION_H
#define MPOPT_TRAINING_DISTRIBUTION_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// Settings of gradient communication. Buckets work as in torch's
/// DistributedDataParallel: the first is small, so that communication begins
/// early.
struct DistributionSettings {
  /// Bytes of gradients that fill a bucket.
  int64_t bucketBytes = 25 << 20, firstBytes = 1 << 20;
};

/// Makes a training step data-parallel: gradients, losses, tests whether
/// gradients are finite and running statistics are reduced over all ranks
/// (`mp.all_reduce`). The reduction of a gradient starts as soon as it is
/// computed; buckets are filled in that order. Every rank then makes the same
/// update. Fails, with an error, if the graph updates no parameters: the caller
/// of a step of `--optimizer=none` must reduce its gradients.
mlir::LogicalResult distribute(onnxir::GraphOp graph, NodeBuilder &nodes,
                               const DistributionSettings &settings);

/// Makes BatchNormalization in training mode, and its gradients
/// (com.microsoft.BatchNormalizationGrad), use statistics of the batches of all
/// ranks, which must be of one size. Must run before `distribute`. Fails, with
/// an error at the node, for operands of unknown rank.
mlir::LogicalResult syncBatchNorm(onnxir::GraphOp graph, NodeBuilder &nodes);

/// True if ranks reduce anything.
bool hasReductions(mlir::ModuleOp module);

/// Removes the reductions of a program that one rank runs alone.
void removeReductions(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_TRAINING_DISTRIBUTION_H
