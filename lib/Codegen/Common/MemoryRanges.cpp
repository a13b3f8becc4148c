//===- MemoryRanges.cpp - Which memory ops touch --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/MemoryRanges.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mp {

int64_t countBytes(MemRefType type) {
  Type element = type.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth()
                                         : IndexType::kInternalStorageBitWidth;
  return type.getNumElements() * ((bits + 7) / 8);
}

MemoryRange MemoryRange::get(Value memref) {
  MemoryRange range{getRoot(memref)};
  auto view = range.base.getDefiningOp<memref::ViewOp>();
  if (!view)
    return range;
  range.base = view.getSource();
  auto type = cast<MemRefType>(view.getType());
  std::optional<int64_t> begin = getConstantIntValue(view.getByteShift());
  if (!begin || !type.hasStaticShape())
    return range;
  range.begin = *begin;
  range.end = *begin + countBytes(type);
  return range;
}

bool mayWrite(Operation *op, const MemoryRange &range) {
  auto result = op->walk([&](Operation *inner) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!effects)
      return WalkResult::advance();
    SmallVector<MemoryEffects::EffectInstance> list;
    effects.getEffects(list);
    for (const MemoryEffects::EffectInstance &effect : list)
      if (isa<MemoryEffects::Write>(effect.getEffect()) && effect.getValue() &&
          isa<MemRefType>(effect.getValue().getType()) &&
          MemoryRange::get(effect.getValue()).overlaps(range))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

} // namespace mp
