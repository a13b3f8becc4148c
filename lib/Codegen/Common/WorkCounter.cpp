//===- WorkCounter.cpp - Bytes and arithmetic of code ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/WorkCounter.h"

#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The elements of an operand that an op touches in one run; all of a dimension
/// if data select them.
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

/// The most elements of this operand that an op touches in one run.
static int64_t getMaxTouched(OpOperand &operand, ArrayRef<Span> box) {
  if (isa<memref::LoadOp, memref::StoreOp>(operand.getOwner()))
    return 1;
  int64_t most = 1;
  for (const Span &span : box)
    most = llvm::SaturatingMultiply<uint64_t>(most, span.most);
  return most;
}

/// Memory that the group has written itself is read from caches or registers.
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
    most = std::min<uint64_t>(most, llvm::SaturatingMultiply<uint64_t>(
                                        *runs, getMaxTouched(operand, box)));
  if (access.isWrite)
    written.add(operand.get(), box, most);
  else if (!written.contains(operand.get(), box))
    read.add(operand.get(), box, most);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

void WorkCounter::addProducts(kernel::ContractOp op, int64_t runs) {
  uint64_t count = runs;
  SmallVector<int64_t> sizes = kernel::getStaticSizes(op);
  if (ShapedType::isDynamicShape(sizes))
    return;
  for (int64_t size : sizes)
    count = llvm::SaturatingMultiply<uint64_t>(count, size);
  if (op.getAccumulatorType().isF64())
    counts.doubles += 2 * count;
  else if (int64_t factor = getTensorCost(op))
    counts.tensor += llvm::SaturatingMultiply<uint64_t>(factor, count);
  else
    counts.fma += count;
}

void WorkCounter::addOperation(Operation *op, int64_t runs) {
  Value operand;
  if (auto select = dyn_cast<kernel::ArgSelectOp>(op)) {
    // Comparisons of the elements, tests for NaN, and a select.
    operand = select.getElement();
    runs *= select.takesLast() ? 3 : 4;
  } else if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                 op->getDialect()) &&
             !op->hasTrait<OpTrait::ConstantLike>() &&
             !isa<CastOpInterface>(op)) {
    operand = op->getOperands().back();
  } else {
    return;
  }
  Type type = getElementTypeOrSelf(operand.getType());
  if (!isa<FloatType>(type))
    return;
  (type.isF64() ? counts.doubles : counts.operations) += runs;
}

void WorkCounter::add(Operation *root) {
  // An op reads before it writes.
  SmallVector<Access> writes;
  auto finishOp = [&] {
    for (const Access &access : writes)
      addAccess(root, access);
    writes.clear();
  };
  for (const Access &access : findAccesses(root)) {
    if (!writes.empty() &&
        writes.front().operand->getOwner() != access.operand->getOwner())
      finishOp();
    if (access.isWrite)
      writes.push_back(access);
    else
      addAccess(root, access);
  }
  finishOp();
  root->walk([&](Operation *op) {
    // Loops whose counts depend on data count as one run.
    int64_t runs = op == root ? 1 : countRuns(op, root).value_or(1);
    if (auto contract = dyn_cast<kernel::ContractOp>(op))
      addProducts(contract, runs);
    else
      addOperation(op, runs);
  });
}

device::WorkAttr WorkCounter::take(MLIRContext *context, device::WorkKind kind,
                                   uint64_t temporaryBytes) {
  Counts taken = std::exchange(counts, Counts());
  uint64_t allRead = read.countBytes(), allWritten = written.countBytes();
  uint64_t nowRead = allRead - std::exchange(takenRead, allRead);
  uint64_t nowWritten = allWritten - std::exchange(takenWritten, allWritten);
  return device::WorkAttr::get(context, kind, nowRead + temporaryBytes,
                               nowWritten + temporaryBytes, taken.tensor,
                               taken.fma, taken.operations, taken.doubles);
}

} // namespace mp
