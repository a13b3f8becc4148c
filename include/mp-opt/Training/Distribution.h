//===- Distribution.h - Steps of which each rank computes a part *- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_DISTRIBUTION_H
#define MPOPT_TRAINING_DISTRIBUTION_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// How gradients travel. Buckets are as torch's DistributedDataParallel has
/// them: the first is small, so that communication begins early.
struct DistributionSettings {
  /// Bytes of gradients that make a bucket full.
  int64_t bucketBytes = 25 << 20, firstBytes = 1 << 20;
};

/// Makes a training step data-parallel: gradients, losses, tests whether
/// gradients are finite and running statistics are reduced over all ranks
/// (`mp.all_reduce`). A gradient is handed over as soon as it is computed;
/// buckets are filled in that order. Every rank then makes the same update.
/// Fails, with an error, where the graph updates no parameters: what leaves a
/// step of `--optimizer=none` is reduced by whoever applies it.
mlir::LogicalResult distribute(onnxir::GraphOp graph, NodeBuilder &nodes,
                               const DistributionSettings &settings);

/// Makes BatchNormalization in training mode, and its gradients
/// (com.microsoft.BatchNormalizationGrad), take statistics of the batches of
/// all ranks, which are of one size; comes before `distribute`. Fails, with an
/// error at the node, for operands of unknown rank.
mlir::LogicalResult syncBatchNorm(onnxir::GraphOp graph, NodeBuilder &nodes);

/// Whether there is anything that ranks reduce.
bool hasReductions(mlir::ModuleOp module);

/// What is reduced is what one rank has: for what a rank computes alone.
void removeReductions(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_TRAINING_DISTRIBUTION_H
