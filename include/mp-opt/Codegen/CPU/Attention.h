//===- Attention.h - Attention on processors --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention whose matrices of queries by keys exist for some queries at a time:
//
// - `fuseAttention` (mp-fuse-attention) makes `kernel.attention` and its
//   gradient where `findProcessorMisfit` has no objection;
// - `blockAttention` (mp-block-attention, on buffers) makes loops of them.
// Their
//   bodies are products, which all threads compute, and loops over rows.
//
// Gradients of keys and values are sums over blocks in f32, in the order of the
// blocks, which depend on sizes alone: results are the same for any number of
// threads.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_ATTENTION_H
#define MPOPT_CODEGEN_CPU_ATTENTION_H

#include "mp-opt/Codegen/Common/AttentionFusion.h"

namespace mp {

/// The elements of all matrices of an attention, and of a pair of matrices of
/// one head, from which blocks are faster than matrices in memory, or take much
/// less of it.
struct AttentionLimits {
  int64_t minScores, minHeadScores;
};

/// The reason why the matrices of an attention should be in memory; empty if
/// they should be computed by blocks.
llvm::StringRef findProcessorMisfit(const AttentionFacts &facts,
                                    const AttentionLimits &limits);

namespace kernel {

/// Writes each AttentionOp and AttentionGradientOp, on memory of known sizes,
/// as loops over blocks of queries.
void blockAttention(mlir::func::FuncOp main);

} // namespace kernel
} // namespace mp

#endif // MPOPT_CODEGEN_CPU_ATTENTION_H
