//===- MemoryPlan.cpp - One piece of memory for all temporaries -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers of known size that live in the model's own block get slices of one
// arena: greedily, the biggest first, each at the lowest offset that is free
// while it lives (after Pisarchyk and Lee, "Efficient memory management for
// deep neural net inference", 2020).
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/MemoryPlan.h"

#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <limits>

using namespace mlir;

namespace mp {

namespace {

struct Buffer {
  memref::AllocOp alloc;
  memref::DeallocOp dealloc;
  /// Positions in the block.
  int64_t begin, end;
  int64_t bytes, offset = 0;
};

} // namespace

static std::optional<int64_t> getBytes(MemRefType type, int64_t alignment) {
  Type element = type.getElementType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !element.isIntOrFloat())
    return std::nullopt;
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return llvm::alignTo(bytes, alignment);
}

static std::vector<Buffer> findBuffers(Block &block, int64_t alignment) {
  llvm::DenseMap<Operation *, int64_t> positions;
  for (Operation &op : block)
    positions[&op] = positions.size();
  std::vector<Buffer> buffers;
  for (auto alloc : block.getOps<memref::AllocOp>()) {
    std::optional<int64_t> bytes = getBytes(alloc.getType(), alignment);
    if (!bytes)
      continue;
    memref::DeallocOp dealloc;
    for (Operation *user : alloc->getUsers())
      if (auto found = dyn_cast<memref::DeallocOp>(user))
        dealloc = found;
    // Memory without a dealloc in the block outlives it.
    if (!dealloc || dealloc->getBlock() != &block)
      continue;
    buffers.push_back(
        {alloc, dealloc, positions[alloc], positions[dealloc], *bytes});
  }
  return buffers;
}

/// On a device, an op that overwrites a slice waits for all readers of the old
/// contents, and a launch costs more than the slice of a scalar: scalars share
/// their slices with nothing.
static void separateNumbers(std::vector<Buffer> &buffers, int64_t alignment) {
  for (Buffer &buffer : buffers)
    if (buffer.bytes <= alignment) {
      buffer.begin = 0;
      buffer.end = std::numeric_limits<int64_t>::max();
    }
}

/// The lowest offset that no buffer with an overlapping lifetime has.
static int64_t findOffset(const Buffer &buffer, ArrayRef<Buffer *> placed) {
  // `placed` is sorted by offsets.
  int64_t offset = 0;
  for (const Buffer *other : placed) {
    if (other->end < buffer.begin || other->begin > buffer.end)
      continue;
    if (offset + buffer.bytes <= other->offset)
      break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

static int64_t assignOffsets(std::vector<Buffer> &buffers) {
  std::vector<Buffer *> order, placed;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](const Buffer *x, const Buffer *y) {
    return x->bytes > y->bytes;
  });
  int64_t total = 0;
  for (Buffer *buffer : order) {
    buffer->offset = findOffset(*buffer, placed);
    total = std::max(total, buffer->offset + buffer->bytes);
    auto position =
        llvm::upper_bound(placed, buffer, [](const Buffer *x, const Buffer *y) {
          return x->offset < y->offset;
        });
    placed.insert(position, buffer);
  }
  return total;
}

Value getRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

void planMemory(ModuleOp module, int64_t alignment, bool forDevice) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  Block &block = main.getBody().front();
  std::vector<Buffer> buffers = findBuffers(block, alignment);
  if (forDevice)
    separateNumbers(buffers, alignment);
  int64_t total = assignOffsets(buffers);
  OpBuilder b(&block, block.begin());
  module->setAttr(mark::arena, b.getI64IntegerAttr(total));
  if (buffers.empty())
    return;
  Location loc = main.getLoc();
  auto type = MemRefType::get(total, b.getI8Type());
  Value arena = memref::AllocOp::create(b, loc, type);
  for (Buffer &buffer : buffers) {
    b.setInsertionPoint(buffer.alloc);
    Value offset = arith::ConstantIndexOp::create(b, loc, buffer.offset);
    Value view = memref::ViewOp::create(b, loc, buffer.alloc.getType(), arena,
                                        offset, ValueRange());
    buffer.dealloc.erase();
    buffer.alloc.replaceAllUsesWith(view);
    buffer.alloc.erase();
  }
  b.setInsertionPoint(block.getTerminator());
  memref::DeallocOp::create(b, loc, arena);
}

} // namespace mp
