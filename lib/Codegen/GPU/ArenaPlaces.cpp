//===- ArenaPlaces.cpp - More memory for kernels --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaPlaces.h"

#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace mp {

memref::AllocOp findArena(func::FuncOp main) {
  for (auto view : main.getBody().front().getOps<memref::ViewOp>())
    if (auto arena = view.getSource().getDefiningOp<memref::AllocOp>())
      return arena;
  return nullptr;
}

ArenaRange growArena(func::FuncOp main, int64_t bytes) {
  OpBuilder b(main.getContext());
  auto module = main->getParentOfType<ModuleOp>();
  auto known = module->getAttrOfType<IntegerAttr>(mark::arena);
  int64_t offset = llvm::alignTo(known ? known.getInt() : 0, placeBytes);
  int64_t total = offset + llvm::alignTo(bytes, placeBytes);
  module->setAttr(mark::arena, b.getI64IntegerAttr(total));
  auto type = MemRefType::get(total, b.getI8Type());
  memref::AllocOp arena = findArena(main);
  if (!arena) {
    b.setInsertionPointToStart(&main.getBody().front());
    arena = memref::AllocOp::create(b, main.getLoc(), type);
  }
  arena.getResult().setType(type);
  return {arena, offset};
}

Value ArenaRange::view(MemRefType type, int64_t begin) {
  OpBuilder b(arena->getContext());
  b.setInsertionPointAfter(arena);
  Location loc = arena->getParentOfType<func::FuncOp>().getLoc();
  Value start = arith::ConstantIndexOp::create(b, loc, offset + begin);
  return memref::ViewOp::create(b, loc, type, arena, start, ValueRange());
}

Value makePlace(func::FuncOp main, MemRefType type) {
  return growArena(main, countBytes(type)).view(type);
}

void makeFill(OpBuilder &b, Location loc, Value place, Value value) {
  int64_t rank = cast<MemRefType>(place.getType()).getRank();
  AffineMap map = b.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(b, loc, ValueRange(), place,
                            ArrayRef<AffineMap>(map), iterators,
                            [&](OpBuilder &inner, Location at, ValueRange) {
                              linalg::YieldOp::create(inner, at, value);
                            });
}

} // namespace mp
