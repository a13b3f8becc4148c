//===- AttentionBuilder.h - Parts of attention by blocks --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_ATTENTION_ATTENTIONBUILDER_H
#define MPOPT_LIB_CODEGEN_CPU_ATTENTION_ATTENTIONBUILDER_H

#include "../Contract/LoopBuilder.h"

#include "mp-opt/Codegen/Common/CausalMask.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp::kernel {

/// Memory with a map of the dimensions (batches..., m, n, d, e).
struct MappedMemory {
  mlir::Value memory;
  mlir::AffineMap map;
};

/// A part of the iteration space: some batches, queries and keys.
struct AttentionRange {
  /// The first of all batch dimensions, then of queries.
  llvm::SmallVector<mlir::Value> begin;
  /// The sizes of the same dimensions.
  llvm::SmallVector<int64_t> sizes;
  /// The number of keys, which begin at the first.
  mlir::OpFoldResult keys;
};

/// Divides an attention, or the gradient of one, into blocks, and emits views,
/// products and loops over elements of a block.
class AttentionBuilder {
public:
  explicit AttentionBuilder(mlir::Operation *op);

  /// Emits `body` for all batches, some at a time. The range has all keys and
  /// no queries.
  void forBatches(llvm::function_ref<void(AttentionRange)> body);
  /// Emits `body` for the queries of `batches`, a block at a time, with the
  /// keys that have a weight.
  void forBlocks(const AttentionRange &batches,
                 llvm::function_ref<void(AttentionRange)> body);
  /// Emits `body` for each row of a block, in parallel.
  void forRows(const AttentionRange &block,
               llvm::function_ref<void(AttentionRange)> body);

  /// Memory for elements of a block, with the dimensions (batches..., m, n).
  MappedMemory makeMatrix(mlir::Type element);
  /// Memory for elements of some batches, with the dimensions (batches..., n,
  /// x), where x is d or e.
  MappedMemory makeSums(unsigned elementDim);
  void free(const MappedMemory &scratch);

  /// The part of an operand. That of scratch memory begins at the batches of
  /// `base`, and at its queries if it has any.
  mlir::Value view(const MappedMemory &operand, const AttentionRange &range,
                   const AttentionRange *base = nullptr);

  using Epilogue = llvm::function_ref<mlir::Value(
      mlir::OpBuilder &, mlir::Value, mlir::ValueRange)>;
  /// Emits c = epilogue(sum over a * b, extras). Operands are views; `element`
  /// is the dimension of elements that is left, d or e.
  void multiply(unsigned element, MappedMemory a, MappedMemory b,
                MappedMemory c, llvm::ArrayRef<MappedMemory> extras,
                Epilogue epilogue);

  using Elements = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange, mlir::ValueRange)>;
  /// Emits a loop over `dims`, some of the dimensions in order. `body` gets
  /// elements of `inputs` and `outputs`, and the indices of `dims` in the
  /// range. Sums over dimensions that no output has.
  void compute(llvm::ArrayRef<unsigned> dims,
               llvm::ArrayRef<MappedMemory> inputs,
               llvm::ArrayRef<MappedMemory> outputs, Elements body);

  /// Writes a function of the region at the insertion point of `b`.
  /// `arguments` are those of the region; null if it does not use them.
  mlir::Value emitFunction(mlir::OpBuilder &b, unsigned number,
                           mlir::ValueRange arguments);
  /// True if a function uses an argument of the region from `first` on.
  bool uses(unsigned number, unsigned first);

  unsigned getQueryDim() const { return numBatches; }
  unsigned getKeyDim() const { return numBatches + 1; }
  /// Dimension d (0) or e (1).
  unsigned getElementDim(unsigned element) const {
    return numBatches + 2 + element;
  }
  /// All batches, m and n.
  llvm::SmallVector<unsigned> getMatrixDims() const;

  LoopBuilder e;
  /// Inputs and outputs.
  llvm::SmallVector<MappedMemory> operands;
  unsigned numBatches;
  /// Arguments of the region before extra operands, and their number.
  unsigned numArguments, numExtras;
  /// The first extra operand.
  unsigned firstExtra;

private:
  void chooseBlocks();
  mlir::OpFoldResult countKeys(mlir::Value firstQuery, int64_t rows);
  llvm::SetVector<mlir::Operation *> findOps(unsigned number);
  mlir::AffineMap narrow(mlir::AffineMap map, llvm::ArrayRef<unsigned> dims);

  mlir::Block &body;
  /// The sizes of batches, m, n, d, e.
  llvm::SmallVector<int64_t> sizes;
  std::optional<CausalMask> mask;
  /// Batches at a time, and queries of a block.
  llvm::SmallVector<int64_t> chunk;
  int64_t rows = 1;
};

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_ATTENTION_ATTENTIONBUILDER_H
