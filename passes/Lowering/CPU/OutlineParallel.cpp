//===- OutlineParallel.cpp - Bodies of parallel loops as functions --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants move into the function, everything else is captured: loops of equal
// layers become one function, which is compiled once. If a memref's type is
// fully static, only its pointer is captured. Sizes that do not bound a loop in
// the function are not part of it, which lets loops for other sizes share the
// function.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mp-opt/Codegen/Common/MemoryPlan.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
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
  func::FuncOp makeFunction(runtime::ParallelOp loop,
                            SmallVectorImpl<Value> &captures);

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

/// Positions of the element pointers of captures that no other capture aliases,
/// among the arguments that memrefs and numbers are lowered to.
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
    int64_t rank = runtime::isKnown(type) ? 0 : type.getRank();
    position += 3 + 2 * rank;
  }
  return result;
}

/// Bytes of temporaries that a body may have on its stack.
constexpr int64_t maxStackBytes = 262144;

/// Allocates the temporaries of an iteration once for all iterations, on the
/// stack. Those that do not fit `maxStackBytes`, or have dynamic sizes, stay.
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
    if (deallocs.size() != 1 || bytes > maxStackBytes - total)
      continue;
    total += bytes;
    Value memory = memref::AllocaOp::create(b, alloc.getLoc(), type,
                                            b.getI64IntegerAttr(64));
    deallocs.front()->erase();
    alloc.replaceAllUsesWith(memory);
    alloc.erase();
  }
}

//===----------------------------------------------------------------------===//
// Sizes that a body does not need
//===----------------------------------------------------------------------===//

/// Collects the types of `value`, which gets `type`, and of all views of it.
/// Fails if a user needs more than that type has.
static LogicalResult
findTypes(Value value, MemRefType type,
          SmallVectorImpl<std::pair<Value, MemRefType>> &types) {
  types.emplace_back(value, type);
  for (Operation *user : value.getUsers()) {
    if (isa<memref::LoadOp, memref::StoreOp>(user))
      continue;
    MemRefType result;
    if (auto view = dyn_cast<memref::SubViewOp>(user)) {
      if (view.getType().getRank() == type.getRank())
        result = memref::SubViewOp::inferResultType(
            type, view.getMixedOffsets(), view.getMixedSizes(),
            view.getMixedStrides());
    } else if (auto view = dyn_cast<memref::CollapseShapeOp>(user)) {
      auto groups = view.getReassociationIndices();
      if (memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups))
        result = memref::CollapseShapeOp::computeCollapsedType(type, groups);
    }
    if (!result || failed(findTypes(user->getResult(0), result, types)))
      return failure();
  }
  return success();
}

/// Returns the last axis that all users of `memory` index by the function's
/// range, or -1.
static int64_t findRangeAxis(Value memory, Value begin) {
  auto isOfRange = [&](Value index) {
    auto argument = dyn_cast<BlockArgument>(index);
    auto loop = argument
                    ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                    : scf::ForOp();
    return loop && argument == loop.getInductionVar() &&
           loop.getLowerBound() == begin;
  };
  for (int64_t axis = cast<MemRefType>(memory.getType()).getRank(); axis-- > 0;)
    if (llvm::all_of(memory.getUsers(), [&](Operation *user) {
          if (auto load = dyn_cast<memref::LoadOp>(user))
            return isOfRange(load.getIndices()[axis]);
          if (auto store = dyn_cast<memref::StoreOp>(user))
            return isOfRange(store.getIndices()[axis]);
          auto view = dyn_cast<memref::SubViewOp>(user);
          auto offset =
              view ? dyn_cast<Value>(view.getMixedOffsets()[axis]) : Value();
          return offset && isOfRange(offset);
        }))
      return axis;
  return -1;
}

/// The least distance between rows, in elements, that becomes an argument.
/// LLVM's cost model treats shorter known distances differently from unknown
/// ones, but not these.
constexpr int64_t minDistance = 64;

/// Makes the sizes of `memory`, which `cast` gives the body, unknown if all of
/// its users permit that. Distances that are multiples of the size of the
/// ranges' axis become arguments with it. An axis of one element is never
/// stepped along and may have any distance. Appends the values of the arguments
/// to `distances`.
static void forgetSizes(func::FuncOp function, memref::ReinterpretCastOp cast,
                        SmallVectorImpl<int64_t> &distances) {
  MemRefType known = cast.getType();
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)known.getStridesAndOffset(strides, offset);
  Block &entry = function.getBody().front();
  Value begin = entry.getArguments().end()[-2];
  int64_t axis = findRangeAxis(cast, begin);
  SmallVector<int64_t> sizes(known.getRank(), ShapedType::kDynamic), kept;
  for (auto [index, stride] : llvm::enumerate(strides))
    kept.push_back(known.getDimSize(index) == 1 ? 1
                   : int64_t(index) < axis && stride > strides[axis] &&
                           stride >= minDistance
                       ? ShapedType::kDynamic
                       : stride);
  SmallVector<std::pair<Value, MemRefType>> types;
  auto find = [&] {
    types.clear();
    auto layout = StridedLayoutAttr::get(function.getContext(), offset, kept);
    auto type = MemRefType::get(sizes, known.getElementType(), layout);
    return succeeded(findTypes(cast, type, types));
  };
  if (known.getRank() == 0)
    return;
  if (!find()) {
    kept = strides;
    if (!find())
      return;
  }
  OpBuilder b(cast);
  Location loc = cast.getLoc();
  // The sizes are not read; accesses are within the model's sizes.
  Value size = arith::ConstantIndexOp::create(b, loc, INT32_MAX);
  SmallVector<OpFoldResult> mixedSizes(known.getRank(), size), mixedStrides;
  llvm::SmallDenseMap<int64_t, Value> arguments;
  for (auto [stride, keep] : llvm::zip(strides, kept)) {
    if (!ShapedType::isDynamic(keep)) {
      mixedStrides.push_back(b.getIndexAttr(keep));
      continue;
    }
    Value &argument = arguments[stride];
    if (!argument) {
      argument = entry.insertArgument(entry.getNumArguments() - 2,
                                      b.getIndexType(), loc);
      distances.push_back(stride);
    }
    mixedStrides.push_back(argument);
  }
  Value free = memref::ReinterpretCastOp::create(
      b, loc, types.front().second, cast.getSource(), b.getIndexAttr(offset),
      mixedSizes, mixedStrides);
  for (auto [value, found] : llvm::drop_begin(types))
    value.setType(found);
  cast.replaceAllUsesWith(free);
  cast.erase();
}

/// Makes a memref of the captured type from the passed pointer.
static memref::ReinterpretCastOp describe(OpBuilder &b, Value pointer,
                                          MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  return memref::ReinterpretCastOp::create(b, pointer.getLoc(), type, pointer,
                                           offset, type.getShape(), strides);
}

func::FuncOp OutlineParallel::makeFunction(runtime::ParallelOp loop,
                                           SmallVectorImpl<Value> &captures) {
  OpBuilder b(&getContext());
  b.setInsertionPointToEnd(getOperation().getBody());
  Location loc = b.getUnknownLoc();
  SmallVector<Type> types;
  for (Value capture : captures)
    types.push_back(runtime::getCapturedType(capture.getType()));
  types.append(2, b.getIndexType());
  auto function =
      func::FuncOp::create(b, loc, "body", b.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr(mark::exclusive,
                    b.getDenseI64ArrayAttr(getExclusive(captures)));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  IRMapping mapping;
  SmallVector<memref::ReinterpretCastOp> known;
  for (auto [capture, argument] : llvm::zip(captures, entry->getArguments())) {
    mapping.map(capture, argument);
    if (!runtime::isKnown(capture.getType()))
      continue;
    known.push_back(describe(b, argument, cast<MemRefType>(capture.getType())));
    mapping.map(capture, known.back());
  }
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
  SmallVector<int64_t> distances;
  for (memref::ReinterpretCastOp cast : known)
    forgetSizes(function, cast, distances);
  function.setFunctionType(b.getFunctionType(entry->getArgumentTypes(), {}));
  // A loop may step by such a distance. It is not 1, for which LLVM would make
  // special code with sums in another order.
  auto range = LLVM::ConstantRangeAttr::get(
      &getContext(), llvm::APInt(64, minDistance), llvm::APInt(64, INT64_MAX));
  unsigned end = entry->getNumArguments() - 2;
  for (unsigned index = end - distances.size(); index < end; ++index)
    function.setArgAttr(index, LLVM::LLVMDialect::getRangeAttrName(), range);
  OpBuilder outside(loop);
  for (int64_t distance : distances)
    captures.push_back(
        arith::ConstantIndexOp::create(outside, loop.getLoc(), distance));
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
