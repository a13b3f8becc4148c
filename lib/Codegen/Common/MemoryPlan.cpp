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

#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
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
  /// Positions of the first and the last op that touches it.
  int64_t first = 0, last = 0;
  /// The index of the buffer whose slice it overwrites; -1: none.
  int64_t source = -1;
};

/// The least bytes of a slice that is overwritten: doing so may need another
/// launch.
constexpr int64_t minOverwritten = int64_t(4) << 20;

/// Finds buffers of a device that overwrite others: a map computes an element
/// from that of a buffer that nobody reads later. Buffers that maps write are
/// left alone, since maps are fused and may not need them.
class OverwrittenBuffers {
public:
  OverwrittenBuffers(Block &block, std::vector<Buffer> &buffers);

  void find();

private:
  bool findUses(Buffer &buffer);
  /// The index of the buffer that `memory` views; -1 for others.
  int64_t getBuffer(Value memory) const;
  void visit(linalg::GenericOp map);
  bool isWrittenByMap(const Buffer &buffer) const;

  Block &block;
  std::vector<Buffer> &buffers;
  llvm::DenseMap<Operation *, int64_t> positions, numbers;
  std::vector<Operation *> ops;
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

//===----------------------------------------------------------------------===//
// Results that overwrite operands
//===----------------------------------------------------------------------===//

OverwrittenBuffers::OverwrittenBuffers(Block &block,
                                       std::vector<Buffer> &buffers)
    : block(block), buffers(buffers) {
  for (Operation &op : block) {
    positions[&op] = int64_t(ops.size());
    ops.push_back(&op);
  }
  for (auto [number, buffer] : llvm::enumerate(buffers))
    if (buffer.bytes >= minOverwritten && findUses(buffer))
      numbers[buffer.alloc] = int64_t(number);
}

/// False if memory gets to ops that may use it after their position, as
/// reductions over ranks do.
bool OverwrittenBuffers::findUses(Buffer &buffer) {
  buffer.first = std::numeric_limits<int64_t>::max();
  SmallVector<Value> worklist{buffer.alloc};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (user == buffer.dealloc)
        continue;
      if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1) {
        worklist.push_back(user->getResult(0));
        continue;
      }
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (!ancestor ||
          !isa<linalg::LinalgOp, kernel::ContractOp, memref::LoadOp,
               memref::StoreOp, memref::CopyOp>(user))
        return false;
      buffer.first = std::min(buffer.first, positions[ancestor]);
      buffer.last = std::max(buffer.last, positions[ancestor]);
    }
  return true;
}

int64_t OverwrittenBuffers::getBuffer(Value memory) const {
  auto found = numbers.find(getRoot(memory).getDefiningOp());
  return found == numbers.end() ? -1 : found->second;
}

bool OverwrittenBuffers::isWrittenByMap(const Buffer &buffer) const {
  auto map = dyn_cast<linalg::GenericOp>(ops[buffer.first]);
  return map && map.getNumReductionLoops() == 0;
}

/// True if the view begins at a known place of its memory, with known strides.
static bool isKnownView(Value memory) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(memory.getType());
  return type.hasStaticShape() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// Links the buffer that a map fills to one that it reads for the last time, at
/// the same places.
void OverwrittenBuffers::visit(linalg::GenericOp map) {
  if (map.getNumReductionLoops() > 0 || map.getNumDpsInits() != 1 ||
      map.walk([&](Operation *inner) {
           return inner == map || isMemoryEffectFree(inner)
                      ? WalkResult::advance()
                      : WalkResult::interrupt();
         })
          .wasInterrupted())
    return;
  OpOperand *init = map.getDpsInitOperand(0);
  int64_t number = getBuffer(init->get()), position = positions[map];
  AffineMap stored = map.getMatchingIndexingMap(init);
  if (number < 0 || buffers[number].first != position ||
      !stored.isPermutation() || !isKnownView(init->get()))
    return;
  for (OpOperand *read : map.getDpsInputOperands()) {
    int64_t source = getBuffer(read->get());
    if (source < 0 || source == number || buffers[source].last != position ||
        buffers[source].bytes != buffers[number].bytes ||
        isWrittenByMap(buffers[source]) ||
        read->get().getType() != init->get().getType() ||
        map.getMatchingIndexingMap(read) != stored ||
        llvm::count_if(
            map.getDpsInputOperands(),
            [&](OpOperand *other) {
              return getBuffer(other->get()) == source;
            }) > 1)
      continue;
    buffers[number].source = source;
    return;
  }
}

void OverwrittenBuffers::find() {
  for (auto map : block.getOps<linalg::GenericOp>())
    visit(map);
  // Sources come before; the first of a chain lives as long as all.
  for (Buffer &buffer : buffers) {
    if (buffer.source < 0)
      continue;
    while (buffers[buffer.source].source >= 0)
      buffer.source = buffers[buffer.source].source;
    Buffer &source = buffers[buffer.source];
    source.end = std::max(source.end, buffer.end);
  }
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

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
    if (buffer.source < 0)
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
  for (Buffer &buffer : buffers)
    if (buffer.source >= 0)
      buffer.offset = buffers[buffer.source].offset;
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
  if (forDevice) {
    separateNumbers(buffers, alignment);
    OverwrittenBuffers(block, buffers).find();
  }
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
