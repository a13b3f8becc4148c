//===- KernelFunction.h - The function that a group becomes -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_KERNELFUNCTION_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_KERNELFUNCTION_H

#include "ThreadLoops.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"

namespace mp {

/// A `gpu.func` with a copy of a group's ops. Memory that outlives the kernel
/// is an argument; views of it and constants are computed inside.
class KernelFunction {
public:
  KernelFunction(device::GroupOp group, mlir::gpu::GPUModuleOp kernels);

  mlir::gpu::GPUFuncOp get() { return function; }
  mlir::Block &getBody() { return function.getBody().front(); }
  /// The values of `main` that are passed as the function's arguments.
  llvm::ArrayRef<mlir::Value> getOperands() const { return operands; }

  SharedMemory &getShared() { return *shared; }

  /// Adds an argument.
  mlir::Value addOperand(mlir::Value value);
  /// The function's value for a value of `main`.
  mlir::Value bring(mlir::Value value);

private:
  void setType();
  void bringGlobal(mlir::memref::GetGlobalOp op);

  device::GroupOp group;
  mlir::gpu::GPUModuleOp kernels;
  mlir::gpu::GPUFuncOp function;
  std::optional<SharedMemory> shared;
  mlir::IRMapping mapping;
  llvm::SmallVector<mlir::Value> operands;
  /// True if all values that the group uses have been brought.
  bool isComplete = false;
  /// True if the arena is one argument, instead of each place in it.
  bool hasWholeArena = false;
  mlir::OpBuilder b;
};

/// The name of the kernels of such groups, which profiles show; a number
/// follows.
llvm::StringRef getKernelName(device::Kind kind);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_KERNELFUNCTION_H
