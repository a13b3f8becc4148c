//===- ContractGroups.cpp - Batch, M, N and K of contractions -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/ContractGroups.h"

using namespace mlir;

namespace mp::kernel {

ContractGroups ContractGroups::get(ArrayRef<AffineMap> maps,
                                   ArrayRef<unsigned> order) {
  AffineMap a = maps[0], b = maps[1], c = maps.back();
  ContractGroups groups;
  for (unsigned dim : llvm::reverse(order)) {
    if (!c.isFunctionOfDim(dim) ||
        a.isFunctionOfDim(dim) == b.isFunctionOfDim(dim))
      continue;
    groups.rhs = b.isFunctionOfDim(dim) ? 1 : 0;
    break;
  }
  groups.lhs = 1 - groups.rhs;
  for (unsigned dim : order) {
    bool ofLHS = maps[groups.lhs].isFunctionOfDim(dim);
    bool ofRHS = maps[groups.rhs].isFunctionOfDim(dim);
    GroupKind kind = !c.isFunctionOfDim(dim) ? K
                     : ofLHS == ofRHS        ? Batch
                     : ofLHS                 ? M
                                             : N;
    groups.dims[kind].push_back(dim);
  }
  return groups;
}

} // namespace mp::kernel
