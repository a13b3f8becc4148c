//===- SplitContracts.cpp - Long products in two stages -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a small weight is a product of few results, each a sum over
// all of a batch. Dimensions that are summed are divided, without a rest, into
// pieces, which become a batch of products: their tiles fill the device. A map
// sums the partial products in the order of pieces; it is fused with maps after
// it if possible. If there are many pieces, each is a column, and they are
// reduced first.
//
//===----------------------------------------------------------------------===//

#include "SplitContracts.h"

#include "../ArenaPlaces.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

using device::Kind;

namespace {

/// The most bytes of partial products of one contraction: reading more takes
/// longer than a split saves.
constexpr int64_t maxBytesEach = int64_t(64) << 20;

/// The most partial products that a map sums up itself.
constexpr int64_t fewPieces = 8;

/// Places of partial products in one range of the arena. They are handed out
/// one after another, in the order of the program, and from the beginning again
/// at the end: a place is overwritten as late as possible. A place is read by
/// the sums next to its products, so that an overwritten one is not needed any
/// more.
class PlaceRing {
public:
  /// For places of `total` bytes together, in at most `most` bytes.
  PlaceRing(func::FuncOp main, int64_t total, int64_t most)
      : bytes(std::min(total, most)), range(growArena(main, bytes)) {}

  Value take(MemRefType type);

private:
  int64_t bytes, next = 0;
  ArenaRange range;
};

class ContractSplitter {
public:
  ContractSplitter(func::FuncOp main, device::GroupOp group,
                   kernel::ContractOp op)
      : main(main), group(group), op(op), b(main.getContext()),
        loc(op.getLoc()), maps(op.getMaps()),
        sizes(kernel::getStaticSizes(op)) {}

  bool choose(int64_t maxBytes);
  void split(PlaceRing &ring);
  int64_t countPlaceBytes() {
    return llvm::alignTo(countBytes(getPlaceType()), placeBytes);
  }

private:
  /// A dimension that is summed, and the number of its pieces: a piece for each
  /// index is all of it.
  struct Cut {
    unsigned dim;
    int64_t pieces;
  };
  bool isPlain(unsigned dim);
  void cut(int64_t wanted);
  bool isWhole(const Cut &cut) const { return cut.pieces == sizes[cut.dim]; }
  int64_t countPieces() const;
  MemRefType getPlaceType();
  Block *makeGroup(Kind kind);
  std::pair<Value, AffineMap> viewPieces(unsigned operand);
  Value makePartial(Value place);
  Value reducePieces(Value partial);
  SmallVector<Value> takePieces(Value partial);
  void makeMap(ArrayRef<Value> parts);

  func::FuncOp main;
  device::GroupOp group;
  kernel::ContractOp op;
  IRRewriter b;
  Location loc;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> sizes;
  SmallVector<Cut> cuts;
};

} // namespace

Value PlaceRing::take(MemRefType type) {
  int64_t size = llvm::alignTo(countBytes(type), placeBytes);
  if (next + size > bytes)
    next = 0;
  Value place = range.view(type, next);
  next += size;
  return place;
}

//===----------------------------------------------------------------------===//
// Choice of pieces
//===----------------------------------------------------------------------===//

/// True if it is summed and is an axis of each factor that depends on it.
bool ContractSplitter::isPlain(unsigned dim) {
  if (maps.back().isFunctionOfDim(dim))
    return false;
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (expr.isFunctionOfDim(dim) && !isa<AffineDimExpr>(expr))
        return false;
  return true;
}

int64_t ContractSplitter::countPieces() const {
  int64_t count = 1;
  for (const Cut &cut : cuts)
    count *= cut.pieces;
  return count;
}

MemRefType ContractSplitter::getPlaceType() {
  SmallVector<int64_t> shape;
  for (const Cut &cut : cuts)
    shape.push_back(cut.pieces);
  llvm::append_range(shape, cast<MemRefType>(op.getC().getType()).getShape());
  return MemRefType::get(shape, op.getAccumulatorType());
}

/// The largest divisor of `extent` up to `most`.
static int64_t findDivisor(int64_t extent, int64_t most) {
  for (int64_t divisor = std::min(extent, most); divisor > 1; --divisor)
    if (extent % divisor == 0)
      return divisor;
  return 1;
}

void ContractSplitter::cut(int64_t wanted) {
  cuts.clear();
  for (unsigned dim = 0; dim < sizes.size() && wanted > 1; ++dim) {
    if (!isPlain(dim))
      continue;
    int64_t pieces = findDivisor(sizes[dim], wanted);
    if (pieces == 1)
      continue;
    cuts.push_back({dim, pieces});
    wanted /= pieces;
  }
}

/// Chooses as many pieces as are wanted, or as there is memory for.
bool ContractSplitter::choose(int64_t maxBytes) {
  if (!kernel::isWorthTiles(op) || !maps.back().isProjectedPermutation())
    return false;
  int64_t wanted = kernel::selectSplits(op);
  cut(wanted);
  while (!cuts.empty() && countPlaceBytes() > maxBytes)
    cut(wanted /= 2);
  return !cuts.empty();
}

//===----------------------------------------------------------------------===//
// Partial products
//===----------------------------------------------------------------------===//

/// Makes a group before the current one, and sets the builder to its block.
Block *ContractSplitter::makeGroup(Kind kind) {
  b.setInsertionPoint(group);
  auto made = device::GroupOp::create(b, loc, kind);
  return b.createBlock(&made.getBody());
}

/// A factor with an axis for the pieces of each dimension that is divided, and
/// its map, in which the dimensions of pieces come last.
std::pair<Value, AffineMap> ContractSplitter::viewPieces(unsigned operand) {
  Value memory = op->getOperand(operand);
  SmallVector<AffineExpr> exprs;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  auto type = cast<MemRefType>(memory.getType());
  for (auto [axis, expr] : llvm::enumerate(maps[operand].getResults())) {
    groups.push_back({int64_t(shape.size())});
    unsigned next = sizes.size();
    int64_t length = type.getDimSize(axis);
    for (const Cut &cut : cuts) {
      if (isWhole(cut))
        continue;
      if (expr == b.getAffineDimExpr(cut.dim)) {
        groups.back().push_back(shape.size() + 1);
        exprs.push_back(b.getAffineDimExpr(next));
        shape.push_back(cut.pieces);
        length /= cut.pieces;
      }
      ++next;
    }
    exprs.push_back(expr);
    shape.push_back(length);
  }
  unsigned numDims = sizes.size();
  for (const Cut &cut : cuts)
    numDims += !isWhole(cut);
  if (shape.size() != groups.size())
    memory = memref::ExpandShapeOp::create(b, loc, shape, memory, groups);
  return {memory, AffineMap::get(numDims, 0, exprs, b.getContext())};
}

Value ContractSplitter::makePartial(Value place) {
  b.setInsertionPoint(group);
  auto [lhs, lhsMap] = viewPieces(0);
  auto [rhs, rhsMap] = viewPieces(1);
  SmallVector<AffineExpr> results;
  unsigned next = sizes.size();
  for (const Cut &cut : cuts)
    results.push_back(b.getAffineDimExpr(isWhole(cut) ? cut.dim : next++));
  llvm::append_range(results, maps.back().getResults());
  AffineMap own =
      AffineMap::get(lhsMap.getNumDims(), 0, results, b.getContext());
  makeGroup(Kind::Contract);
  auto made =
      kernel::ContractOp::create(b, loc, lhs, rhs, ValueRange(), op.getSizes(),
                                 place, {lhsMap, rhsMap, own});
  made.copyRounding(op);
  Block *body = b.createBlock(&made.getEpilogue());
  Value sum = body->addArgument(op.getAccumulatorType(), loc);
  kernel::YieldOp::create(b, loc, sum);
  return place;
}

//===----------------------------------------------------------------------===//
// Their sum
//===----------------------------------------------------------------------===//

/// Reduces many pieces to one.
Value ContractSplitter::reducePieces(Value partial) {
  auto type = cast<MemRefType>(partial.getType());
  int64_t rank = type.getRank(), numPieces = cuts.size();
  auto shape = type.getShape().drop_front(numPieces);
  Value place = makePlace(main, MemRefType::get(shape, type.getElementType()));
  b.setInsertionPoint(group);
  Value zero = arith::ConstantOp::create(
      b, loc, b.getFloatAttr(type.getElementType(), 0));
  makeGroup(Kind::Reduce);
  makeFill(b, loc, place, zero);
  SmallVector<utils::IteratorType> iterators(rank - numPieces,
                                             utils::IteratorType::parallel);
  iterators.insert(iterators.begin(), numPieces,
                   utils::IteratorType::reduction);
  AffineMap all = b.getMultiDimIdentityMap(rank);
  linalg::GenericOp::create(
      b, loc, partial, place, {all, all.getMinorSubMap(rank - numPieces)},
      iterators, [&](OpBuilder &inner, Location at, ValueRange values) {
        Value sum = arith::AddFOp::create(inner, at, values[1], values[0]);
        linalg::YieldOp::create(inner, at, sum);
      });
  return place;
}

SmallVector<Value> ContractSplitter::takePieces(Value partial) {
  auto type = cast<MemRefType>(partial.getType());
  MLIRContext *context = b.getContext();
  SmallVector<int64_t> begins(type.getRank(), 0), ones(type.getRank(), 1),
      extents(type.getShape());
  for (unsigned piece = 0; piece < cuts.size(); ++piece)
    extents[piece] = 1;
  auto shape = type.getShape().drop_front(cuts.size());
  SmallVector<Value> parts;
  b.setInsertionPoint(group);
  for (int64_t number = 0; number < countPieces(); ++number) {
    int64_t rest = number;
    for (unsigned piece = cuts.size(); piece-- > 0;) {
      begins[piece] = rest % cuts[piece].pieces;
      rest /= cuts[piece].pieces;
    }
    MemRefType part = memref::SubViewOp::inferRankReducedResultType(
        shape, type, begins, extents, ones);
    parts.push_back(memref::SubViewOp::create(
        b, loc, part, partial, getAsIndexOpFoldResult(context, begins),
        getAsIndexOpFoldResult(context, extents),
        getAsIndexOpFoldResult(context, ones)));
  }
  return parts;
}

/// Makes a map of the parts' sum and the epilogue, for each element of the
/// result.
void ContractSplitter::makeMap(ArrayRef<Value> parts) {
  AffineMap stored = maps.back();
  unsigned rank = stored.getNumResults();
  // Maps dimensions of the contraction to those of the result.
  SmallVector<AffineExpr> exprs(sizes.size(), b.getAffineConstantExpr(0));
  for (auto [axis, expr] : llvm::enumerate(stored.getResults()))
    exprs[cast<AffineDimExpr>(expr).getPosition()] = b.getAffineDimExpr(axis);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<Value> inputs(parts);
  SmallVector<AffineMap> all(parts.size(), identity);
  for (auto [number, extra] : llvm::enumerate(op.getExtras())) {
    inputs.push_back(extra);
    all.push_back(maps[number + 2].replaceDimsAndSymbols(exprs, {}, rank, 0));
  }
  all.push_back(identity);
  makeGroup(Kind::Elementwise);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, loc, inputs, op.getC(), all, iterators,
      [&](OpBuilder &inner, Location at, ValueRange values) {
        Value sum = values.front();
        for (Value part : values.take_front(parts.size()).drop_front())
          sum = arith::AddFOp::create(inner, at, sum, part);
        Block &epilogue = op.getEpilogue().front();
        IRMapping mapping;
        mapping.map(epilogue.getArgument(0), sum);
        for (auto [number, argument] :
             llvm::enumerate(epilogue.getArguments().drop_front()))
          mapping.map(argument, values[parts.size() + number]);
        for (Operation &each : epilogue.without_terminator())
          inner.clone(each, mapping);
        Value result =
            mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0));
        linalg::YieldOp::create(inner, at, result);
      });
}

void ContractSplitter::split(PlaceRing &ring) {
  Value partial = makePartial(ring.take(getPlaceType()));
  if (countPieces() <= fewPieces)
    makeMap(takePieces(partial));
  else
    makeMap(reducePieces(partial));
  group.erase();
}

void splitContracts(func::FuncOp main, int64_t bytes) {
  SmallVector<device::GroupOp> chosen;
  int64_t total = 0;
  auto visit = [&](device::GroupOp group, PlaceRing *ring) {
    auto op = cast<kernel::ContractOp>(group.getBody().front().front());
    ContractSplitter splitter(main, group, op);
    if (!splitter.choose(std::min(bytes, maxBytesEach)))
      return;
    if (ring)
      return splitter.split(*ring);
    chosen.push_back(group);
    total += splitter.countPlaceBytes();
  };
  for (auto group : main.getBody().front().getOps<device::GroupOp>()) {
    Block &body = group.getBody().front();
    if (group.getKind() == Kind::Contract && llvm::hasSingleElement(body) &&
        isa<kernel::ContractOp>(body.front()))
      visit(group, nullptr);
  }
  if (chosen.empty())
    return;
  PlaceRing ring(main, total, bytes);
  for (device::GroupOp group : chosen)
    visit(group, &ring);
}

} // namespace mp
