//===- Passes.td - Passes for data-parallel training -------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_DISTRIBUTION_PASSES_TD
#define MPOPT_PASSES_DISTRIBUTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def Distribute : Pass<"mp-distribute", "::mlir::ModuleOp"> {
  let summary = "Reduce the gradients of a training step over all ranks";
  let description = [{
    Before: a training step, with its loss scaling if it has any. After: each
    rank computes the gradients of its own batch, and all make the update of
    their mean. `mp.all_reduce` stands behind each gradient, where it is
    computed; losses, tests whether gradients are finite, and running statistics
    are reduced as well. Gradients are sent in buckets, in the order in which
    they are computed.

    Example: test/Distribution/mp-distribute.mlir
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400",
           "Bytes of gradients that make a bucket full">,
    Option<"firstBytes", "first-bytes", "int64_t", /*default=*/"1048576",
           "The same of the first one">,
  ];
  let dependentDialects = ["::mp::onnxir::ONNXDialect", "::mp::MPDialect"];
}

def SyncBatchNorm : Pass<"mp-sync-batch-norm", "::mlir::ModuleOp"> {
  let summary = "Normalize batches by statistics of all ranks";
  let description = [{
    Before: BatchNormalization in training mode takes the mean and the variance
    of a rank's batch. After: those of the batches of all ranks, which
    `mp.all_reduce` averages, in the forward and the backward pass, as one rank
    with all rows would have it. Such a node becomes arithmetic in fp32. Comes
    behind `mp-differentiate`, with its `com.microsoft.BatchNormalizationGrad`,
    and before `mp-distribute`.

    Example: test/Distribution/mp-sync-batch-norm.mlir
  }];
  let dependentDialects = ["::mp::onnxir::ONNXDialect", "::mp::MPDialect"];
}

def ShardOptimizer : Pass<"mp-shard-optimizer", "::mlir::ModuleOp"> {
  let summary = "Share the optimizer of a distributed step among ranks";
  let description = [{
    ZeRO, stage 1. Before: a step as `mp-distribute` makes it, on one of
    `ranks` ranks. After: the rank's step. Its states of the optimizer are a
    range of each parameter's; gradients are reduced to the rank that owns
    them, and new parameters are gathered, in bf16 where the model reads them in
    nothing else. Parameters whose update is not computed element by element,
    or that are small, stay as they are.

    Example: test/Distribution/mp-shard-optimizer.mlir
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", /*default=*/"1", "How many there are">,
    Option<"rank", "rank", "int64_t", /*default=*/"0", "Which one this is">,
    Option<"leastElements", "least-elements", "int64_t", /*default=*/"1024",
           "Parameters of fewer elements stay as they are">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400",
           "Bytes of parameters that are gathered at once">,
  ];
  let dependentDialects = ["::mp::onnxir::ONNXDialect", "::mp::MPDialect"];
}

#endif // MPOPT_PASSES_DISTRIBUTION_PASSES_TD
