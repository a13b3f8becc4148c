//===- GroupWork.cpp - Bytes and arithmetic of groups ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupWork.h"

#include "../GroupForms.h"
#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/Common/WorkCounter.h"
#include "mp-opt/Codegen/GPU/Attention.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include <map>

using namespace mlir;

namespace mp {

using device::Kind;

using device::WorkKind;

static WorkKind getWorkKind(device::GroupOp group) {
  if (group.getKind() == Kind::Contract || group.getKind() == Kind::Attention)
    return WorkKind::Product;
  for (const Access &access : findAccesses(group))
    if (access.isWrite && access.range.base.getDefiningOp<runtime::InputOp>())
      return WorkKind::Update;
  switch (group.getKind()) {
  case Kind::Elementwise:
    return WorkKind::Map;
  case Kind::Reduce:
    return WorkKind::Sum;
  case Kind::RowWise:
    return WorkKind::Rows;
  default:
    return WorkKind::Block;
  }
}

/// Products of tf32 take twice the time of 16-bit ones.
static int64_t getTensorCost(kernel::ContractOp op) {
  kernel::TileAttr tile = op.getTileAttr();
  if (!tile || tile.getBy() == kernel::Multiplier::FMA)
    return 0;
  return kernel::isTF32(op) ? 2 : 1;
}

ArrayAttr countWork(device::GroupOp group, uint64_t temporaryBytes) {
  SmallVector<device::GroupOp> parts{group};
  if (group.getKind() == Kind::Fused)
    parts = llvm::to_vector(group.getBody().getOps<device::GroupOp>());
  std::map<WorkKind, SmallVector<device::GroupOp>> partsOf;
  for (device::GroupOp part : parts)
    partsOf[getWorkKind(part)].push_back(part);
  WorkCounter counter(getTensorCost);
  SmallVector<Attribute> list;
  for (auto &[kind, ofKind] : partsOf) {
    for (device::GroupOp part : ofKind) {
      counter.add(part);
      if (part.getKind() == Kind::Attention) {
        Operation *op = findWork(part.getBody().front());
        kernel::AttentionWork work = kernel::countAttentionWork(op);
        counter.addProducts(work.products, work.operations);
      }
    }
    list.push_back(counter.take(group.getContext(), kind,
                                std::exchange(temporaryBytes, 0)));
  }
  return ArrayAttr::get(group.getContext(), list);
}

} // namespace mp
