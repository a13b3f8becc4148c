//===- SelectionCode.cpp - Code of ArgMax and ArgMin ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ArgMax and ArgMin select one of two elements, together with its number. The
// selection depends on the elements alone, and on the order if they are equal.
// Threads of a block therefore take shares of the points, and then pairs of the
// selected elements.
//
//===----------------------------------------------------------------------===//

#include "GenericCode.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

/// True if `value` does not depend on elements of the outputs.
static bool isOfPoint(Value value, linalg::GenericOp op) {
  llvm::DenseSet<Value> seen{value};
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (next.getParentBlock() != op.getBody())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getArgNumber() >= op.getNumDpsInputs())
        return false;
      continue;
    }
    for (Value operand : next.getDefiningOp()->getOperands())
      if (seen.insert(operand).second)
        worklist.push_back(operand);
  }
  return true;
}

/// The op that selects one of all points; null if there is none.
static kernel::ArgSelectOp findSelect(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 2 || op.getNumReductionLoops() != 1)
    return {};
  ValueRange yielded = op.getBody()->getTerminator()->getOperands();
  auto select = yielded[0].getDefiningOp<kernel::ArgSelectOp>();
  Block::BlockArgListType outputs = op.getRegionOutputArgs();
  if (!select || yielded != ValueRange(select->getResults()) ||
      select.getBest() != outputs[0] || select.getBestNumber() != outputs[1] ||
      !isOfPoint(select.getElement(), op) || !isOfPoint(select.getNumber(), op))
    return {};
  return select;
}

bool GenericCode::canSelect() const { return bool(findSelect(op)); }

namespace {
/// An element, and its number.
struct Point {
  Value element, number;
};

class Selection {
public:
  Selection(OpBuilder &b, Location loc, kernel::ArgSelectOp select)
      : b(b), loc(loc), select(select) {}

  /// True if `x`, which comes after `y`, is selected.
  Value isTaken(Point x, Point y) {
    return select.isBetter(b, x.element, y.element);
  }
  Point choose(Value condition, Point x, Point y) {
    auto create = [&](Value yes, Value no) {
      return arith::SelectOp::create(b, loc, condition, yes, no).getResult();
    };
    return {create(x.element, y.element), create(x.number, y.number)};
  }
  /// Combines two points in any order: of equal ones, selects the later one if
  /// the select takes equal elements, else the earlier one.
  Point combine(Point x, Point y) {
    Value first = isTaken(x, y), second = isTaken(y, x);
    auto compare = [&](arith::CmpIPredicate test, Value a, Value c) {
      return arith::CmpIOp::create(b, loc, test, a, c).getResult();
    };
    Value isLater = compare(arith::CmpIPredicate::sgt, x.number, y.number);
    Value isEarlier = compare(arith::CmpIPredicate::slt, x.number, y.number);
    Value tied =
        arith::SelectOp::create(b, loc, first, isLater, isEarlier).getResult();
    Value differ = compare(arith::CmpIPredicate::ne, first, second);
    return choose(arith::SelectOp::create(b, loc, differ, first, tied), x, y);
  }

private:
  OpBuilder &b;
  Location loc;
  kernel::ArgSelectOp select;
};
} // namespace

void GenericCode::emitSelection(const Threads &threads, SharedMemory &shared,
                                Value output) {
  kernel::ArgSelectOp select = findSelect(op);
  Selection selection(b, loc, select);
  setIndices(output, outer);
  SmallVector<Value> before = loadOutputs();
  int64_t points = countReduced();
  int64_t shares = llvm::bit_floor(uint64_t(std::min(points, threads.count)));
  // The values that the body selects from.
  Operation *yield = op.getBody()->getTerminator();
  auto emitPoint = [&](Value index) -> Point {
    setIndices(index, reduced);
    yield->setOperands({select.getElement(), select.getNumber()});
    SmallVector<Value> values = emitBody(before);
    yield->setOperands(select->getResults());
    return {values[0], values[1]};
  };
  auto makeMemory = [&](Type type) {
    return shared.make(b, loc, MemRefType::get({shares}, type));
  };
  Value elements = makeMemory(select.getElement().getType());
  Value numbers = makeMemory(select.getNumber().getType());
  auto load = [&](Value at) -> Point {
    return {memref::LoadOp::create(b, loc, elements, at),
            memref::LoadOp::create(b, loc, numbers, at)};
  };
  auto keep = [&](Point point) {
    memref::StoreOp::create(b, loc, point.element, elements, threads.id);
    memref::StoreOp::create(b, loc, point.number, numbers, threads.id);
  };
  auto byThose = [&](int64_t count, llvm::function_ref<void()> body) {
    Value isOne = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                        threads.id, makeIndex(b, loc, count));
    auto branch = scf::IfOp::create(b, loc, isOne);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  };
  byThose(shares, [&] {
    Point first = emitPoint(threads.id);
    Value step = makeIndex(b, loc, shares);
    Value second = arith::AddIOp::create(b, loc, threads.id, step);
    auto loop =
        scf::ForOp::create(b, loc, second, makeIndex(b, loc, points), step,
                           ValueRange{first.element, first.number});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Point best = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      Point next = emitPoint(loop.getInductionVar());
      best = selection.choose(selection.isTaken(next, best), next, best);
      scf::YieldOp::create(b, loc, ValueRange{best.element, best.number});
    }
    keep({loop.getResult(0), loop.getResult(1)});
  });
  for (int64_t rest = shares / 2; rest > 0; rest /= 2) {
    gpu::BarrierOp::create(b, loc);
    byThose(rest, [&] {
      Value other =
          arith::AddIOp::create(b, loc, threads.id, makeIndex(b, loc, rest));
      keep(selection.combine(load(other), load(threads.id)));
    });
  }
  threads.byFirst(b, loc, [&] {
    Point best = load(threads.id), old = {before[0], before[1]};
    best = selection.choose(selection.isTaken(best, old), best, old);
    store(0, best.element);
    store(1, best.number);
  });
}

} // namespace mp
