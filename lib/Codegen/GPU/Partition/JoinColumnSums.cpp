//===- JoinColumnSums.cpp - Sums of columns next to rows ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a normalization has rows, and sums over all rows for scale
// and shift, of the same values; so has the gradient of a bias that is added
// before. If these reductions read nothing that the rows do not read or write,
// each block of the rows adds up what it has in registers: the loop over rows
// becomes a loop over blocks of rows, each of which begins with neutral sums.
// The second stage is the reduction of the partial results of all blocks.
//
//===----------------------------------------------------------------------===//

#include "JoinColumnSums.h"

#include "../ArenaPlaces.h"
#include "../Emit/Combiners.h"
#include "../Emit/RowForm.h"
#include "../Emit/ThreadLoops.h"
#include "../GroupForms.h"
#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

using device::Kind;

namespace {

/// The most groups between rows and a reduction.
constexpr int64_t maxDistance = 16;
/// The least rows of a block: its partial results are as large as a row.
constexpr int64_t minRowsOfBlock = 16;

/// A reduction of columns, and where it reads.
struct ColumnSum {
  device::GroupOp group;
  linalg::GenericOp op;
  bool isBefore = false;
  SmallVector<Operation *> combiners;
  /// The row of each operand in the body of the rows; null for the outputs.
  SmallVector<Value> rows;
  SmallVector<Value> places;
};

class ColumnJoiner {
public:
  ColumnJoiner(func::FuncOp main, device::GroupOp group, scf::ForallOp forall,
               const RowRange &rows)
      : main(main), b(main.getContext()), group(group), forall(forall),
        rows(rows) {}

  void run();

private:
  void findSums(bool isBefore);
  std::optional<ColumnSum> read(device::GroupOp other);
  bool readDims(linalg::GenericOp op);
  Value findRow(OpOperand &operand, linalg::GenericOp op);
  bool isOverwritten(Value row);
  scf::ForOp makeBlocks(int64_t blocks);
  void addToRow(ColumnSum &sum, scf::ForOp loop, int64_t blocks);
  bool isOwn(memref::SubViewOp row);
  void keepInRow(scf::ForOp loop);
  void makeSecond(ColumnSum &sum);

  func::FuncOp main;
  IRRewriter b;
  device::GroupOp group;
  scf::ForallOp forall;
  const RowRange &rows;
  SmallVector<int64_t> extents;
  SmallVector<ColumnSum> sums;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// True if the reduced loops are those over rows, in their order, and the
/// others are the points of a row.
bool ColumnJoiner::readDims(linalg::GenericOp op) {
  SmallVector<int64_t> reduced, points, counts;
  for (auto [extent, type] :
       llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
    if (extent != 1)
      (type == utils::IteratorType::reduction ? reduced : points)
          .push_back(extent);
  for (int64_t count : rows.counts)
    if (count != 1)
      counts.push_back(count);
  return reduced == counts && points == extents;
}

/// The view of an operand that has one row of it, and that the body uses:
/// reduced axes are at the indices of the row. Null if there is none.
Value ColumnJoiner::findRow(OpOperand &operand, linalg::GenericOp op) {
  SmallVector<Value> indices;
  for (auto [index, count] : llvm::zip(forall.getInductionVars(), rows.counts))
    if (count != 1)
      indices.push_back(index);
  llvm::SmallDenseMap<unsigned, Value> indexOf;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [dim, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction && sizes[dim] != 1)
      indexOf[dim] = indices[indexOf.size()];
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto isRow = [&](memref::SubViewOp view) {
    if (view.getSource() != operand.get() || !view.hasUnitStride() ||
        view.getType().getRank() != int64_t(map.getNumResults()))
      return false;
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim && expr != getAffineConstantExpr(0, b.getContext()))
        return false;
      Value index = dim ? indexOf.lookup(dim.getPosition()) : Value();
      OpFoldResult begin = view.getMixedOffsets()[axis];
      int64_t length = index ? 1 : view.getSourceType().getDimSize(axis);
      if (getConstantIntValue(view.getMixedSizes()[axis]) != length ||
          (index ? begin != OpFoldResult(index)
                 : getConstantIntValue(begin) != 0))
        return false;
    }
    return true;
  };
  for (auto view : forall.getBody()->getOps<memref::SubViewOp>())
    if (isRow(view))
      return view;
  return nullptr;
}

bool ColumnJoiner::isOverwritten(Value row) {
  return llvm::any_of(row.getUses(), [](OpOperand &use) {
    auto writer = dyn_cast<linalg::GenericOp>(use.getOwner());
    return !writer || writer.isDpsInit(&use);
  });
}

/// Reads a group that is such a reduction.
std::optional<ColumnSum> ColumnJoiner::read(device::GroupOp other) {
  Block &body = other.getBody().front();
  auto op = dyn_cast<linalg::GenericOp>(body.front());
  if (other.getKind() != Kind::Reduce || !llvm::hasSingleElement(body) || !op ||
      op.hasIndexSemantics() || !readDims(op))
    return std::nullopt;
  ColumnSum sum;
  sum.group = other;
  sum.op = op;
  sum.combiners = findCombiners(op);
  if (sum.combiners.empty())
    return std::nullopt;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!isa<MemRefType>(operand->get().getType()))
      return std::nullopt;
    sum.rows.push_back(findRow(*operand, op));
    if (!sum.rows.back())
      return std::nullopt;
  }
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return std::nullopt;
  }
  return sum;
}

/// Finds reductions before or after the rows that can be computed with them: no
/// group between them writes what they read. The results of a reduction that
/// comes before the rows are written after these, so that no group between may
/// access them.
void ColumnJoiner::findSums(bool isBefore) {
  SmallVector<Access> between;
  if (isBefore)
    between = findAccesses(group);
  Operation *next = group;
  for (int64_t left = maxDistance; left > 0; --left) {
    do
      next = isBefore ? next->getPrevNode() : next->getNextNode();
    while (next && !isa<device::GroupOp>(next));
    auto other = dyn_cast_or_null<device::GroupOp>(next);
    if (!other || other.getKind() == Kind::Collective)
      return;
    SmallVector<Access> accesses = findAccesses(other), moved;
    std::optional<ColumnSum> found = read(other);
    for (const Access &access : accesses)
      if (found && (isBefore || !found->op.isDpsInit(access.operand)))
        moved.push_back(access);
    bool isFree = found && !areInConflict(moved, between) &&
                  !(isBefore && llvm::any_of(found->rows, [&](Value row) {
                      return isOverwritten(row);
                    }));
    if (!isFree) {
      llvm::append_range(between, accesses);
      continue;
    }
    found->isBefore = isBefore;
    sums.push_back(*found);
  }
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

/// The number of blocks, a divisor of the number of rows; zero if it has none.
static int64_t chooseBlocks(int64_t rows, int64_t manyBlocks) {
  for (int64_t blocks = std::min(manyBlocks, rows / minRowsOfBlock);
       blocks >= manyBlocks / 4; --blocks)
    if (rows % blocks == 0)
      return blocks;
  return 0;
}

/// Makes the loop over rows one over blocks of rows. Returns the loop over the
/// rows of a block.
scf::ForOp ColumnJoiner::makeBlocks(int64_t blocks) {
  Location loc = forall.getLoc();
  int64_t each = rows.count / blocks;
  b.setInsertionPoint(forall);
  auto whole = scf::ForallOp::create(
      b, loc, ArrayRef<OpFoldResult>{b.getIndexAttr(blocks)}, ValueRange(),
      std::nullopt);
  b.setInsertionPoint(whole.getBody()->getTerminator());
  Value first = arith::MulIOp::create(b, loc, whole.getInductionVars().front(),
                                      makeIndex(b, loc, each));
  auto loop = scf::ForOp::create(b, loc, makeIndex(b, loc, 0),
                                 makeIndex(b, loc, each), makeIndex(b, loc, 1));
  b.setInsertionPointToStart(loop.getBody());
  Value number = arith::AddIOp::create(b, loc, first, loop.getInductionVar());
  SmallVector<Value> indices = delinearize(b, loc, number, rows.counts);
  b.eraseOp(forall.getBody()->getTerminator());
  b.inlineBlockBefore(forall.getBody(), loop.getBody()->getTerminator(),
                      indices);
  b.eraseOp(forall);
  forall = whole;
  return loop;
}

/// Adds the points of a row to the partial results of its block.
void ColumnJoiner::addToRow(ColumnSum &sum, scf::ForOp loop, int64_t blocks) {
  Location loc = sum.op.getLoc();
  SmallVector<Value> parts;
  for (auto [number, output] : llvm::enumerate(sum.op.getDpsInits())) {
    auto type = cast<MemRefType>(output.getType());
    SmallVector<int64_t> shape{blocks};
    llvm::append_range(shape, type.getShape());
    sum.places.push_back(
        makePlace(main, MemRefType::get(shape, type.getElementType())));
    SmallVector<OpFoldResult> begins(shape.size(), b.getIndexAttr(0)),
        lengths = getAsIndexOpFoldResult(b.getContext(), shape),
        ones(shape.size(), b.getIndexAttr(1));
    begins[0] = forall.getInductionVars().front();
    lengths[0] = b.getIndexAttr(1);
    Value place = sum.places.back();
    auto part = memref::SubViewOp::inferRankReducedResultType(
        type.getShape(), cast<MemRefType>(place.getType()), begins, lengths,
        ones);
    b.setInsertionPoint(loop);
    parts.push_back(
        memref::SubViewOp::create(b, loc, part, place, begins, lengths, ones));
    Value neutral = arith::ConstantOp::create(
        b, loc, *arith::getNeutralElement(sum.combiners[number]));
    makeFill(b, loc, parts.back(), neutral);
  }
  b.setInsertionPoint(loop.getBody()->getTerminator());
  SmallVector<utils::IteratorType> iterators(sum.op.getNumLoops(),
                                             utils::IteratorType::parallel);
  auto made =
      linalg::GenericOp::create(b, loc, TypeRange(), sum.rows, parts,
                                sum.op.getIndexingMapsArray(), iterators);
  IRMapping mapping;
  sum.op.getRegion().cloneInto(&made.getRegion(), mapping);
}

/// Replaces the reduction by that of the partial results.
void ColumnJoiner::makeSecond(ColumnSum &sum) {
  linalg::GenericOp op = sum.op;
  if (sum.isBefore)
    sum.group->moveAfter(group);
  SmallVector<utils::IteratorType> iterators{utils::IteratorType::reduction};
  SmallVector<AffineExpr> exprs;
  for (utils::IteratorType type : op.getIteratorTypesArray()) {
    bool isKept = type == utils::IteratorType::parallel;
    exprs.push_back(isKept ? b.getAffineDimExpr(iterators.size())
                           : b.getAffineConstantExpr(0));
    if (isKept)
      iterators.push_back(type);
  }
  SmallVector<AffineMap> maps, stored;
  auto get = [&](ArrayRef<AffineExpr> list) {
    return AffineMap::get(iterators.size(), 0, list, b.getContext());
  };
  for (OpOperand &output : op.getDpsInitsMutable()) {
    SmallVector<AffineExpr> results, place{b.getAffineDimExpr(0)};
    for (AffineExpr expr : op.getMatchingIndexingMap(&output).getResults())
      results.push_back(expr.replaceDims(exprs));
    llvm::append_range(place, results);
    maps.push_back(get(place));
    stored.push_back(get(results));
  }
  llvm::append_range(maps, stored);
  b.setInsertionPoint(op);
  linalg::GenericOp::create(
      b, op.getLoc(), sum.places, op.getDpsInits(), maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange values) {
        SmallVector<Value> results;
        for (auto [index, combiner] : llvm::enumerate(sum.combiners))
          results.push_back(combine(inner, combiner,
                                    values[sum.combiners.size() + index],
                                    values[index]));
        linalg::YieldOp::create(inner, at, results);
      });
  b.eraseOp(op);
}

/// True if only the row touches this memory, and writes it first.
bool ColumnJoiner::isOwn(memref::SubViewOp row) {
  auto place = row.getSource().getDefiningOp<memref::ViewOp>();
  if (!place || !llvm::hasSingleElement(place->getUses()))
    return false;
  linalg::GenericOp first;
  for (Operation *user : row->getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (!op)
      return false;
    if (!first || op->isBeforeInBlock(first))
      first = op;
  }
  return first && llvm::all_of(first->getOpOperands(), [&](OpOperand &operand) {
           return operand.get() != row.getResult() ||
                  (first.isDpsInit(&operand) &&
                   !first.payloadUsesValueFromOperand(&operand));
         });
}

/// Values that only the sums have read from memory are not stored any more.
void ColumnJoiner::keepInRow(scf::ForOp loop) {
  for (auto row :
       llvm::to_vector(loop.getBody()->getOps<memref::SubViewOp>())) {
    if (!isOwn(row))
      continue;
    b.setInsertionPoint(row);
    auto type = MemRefType::get(row.getType().getShape(),
                                row.getType().getElementType());
    b.replaceOpWithNewOp<memref::AllocOp>(row, type);
  }
}

void ColumnJoiner::run() {
  std::optional<RowForm> form = RowForm::get(forall);
  bool isPlain =
      llvm::all_of(rows.lowers, [](int64_t lower) { return lower == 0; }) &&
      llvm::all_of(rows.steps, [](int64_t step) { return step == 1; });
  if (!form || form->hasColumns() || !isPlain)
    return;
  extents = llvm::to_vector(form->getExtents());
  int64_t blocks = chooseBlocks(rows.count, GPUTarget::get(group).manyBlocks);
  if (blocks == 0)
    return;
  findSums(/*isBefore=*/true);
  findSums(/*isBefore=*/false);
  while (!sums.empty()) {
    int64_t columns = 0;
    for (const ColumnSum &sum : sums)
      columns += sum.combiners.size();
    if (RowThreads::fitsColumns(*form, columns))
      break;
    sums.pop_back();
  }
  if (sums.empty())
    return;
  scf::ForOp loop = makeBlocks(blocks);
  for (ColumnSum &sum : sums)
    addToRow(sum, loop, blocks);
  for (ColumnSum &sum : sums)
    makeSecond(sum);
  keepInRow(loop);
}

void joinColumnSums(func::FuncOp main) {
  Block &block = main.getBody().front();
  for (auto group : llvm::to_vector(block.getOps<device::GroupOp>())) {
    Block &body = group.getBody().front();
    auto forall = dyn_cast<scf::ForallOp>(body.front());
    if (group.getKind() != Kind::RowWise || !forall ||
        !llvm::hasSingleElement(body))
      continue;
    if (std::optional<RowRange> rows = RowRange::get(forall))
      ColumnJoiner(main, group, forall, *rows).run();
  }
}

} // namespace mp
