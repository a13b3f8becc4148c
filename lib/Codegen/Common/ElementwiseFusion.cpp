//===- ElementwiseFusion.cpp - Chains of elementwise ops ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op with a single reader becomes a part of it. An op with several may still
// become a part of each: a normalized image is read by an activation, and by
// both of their gradients. If it is stored, it is written once and read by
// each. If it is computed again, each reads the image before it, which is as
// large and lives as long as the result would: nothing is written, and a pass
// over memory is saved.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/ElementwiseFusion.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace mp {

namespace {
/// The cost up to which the op of a vector is fused with a reader that spreads
/// the vector: a scale and a shift for each element.
constexpr int64_t spreadCost = 4;
/// The costs of a body, in additions. If values do not fit the caches, a pass
/// over them takes as long as an exponential or two.
constexpr int64_t fewElements = 1 << 18;
constexpr int64_t lowCost = 12, highCost = 40;
/// The most that a reader computes again of all ops before it, in ops, and in
/// additions `highCost`: chains of values that others read as well are stored
/// from time to time.
constexpr int64_t maxOps = 16;
/// The size of an operand, relative to the result, that does not count.
constexpr double smallPart = 0.125;
} // namespace

/// Sizes that are not known count as the same number everywhere.
static double countElements(ArrayRef<int64_t> sizes) {
  double count = 1;
  for (int64_t size : sizes)
    count *= ShapedType::isDynamic(size) ? 1024 : size;
  return count;
}

static double getBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  Type element = tensor.getElementType();
  double bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return countElements(tensor.getShape()) * bits / 8;
}

static int64_t getCost(linalg::GenericOp op) {
  int64_t cost = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (inner.getNumRegions() > 0)
      return highCost + 1;
    // Rounding to 16 bit takes some ops as well.
    if (isa<arith::DivFOp, arith::RemFOp, arith::TruncFOp, math::SqrtOp,
            math::RsqrtOp>(inner))
      cost += 8;
    else if (isa<math::ExpOp, math::TanhOp, math::LogOp>(inner))
      cost += 16;
    else if (inner.getDialect()->getNamespace() ==
             math::MathDialect::getDialectNamespace())
      cost += isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::CopySignOp>(
                  inner)
                  ? 1
                  : 32;
    else
      cost += 1;
  }
  return cost;
}

//===----------------------------------------------------------------------===//
// Single readers
//===----------------------------------------------------------------------===//

/// True for expensive vectors, and for reshapes of vectors, which would become
/// reshapes of images.
static bool isSpread(Operation *producer, OpOperand *operand) {
  auto reader = dyn_cast<linalg::GenericOp>(operand->getOwner());
  auto type = dyn_cast<RankedTensorType>(operand->get().getType());
  if (!reader || !type ||
      countElements(reader.getStaticLoopRanges()) <=
          4 * countElements(type.getShape()))
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(producer);
  return generic ? getCost(generic) > spreadCost
                 : isa<tensor::CollapseShapeOp>(producer);
}

void fuseElementwise(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  linalg::ControlFusionFn control = [](OpOperand *operand) {
    Operation *producer = operand->get().getDefiningOp();
    return producer && producer->hasOneUse() && !isSpread(producer, operand);
  };
  // The same patterns as in MLIR's linalg-fuse-elementwise-ops.
  RewritePatternSet patterns(context);
  linalg::populateElementwiseOpsFusionPatterns(patterns, control);
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, control);
  tensor::populateBubbleUpExpandShapePatterns(patterns);
  affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  context->getLoadedDialect<linalg::LinalgDialect>()
      ->getCanonicalizationPatterns(patterns);
  linalg::populateConstantFoldLinalgOperations(patterns, control);
  // Ops that are not fused after the last iteration are right as they are.
  (void)applyPatternsGreedily(function, std::move(patterns),
                              GreedyRewriteConfig().setUseTopDownTraversal());
}

//===----------------------------------------------------------------------===//
// Several readers
//===----------------------------------------------------------------------===//

static bool isElementwise(linalg::GenericOp op) {
  return op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         !op.hasIndexSemantics() &&
         op.getIndexingMapsArray().back().isIdentity();
}

namespace {
/// An operand of an op that can have the producer in its body, and the reshapes
/// in between, the last one first.
struct Reader {
  linalg::GenericOp op;
  unsigned operand;
  SmallVector<Operation *> reshapes;
};

class Recomputation {
public:
  Recomputation(MLIRContext *context, bool linesOnly)
      : b(context), linesOnly(linesOnly) {}
  /// Gives each reader of `op` a copy, if that pays.
  void visit(linalg::GenericOp op);

private:
  /// The work that an op computes again: ops, and their cost.
  struct Work {
    int64_t ops = 0, cost = 0;
  };
  bool findReaders(Value value, ArrayRef<Operation *> reshapes,
                   SmallVectorImpl<Reader> &readers);
  bool fits(linalg::GenericOp op, ArrayRef<Reader> readers);
  /// Copies become a part of the op that they are made for.
  Operation *getReaderOfCopy(Operation *op) {
    auto found = readerOfCopy.find(op);
    return found == readerOfCopy.end() ? op : found->second;
  }

  OpBuilder b;
  bool linesOnly;
  llvm::DenseMap<Operation *, Operation *> readerOfCopy;
  llvm::DenseMap<Operation *, Work> workOfReader;
};
} // namespace

/// Finds the readers of the value; false if an op reads it that cannot have the
/// producer in its body.
bool Recomputation::findReaders(Value value, ArrayRef<Operation *> reshapes,
                                SmallVectorImpl<Reader> &readers) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != value.getParentBlock())
      return false;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
        use.getOperandNumber() == 0) {
      SmallVector<Operation *> longer{user};
      llvm::append_range(longer, reshapes);
      if (!findReaders(user->getResult(0), longer, readers))
        return false;
      continue;
    }
    auto reader = dyn_cast<linalg::GenericOp>(user);
    if (!reader || !reader.hasPureTensorSemantics() ||
        !reader.isDpsInput(&use) ||
        (reshapes.empty() && !linalg::areElementwiseOpsFusable(&use)))
      return false;
    readers.push_back(
        {reader, use.getOperandNumber(), llvm::to_vector(reshapes)});
  }
  return true;
}

static int64_t countOps(linalg::GenericOp op) {
  return llvm::range_size(op.getBody()->without_terminator());
}

/// True if no reader computes too much again.
bool Recomputation::fits(linalg::GenericOp op, ArrayRef<Reader> readers) {
  return llvm::all_of(readers, [&](const Reader &reader) {
    Work work = workOfReader.lookup(getReaderOfCopy(reader.op));
    return work.ops + countOps(op) <= maxOps &&
           work.cost + getCost(op) <= highCost;
  });
}

/// With `looksThroughReshapes`, the producer of an image is that before the
/// reshapes.
static bool pays(linalg::GenericOp op, ArrayRef<Reader> readers,
                 bool looksThroughReshapes) {
  double result = getBytes(op.getResult(0).getType());
  llvm::SmallPtrSet<Value, 4> images;
  for (Value input : op.getInputs())
    if (getBytes(input.getType()) > smallPart * result)
      images.insert(input);
  int64_t cost = getCost(op);
  bool isLarge =
      result > fewElements * double(sizeof(float)) && images.size() == 1;
  if (cost > (isLarge ? highCost : lowCost))
    return false;
  if (images.empty())
    return true;
  Value image = *images.begin();
  if (images.size() > 1 || getBytes(image.getType()) > result)
    return false;
  // A row that is reduced and read again is in the cache meanwhile.
  if (cost > lowCost && llvm::any_of(readers, [](const Reader &reader) {
        return linalg::GenericOp(reader.op).getNumReductionLoops() > 0;
      }))
    return false;
  // Otherwise it becomes a part of the op that stores the image, which then is
  // not stored.
  while (looksThroughReshapes &&
         isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
             image.getDefiningOp()))
    image = image.getDefiningOp()->getOperand(0);
  Operation *producer = image.getDefiningOp();
  return !producer || isa<linalg::LinalgOp>(producer) || !image.hasOneUse();
}

/// True if an operand has one element for each line of the result, as the mean
/// and the scale of a row or of a channel are: it depends on loops, but not on
/// the innermost one.
static bool hasLineValue(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  while (!sizes.empty() && sizes.back() == 1)
    sizes.pop_back();
  if (sizes.empty())
    return false;
  unsigned innermost = sizes.size() - 1;
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return !map.isFunctionOfDim(innermost) &&
           llvm::any_of(llvm::seq(innermost), [&](unsigned dim) {
             return sizes[dim] != 1 && map.isFunctionOfDim(dim);
           });
  });
}

void Recomputation::visit(linalg::GenericOp op) {
  SmallVector<Reader> readers;
  if ((linesOnly && !hasLineValue(op)) || !isElementwise(op) ||
      !findReaders(op.getResult(0), {}, readers) || readers.size() < 2 ||
      !fits(op, readers) || !pays(op, readers, linesOnly))
    return;
  SmallVector<Operation *> old;
  for (Reader &reader : readers) {
    Operation *last = getReaderOfCopy(reader.op);
    Work &work = workOfReader[last];
    work.ops += countOps(op);
    work.cost += getCost(op);
    b.setInsertionPoint(reader.op);
    Operation *copy = b.clone(*op);
    readerOfCopy[copy] = last;
    Value value = copy->getResult(0);
    for (Operation *reshape : llvm::reverse(reader.reshapes)) {
      Operation *same = b.clone(*reshape);
      same->setOperand(0, value);
      value = same->getResult(0);
    }
    reader.op->setOperand(reader.operand, value);
    llvm::append_range(old, reader.reshapes);
  }
  llvm::SmallPtrSet<Operation *, 4> erased;
  for (Operation *reshape : old)
    if (!erased.contains(reshape) && reshape->use_empty()) {
      erased.insert(reshape);
      reshape->erase();
    }
  op.erase();
}

void recomputeElementwise(func::FuncOp function, bool linesOnly) {
  SmallVector<linalg::GenericOp> ops;
  function.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  Recomputation recomputation(function.getContext(), linesOnly);
  // Go from the end: the copies of a reader read the ops before it.
  for (linalg::GenericOp op : llvm::reverse(ops))
    recomputation.visit(op);
}

} // namespace mp
