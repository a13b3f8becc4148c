//===- LinalgToLoops.cpp - Structured ops on buffers as loops -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/LinalgToLoops.h"

#include "mp-opt/Codegen/Common/LoopStructure.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

namespace {

/// Loops of fewer elements are not parallel.
constexpr int64_t fewTaskElements = 16;
/// Columns that are summed up together: their sums stay in the first cache.
constexpr int64_t columnsOfBlock = 128;
/// Rows that are added to them at a time, if these are at most `opsOfStep` ops.
constexpr int64_t rowsOfStep = 8, opsOfStep = 128;
/// The number of sums that a sum over everything is divided into, unless it has
/// few terms.
constexpr int64_t numLanes = 64, fewTerms = 16;

class LoopNest : private LoopStructure {
public:
  LoopNest(RewriterBase &rewriter, linalg::GenericOp op, int64_t rangeElements)
      : LoopStructure(rewriter, op), rangeElements(rangeElements) {}

  void emit();

private:
  /// The approximate number of iterations of this size in a range.
  Value getGrain(OpFoldResult inner);
  std::optional<int64_t> countElements();

  using RangeFn = function_ref<void(Value begin, Value end)>;
  void emitParallel(OpFoldResult count, OpFoldResult inner, RangeFn body);
  using StepFn = function_ref<void(Value i)>;
  void emitFor(Value begin, Value end, StepFn body);
  void emitOuter(ArrayRef<unsigned> dims, OpFoldResult inner,
                 function_ref<void()> body);
  void emitMap(ArrayRef<unsigned> outer, unsigned inner);
  void emitColumns(ArrayRef<unsigned> outer, ArrayRef<unsigned> reductions,
                   unsigned inner);
  void emitColumnRows(ArrayRef<unsigned> reductions, unsigned inner,
                      Value begin, Value end);
  void addRows(unsigned reduction, unsigned inner, int64_t count, Value begin,
               Value end);
  void emitRows(ArrayRef<unsigned> outer, ArrayRef<unsigned> reductions);
  void emitReductions(ArrayRef<unsigned> dims, SmallVectorImpl<Value> &sums);
  SmallVector<Operation *> findSums(ArrayRef<unsigned> outer,
                                    ArrayRef<unsigned> reductions);
  void emitLanes(unsigned dim, ArrayRef<Operation *> combiners);

  /// The approximate number of elements of a parallel loop's range.
  int64_t rangeElements;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value LoopNest::getGrain(OpFoldResult inner) {
  if (auto constant = getConstantIntValue(inner))
    return arith::ConstantIndexOp::create(
        b, loc,
        std::max<int64_t>(1, rangeElements / std::max<int64_t>(1, *constant)));
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value divisor = arith::MaxSIOp::create(b, loc, index(inner), one);
  Value range = arith::ConstantIndexOp::create(b, loc, rangeElements);
  Value grain = arith::DivSIOp::create(b, loc, range, divisor);
  return arith::MaxSIOp::create(b, loc, grain, one);
}

/// Absent if a size is known only at run time.
std::optional<int64_t> LoopNest::countElements() {
  int64_t total = 1;
  for (const LoopDim &dim : dims) {
    auto extent = getConstantIntValue(dim.extent);
    if (!extent || llvm::MulOverflow(total, *extent, total))
      return std::nullopt;
  }
  return total;
}

/// A loop that is not worth a second thread is one range: its body still
/// becomes a function, which equal loops share.
void LoopNest::emitParallel(OpFoldResult count, OpFoldResult inner,
                            RangeFn body) {
  Value extent = index(count);
  std::optional<int64_t> total = countElements();
  if (op->getParentOfType<runtime::ParallelOp>() ||
      (total && *total < fewTaskElements)) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    body(zero, extent);
    return;
  }
  bool isSmall = total && *total < 2 * rangeElements;
  auto parallel = runtime::ParallelOp::create(
      b, loc, extent, isSmall ? extent : getGrain(inner));
  OpBuilder::InsertionGuard guard(b);
  Type type = b.getIndexType();
  Block *block =
      b.createBlock(&parallel.getBody(), {}, {type, type}, {loc, loc});
  body(block->getArgument(0), block->getArgument(1));
}

void LoopNest::emitFor(Value begin, Value end, StepFn body) {
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(b, loc, begin, end, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// Emits `body` for all indices of `outer`, as one parallel loop; an iteration
/// computes about `inner` elements.
void LoopNest::emitOuter(ArrayRef<unsigned> outer, OpFoldResult inner,
                         function_ref<void()> body) {
  OpFoldResult count = b.getIndexAttr(1);
  for (unsigned dim : outer)
    count = multiply(count, dims[dim].extent);
  emitParallel(count, inner, [&](Value begin, Value end) {
    if (outer.empty())
      return body();
    emitFor(begin, end, [&](Value i) {
      for (unsigned dim : llvm::reverse(outer.drop_front())) {
        Value extent = index(dims[dim].extent);
        indices[dim] = arith::RemUIOp::create(b, loc, i, extent);
        i = arith::DivUIOp::create(b, loc, i, extent);
      }
      indices[outer.front()] = i;
      body();
    });
  });
}

/// Emits a loop without reductions: each point is stored.
void LoopNest::emitMap(ArrayRef<unsigned> outer, unsigned inner) {
  auto point = [&](Value i) {
    indices[inner] = i;
    for (auto [output, value] : llvm::enumerate(emitBody({})))
      store(output, value);
  };
  if (outer.empty()) {
    emitParallel(dims[inner].extent, b.getIndexAttr(1),
                 [&](Value begin, Value end) { emitFor(begin, end, point); });
    return;
  }
  emitOuter(outer, dims[inner].extent, [&] {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    emitFor(zero, index(dims[inner].extent), point);
  });
}

/// Adds `count` rows from the current one on to each sum, which is loaded and
/// stored once for them.
void LoopNest::addRows(unsigned reduction, unsigned inner, int64_t count,
                       Value begin, Value end) {
  Value first = indices[reduction];
  emitFor(begin, end, [&](Value i) {
    indices[inner] = i;
    SmallVector<Value> sums;
    for (int64_t row = 0; row < count; ++row) {
      Value next = arith::ConstantIndexOp::create(b, loc, row);
      indices[reduction] = b.createOrFold<arith::AddIOp>(loc, first, next);
      sums = emitBody(sums);
    }
    for (auto [output, value] : llvm::enumerate(sums))
      store(output, value);
  });
}

/// Emits all rows of the columns from `begin` to `end` - 1.
void LoopNest::emitColumnRows(ArrayRef<unsigned> reductions, unsigned inner,
                              Value begin, Value end) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  unsigned dim = reductions.front();
  Value extent = index(dims[dim].extent);
  if (reductions.size() > 1) {
    emitFor(zero, extent, [&](Value i) {
      indices[dim] = i;
      emitColumnRows(reductions.drop_front(), inner, begin, end);
    });
    return;
  }
  int64_t numOps = op.getRegion().front().getOperations().size();
  int64_t rows = std::clamp(opsOfStep / numOps, int64_t(1), rowsOfStep);
  auto constant = getConstantIntValue(dims[dim].extent);
  if (constant)
    rows = std::max(int64_t(1), std::min(rows, *constant));
  Value step = arith::ConstantIndexOp::create(b, loc, rows);
  Value whole = b.createOrFold<arith::SubIOp>(
      loc, extent, b.createOrFold<arith::RemUIOp>(loc, extent, step));
  auto loop = scf::ForOp::create(b, loc, zero, whole, step);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    indices[dim] = loop.getInductionVar();
    addRows(dim, inner, rows, begin, end);
  }
  if (constant && *constant % rows == 0)
    return;
  emitFor(whole, extent, [&](Value i) {
    indices[dim] = i;
    addRows(dim, inner, 1, begin, end);
  });
}

/// Emits sums along an outer axis: block by block of columns, some rows at a
/// time.
void LoopNest::emitColumns(ArrayRef<unsigned> outer,
                           ArrayRef<unsigned> reductions, unsigned inner) {
  Value extent = index(dims[inner].extent);
  Value width = arith::ConstantIndexOp::create(b, loc, columnsOfBlock);
  Value blocks = b.createOrFold<arith::CeilDivSIOp>(loc, extent, width);
  OpFoldResult work = b.getIndexAttr(columnsOfBlock);
  for (unsigned dim : reductions)
    work = multiply(work, dims[dim].extent);
  OpFoldResult count = blocks;
  if (auto constant = getConstantIntValue(blocks))
    count = b.getIndexAttr(*constant);
  for (unsigned dim : outer)
    count = multiply(count, dims[dim].extent);
  emitParallel(count, work, [&](Value first, Value last) {
    emitFor(first, last, [&](Value i) {
      Value block = arith::RemUIOp::create(b, loc, i, blocks);
      i = arith::DivUIOp::create(b, loc, i, blocks);
      for (unsigned dim : llvm::reverse(outer)) {
        Value size = index(dims[dim].extent);
        indices[dim] = arith::RemUIOp::create(b, loc, i, size);
        i = arith::DivUIOp::create(b, loc, i, size);
      }
      Value begin = arith::MulIOp::create(b, loc, block, width);
      Value end = arith::MinSIOp::create(
          b, loc, arith::AddIOp::create(b, loc, begin, width), extent);
      emitColumnRows(reductions, inner, begin, end);
    });
  });
}

void LoopNest::emitReductions(ArrayRef<unsigned> reductions,
                              SmallVectorImpl<Value> &sums) {
  if (reductions.empty()) {
    sums = emitBody(sums);
    return;
  }
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value extent = index(dims[reductions.front()].extent);
  auto loop = scf::ForOp::create(b, loc, zero, extent, one, sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    indices[reductions.front()] = loop.getInductionVar();
    SmallVector<Value> inner(loop.getRegionIterArgs());
    emitReductions(reductions.drop_front(), inner);
    scf::YieldOp::create(b, loc, inner);
  }
  sums.assign(loop.getResults().begin(), loop.getResults().end());
}

/// Emits a reduction as the innermost loop: sums stay in registers.
void LoopNest::emitRows(ArrayRef<unsigned> outer,
                        ArrayRef<unsigned> reductions) {
  OpFoldResult work = b.getIndexAttr(1);
  for (unsigned dim : reductions)
    work = multiply(work, dims[dim].extent);
  emitOuter(outer, work, [&] {
    SmallVector<Value> sums;
    unsigned firstOutput = operands.size() - op.getNumDpsInits();
    for (const LoopOperand &output :
         ArrayRef<LoopOperand>(operands).drop_front(firstOutput))
      sums.push_back(
          memref::LoadOp::create(b, loc, output.memref, getIndices(output)));
    emitReductions(reductions, sums);
    for (auto [output, value] : llvm::enumerate(sums))
      store(output, value);
  });
}

//===----------------------------------------------------------------------===//
// Sums over everything
//===----------------------------------------------------------------------===//

/// The ops that combine the terms of each output, if all outputs are sums over
/// everything; none otherwise. Norms of gradients are such sums: their bits
/// must not depend on the way LLVM vectorizes the loop, which depends on the
/// rest of its body.
SmallVector<Operation *> LoopNest::findSums(ArrayRef<unsigned> outer,
                                            ArrayRef<unsigned> reductions) {
  if (!outer.empty() || reductions.size() != 1 ||
      op->getParentOfType<runtime::ParallelOp>())
    return {};
  SmallVector<Operation *> result;
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
    SmallVector<Operation *, 4> combiners;
    if (!matchReduction(op.getRegionOutputArgs(), output, combiners) ||
        combiners.size() != 1 || !isa<arith::AddFOp>(combiners.front()))
      return {};
    result.push_back(combiners.front());
  }
  return result;
}

/// Term i is added to sum i % numLanes; then halves are added to halves.
void LoopNest::emitLanes(unsigned dim, ArrayRef<Operation *> combiners) {
  OpFoldResult work = dims[dim].extent;
  emitParallel(b.getIndexAttr(1), work, [&](Value, Value) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value width = arith::ConstantIndexOp::create(b, loc, numLanes);
    SmallVector<Value> lanes;
    for (Operation *combiner : combiners) {
      Type type = combiner->getResult(0).getType();
      lanes.push_back(
          memref::AllocaOp::create(b, loc, MemRefType::get({numLanes}, type)));
      Value nothing = arith::ConstantOp::create(
          b, loc, *arith::getNeutralElement(combiner));
      emitFor(zero, width, [&](Value lane) {
        memref::StoreOp::create(b, loc, nothing, lanes.back(), lane);
      });
    }
    auto addTerm = [&](Value lane) {
      SmallVector<Value> sums;
      for (Value lanesOfSum : lanes)
        sums.push_back(memref::LoadOp::create(b, loc, lanesOfSum, lane));
      for (auto [sum, memory] : llvm::zip_equal(emitBody(sums), lanes))
        memref::StoreOp::create(b, loc, sum, memory, lane);
    };
    Value extent = index(dims[dim].extent);
    Value whole = b.createOrFold<arith::SubIOp>(
        loc, extent, b.createOrFold<arith::RemUIOp>(loc, extent, width));
    auto rows = scf::ForOp::create(b, loc, zero, whole, width);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(rows.getBody());
      emitFor(zero, width, [&](Value lane) {
        indices[dim] =
            arith::AddIOp::create(b, loc, rows.getInductionVar(), lane);
        addTerm(lane);
      });
    }
    emitFor(whole, extent, [&](Value i) {
      indices[dim] = i;
      addTerm(arith::SubIOp::create(b, loc, i, whole));
    });
    unsigned firstOutput = operands.size() - op.getNumDpsInits();
    for (auto [output, memory] : llvm::enumerate(lanes)) {
      auto combine = [&, combiner = combiners[output]](Value one, Value other) {
        Operation *sum = b.clone(*combiner);
        sum->setOperands({one, other});
        return sum->getResult(0);
      };
      for (int64_t half = numLanes / 2; half > 0; half /= 2) {
        Value distance = arith::ConstantIndexOp::create(b, loc, half);
        emitFor(zero, distance, [&, memory = memory](Value lane) {
          Value other = arith::AddIOp::create(b, loc, lane, distance);
          Value sum = combine(memref::LoadOp::create(b, loc, memory, lane),
                              memref::LoadOp::create(b, loc, memory, other));
          memref::StoreOp::create(b, loc, sum, memory, lane);
        });
      }
      const LoopOperand &place = operands[firstOutput + output];
      Value before =
          memref::LoadOp::create(b, loc, place.memref, getIndices(place));
      store(output,
            combine(before, memref::LoadOp::create(b, loc, memory, zero)));
    }
  });
}

void LoopNest::emit() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  read();
  mergeDims();
  indices.resize(dims.size());
  if (dims.empty()) {
    for (auto [output, value] : llvm::enumerate(emitBody({})))
      store(output, value);
    return;
  }
  unsigned inner = chooseInner();
  SmallVector<unsigned> outer, reductions;
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    if (dim == inner)
      continue;
    if (isUnit(dim))
      indices[dim] = arith::ConstantIndexOp::create(b, loc, 0);
    else
      (dims[dim].isReduction ? reductions : outer).push_back(dim);
  }
  if (dims[inner].isReduction) {
    reductions.push_back(inner);
    SmallVector<Operation *> sums = findSums(outer, reductions);
    keepsOrder = !sums.empty();
    auto extent = getConstantIntValue(dims[inner].extent);
    if (sums.empty() || (extent && *extent < fewTerms))
      emitRows(outer, reductions);
    else
      emitLanes(inner, sums);
  } else if (reductions.empty()) {
    emitMap(outer, inner);
  } else {
    emitColumns(outer, reductions, inner);
  }
}

LogicalResult lowerToLoops(RewriterBase &rewriter, linalg::LinalgOp op,
                           int64_t rangeElements) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic) {
    FailureOr<linalg::GenericOp> made = linalg::generalizeNamedOp(rewriter, op);
    if (failed(made))
      return op->emitError("no loops for this op");
    generic = *made;
  }
  LoopNest(rewriter, generic, rangeElements).emit();
  rewriter.eraseOp(generic);
  return success();
}

} // namespace mp
