//===- LoopStructure.h - Dimensions of structured ops -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common base of the loops of all targets: the dimensions of a linalg op on
// memrefs, as few as memory allows, and the one along which memory is
// contiguous.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_LOOPSTRUCTURE_H
#define MPOPT_CODEGEN_COMMON_LOOPSTRUCTURE_H

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {

struct LoopDim {
  mlir::OpFoldResult extent;
  bool isReduction = false;
};

/// A memref, or a single value, and the dimensions that it is read at.
struct LoopOperand {
  mlir::Value memref;
  llvm::SmallVector<mlir::AffineExpr> exprs;
};

class LoopStructure {
public:
  LoopStructure(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op)
      : b(rewriter), loc(op.getLoc()), op(op) {}

protected:
  /// Reads the op; to be called first.
  void read();
  /// Joins dimensions that all operands hold contiguously.
  void mergeDims();
  /// The dimension that most operands hold contiguously; outputs count more.
  unsigned chooseInner();
  /// True if a dimension has one index.
  bool isUnit(unsigned dim) const {
    return getConstantIntValue(dims[dim].extent) == 1;
  }

  llvm::SmallVector<mlir::Value> getIndices(const LoopOperand &operand);
  /// Emits the body at the current indices; `sums` replace the outputs'
  /// elements, which are loaded if it is empty.
  llvm::SmallVector<mlir::Value> emitBody(llvm::ArrayRef<mlir::Value> sums);
  /// Stores to the output's element at the current indices.
  void store(unsigned output, mlir::Value value);

  mlir::Value index(mlir::OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(b, loc, value);
  }
  mlir::OpFoldResult multiply(mlir::OpFoldResult x, mlir::OpFoldResult y);

  mlir::RewriterBase &b;
  mlir::Location loc;
  mlir::linalg::GenericOp op;
  llvm::SmallVector<LoopDim> dims;
  llvm::SmallVector<LoopOperand> operands;
  /// The current index of each dimension.
  llvm::SmallVector<mlir::Value> indices;
  /// True if the body reads indices of the op's dimensions.
  bool usesIndex = false;
  /// True if terms are added in their order, and not in any other.
  bool keepsOrder = false;

private:
  bool canMerge(unsigned dim);
  void merge(unsigned dim);
};

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_LOOPSTRUCTURE_H
