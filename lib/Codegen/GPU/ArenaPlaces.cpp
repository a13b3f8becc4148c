//===- ArenaPlaces.cpp - More memory for kernels --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaPlaces.h"

#include "MemoryRanges.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp {

memref::AllocOp findArena(func::FuncOp main) {
  for (auto view : main.getBody().front().getOps<memref::ViewOp>())
    if (auto arena = view.getSource().getDefiningOp<memref::AllocOp>())
      return arena;
  return nullptr;
}

Value makePlace(func::FuncOp main, MemRefType type) {
  OpBuilder b(main.getContext());
  Location loc = main.getLoc();
  auto module = main->getParentOfType<ModuleOp>();
  auto known = module->getAttrOfType<IntegerAttr>(mark::arena);
  int64_t offset = llvm::alignTo(known ? known.getInt() : 0, placeBytes);
  int64_t total = offset + llvm::alignTo(countBytes(type), placeBytes);
  module->setAttr(mark::arena, b.getI64IntegerAttr(total));
  auto arenaType = MemRefType::get(total, b.getI8Type());
  memref::AllocOp arena = findArena(main);
  if (!arena) {
    b.setInsertionPointToStart(&main.getBody().front());
    arena = memref::AllocOp::create(b, loc, arenaType);
  }
  arena.getResult().setType(arenaType);
  b.setInsertionPointAfter(arena);
  Value start = arith::ConstantIndexOp::create(b, loc, offset);
  return memref::ViewOp::create(b, loc, type, arena, start, ValueRange());
}

} // namespace mp
