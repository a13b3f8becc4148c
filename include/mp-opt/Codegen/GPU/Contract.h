//===- Contract.h - Contractions on GPUs ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the code of one contraction on memrefs of known sizes for a grid of
// thread blocks: each block computes a tile of the result, steps along the
// summed dimensions through shared memory, and applies the epilogue in
// registers. Tensor cores (`mma.sync`) multiply 16-bit factors, and fp32 if the
// module's target allows tf32: it is rounded to nearest when it is read from
// shared memory. All others are multiplied by fused multiply-adds in the type
// of the sums.
//
// The code consists of ops of arith, gpu, llvm (`llvm.intr.fma`), memref,
// nvgpu, nvvm (`nvvm.mma.sync`), scf and vector; shared memory is
// `gpu.dynamic_shared_memory`. Memory of operands begins at multiples of 16
// bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_CONTRACT_H
#define MPOPT_CODEGEN_GPU_CONTRACT_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// The launch parameters of a kernel.
struct ContractLaunch {
  /// The number of blocks, and of threads of each.
  llvm::SmallVector<int32_t, 3> grid, block;
  /// Dynamic shared memory in bytes.
  int32_t shared;
};

/// Fails, after an error at `op`, if no code can be made: sizes, strides or
/// offsets are not known, or the `tile` of `op` does not fit its factors or the
/// module's target.
mlir::LogicalResult verifyGPUContract(ContractOp op);

/// True if tensor cores multiply as `op` says, and are worth it: bf16 by bf16
/// or fp16 by fp16, rounded operands included, and fp32 by fp32 if the module's
/// target allows tf32.
bool canUseTensorCores(ContractOp op);

/// True if factors are fp32 that tensor cores may multiply as tf32.
bool isTF32(ContractOp op);

/// True if sizes are known, and there are so many products that blocks of
/// threads compute tiles faster than single threads compute elements.
bool isWorthTiles(ContractOp op);

/// The tile that suits the sizes of `op`: as many blocks as fill a GPU, as
/// large as that allows, where one launch computes `numIdentical` of them.
TileAttr selectTile(ContractOp op, int64_t numIdentical = 1);

/// The number of sums of equal length into which the sum of `op` is best
/// divided, and which another kernel adds: 1 if tiles fill a GPU, or if the sum
/// is short.
int64_t selectSplits(ContractOp op);

/// True if elements of a (0) or b (1) of `op`, which is worth tiles, will be
/// copied to shared memory as they are, several at a time and while the kernel
/// computes (cp.async), and not through registers.
bool isCopiedAsync(ContractOp op, unsigned operand);

/// The launch parameters of the kernel that `emitContract` makes. Both obey the
/// `tile` of `op`.
ContractLaunch getContractLaunch(ContractOp op);

/// Emits the body of a kernel at the insertion point in a `gpu.func`.
/// `operands` are a, b, the extra operands and c, of the types of those of
/// `op`. `tile` is the number of the tile, of type index; null: the block's.
void emitContract(mlir::OpBuilder &builder, ContractOp op,
                  mlir::ValueRange operands, mlir::Value tile = nullptr);

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_GPU_CONTRACT_H
