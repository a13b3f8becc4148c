//===- MaterializeMemory.cpp - Loops that carry memory --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After bufferization, a state of a loop that is not updated in place is
// another piece of memory in each iteration. In a kernel, and in a plan, memory
// has one place: the loop ends with a copy to it.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/MaterializeMemory.h"

#include "mp-opt/Codegen/Common/MemoryRanges.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace mp {

namespace {

class Materializer {
public:
  explicit Materializer(MLIRContext *context) : b(context) {}

  void materialize(scf::ForOp loop);
  void materialize(scf::IfOp branch);
  void materialize(scf::WhileOp loop);

private:
  /// A place, and the value that replaces it where `type` is expected.
  struct Place {
    Value memory, seen;
  };
  Place makePlace(Operation *before, MemRefType type);
  void copyTo(ArrayRef<Value> sources, ArrayRef<Value> places);

  IRRewriter b;
};

} // namespace

/// True if loops and branches go on to carry values of the type.
static bool staysCarried(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return !memref || !memref.hasStaticShape();
}

Materializer::Place Materializer::makePlace(Operation *before,
                                            MemRefType type) {
  b.setInsertionPoint(before);
  Location loc = before->getLoc();
  auto own = MemRefType::get(type.getShape(), type.getElementType());
  Value memory = memref::AllocOp::create(b, loc, own);
  Value seen = memory;
  if (own != type)
    seen = memref::CastOp::create(b, loc, type, memory);
  return {memory, seen};
}

/// Copies at the insertion point. If a source is another one's place, all are
/// read before any is written.
void Materializer::copyTo(ArrayRef<Value> sources, ArrayRef<Value> places) {
  SmallVector<std::pair<Value, Value>> copies;
  bool isCrossed = false;
  for (auto [source, place] : llvm::zip(sources, places)) {
    Value root = getRoot(source);
    if (root == place && source.getType() == place.getType())
      continue;
    isCrossed |= llvm::is_contained(places, root);
    copies.emplace_back(source, place);
  }
  auto copy = [&](Value from, Value to) {
    memref::CopyOp::create(b, to.getLoc(), from, to);
  };
  if (!isCrossed) {
    for (auto [source, place] : copies)
      copy(source, place);
    return;
  }
  for (auto &[source, place] : copies) {
    Value between = memref::AllocOp::create(b, place.getLoc(),
                                            cast<MemRefType>(place.getType()));
    copy(source, between);
    source = between;
  }
  for (auto [source, place] : copies)
    copy(source, place);
}

void Materializer::materialize(scf::ForOp loop) {
  SmallVector<Value> inits, yields, kept, keptYields, places;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<unsigned> positions;
  for (auto [index, init] : llvm::enumerate(loop.getInitArgs())) {
    if (staysCarried(loop.getResult(index).getType())) {
      kept.push_back(init);
      keptYields.push_back(yield.getOperand(index));
      continue;
    }
    auto type = cast<MemRefType>(init.getType());
    Place place = makePlace(loop, type);
    loop.getRegionIterArg(index).replaceAllUsesWith(place.seen);
    loop.getResult(index).replaceAllUsesWith(place.seen);
    inits.push_back(init);
    yields.push_back(yield.getOperand(index));
    places.push_back(place.memory);
    positions.push_back(index);
  }
  if (places.empty())
    return;
  b.setInsertionPoint(loop);
  for (auto [init, place] : llvm::zip(inits, places))
    memref::CopyOp::create(b, loop.getLoc(), init, place);
  // The operands may have become places.
  for (auto [position, value] : llvm::zip(positions, yields))
    value = yield.getOperand(position);
  b.setInsertionPoint(yield);
  copyTo(yields, places);
  auto made = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), kept);
  made->moveBefore(loop);
  Block *body = made.getBody();
  if (kept.empty())
    b.eraseOp(body->getTerminator());
  SmallVector<Value> arguments{made.getInductionVar()};
  unsigned next = 0;
  SmallVector<Value> results;
  for (unsigned index = 0; index < loop.getNumResults(); ++index) {
    bool isKept = staysCarried(loop.getResult(index).getType());
    arguments.push_back(isKept ? made.getRegionIterArg(next)
                               : loop.getInitArgs()[index]);
    results.push_back(isKept ? made.getResult(next)
                             : loop.getInitArgs()[index]);
    next += isKept;
  }
  b.setInsertionPoint(yield);
  scf::YieldOp::create(b, yield.getLoc(), keptYields);
  b.eraseOp(yield);
  b.inlineBlockBefore(loop.getBody(), body, body->end(), arguments);
  b.replaceOp(loop, results);
}

void Materializer::materialize(scf::IfOp branch) {
  SmallVector<Type> types;
  SmallVector<Value> places, results;
  for (Value result : branch.getResults()) {
    if (staysCarried(result.getType())) {
      types.push_back(result.getType());
      continue;
    }
    Place place = makePlace(branch, cast<MemRefType>(result.getType()));
    places.push_back(place.memory);
    result.replaceAllUsesWith(place.seen);
  }
  if (places.empty())
    return;
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    Operation *yield = region->front().getTerminator();
    SmallVector<Value> sources, kept;
    for (Value value : yield->getOperands())
      (staysCarried(value.getType()) ? kept : sources).push_back(value);
    b.setInsertionPoint(yield);
    copyTo(sources, places);
    yield->setOperands(kept);
  }
  b.setInsertionPoint(branch);
  auto made = scf::IfOp::create(b, branch.getLoc(), types,
                                branch.getCondition(), /*addThenBlock=*/false,
                                /*addElseBlock=*/false);
  made.getThenRegion().takeBody(branch.getThenRegion());
  made.getElseRegion().takeBody(branch.getElseRegion());
  unsigned next = 0;
  for (Value result : branch.getResults())
    if (staysCarried(result.getType()))
      result.replaceAllUsesWith(made.getResult(next++));
  b.eraseOp(branch);
}

/// The values that the loop carries are in their own places from the begin.
/// Types stay, and so do the values, which are all views of these places.
void Materializer::materialize(scf::WhileOp loop) {
  SmallVector<Value> inits, places;
  SmallVector<unsigned> positions;
  for (auto [index, init] : llvm::enumerate(loop.getInits())) {
    if (staysCarried(init.getType()))
      continue;
    Place place = makePlace(loop, cast<MemRefType>(init.getType()));
    loop.getBeforeArguments()[index].replaceAllUsesWith(place.seen);
    inits.push_back(init);
    places.push_back(place.memory);
    positions.push_back(index);
  }
  b.setInsertionPoint(loop);
  for (auto [init, place] : llvm::zip(inits, places))
    memref::CopyOp::create(b, loop.getLoc(), init, place);
  scf::ConditionOp condition = loop.getConditionOp();
  for (auto [index, value] : llvm::enumerate(condition.getArgs())) {
    if (staysCarried(value.getType()))
      continue;
    Value known = value;
    if (loop.getBefore().isAncestor(value.getParentRegion())) {
      Place place = makePlace(loop, cast<MemRefType>(value.getType()));
      b.setInsertionPoint(condition);
      memref::CopyOp::create(b, loop.getLoc(), value, place.memory);
      known = place.seen;
    }
    loop.getAfterArguments()[index].replaceAllUsesWith(known);
    loop.getResult(index).replaceAllUsesWith(known);
  }
  scf::YieldOp yield = loop.getYieldOp();
  SmallVector<Value> yields;
  for (unsigned position : positions)
    yields.push_back(yield.getOperand(position));
  b.setInsertionPoint(yield);
  copyTo(yields, places);
}

void materializeMemory(Operation *root) {
  SmallVector<Operation *> ops;
  // Inner ops come first.
  root->walk([&](Operation *op) {
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      ops.push_back(op);
  });
  Materializer materializer(root->getContext());
  for (Operation *op : ops) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      materializer.materialize(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      materializer.materialize(branch);
    else
      materializer.materialize(cast<scf::WhileOp>(op));
  }
}

} // namespace mp
