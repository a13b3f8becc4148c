//===- IdenticalContractions.h - Merged launches ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions of the same sizes, types and epilogue, for example those of
// queries, keys and values, become one launch ("grouped GEMM"). It has the
// blocks of all of them, which fill a device even if those of one do not.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_PARTITION_IDENTICALCONTRACTIONS_H
#define MPOPT_LIB_CODEGEN_GPU_PARTITION_IDENTICALCONTRACTIONS_H

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "llvm/ADT/DenseMap.h"

namespace mp {

/// Numbers from 0 on for contractions that differ in memory alone.
class ContractFamilies {
public:
  /// -1 for a group that is not one contraction by tiles.
  int64_t find(device::GroupOp group);

private:
  /// Indexed by hash: one contraction of each family, and the family's number.
  llvm::DenseMap<unsigned,
                 llvm::SmallVector<std::pair<kernel::ContractOp, int64_t>, 1>>
      known;
  int64_t count = 0;
};

/// Merges groups of one family that do not depend on each other into one or a
/// few: each block looks up the memory of its contraction.
void joinContracts(llvm::ArrayRef<device::GroupOp> groups);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_PARTITION_IDENTICALCONTRACTIONS_H
