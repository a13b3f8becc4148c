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
    rank computes the gradients of its own batch, and all ranks make the same
    update, with the mean of the gradients. `mp.all_reduce` stands right after
    each gradient is computed; losses, tests whether gradients are finite, and
    running statistics are reduced as well. Gradients are reduced in buckets, in
    the order in which they are computed.

    Example: test/Distribution/mp-distribute.mlir
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400",
           "Bytes of gradients in a full bucket">,
    Option<"firstBytes", "first-bytes", "int64_t", /*default=*/"1048576",
           "The same for the first bucket">,
  ];
  let dependentDialects = ["::mp::onnxir::ONNXDialect", "::mp::MPDialect"];
}

def SyncBatchNorm : Pass<"mp-sync-batch-norm", "::mlir::ModuleOp"> {
  let summary = "Normalize batches by statistics of all ranks";
  let description = [{
    Before: BatchNormalization in training mode takes the mean and the variance
    of a rank's batch. After: it takes those of the batches of all ranks, which
    `mp.all_reduce` averages, in the forward and the backward pass, as one rank
    with all rows would do. Such a node becomes arithmetic in fp32. The pass
    runs after `mp-differentiate`, whose `com.microsoft.BatchNormalizationGrad`
    it handles, too, and before `mp-distribute`.

    Example: test/Distribution/mp-sync-batch-norm.mlir
  }];
  let dependentDialects = ["::mp::onnxir::ONNXDialect", "::mp::MPDialect"];
}

def ShardOptimizer : Pass<"mp-shard-optimizer", "::mlir::ModuleOp"> {
  let summary = "Shard the optimizer of a distributed step over the ranks";
  let description = [{
    ZeRO, stage 1. Before: a step as `mp-distribute` makes it, on one of `ranks`
    ranks. After: the rank's step. Its states of the optimizer are a range of
    each parameter's; gradients are reduced to the rank that owns them, and new
    parameters are gathered, in bf16 if the model reads them only in bf16.
    Parameters whose update is not computed element by element, or that are
    small, stay as they are.

    Example: test/Distribution/mp-shard-optimizer.mlir
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", /*default=*/"1", "Number of ranks">,
    Option<"rank", "rank", "int64_t", /*default=*/"0", "Number of this rank">,
    Option<"minElements", "least-elements", "int64_t", /*default=*/"1024",
           "Parameters of fewer elements stay as they are">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400",
           "Bytes of parameters that are gathered at once">,
  ];
  let dependentDialects = ["::mp::onnxir::ONNXDialect", "::mp::MPDialect"];
}

#endif // MPOPT_PASSES_DISTRIBUTION_PASSES_TD
