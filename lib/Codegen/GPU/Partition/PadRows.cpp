//===- PadRows.cpp - Rows at aligned addresses ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The logits of a vocabulary of 50,257 words have rows of an odd number of
// 16-bit elements: only every eighth row begins at a multiple of 16 bytes, and
// products would load single elements. With 50,304 elements between rows they
// copy 16 bytes at a time. Memory is a view of the first elements of longer
// rows; the types of all views of it follow.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/PadRows.h"

#include "mp-opt/Codegen/Common/MemoryPlan.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace mp {

namespace {

/// The bytes that rows begin at multiples of, so that copies of 16 bytes are
/// possible, and so that long rows begin with a line of the cache.
constexpr int64_t copyBytes = 16, cacheLineBytes = 128;
/// Long rows have at least so many bytes.
constexpr int64_t longRowBytes = 2048;
/// Rows grow by at most one part of so many.
constexpr int64_t maxGrowth = 8;

/// Memory and its views, each with the type that it gets.
struct PaddedMemory {
  memref::AllocOp alloc;
  memref::DeallocOp dealloc;
  /// In an order in which each follows its source.
  llvm::MapVector<Value, MemRefType> types;
  /// True if a contraction reads it as a factor, and if one writes it.
  bool isFactor = false, isProduct = false;
  /// True if a map computes padded memory from it, at the same places.
  bool isSource = false;
};

class RowPadder {
public:
  explicit RowPadder(Block &block) : block(block) {}

  /// Pads factors first, then products from which these are computed.
  void run();

private:
  std::optional<PaddedMemory> inspect(memref::AllocOp alloc, int64_t pitch);
  bool findUsers(PaddedMemory &memory);
  void addReader(PaddedMemory &memory, OpOperand &use);
  void pad(PaddedMemory &memory, int64_t pitch);

  Block &block;
  llvm::DenseSet<Operation *> padded;
};

} // namespace

/// The elements from one row to the next; absent if rows are aligned, or if
/// padding costs too much.
static std::optional<int64_t> getPitch(MemRefType type) {
  Type element = type.getElementType();
  if (!type.hasStaticShape() || type.getRank() < 2 ||
      !type.getLayout().isIdentity() || !element.isFloat() ||
      type.getNumElements() == 0)
    return std::nullopt;
  int64_t bits = element.getIntOrFloatBitWidth(), row = type.getShape().back();
  if (bits < 16 || bits > 32 || row * bits / 8 % copyBytes == 0)
    return std::nullopt;
  int64_t bytes = row * bits / 8 < longRowBytes ? copyBytes : cacheLineBytes;
  int64_t pitch = llvm::alignTo(row, bytes * 8 / bits);
  // One row needs no distance to the next one.
  if (type.getNumElements() == row || (pitch - row) * maxGrowth > row)
    return std::nullopt;
  return pitch;
}

/// The type of a view of padded memory; null if there is no such view.
static MemRefType getViewType(Operation *view, MemRefType source) {
  auto old = cast<MemRefType>(view->getResult(0).getType());
  if (auto op = dyn_cast<memref::CollapseShapeOp>(view)) {
    auto groups = op.getReassociationIndices();
    if (!memref::CollapseShapeOp::isGuaranteedCollapsible(source, groups))
      return nullptr;
    return memref::CollapseShapeOp::computeCollapsedType(source, groups);
  }
  if (auto op = dyn_cast<memref::ExpandShapeOp>(view)) {
    auto type = memref::ExpandShapeOp::computeExpandedType(
        source, old.getShape(), op.getReassociationIndices());
    return succeeded(type) ? *type : MemRefType();
  }
  if (auto op = dyn_cast<memref::SubViewOp>(view))
    return memref::SubViewOp::inferRankReducedResultType(
        old.getShape(), source, op.getMixedOffsets(), op.getMixedSizes(),
        op.getMixedStrides());
  return nullptr;
}

void RowPadder::addReader(PaddedMemory &memory, OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<kernel::ContractOp>(user)) {
    bool isLast = use.getOperandNumber() + 1 == user->getNumOperands();
    memory.isFactor |= use.getOperandNumber() < 2;
    memory.isProduct |= isLast;
  }
  auto map = dyn_cast<linalg::GenericOp>(user);
  if (!map || map.getNumReductionLoops() > 0 || map.getNumDpsInits() != 1 ||
      !map.isDpsInput(&use))
    return;
  OpOperand *init = map.getDpsInitOperand(0);
  memory.isSource |=
      padded.contains(getRoot(init->get()).getDefiningOp()) &&
      map.getMatchingIndexingMap(init) == map.getMatchingIndexingMap(&use);
}

/// Finds all views, and their types; false if there are other users.
bool RowPadder::findUsers(PaddedMemory &memory) {
  for (size_t next = 0; next < memory.types.size(); ++next) {
    auto [value, type] = memory.types.begin()[next];
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<memref::CollapseShapeOp, memref::ExpandShapeOp,
              memref::SubViewOp>(user)) {
        MemRefType view = getViewType(user, type);
        if (!view)
          return false;
        memory.types.insert({user->getResult(0), view});
        continue;
      }
      if (auto dealloc = dyn_cast<memref::DeallocOp>(user)) {
        if (memory.dealloc || value != memory.alloc)
          return false;
        memory.dealloc = dealloc;
        continue;
      }
      if (!isa<linalg::GenericOp, kernel::ContractOp, memref::LoadOp,
               memref::StoreOp>(user))
        return false;
      addReader(memory, use);
    }
  }
  return true;
}

void RowPadder::pad(PaddedMemory &memory, int64_t pitch) {
  OpBuilder b(memory.alloc);
  Location loc = memory.alloc.getLoc();
  MemRefType type = memory.alloc.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = pitch;
  auto longer = memref::AllocOp::create(
      b, loc, MemRefType::get(shape, type.getElementType()),
      memory.alloc.getAlignmentAttr());
  SmallVector<OpFoldResult> zeros(shape.size(), b.getIndexAttr(0)),
      ones(shape.size(), b.getIndexAttr(1));
  Value rows = memref::SubViewOp::create(
      b, loc, longer, zeros,
      getAsIndexOpFoldResult(b.getContext(), type.getShape()), ones);
  if (memory.dealloc)
    memory.dealloc->setOperand(0, longer);
  memory.alloc.replaceAllUsesWith(rows);
  for (auto [value, viewed] : llvm::drop_begin(memory.types))
    value.setType(viewed);
  memory.alloc.erase();
  padded.insert(longer);
}

std::optional<PaddedMemory> RowPadder::inspect(memref::AllocOp alloc,
                                               int64_t pitch) {
  MemRefType type = alloc.getType();
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t axis = type.getRank() - 1, step = pitch; axis-- > 0;
       step *= type.getDimSize(axis))
    strides[axis] = step;
  auto layout = StridedLayoutAttr::get(alloc.getContext(), 0, strides);
  PaddedMemory memory{alloc, {}, {}};
  memory.types.insert(
      {alloc, MemRefType::get(type.getShape(), type.getElementType(), layout)});
  if (!findUsers(memory))
    return std::nullopt;
  return memory;
}

void RowPadder::run() {
  for (bool isForFactors : {true, false})
    for (auto alloc : llvm::to_vector(block.getOps<memref::AllocOp>())) {
      std::optional<int64_t> pitch = getPitch(alloc.getType());
      std::optional<PaddedMemory> memory;
      if (pitch)
        memory = inspect(alloc, *pitch);
      if (memory && (isForFactors ? memory->isFactor
                                  : memory->isProduct && memory->isSource))
        pad(*memory, *pitch);
    }
}

void padRows(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    RowPadder(main.getBody().front()).run();
}

} // namespace mp
