//===- WorkCounter.h - Bytes and arithmetic of code -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_WORKCOUNTER_H
#define MPOPT_CODEGEN_COMMON_WORKCOUNTER_H

#include "mp-opt/Codegen/Common/MemoryFootprint.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp {

struct Access;

/// Counts bytes and arithmetic of consecutive ops on buffers, which all belong
/// to one kernel: memory that one of them has read or written comes from caches
/// or registers for the next. Counts are those of `#device.work`.
class WorkCounter {
public:
  /// Returns the multiply-adds by tensor cores, or their equivalents, that a
  /// multiply-add of a product counts as; 0 if it is done without them.
  using TensorCost = llvm::function_ref<int64_t(kernel::ContractOp)>;

  explicit WorkCounter(TensorCost getTensorCost)
      : getTensorCost(getTensorCost) {}

  /// Adds `root` and the ops inside.
  void add(mlir::Operation *root);
  /// Adds multiply-adds by tensor cores, and other operations, that no op
  /// stands for.
  void addProducts(uint64_t products, uint64_t operations) {
    counts.tensor += products;
    counts.operations += operations;
  }
  /// Returns the counts since the last call; `temporaryBytes` are written
  /// and read in addition.
  device::WorkAttr take(mlir::MLIRContext *context, device::WorkKind kind,
                        uint64_t temporaryBytes = 0);

private:
  struct Counts {
    uint64_t tensor = 0, fma = 0, operations = 0, doubles = 0;
  };
  void addAccess(mlir::Operation *root, const Access &access);
  void addProducts(kernel::ContractOp op, int64_t runs);
  void addOperation(mlir::Operation *op, int64_t runs);

  TensorCost getTensorCost;
  MemoryFootprint read, written;
  Counts counts;
  uint64_t takenRead = 0, takenWritten = 0;
};

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_WORKCOUNTER_H
