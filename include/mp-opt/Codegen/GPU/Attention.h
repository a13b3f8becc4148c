//===- Attention.h - Attention on GPUs --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention whose matrices of queries by keys are never in memory ("flash
// attention", Dao et al., arXiv:2205.14135). Data flow:
//
// - `fuseAttention` (mp-fuse-attention, on tensors, after mp-fuse-contractions)
//   finds product, softmax, product and their gradients, and makes
//   `kernel.attention` and `kernel.attention_gradient` of them;
// - each becomes a `device.group attention` (mp-form-kernels), whose strategy
//   follows from its sizes;
// - `emitAttention` (convert-groups-to-gpu) writes the kernel. A block of
//   threads has some rows of the matrix in registers and goes through its
//   columns: products by tensor cores (`mma.sync`) from shared memory, which
//   cp.async fills ahead.
//
// Blocks of the gradient of queries have queries for rows, those of the
// gradients of keys and values have keys: all sums have one order, and the same
// bits in each run.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_ATTENTION_H
#define MPOPT_CODEGEN_GPU_ATTENTION_H

#include "mp-opt/Codegen/Common/AttentionFusion.h"
#include "mp-opt/Codegen/GPU/Contract.h"

namespace mp {

/// The reason why kernels do not take an attention; empty if they do: factors
/// of one 16-bit type, heads of at most 256 elements, 16 queries and keys.
llvm::StringRef findKernelMisfit(const AttentionFacts &facts);

namespace kernel {

/// The longest head that a kernel has registers for.
constexpr int64_t maxAttentionHead = 256;

/// Fails, after an error at `op`, an AttentionOp or AttentionGradientOp on
/// memory, if no code can be made: sizes, strides or offsets are not known,
/// factors are not of one 16-bit type, or heads are too long.
mlir::LogicalResult verifyGPUAttention(mlir::Operation *op);

/// The number of blocks of an AttentionOp or AttentionGradientOp on memory for
/// which a multiprocessor must have registers.
int32_t getAttentionBlocks(mlir::Operation *op);

/// The launch parameters of the kernel that `emitAttention` makes of an
/// AttentionOp or AttentionGradientOp on memory.
ContractLaunch getAttentionLaunch(mlir::Operation *op);

/// Emits the body of the kernel at the insertion point in a `gpu.func`.
/// `block` is the number of the block, of type index.
void emitAttention(mlir::OpBuilder &builder, mlir::Operation *op,
                   mlir::Value block);

/// Multiply-adds of all products of the kernel, all by tensor cores, and its
/// other operations on floats.
struct AttentionWork {
  uint64_t products = 0, operations = 0;
};
AttentionWork countAttentionWork(mlir::Operation *op);

} // namespace kernel
} // namespace mp

#endif // MPOPT_CODEGEN_GPU_ATTENTION_H
