//===- ShiftVariances.cpp - Mean and variance in one pass -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The variance of a channel is a sum of squared differences from the mean,
// which is known after all elements have been read: memory is read twice. With
// differences d from any other number s, the sums of d and of d * d are known
// after one pass:
//
//   sum of x = sum of d + n s
//   sum of (x - mean)^2 = sum of d^2 - (sum of d)^2 / n
//
// The last difference loses digits if s is far from the mean, as it does if s
// is 0. Here s is the mean of a sample of K of the n elements. Jensen's
// inequality says (s - mean)^2 <= variance * n / K, whatever the elements are,
// so that rounding errors of the sums grow by at most 1 + n / K <= 65.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Reductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mp {

namespace {

/// The least elements of a sum for which a sample pays: fewer are in the L2
/// cache when they are read again.
constexpr int64_t minShiftedElements = 1 << 20;
/// The sample is at least this part of all elements.
constexpr int64_t sampleDivisor = 64;

/// A sum, and the sum of squared differences from its mean.
struct VariancePair {
  linalg::GenericOp sum, squares;
  /// The element that is added up, in the body of `sum`.
  Value element;
  /// The elements of a result.
  int64_t count = 0;
};

/// Builds the ops that replace a pair.
class ShiftedSums {
public:
  explicit ShiftedSums(VariancePair pair)
      : pair(pair), b(pair.sum), loc(pair.squares.getLoc()),
        type(cast<RankedTensorType>(pair.sum->getResult(0).getType())),
        stored(pair.sum.getIndexingMapsArray().back()) {}

  void replace();

private:
  using Body = function_ref<Value(OpBuilder &, ValueRange)>;
  Value makeConstant(double value) {
    return arith::ConstantOp::create(
        b, loc, b.getFloatAttr(type.getElementType(), value));
  }
  Value makeStart();
  Value mapResults(ValueRange inputs, Body body);
  Value findShift();
  linalg::GenericOp addUp(Value shift);

  VariancePair pair;
  OpBuilder b;
  Location loc;
  RankedTensorType type;
  AffineMap stored;
};

} // namespace

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

static bool startsAtZero(linalg::GenericOp op) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
}

/// The value that a reduction with one result adds to it; null if it is
/// another op.
static Value findAddend(linalg::GenericOp op) {
  auto type = dyn_cast<RankedTensorType>(op->getResultTypes()[0]);
  if (!type || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return {};
  auto add = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || !startsAtZero(op))
    return {};
  Value total = op.getRegionOutputArgs()[0];
  if (!total.hasOneUse() || (add.getLhs() == total) == (add.getRhs() == total))
    return {};
  return add.getLhs() == total ? add.getRhs() : add.getLhs();
}

static bool isSumOnTensors(linalg::GenericOp op) {
  return op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op.getNumReductionLoops() > 0 && !op.hasIndexSemantics() &&
         !ShapedType::isDynamicShape(op.getStaticLoopRanges()) &&
         llvm::all_of(*op.getBody(),
                      [](Operation &inner) {
                        return inner.getNumRegions() == 0 &&
                               isMemoryEffectFree(&inner);
                      }) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation(/*allowZeroInResults=*/true);
         });
}

/// True if both values, in the bodies of ops with the same loops, are computed
/// in the same way from the same elements.
static bool isSameElement(linalg::GenericOp first, Value x,
                          linalg::GenericOp second, Value y) {
  SmallVector<std::pair<Value, Value>> worklist{{x, y}};
  for (size_t next = 0; next < worklist.size() && next < 64; ++next) {
    auto [left, right] = worklist[next];
    auto argument = dyn_cast<BlockArgument>(left);
    auto other = dyn_cast<BlockArgument>(right);
    bool isInside = argument && argument.getOwner() == first.getBody();
    if (isInside != (other && other.getOwner() == second.getBody()))
      return false;
    if (isInside) {
      OpOperand &read = first->getOpOperand(argument.getArgNumber());
      OpOperand &same = second->getOpOperand(other.getArgNumber());
      if (read.get() != same.get() || first.getMatchingIndexingMap(&read) !=
                                          second.getMatchingIndexingMap(&same))
        return false;
      continue;
    }
    if (left == right)
      continue;
    Operation *op = left.getDefiningOp(), *copy = right.getDefiningOp();
    if (!op || !copy || op->getBlock() != first.getBody() ||
        copy->getBlock() != second.getBody() || op->getNumRegions() > 0 ||
        op->getName() != copy->getName() ||
        op->getAttrDictionary() != copy->getAttrDictionary() ||
        op->getNumOperands() != copy->getNumOperands() ||
        left.getType() != right.getType() ||
        cast<OpResult>(left).getResultNumber() !=
            cast<OpResult>(right).getResultNumber())
      return false;
    for (auto [own, others] : llvm::zip(op->getOperands(), copy->getOperands()))
      worklist.emplace_back(own, others);
  }
  return worklist.size() < 64;
}

static Value skipReshapes(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The sum that `mean` divides by `count`.
static linalg::GenericOp findSumOfMean(Value mean, int64_t count) {
  auto op = skipReshapes(mean).getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumReductionLoops() > 0 || !op.hasPureTensorSemantics())
    return {};
  Operation *scaling =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  FloatAttr number;
  if (!scaling || !isa<arith::DivFOp, arith::MulFOp>(scaling) ||
      scaling->getOperand(0) != op.getBody()->getArgument(0) ||
      !matchPattern(scaling->getOperand(1), m_Constant(&number)))
    return {};
  double factor = number.getValueAsDouble();
  double wanted = isa<arith::DivFOp>(scaling) ? count : 1.0 / count;
  if (std::abs(factor - wanted) > 1e-6 * wanted)
    return {};
  return skipReshapes(op.getInputs()[0]).getDefiningOp<linalg::GenericOp>();
}

static int64_t countReducedPoints(linalg::GenericOp op) {
  int64_t count = 1;
  for (auto [extent, kind] :
       llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      count *= extent;
  return count;
}

static std::optional<VariancePair> findPair(linalg::GenericOp squares) {
  if (!isSumOnTensors(squares))
    return std::nullopt;
  Value addend = findAddend(squares);
  auto square = addend ? addend.getDefiningOp<arith::MulFOp>() : nullptr;
  auto difference = square && square.getLhs() == square.getRhs()
                        ? square.getLhs().getDefiningOp<arith::SubFOp>()
                        : nullptr;
  auto mean = difference ? dyn_cast<BlockArgument>(difference.getRhs())
                         : BlockArgument();
  if (!mean || mean.getOwner() != squares.getBody())
    return std::nullopt;
  int64_t points = 1, count = countReducedPoints(squares);
  for (int64_t extent : squares.getStaticLoopRanges())
    points *= extent;
  Value operand = squares->getOperand(mean.getArgNumber());
  linalg::GenericOp sum = findSumOfMean(operand, count);
  if (points < minShiftedElements || !sum || !isSumOnTensors(sum) ||
      sum->getBlock() != squares->getBlock() ||
      sum.getIteratorTypesArray() != squares.getIteratorTypesArray() ||
      sum.getStaticLoopRanges() != squares.getStaticLoopRanges() ||
      sum.getIndexingMapsArray().back() !=
          squares.getIndexingMapsArray().back() ||
      sum->getResultTypes() != squares->getResultTypes())
    return std::nullopt;
  Value element = findAddend(sum);
  if (!element || !isSameElement(sum, element, squares, difference.getLhs()))
    return std::nullopt;
  return VariancePair{sum, squares, element, count};
}

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

Value ShiftedSums::makeStart() {
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  return linalg::FillOp::create(b, loc, makeConstant(0), empty).getResult(0);
}

/// Computes an element of a result from those of `inputs`.
Value ShiftedSums::mapResults(ValueRange inputs, Body body) {
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, type, inputs, empty, maps, kinds,
             [&](OpBuilder &inner, Location at, ValueRange values) {
               linalg::YieldOp::create(inner, at,
                                       body(inner, values.drop_back()));
             })
      .getResult(0);
}

/// The mean of the first indices of the outermost loop that is reduced.
Value ShiftedSums::findShift() {
  SmallVector<int64_t> extents = pair.sum.getStaticLoopRanges();
  SmallVector<unsigned> dims;
  pair.sum.getReductionDims(dims);
  unsigned dim = *llvm::find_if(
      dims, [&](unsigned number) { return extents[number] > 1; });
  int64_t taken = llvm::divideCeil(extents[dim], sampleDivisor);
  SmallVector<Value> inputs;
  for (OpOperand *operand : pair.sum.getDpsInputOperands()) {
    Value value = operand->get();
    AffineMap map = pair.sum.getMatchingIndexingMap(operand);
    auto from = dyn_cast<RankedTensorType>(value.getType());
    if (from && map.isFunctionOfDim(dim)) {
      SmallVector<int64_t> sizes(from.getShape());
      SmallVector<OpFoldResult> begins(sizes.size(), b.getIndexAttr(0)),
          steps(sizes.size(), b.getIndexAttr(1));
      sizes[*map.getResultPosition(b.getAffineDimExpr(dim))] = taken;
      value = tensor::ExtractSliceOp::create(
          b, loc, value, begins, getAsIndexOpFoldResult(b.getContext(), sizes),
          steps);
    }
    inputs.push_back(value);
  }
  auto sample = linalg::GenericOp::create(b, loc, type, inputs, makeStart(),
                                          pair.sum.getIndexingMapsArray(),
                                          pair.sum.getIteratorTypesArray());
  IRMapping mapping;
  pair.sum.getRegion().cloneInto(&sample.getRegion(), mapping);
  double elements = double(pair.count) / extents[dim] * taken;
  Value share = makeConstant(1 / elements);
  return mapResults(sample.getResult(0), [&](OpBuilder &at, ValueRange sum) {
    return arith::MulFOp::create(at, loc, sum[0], share);
  });
}

/// The sums of the differences from `shift`, and of their squares.
linalg::GenericOp ShiftedSums::addUp(Value shift) {
  SmallVector<Value> inputs = pair.sum.getDpsInputs();
  SmallVector<AffineMap> maps = pair.sum.getIndexingMapsArray();
  inputs.push_back(shift);
  maps.append({stored, stored});
  SmallVector<Value> starts{makeStart(), makeStart()};
  return linalg::GenericOp::create(
      b, loc, TypeRange{type, type}, inputs, starts, maps,
      pair.sum.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location at, ValueRange values) {
        IRMapping mapping;
        for (auto [argument, value] :
             llvm::zip(pair.sum.getRegionInputArgs(), values))
          mapping.map(argument, value);
        for (Operation &op : pair.sum.getBody()->without_terminator())
          if (op.getResult(0) !=
              pair.sum.getBody()->getTerminator()->getOperand(0))
            inner.clone(op, mapping);
        Value difference = arith::SubFOp::create(
            inner, at, mapping.lookupOrDefault(pair.element),
            values[inputs.size() - 1]);
        Value square = arith::MulFOp::create(inner, at, difference, difference);
        Value sum =
            arith::AddFOp::create(inner, at, values[inputs.size()], difference);
        Value squares =
            arith::AddFOp::create(inner, at, values[inputs.size() + 1], square);
        linalg::YieldOp::create(inner, at, ValueRange{sum, squares});
      });
}

void ShiftedSums::replace() {
  Value shift = findShift();
  linalg::GenericOp sums = addUp(shift);
  Value count = makeConstant(pair.count),
        share = makeConstant(1.0 / pair.count), zero = makeConstant(0);
  Value sum = mapResults(
      {sums.getResult(0), shift}, [&](OpBuilder &at, ValueRange values) {
        Value moved = arith::MulFOp::create(at, loc, values[1], count);
        return arith::AddFOp::create(at, loc, values[0], moved);
      });
  Value squares = mapResults(
      sums.getResults(), [&](OpBuilder &at, ValueRange values) -> Value {
        Value mean = arith::MulFOp::create(at, loc, values[0], share);
        Value excess = arith::MulFOp::create(at, loc, mean, values[0]);
        Value rest = arith::SubFOp::create(at, loc, values[1], excess);
        return arith::MaximumFOp::create(at, loc, rest, zero);
      });
  pair.squares->getResult(0).replaceAllUsesWith(squares);
  pair.squares.erase();
  pair.sum->getResult(0).replaceAllUsesWith(sum);
  pair.sum.erase();
}

void shiftVariances(func::FuncOp function) {
  if (function.isExternal())
    return;
  for (auto op :
       llvm::to_vector(function.getBody().front().getOps<linalg::GenericOp>()))
    if (op->getNumResults() == 1)
      if (std::optional<VariancePair> pair = findPair(op))
        ShiftedSums(*pair).replace();
}

} // namespace mp
