//===- GroupWork.cpp - What groups move and compute -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupWork.h"

#include "GroupAccesses.h"
#include "TouchedPlaces.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Codegen/GPU/FormKernels.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

#include <map>

using namespace mlir;

namespace mp {

using device::WorkKind;

namespace {

struct Counts {
  uint64_t read = 0, written = 0;
  uint64_t tensor = 0, fma = 0, operations = 0, doubles = 0;
};

/// Counts groups one after the other, all of one launch.
class WorkCounter {
public:
  void add(device::GroupOp group);
  /// What has been added since the last time.
  Counts take();

private:
  void addAccess(Operation *root, const Access &access);
  void addProducts(device::GroupOp group, kernel::ContractOp op, int64_t runs);
  void addOperation(Operation *op, int64_t runs);

  TouchedPlaces read, written;
  Counts counts;
  uint64_t takenRead = 0, takenWritten = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The elements of an operand that an op touches in one run; in each dimension
/// all where data decide.
static SmallVector<Span> getBox(OpOperand &operand) {
  Operation *op = operand.getOwner();
  ArrayRef<int64_t> shape =
      cast<MemRefType>(operand.get().getType()).getShape();
  AffineMap map;
  SmallVector<Span> dims, box;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    map = structured.getMatchingIndexingMap(&operand);
    for (int64_t size : structured.getStaticLoopRanges())
      dims.push_back(Span::getRange(size));
  } else if (auto contract = dyn_cast<kernel::ContractOp>(op)) {
    for (auto [value, other] :
         llvm::zip(contract.getMappedOperands(), contract.getMaps()))
      if (value == operand.get())
        map = other;
    for (int64_t size : kernel::getStaticSizes(contract))
      dims.push_back(Span::getRange(size));
  }
  SmallVector<OpFoldResult> indices;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    indices = getAsOpFoldResult(load.getIndices());
  if (auto store = dyn_cast<memref::StoreOp>(op))
    indices = getAsOpFoldResult(store.getIndices());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    std::optional<Span> span;
    if (map)
      span = getSpan(map.getResult(dim), dims);
    else if (!indices.empty())
      span = getSpan(indices[dim]);
    box.push_back(span ? span->clamp(size) : Span::getRange(size));
  }
  return box;
}

/// The elements that an op touches at most in one run by this operand.
static int64_t getMost(OpOperand &operand, ArrayRef<Span> box) {
  if (isa<memref::LoadOp, memref::StoreOp>(operand.getOwner()))
    return 1;
  int64_t most = 1;
  for (const Span &span : box)
    most = llvm::SaturatingMultiply<uint64_t>(most, span.most);
  return most;
}

/// What the group has written itself comes out of caches, or registers.
void WorkCounter::addAccess(Operation *root, const Access &access) {
  OpOperand &operand = *access.operand;
  Operation *op = operand.getOwner();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op);
      structured && !access.isWrite &&
      !structured.payloadUsesValueFromOperand(&operand))
    return;
  if (auto argument = dyn_cast<BlockArgument>(getRoot(operand.get()));
      argument && root->isAncestor(argument.getOwner()->getParentOp()))
    return;
  SmallVector<Span> box = getBox(operand);
  auto runs = countRuns(op, root);
  int64_t most = INT64_MAX;
  if (runs)
    most = std::min<uint64_t>(
        most, llvm::SaturatingMultiply<uint64_t>(*runs, getMost(operand, box)));
  if (access.isWrite)
    written.add(operand.get(), box, most);
  else if (!written.contains(operand.get(), box))
    read.add(operand.get(), box, most);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

void WorkCounter::addProducts(device::GroupOp group, kernel::ContractOp op,
                              int64_t runs) {
  uint64_t count = runs;
  SmallVector<int64_t> sizes = kernel::getStaticSizes(op);
  if (ShapedType::isDynamicShape(sizes))
    return;
  for (int64_t size : sizes)
    count = llvm::SaturatingMultiply<uint64_t>(count, size);
  bool isTiled = group.getKind() == group::contract && kernel::isWorthTiles(op);
  if (op.getAccumulatorType().isF64())
    counts.doubles += 2 * count;
  else if (isTiled && kernel::getTile(op).getBy() != kernel::Multiplier::FMA)
    counts.tensor += kernel::isTF32(op) ? 2 * count : count;
  else
    counts.fma += count;
}

void WorkCounter::addOperation(Operation *op, int64_t runs) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      op->hasTrait<OpTrait::ConstantLike>() || isa<CastOpInterface>(op))
    return;
  Type type = getElementTypeOrSelf(op->getOperands().back().getType());
  if (!isa<FloatType>(type))
    return;
  (type.isF64() ? counts.doubles : counts.operations) += runs;
}

void WorkCounter::add(device::GroupOp group) {
  // An op reads before it writes.
  SmallVector<Access> writes;
  auto finishOp = [&] {
    for (const Access &access : writes)
      addAccess(group, access);
    writes.clear();
  };
  for (const Access &access : findAccesses(group)) {
    if (!writes.empty() &&
        writes.front().operand->getOwner() != access.operand->getOwner())
      finishOp();
    if (access.isWrite)
      writes.push_back(access);
    else
      addAccess(group, access);
  }
  finishOp();
  group.walk([&](Operation *op) {
    // Loops whose counts depend on data run once, for all that is known.
    int64_t runs = op == group ? 1 : countRuns(op, group).value_or(1);
    if (auto contract = dyn_cast<kernel::ContractOp>(op))
      addProducts(group, contract, runs);
    else
      addOperation(op, runs);
  });
}

Counts WorkCounter::take() {
  Counts taken = std::exchange(counts, Counts());
  uint64_t allRead = read.countBytes(), allWritten = written.countBytes();
  taken.read = allRead - std::exchange(takenRead, allRead);
  taken.written = allWritten - std::exchange(takenWritten, allWritten);
  return taken;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static WorkKind getWorkKind(device::GroupOp group) {
  StringRef kind = group.getKind();
  if (kind == group::contract)
    return WorkKind::Product;
  for (const Access &access : findAccesses(group))
    if (access.isWrite && access.range.base.getDefiningOp<runtime::InputOp>())
      return WorkKind::Update;
  return llvm::StringSwitch<WorkKind>(kind)
      .Case(group::map, WorkKind::Map)
      .Case(group::reduce, WorkKind::Sum)
      .Case(group::rows, WorkKind::Rows)
      .Default(WorkKind::Block);
}

ArrayAttr countWork(device::GroupOp group, uint64_t spilled) {
  SmallVector<device::GroupOp> parts{group};
  if (group.getKind() == group::parts)
    parts = llvm::to_vector(group.getBody().getOps<device::GroupOp>());
  std::map<WorkKind, SmallVector<device::GroupOp>> partsOf;
  for (device::GroupOp part : parts)
    partsOf[getWorkKind(part)].push_back(part);
  WorkCounter counter;
  SmallVector<Attribute> list;
  for (auto &[kind, ofKind] : partsOf) {
    for (device::GroupOp part : ofKind)
      counter.add(part);
    Counts counts = counter.take();
    uint64_t more = std::exchange(spilled, 0);
    list.push_back(device::WorkAttr::get(
        group.getContext(), kind, counts.read + more, counts.written + more,
        counts.tensor, counts.fma, counts.operations, counts.doubles));
  }
  return ArrayAttr::get(group.getContext(), list);
}

} // namespace mp
