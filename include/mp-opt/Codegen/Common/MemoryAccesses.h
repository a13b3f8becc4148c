//===- MemoryAccesses.h - Which memory ops touch ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_MEMORYACCESSES_H
#define MPOPT_CODEGEN_COMMON_MEMORYACCESSES_H

#include "mp-opt/Codegen/Common/MemoryRanges.h"

#include "llvm/ADT/SmallVector.h"

namespace mp {

/// An operand that is read or written, and the memory that it reaches.
struct Access {
  mlir::OpOperand *operand;
  MemoryRange range;
  bool isWrite;
};

/// All accesses of an op and of the ops inside, to memory from outside of it.
/// The control words are not included: kernels do not read what others write
/// there.
llvm::SmallVector<Access> findAccesses(mlir::Operation *op);

/// True if one writes memory that the other touches: their order counts.
bool areInConflict(llvm::ArrayRef<Access> first, llvm::ArrayRef<Access> second);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_MEMORYACCESSES_H
