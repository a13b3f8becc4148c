//===- RowFusion.cpp - Fusion of row-wise reductions ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax or a normalization reads its rows several times: for the maximum or
// mean, for the sum, for the result. In one loop over rows all of this happens
// while the row is in the first cache, and temporaries have the size of a row.
// If rows are interleaved in memory, as they are if channels are last, a block
// of rows is read at a time: vectors, not elements.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/RowFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace mp {

namespace {

/// Maps each loop of an op to a loop of the root, or -1.
using DimMap = SmallVector<int>;

/// An elementwise op, or a reduction of rows, and the ops that it is computed
/// from, all of which have its rows.
class RowGroup {
public:
  explicit RowGroup(linalg::GenericOp root) : root(root) {}

  /// False if there is nothing to fuse.
  bool collect(const RowLimits &limits);
  LogicalResult fuse(RewriterBase &rewriter);
  const llvm::SetVector<Operation *> &getOps() const { return ops; }

private:
  bool isReduction() { return root.getNumReductionLoops() > 0; }
  bool findRows();
  bool takes(Operation *producer, const DimMap &dims);
  bool isUsedOutside(Operation *op) const;
  int64_t getLongestRow() const;
  bool hasLines() const;
  int64_t countRows();
  bool chooseBlock(const RowLimits &limits);

  linalg::GenericOp root;
  /// The loop over rows that are neighbours in memory, or -1, and how many of
  /// them a block has.
  int blockDim = -1;
  int64_t blockRows = 1;
  /// The root's loops over rows.
  llvm::SmallSetVector<int, 4> rows;
  llvm::SetVector<Operation *> ops;
  llvm::DenseMap<Operation *, DimMap> dimsOf;
};

} // namespace

static linalg::LinalgOp getProducer(OpOperand &operand) {
  auto op = operand.get().getDefiningOp<linalg::LinalgOp>();
  return op && isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()) &&
                 op.hasPureTensorSemantics() && op->getNumResults() == 1
             ? op
             : linalg::LinalgOp();
}

/// Maps the loops of `producer`, which `consumer` reads through `operand`, to
/// loops of the root. Those of `consumer` are `known`.
static std::optional<DimMap> mapDims(linalg::LinalgOp consumer,
                                     OpOperand &operand,
                                     linalg::LinalgOp producer,
                                     const DimMap &known) {
  DimMap dims(producer.getNumLoops(), -1);
  AffineMap read = consumer.getMatchingIndexingMap(&operand);
  AffineMap stored =
      producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
  for (auto [from, to] : llvm::zip(read.getResults(), stored.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(to);
    if (!dim)
      return std::nullopt;
    if (auto source = dyn_cast<AffineDimExpr>(from))
      dims[dim.getPosition()] = known[source.getPosition()];
  }
  return dims;
}

/// The rows are those of the nearest reduction that the root depends on.
bool RowGroup::findRows() {
  std::vector<Operation *> worklist = {root};
  dimsOf[root] = llvm::to_vector(llvm::seq<int>(0, root.getNumLoops()));
  for (size_t next = 0; next < worklist.size() && next < 16; ++next) {
    auto consumer = cast<linalg::LinalgOp>(worklist[next]);
    for (OpOperand *operand : consumer.getDpsInputOperands()) {
      linalg::LinalgOp producer = getProducer(*operand);
      if (!producer || dimsOf.count(producer))
        continue;
      auto dims = mapDims(consumer, *operand, producer, dimsOf[consumer]);
      if (!dims)
        continue;
      dimsOf[producer] = *dims;
      if (producer.getNumReductionLoops() == 0) {
        worklist.push_back(producer);
        continue;
      }
      for (int dim : *dims)
        if (dim >= 0)
          rows.insert(dim);
      return !rows.empty() && rows.size() < root.getNumLoops();
    }
  }
  return false;
}

/// True if every row of the producer belongs to one row of the root.
bool RowGroup::takes(Operation *producer, const DimMap &dims) {
  auto types = cast<linalg::LinalgOp>(producer).getIteratorTypesArray();
  unsigned found = 0;
  for (auto [dim, type] : llvm::zip(dims, types))
    if (dim >= 0 && rows.contains(dim)) {
      if (type != utils::IteratorType::parallel)
        return false;
      ++found;
    }
  if (found != rows.size() || producer->getBlock() != root->getBlock())
    return false;
  // Values that others use become outputs of the loop, which replaces the root.
  for (Operation *user : producer->getUsers()) {
    Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || (!ops.contains(user) && ancestor->isBeforeInBlock(root)))
      return false;
  }
  return true;
}

bool RowGroup::isUsedOutside(Operation *op) const {
  return llvm::any_of(op->getUsers(),
                      [&](Operation *user) { return !ops.contains(user); });
}

/// The length in elements; -1 if sizes are not known.
int64_t RowGroup::getLongestRow() const {
  int64_t longest = 0;
  for (Operation *op : ops) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    int64_t row = 1;
    auto dims = dimsOf.find(op)->second;
    for (auto [dim, extent] : llvm::zip(dims, linalgOp.getStaticLoopRanges())) {
      if (ShapedType::isDynamic(extent))
        return -1;
      if (dim < 0 || !rows.contains(dim))
        row *= extent;
    }
    longest = std::max(longest, row);
  }
  return longest;
}

/// True if the elements of a row are neighbours in all memory that has rows.
bool RowGroup::hasLines() const {
  return llvm::all_of(ops, [&](Operation *op) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    const DimMap &dims = dimsOf.find(op)->second;
    SmallVector<int64_t> extents = linalgOp.getStaticLoopRanges();
    return llvm::all_of(linalgOp.getIndexingMapsArray(), [&](AffineMap map) {
      bool isInside = false;
      for (AffineExpr result : map.getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(result);
        if (!dim || extents[dim.getPosition()] == 1)
          continue;
        int rootDim = dims[dim.getPosition()];
        bool isRow = rootDim >= 0 && rows.contains(rootDim);
        if (isRow && isInside)
          return false;
        isInside |= !isRow;
      }
      return true;
    });
  });
}

int64_t RowGroup::countRows() {
  SmallVector<int64_t> extents = root.getStaticLoopRanges();
  int64_t count = 1;
  for (int dim : rows)
    count *= extents[dim];
  return count;
}

/// Chooses the number of rows at a time; false if they are too long.
bool RowGroup::chooseBlock(const RowLimits &limits) {
  int64_t row = getLongestRow();
  if (row < 0)
    return false;
  AffineMap stored = root.getIndexingMapsArray().back();
  SmallVector<int64_t> extents = root.getStaticLoopRanges();
  for (AffineExpr result : llvm::reverse(stored.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim)
      return false;
    int64_t extent = extents[dim.getPosition()];
    if (extent == 1)
      continue;
    if (limits.blockElements == 0 || !rows.contains(dim.getPosition()))
      break;
    // A block has at least a line of memory, or half of one if the extent is
    // not a multiple of a line.
    int64_t fewest = extent % 16 == 0 ? 16 : 8;
    for (int64_t size : {128, 64, 32, 16, 8}) {
      int64_t most = size > fewest ? limits.rowElements : limits.blockElements;
      if (size < fewest || extent % size != 0 || row * size > most)
        continue;
      blockDim = dim.getPosition();
      blockRows = size;
      return true;
    }
    return false;
  }
  if (row <= limits.rowElements && !isReduction())
    return true;
  return row <= limits.lineElements && countRows() >= limits.manyRows &&
         hasLines();
}

bool RowGroup::collect(const RowLimits &limits) {
  if ((isReduction() && limits.lineElements == 0) ||
      root->getNumResults() != 1 || !root.hasPureTensorSemantics() ||
      root.hasIndexSemantics())
    return false;
  if (!findRows())
    return false;
  // A reduction has a result for each row.
  if (isReduction() && (root.getNumParallelLoops() != rows.size() ||
                        llvm::any_of(rows, [&](int dim) {
                          return root.getIteratorTypesArray()[dim] ==
                                 utils::IteratorType::reduction;
                        })))
    return false;
  auto rootDims = dimsOf[root];
  dimsOf.clear();
  dimsOf[root] = rootDims;
  ops.insert(root);
  bool hasReduction = false, changed = true;
  // Repeat until no op is added: an op can be taken depending on its users.
  while (changed) {
    changed = false;
    for (size_t next = 0; next < ops.size(); ++next) {
      auto consumer = cast<linalg::LinalgOp>(ops[next]);
      for (OpOperand &operand : consumer->getOpOperands()) {
        linalg::LinalgOp producer = getProducer(operand);
        if (!producer || ops.contains(producer))
          continue;
        auto generic = dyn_cast<linalg::GenericOp>(producer.getOperation());
        if (generic && generic.hasIndexSemantics())
          continue;
        auto dims = mapDims(consumer, operand, producer, dimsOf[consumer]);
        if (!dims || !takes(producer, *dims))
          continue;
        ops.insert(producer);
        dimsOf[producer] = *dims;
        hasReduction |= producer.getNumReductionLoops() > 0;
        changed = true;
      }
    }
  }
  return hasReduction && chooseBlock(limits);
}

LogicalResult RowGroup::fuse(RewriterBase &rewriter) {
  SmallVector<OpFoldResult> sizes(root.getNumLoops(), rewriter.getIndexAttr(0));
  for (int dim : rows)
    sizes[dim] = rewriter.getIndexAttr(dim == blockDim ? blockRows : 1);
  // Collect outputs before fusion, which adds uses for a while.
  llvm::SmallPtrSet<Operation *, 8> outputs;
  for (Operation *op : ops)
    if (op != root && isUsedOutside(op))
      outputs.insert(op);
  scf::SCFTileAndFuseOptions options;
  options.tilingOptions.setTileSizes(sizes);
  options.tilingOptions.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  options.setFusionControlFn(
      [&](tensor::ExtractSliceOp, OpResult producer,
          bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
        Operation *op = producer.getOwner();
        if (!ops.contains(op))
          return std::nullopt;
        // Return an output from the loop once, although its slices may be read
        // several times.
        return scf::SCFTileAndFuseOptions::ControlFnResult{outputs.erase(op)};
      });
  rewriter.setInsertionPoint(root);
  auto result = scf::tileConsumerAndFuseProducersUsingSCF(
      rewriter, cast<TilingInterface>(root.getOperation()), options);
  if (failed(result))
    return failure();
  for (auto [value, replacement] : result->replacements) {
    Operation *op = value.getDefiningOp();
    rewriter.replaceUsesWithIf(value, replacement, [&](OpOperand &use) {
      return op == root.getOperation() || !ops.contains(use.getOwner());
    });
  }
  for (Operation *op : ops)
    if (op->use_empty())
      rewriter.eraseOp(op);
  return success();
}

/// Gives each reduction of several groups its own start value, so that it is
/// not the result of one group.
static void separateFills(Operation *root) {
  SmallVector<linalg::FillOp> fills;
  root->walk([&](linalg::FillOp op) {
    if (op.hasPureTensorSemantics())
      fills.push_back(op);
  });
  OpBuilder b(root->getContext());
  for (linalg::FillOp fill : fills)
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(fill->getUses()))) {
      b.setInsertionPoint(fill);
      use.set(b.clone(*fill)->getResult(0));
    }
}

/// Moves reshapes behind ops that do not use them: a user before the root keeps
/// an op out of the root's group.
static void delayReshapes(Operation *root) {
  SmallVector<Operation *> reshapes;
  root->walk([&](Operation *op) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      reshapes.push_back(op);
  });
  for (Operation *op : llvm::reverse(reshapes)) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!first || ancestor->isBeforeInBlock(first))
        first = ancestor;
    }
    if (first)
      op->moveBefore(first);
  }
}

LogicalResult fuseRows(Operation *root, const RowLimits &limits) {
  separateFills(root);
  if (limits.lineElements > 0)
    delayReshapes(root);
  SmallVector<linalg::GenericOp> roots;
  root->walk([&](linalg::GenericOp op) { roots.push_back(op); });
  llvm::DenseSet<Operation *> taken;
  IRRewriter rewriter(root->getContext());
  // Go from the end: a group's root comes after all of its other ops.
  for (linalg::GenericOp op : llvm::reverse(roots)) {
    if (taken.contains(op))
      continue;
    RowGroup group(op);
    if (!group.collect(limits))
      continue;
    for (Operation *member : group.getOps())
      taken.insert(member);
    if (failed(group.fuse(rewriter)))
      return failure();
  }
  // A row's results go to memory of a row's size.
  RewritePatternSet patterns(root->getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  return applyPatternsGreedily(root, std::move(patterns));
}

} // namespace mp
