//===- GroupAccesses.h - Which memory groups touch --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_GROUPACCESSES_H
#define MPOPT_LIB_CODEGEN_GPU_GROUPACCESSES_H

#include "MemoryRanges.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallVector.h"

namespace mp {

/// An operand that is read or written, and the memory that it reaches.
struct Access {
  mlir::OpOperand *operand;
  MemoryRange range;
  bool isWrite;
};

/// All accesses of an op and of what is inside, to memory from outside of it.
/// The control words are not among them: kernels do not read what others write
/// there.
llvm::SmallVector<Access> findAccesses(mlir::Operation *op);

/// Whether one writes what the other touches: their order counts.
bool areInConflict(llvm::ArrayRef<Access> first, llvm::ArrayRef<Access> second);

/// The branch around all that a group does, if there is one: without results,
/// around one op. Its condition is for all threads the same.
mlir::scf::IfOp findGuard(mlir::Block &body);

/// What a map leaves everywhere in its one output, if it is the same number,
/// from outside of the map; null otherwise.
mlir::Value getFilling(mlir::linalg::GenericOp op);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_GROUPACCESSES_H
