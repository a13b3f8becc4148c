//===- BlockCode.h - Code that the threads of a block run together -*- C++ -*-//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_BLOCKCODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_BLOCKCODE_H

#include "ThreadLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {

/// True if it contains no op for several threads, only loops over single
/// elements.
bool isScalarCode(mlir::Block &block);

/// The most points of a structured op in it, which the threads share.
int64_t getWidth(mlir::Block &block);

/// Rewrites code of one thread as code of all threads of a block. Each thread
/// computes all scalars, threads share the points of structured ops, and all of
/// them see what is written after a barrier. Branches and loops stay: all
/// threads take the same path.
class BlockCode {
public:
  BlockCode(mlir::RewriterBase &rewriter, SharedMemory &shared,
            const Threads &threads)
      : b(rewriter), shared(shared), threads(threads) {}

  mlir::LogicalResult emit(mlir::Block &block);

private:
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitLoop(mlir::scf::ForallOp loop);
  void emitGeneric(mlir::linalg::GenericOp op);
  void emitByFirst(mlir::Operation *op);
  void barrier(mlir::Operation *before);

  mlir::RewriterBase &b;
  SharedMemory &shared;
  Threads threads;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_BLOCKCODE_H
