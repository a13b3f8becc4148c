//===- SplitReductions.cpp - Long reductions in two stages ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of 2,048 rows of 512 columns are 512 numbers: 16 blocks, each of
// which reads 128 rows in a row, on a device with room for hundreds. Dimensions
// that are reduced are therefore cut into pieces. The first stage reduces each
// piece to an element of its own place; the second reduces these.
//
// If neighbours in memory belong to different results, a piece is every P-th
// point: the results of all pieces are neighbours then, too, as if there were P
// times as many columns. Otherwise a piece is contiguous.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/SplitReductions.h"

#include "../ArenaPlaces.h"
#include "../Emit/GenericCode.h"
#include "../GroupForms.h"
#include "JoinColumnSums.h"
#include "SplitContracts.h"
#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

using device::Kind;

namespace {

/// The points of a result that one block reduces faster than two kernels do,
/// and the least points of a block in the first stage. In rows, all threads of
/// a block reduce one result; in columns, one of its warps does.
constexpr int64_t shortRow = 16384, shortRowPiece = 4096;
constexpr int64_t shortColumn = 512, shortColumnPiece = 128;

/// The most ops from a group to its reader.
constexpr int64_t lookAhead = 256;

/// A dimension that is reduced in pieces. If there is a piece for each index,
/// the pieces are all of it; else points are left over if the size is not a
/// multiple.
struct Cut {
  unsigned dim;
  int64_t extent, pieces;

  bool isWhole() const { return pieces == extent; }
  int64_t getLength() const { return extent / pieces; }
  int64_t getRest() const { return extent % pieces; }
};

class ReductionSplitter {
public:
  explicit ReductionSplitter(func::FuncOp main)
      : main(main), b(main.getContext()) {}

  void run();

private:
  bool analyze(linalg::GenericOp op);
  void chooseCuts(linalg::GenericOp op, int64_t wanted);
  const Cut *getCut(unsigned dim) const;
  const Cut *getCut(AffineExpr expr) const;
  unsigned getNumber(unsigned dim) const;
  AffineExpr getExpr(unsigned dim);
  Value viewPieces(OpOperand &operand);
  Value viewRest(OpOperand &operand);
  void shiftIndices(Region &region);
  SmallVector<AffineExpr> mapPieces(AffineMap map, ArrayRef<AffineExpr> exprs);
  void makeFirst(linalg::GenericOp op, device::GroupOp group);
  void makeRest(linalg::GenericOp op, device::GroupOp group);
  void makeSecond(linalg::GenericOp op, device::GroupOp group);
  device::GroupOp makeGroup(device::GroupOp before);

  func::FuncOp main;
  IRRewriter b;
  /// The state of the current group.
  bool hasColumns = false;
  SmallVector<Cut> cuts;
  SmallVector<Operation *> combiners;
  SmallVector<Value> places;
};

} // namespace

//===----------------------------------------------------------------------===//
// Choice of cuts
//===----------------------------------------------------------------------===//

/// Selects the number of pieces, about as many as wanted, that leaves the
/// fewest points over.
static int64_t choosePieces(int64_t extent, int64_t wanted) {
  int64_t best = wanted;
  auto isBetter = [&](int64_t pieces) {
    int64_t rest = extent % pieces, known = extent % best;
    return rest < known || (rest == known && std::abs(pieces - wanted) <
                                                 std::abs(best - wanted));
  };
  for (int64_t pieces = std::max<int64_t>(2, wanted - wanted / 4);
       pieces <= std::min(extent / 2, wanted + wanted / 2); ++pieces)
    if (isBetter(pieces))
      best = pieces;
  return best;
}

/// True if all operands that depend on the dimension have it as an axis.
static bool isPlain(linalg::GenericOp op, unsigned dim) {
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr expr : map.getResults())
      if (expr.isFunctionOfDim(dim) && !isa<AffineDimExpr>(expr))
        return false;
  return true;
}

/// Selects whole dimensions first, then pieces of one. Dimensions next to the
/// columns are cut first: pieces are columns then, too. In rows, the outermost
/// dimensions are cut first.
void ReductionSplitter::chooseCuts(linalg::GenericOp op, int64_t wanted) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  if (hasColumns)
    std::reverse(dims.begin(), dims.end());
  for (unsigned dim : dims) {
    if (wanted < 2)
      break;
    int64_t extent = extents[dim];
    if (extent == 1 || !isPlain(op, dim))
      continue;
    if (extent < 2 * wanted) {
      cuts.push_back({dim, extent, extent});
      wanted = llvm::divideCeil(wanted, extent);
      continue;
    }
    cuts.push_back({dim, extent, choosePieces(extent, wanted)});
    break;
  }
  llvm::sort(cuts, [](const Cut &x, const Cut &y) { return x.dim < y.dim; });
}

/// Returns true if the op is worth two kernels, and finds its cuts.
bool ReductionSplitter::analyze(linalg::GenericOp op) {
  cuts.clear();
  combiners.clear();
  places.clear();
  GenericCode code(b, op);
  code.inspect();
  bool isKnown = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &output) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    return map.isProjectedPermutation(/*allowZeroInResults=*/true);
  });
  hasColumns = code.hasColumns();
  int64_t outputs = code.countOutputs(), points = code.countReduced();
  int64_t manyBlocks = GPUTarget::get(op).manyBlocks;
  int64_t blocks = hasColumns ? code.countTiles() : outputs;
  int64_t shortest = hasColumns ? shortColumn : shortRow;
  int64_t piece = hasColumns ? shortColumnPiece : shortRowPiece;
  if (!isKnown || !code.canCombine() || outputs == 0 || points < shortest ||
      blocks > manyBlocks / 2)
    return false;
  chooseCuts(op, std::min(manyBlocks / blocks, points / piece));
  if (cuts.empty())
    return false;
  llvm::append_range(combiners, code.getCombiners());
  return true;
}

//===----------------------------------------------------------------------===//
// The first stage
//===----------------------------------------------------------------------===//

const Cut *ReductionSplitter::getCut(unsigned dim) const {
  for (const Cut &cut : cuts)
    if (cut.dim == dim)
      return &cut;
  return nullptr;
}

/// The cut of an axis that is read at `expr`, which is a dimension if it is
/// cut.
const Cut *ReductionSplitter::getCut(AffineExpr expr) const {
  auto dim = dyn_cast<AffineDimExpr>(expr);
  return dim ? getCut(dim.getPosition()) : nullptr;
}

/// The number of the first of the dimensions that a dimension becomes.
unsigned ReductionSplitter::getNumber(unsigned dim) const {
  unsigned number = dim;
  for (const Cut &cut : cuts)
    number += cut.dim < dim && !cut.isWhole();
  return number;
}

/// The expression in the dimensions that `dim` becomes: of two, the second runs
/// faster.
AffineExpr ReductionSplitter::getExpr(unsigned dim) {
  AffineExpr first = b.getAffineDimExpr(getNumber(dim));
  const Cut *cut = getCut(dim);
  if (!cut || cut->isWhole())
    return first;
  AffineExpr second = b.getAffineDimExpr(getNumber(dim) + 1);
  return first * (hasColumns ? cut->pieces : cut->getLength()) + second;
}

/// Views an operand with two axes for each dimension that becomes two, without
/// the points that are left over.
Value ReductionSplitter::viewPieces(OpOperand &operand) {
  Value memory = operand.get();
  auto type = dyn_cast<MemRefType>(memory.getType());
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!type)
    return memory;
  SmallVector<int64_t> sizes(type.getShape()), shape;
  SmallVector<ReassociationIndices> groups;
  bool isCut = false, isShorter = false;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    const Cut *cut = getCut(expr);
    groups.push_back({int64_t(shape.size())});
    if (!cut || cut->isWhole()) {
      shape.push_back(sizes[axis]);
      continue;
    }
    isCut = true;
    isShorter |= cut->getRest() > 0;
    sizes[axis] -= cut->getRest();
    int64_t first = cut->getLength(), second = cut->pieces;
    if (!hasColumns)
      std::swap(first, second);
    groups.back().push_back(shape.size() + 1);
    shape.append({first, second});
  }
  if (!isCut)
    return memory;
  Location loc = op.getLoc();
  if (isShorter) {
    SmallVector<OpFoldResult> zeros(sizes.size(), b.getIndexAttr(0)),
        ones(sizes.size(), b.getIndexAttr(1));
    memory = memref::SubViewOp::create(
        b, loc, memory, zeros, getAsIndexOpFoldResult(b.getContext(), sizes),
        ones);
  }
  return memref::ExpandShapeOp::create(b, loc, shape, memory, groups);
}

/// Indices of dimensions that have become two are computed from both.
void ReductionSplitter::shiftIndices(Region &region) {
  for (auto index : llvm::to_vector(region.front().getOps<linalg::IndexOp>())) {
    unsigned dim = index.getDim();
    Location loc = index.getLoc();
    b.setInsertionPoint(index);
    const Cut *cut = getCut(dim);
    Value place = linalg::IndexOp::create(b, loc, getNumber(dim));
    if (cut && !cut->isWhole()) {
      int64_t step = hasColumns ? cut->pieces : cut->getLength();
      place = arith::MulIOp::create(b, loc, place, makeIndex(b, loc, step));
      Value second = linalg::IndexOp::create(b, loc, getNumber(dim) + 1);
      place = arith::AddIOp::create(b, loc, place, second);
    }
    b.replaceOp(index, place);
  }
}

device::GroupOp ReductionSplitter::makeGroup(device::GroupOp before) {
  b.setInsertionPoint(before);
  auto group = device::GroupOp::create(b, before.getLoc(), Kind::Reduce);
  b.createBlock(&group.getBody());
  return group;
}

/// The expressions at which the first stage reads a point: `exprs`, or both
/// dimensions for an axis that becomes two.
SmallVector<AffineExpr>
ReductionSplitter::mapPieces(AffineMap map, ArrayRef<AffineExpr> exprs) {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults()) {
    const Cut *cut = getCut(expr);
    if (!cut || cut->isWhole()) {
      results.push_back(expr.replaceDims(exprs));
      continue;
    }
    unsigned number = getNumber(cut->dim);
    results.push_back(b.getAffineDimExpr(number));
    results.push_back(b.getAffineDimExpr(number + 1));
  }
  return results;
}

void ReductionSplitter::makeFirst(linalg::GenericOp op, device::GroupOp group) {
  Location loc = op.getLoc();
  SmallVector<AffineExpr> exprs, pieces;
  SmallVector<int64_t> counts;
  SmallVector<utils::IteratorType> iterators;
  for (auto [dim, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    exprs.push_back(getExpr(dim));
    const Cut *cut = getCut(dim);
    iterators.push_back(cut && cut->isWhole() ? utils::IteratorType::parallel
                                              : type);
    if (!cut)
      continue;
    bool isSecond = !cut->isWhole() && hasColumns;
    pieces.push_back(b.getAffineDimExpr(getNumber(dim) + isSecond));
    counts.push_back(cut->pieces);
    if (!cut->isWhole())
      iterators.insert(iterators.end() - !isSecond,
                       utils::IteratorType::parallel);
  }
  unsigned numNew = iterators.size();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  b.setInsertionPoint(group);
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<AffineExpr> results =
        mapPieces(op.getMatchingIndexingMap(&operand), exprs);
    if (op.isDpsInput(&operand)) {
      inputs.push_back(viewPieces(operand));
    } else {
      auto type = cast<MemRefType>(operand.get().getType());
      SmallVector<int64_t> shape(counts);
      llvm::append_range(shape, type.getShape());
      places.push_back(
          makePlace(main, MemRefType::get(shape, type.getElementType())));
      results.insert(results.begin(), pieces.begin(), pieces.end());
    }
    maps.push_back(AffineMap::get(numNew, 0, results, b.getContext()));
  }
  SmallVector<Value> starts;
  for (Operation *combiner : combiners)
    starts.push_back(
        arith::ConstantOp::create(b, loc, *arith::getNeutralElement(combiner)));
  device::GroupOp first = makeGroup(group);
  b.setInsertionPointToEnd(&first.getBody().front());
  for (auto [place, start] : llvm::zip(places, starts))
    makeFill(b, loc, place, start);
  auto made = linalg::GenericOp::create(b, loc, TypeRange(), inputs, places,
                                        maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  shiftIndices(made.getRegion());
}

//===----------------------------------------------------------------------===//
// The second
//===----------------------------------------------------------------------===//

Value ReductionSplitter::viewRest(OpOperand &operand) {
  Value memory = operand.get();
  auto type = dyn_cast<MemRefType>(memory.getType());
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!type)
    return memory;
  SmallVector<int64_t> sizes(type.getShape()), begins(sizes.size(), 0);
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    const Cut *cut = getCut(expr);
    if (!cut || cut->getRest() == 0)
      continue;
    begins[axis] = cut->extent - cut->getRest();
    sizes[axis] = cut->getRest();
  }
  if (ArrayRef<int64_t>(sizes) == type.getShape())
    return memory;
  MLIRContext *context = b.getContext();
  SmallVector<int64_t> ones(sizes.size(), 1);
  return memref::SubViewOp::create(b, op.getLoc(), memory,
                                   getAsIndexOpFoldResult(context, begins),
                                   getAsIndexOpFoldResult(context, sizes),
                                   getAsIndexOpFoldResult(context, ones));
}

/// Points that are left over are reduced to the result itself, next to the
/// first stage.
void ReductionSplitter::makeRest(linalg::GenericOp op, device::GroupOp group) {
  const Cut *rest = nullptr;
  for (const Cut &cut : cuts)
    if (cut.getRest() > 0)
      rest = &cut;
  if (!rest)
    return;
  b.setInsertionPoint(group);
  SmallVector<Value> inputs;
  for (OpOperand *operand : op.getDpsInputOperands())
    inputs.push_back(viewRest(*operand));
  device::GroupOp beside = makeGroup(group);
  b.setInsertionPointToEnd(&beside.getBody().front());
  auto made = linalg::GenericOp::create(
      b, op.getLoc(), TypeRange(), inputs, op.getDpsInits(),
      op.getIndexingMapsArray(), op.getIteratorTypesArray());
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  for (auto index :
       llvm::to_vector(made.getRegion().front().getOps<linalg::IndexOp>())) {
    if (index.getDim() != rest->dim)
      continue;
    b.setInsertionPointAfter(index);
    Value begin = makeIndex(b, index.getLoc(), rest->extent - rest->getRest());
    auto place = arith::AddIOp::create(b, index.getLoc(), index, begin);
    b.replaceAllUsesExcept(index, place, place);
  }
}

/// Makes the second stage in the place of the reduction.
void ReductionSplitter::makeSecond(linalg::GenericOp op,
                                   device::GroupOp group) {
  unsigned numPieces = cuts.size();
  SmallVector<AffineExpr> exprs(op.getNumLoops()), pieces;
  SmallVector<utils::IteratorType> iterators(numPieces,
                                             utils::IteratorType::reduction);
  for (unsigned piece = 0; piece < numPieces; ++piece)
    pieces.push_back(b.getAffineDimExpr(piece));
  for (auto [dim, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (type != utils::IteratorType::parallel)
      continue;
    exprs[dim] = b.getAffineDimExpr(iterators.size());
    iterators.push_back(type);
  }
  // A dimension that is reduced is in no result.
  for (AffineExpr &expr : exprs)
    if (!expr)
      expr = b.getAffineConstantExpr(0);
  SmallVector<AffineMap> maps, stored;
  for (OpOperand &output : op.getDpsInitsMutable()) {
    SmallVector<AffineExpr> place(pieces), results;
    for (AffineExpr expr : op.getMatchingIndexingMap(&output).getResults())
      results.push_back(expr.replaceDims(exprs));
    llvm::append_range(place, results);
    auto get = [&](ArrayRef<AffineExpr> list) {
      return AffineMap::get(iterators.size(), 0, list, b.getContext());
    };
    maps.push_back(get(place));
    stored.push_back(get(results));
  }
  llvm::append_range(maps, stored);
  b.setInsertionPoint(op);
  linalg::GenericOp::create(
      b, op.getLoc(), places, op.getDpsInits(), maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange values) {
        SmallVector<Value> results;
        size_t count = combiners.size();
        for (size_t index = 0; index < count; ++index)
          results.push_back(combine(inner, combiners[index],
                                    values[count + index], values[index]));
        linalg::YieldOp::create(inner, at, results);
      });
  b.eraseOp(op);
}

/// A second stage of few points moves into the single-block group that reads
/// the results, if no other group reads them before: it needs no kernel then.
static void joinReader(device::GroupOp group) {
  Block &body = group.getBody().front();
  auto op = cast<linalg::GenericOp>(body.front());
  int64_t points = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    points *= extent;
  if (points > maxBlockPoints)
    return;
  SmallVector<Access> own = findAccesses(group);
  int64_t left = lookAhead;
  for (Operation *next = group->getNextNode(); next && left > 0;
       next = next->getNextNode(), --left) {
    if (auto load = dyn_cast<memref::LoadOp>(next)) {
      MemoryRange range = MemoryRange::get(load.getMemRef());
      if (llvm::any_of(own, [&](const Access &access) {
            return access.isWrite && access.range.overlaps(range);
          }))
        return;
    }
    auto reader = dyn_cast<device::GroupOp>(next);
    if (!reader || !areInConflict(own, findAccesses(reader)))
      continue;
    if (reader.getKind() != Kind::SingleBlock)
      return;
    op->moveBefore(&reader.getBody().front().front());
    group.erase();
    return;
  }
}

void ReductionSplitter::run() {
  Block &block = main.getBody().front();
  joinColumnSums(main);
  for (auto group : llvm::to_vector(block.getOps<device::GroupOp>())) {
    Block &body = group.getBody().front();
    if (group.getKind() != Kind::Reduce || !llvm::hasSingleElement(body))
      continue;
    auto op = dyn_cast<linalg::GenericOp>(body.front());
    if (!op || !analyze(op))
      continue;
    makeFirst(op, group);
    makeRest(op, group);
    makeSecond(op, group);
    joinReader(group);
  }
}

void splitReductions(ModuleOp module, int64_t maxPartialBytes) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  splitContracts(main, maxPartialBytes);
  ReductionSplitter(main).run();
}

} // namespace mp
