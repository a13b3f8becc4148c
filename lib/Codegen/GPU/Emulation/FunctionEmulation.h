//===- FunctionEmulation.h - One function of a gpu.module -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMULATION_FUNCTIONEMULATION_H
#define MPOPT_LIB_CODEGEN_GPU_EMULATION_FUNCTIONEMULATION_H

#include "SharedMemoryLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mp::emulation {

/// True if a launch runs the function.
bool isKernel(mlir::LLVM::LLVMFuncOp function);

/// Messages for errors of the emulator: the instruction, and its line or node.
/// A place is the index of a message.
class Places {
public:
  /// Adds a place for an op of `function`, whose ops of one kind are counted.
  int32_t add(mlir::LLVM::LLVMFuncOp function, mlir::Operation *op);
  /// All texts, one after the other, each with a zero at its end.
  llvm::StringRef getTexts() const { return texts; }

private:
  std::string texts;
  int32_t count = 0;
  mlir::Operation *current = nullptr;
  llvm::StringMap<unsigned> numbers;
};

/// Emulates the ops of one function by calls of the emulator, and adds the
/// values that they use to the function's begin.
class FunctionEmulation {
public:
  FunctionEmulation(mlir::LLVM::LLVMFuncOp function,
                    const SharedMemoryLayout &layout, Places &places);

  /// Replaces ops that only a GPU has, and addresses of shared memory.
  mlir::LogicalResult run(bool checkRaces);

  bool synchronizes() const { return isSynchronized; }
  bool hasSharedMemory() const { return shares; }

private:
  // OpEmulation.cpp
  mlir::LogicalResult emulate(mlir::Operation *op);

  mlir::LogicalResult checkLocalMemory();
  mlir::LogicalResult resolveAddress(mlir::LLVM::AddressOfOp op);
  void noteAccess(mlir::Operation *op);

  mlir::LLVM::LLVMFuncOp function;
  const SharedMemoryLayout &layout;
  Places &places;
  bool isSynchronized = false, shares = false;

  friend class OpEmulation;
  /// The last op that has been inserted at the function's begin.
  mlir::Operation *last = nullptr;
  mlir::Value thread, block, shared, operands, result;
  llvm::DenseMap<std::pair<int32_t, int32_t>, mlir::Value> registers;

  mlir::OpBuilder atBegin();
  mlir::Value keep(mlir::Value value);
  mlir::Value getThread();
  mlir::Value getBlock();
  /// A word of the thread's struct, or of the block's.
  mlir::Value getRegister(bool ofBlock, int32_t word);
  mlir::Value getShared();
  /// Memory for words that a call reads, and for those that it writes.
  mlir::Value getOperandSlot();
  mlir::Value getResultSlot();
};

/// Calls a function of the emulator; null if it has no result.
mlir::Value callEmulator(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Operation *op, llvm::StringRef name,
                         mlir::ValueRange arguments, mlir::Type result = {});
mlir::Value makeWord(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

} // namespace mp::emulation

#endif // MPOPT_LIB_CODEGEN_GPU_EMULATION_FUNCTIONEMULATION_H
