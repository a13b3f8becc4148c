//===- OutlineParallel.cpp - Bodies of parallel loops as functions --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants move into the function, everything else is captured: loops of
// equal layers become one function, which is compiled once.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mp {
#define GEN_PASS_DEF_OUTLINEPARALLEL
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct OutlineParallel : public mp::impl::OutlineParallelBase<OutlineParallel> {
  using OutlineParallelBase::OutlineParallelBase;

  void runOnOperation() override;

private:
  void outline(runtime::ParallelOp loop);
  func::FuncOp makeFunction(runtime::ParallelOp loop, ArrayRef<Value> captures);

  /// Functions by their text.
  llvm::StringMap<func::FuncOp> functions;
};

} // namespace

/// An scf.parallel of one dimension, in ranges of one iteration.
static void convertParallel(scf::ParallelOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound()[0], step = loop.getStep()[0];
  Value extent = arith::SubIOp::create(b, loc, loop.getUpperBound()[0], lower);
  Value count = b.createOrFold<arith::CeilDivSIOp>(loc, extent, step);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto made = runtime::ParallelOp::create(b, loc, count, one);
  Type index = b.getIndexType();
  Block *block = b.createBlock(&made.getBody(), {}, {index, index}, {loc, loc});
  auto sequence = scf::ForOp::create(b, loc, block->getArgument(0),
                                     block->getArgument(1), one);
  b.setInsertionPointToStart(sequence.getBody());
  Value i = arith::MulIOp::create(b, loc, sequence.getInductionVar(), step);
  i = arith::AddIOp::create(b, loc, i, lower);
  IRMapping mapping;
  mapping.map(loop.getInductionVars()[0], i);
  for (Operation &op : loop.getBody()->without_terminator())
    b.clone(op, mapping);
  loop.erase();
}

/// What a memref is a view of.
static Value getRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    // What memory planning hands out is memory of its own.
    if (isa<memref::ViewOp>(view))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

/// Where the pointers to the elements are among the arguments that memrefs and
/// numbers become, of those captures that nothing else reaches.
static SmallVector<int64_t> getExclusive(ArrayRef<Value> captures) {
  llvm::DenseMap<Value, unsigned> uses;
  for (Value capture : captures)
    if (isa<MemRefType>(capture.getType()))
      ++uses[getRoot(capture)];
  SmallVector<int64_t> result;
  int64_t position = 0;
  for (Value capture : captures) {
    auto type = dyn_cast<MemRefType>(capture.getType());
    if (!type) {
      ++position;
      continue;
    }
    if (uses[getRoot(capture)] == 1)
      result.push_back(position + 1);
    position += 3 + 2 * type.getRank();
  }
  return result;
}

/// Bytes of temporaries that a body may have on its stack.
constexpr int64_t mostStackBytes = 262144;

/// Temporaries of an iteration, once for all of them: on the stack, or where
/// they are big allocated at the function's begin.
static void hoistTemporaries(func::FuncOp function) {
  SmallVector<memref::AllocOp> allocs;
  function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  Block &entry = function.getBody().front();
  OpBuilder b(&entry, entry.begin());
  int64_t total = 0;
  for (memref::AllocOp alloc : allocs) {
    MemRefType type = alloc.getType();
    if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
      continue;
    int64_t bytes = type.getNumElements() *
                    ((type.getElementType().getIntOrFloatBitWidth() + 7) / 8);
    SmallVector<Operation *> deallocs;
    for (Operation *user : alloc->getUsers())
      if (isa<memref::DeallocOp>(user))
        deallocs.push_back(user);
    if (deallocs.size() != 1 || bytes > mostStackBytes - total)
      continue;
    total += bytes;
    Value memory = memref::AllocaOp::create(b, alloc.getLoc(), type,
                                            b.getI64IntegerAttr(64));
    deallocs.front()->erase();
    alloc.replaceAllUsesWith(memory);
    alloc.erase();
  }
}

func::FuncOp OutlineParallel::makeFunction(runtime::ParallelOp loop,
                                           ArrayRef<Value> captures) {
  OpBuilder b(&getContext());
  b.setInsertionPointToEnd(getOperation().getBody());
  Location loc = b.getUnknownLoc();
  SmallVector<Type> types;
  for (Value capture : captures)
    types.push_back(capture.getType());
  types.append(2, b.getIndexType());
  auto function =
      func::FuncOp::create(b, loc, "body", b.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr("mp.exclusive",
                    b.getDenseI64ArrayAttr(getExclusive(captures)));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  IRMapping mapping;
  for (auto [capture, argument] : llvm::zip(captures, entry->getArguments()))
    mapping.map(capture, argument);
  Block &body = loop.getBody().front();
  mapping.map(body.getArgument(0), entry->getArguments().end()[-2]);
  mapping.map(body.getArgument(1), entry->getArguments().back());
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getBody(), used);
  for (Value value : used)
    if (Operation *op = value.getDefiningOp();
        op && op->hasTrait<OpTrait::ConstantLike>())
      b.clone(*op, mapping);
  for (Operation &op : body)
    b.clone(op, mapping);
  func::ReturnOp::create(b, loc);
  hoistTemporaries(function);
  return function;
}

void OutlineParallel::outline(runtime::ParallelOp loop) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getBody(), used);
  SmallVector<Value> captures;
  for (Value value : used) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasTrait<OpTrait::ConstantLike>())
      captures.push_back(value);
  }
  func::FuncOp function = makeFunction(loop, captures);
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os, OpPrintingFlags().useLocalScope());
  auto [entry, isNew] = functions.try_emplace(text, function);
  if (isNew)
    function.setName(("mp_body_" + Twine(functions.size() - 1)).str());
  else
    function.erase();
  OpBuilder b(loop);
  runtime::LaunchOp::create(b, loop.getLoc(), entry->second.getName(),
                            loop.getCount(), loop.getGrain(), captures);
  loop.erase();
}

void OutlineParallel::runOnOperation() {
  functions.clear();
  SmallVector<scf::ParallelOp> foreign;
  getOperation()->walk([&](scf::ParallelOp loop) { foreign.push_back(loop); });
  for (scf::ParallelOp loop : foreign)
    convertParallel(loop);
  SmallVector<runtime::ParallelOp> loops;
  getOperation()->walk(
      [&](runtime::ParallelOp loop) { loops.push_back(loop); });
  for (runtime::ParallelOp loop : loops)
    outline(loop);
}
