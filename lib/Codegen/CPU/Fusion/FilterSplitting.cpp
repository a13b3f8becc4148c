//===- FilterSplitting.cpp - Convolutions as sums over filter positions ---===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/FilterSplitting.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Kernel/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp {

namespace {

/// Shares of reads that are within the image. With more than `fewReads` of all,
/// filter positions stay together; an axis with more than `maxReads` is left
/// as it is.
constexpr double fewReads = 0.4, maxReads = 0.75;
/// The most contractions that replace one.
constexpr size_t maxContractions = 25;
/// Sums of fewer terms for each position take as long as their loads and
/// stores.
constexpr int64_t minDepth = 16;

/// The results for which a filter position is in the image.
struct Reach {
  int64_t first, size;
};

/// An axis of the image that is read in windows over filter positions.
struct SplitAxis : kernel::WindowAxis {
  unsigned image;
  /// The axes of c and of the weights with these dimensions.
  unsigned resultAxis, filterAxis;
  int64_t extent;
  /// One entry per filter position.
  SmallVector<Reach> reaches;
  int64_t resultSize;

  double getShare() const {
    int64_t reads = 0;
    for (Reach reach : reaches)
      reads += reach.size;
    return double(reads) / double(resultSize * reaches.size());
  }
};

/// A position in the filter: one index for each axis.
using FilterPosition = SmallVector<unsigned>;

class FilterSplitter {
public:
  FilterSplitter(kernel::ContractOp op, ArrayRef<SplitAxis> axes)
      : op(op), axes(axes), b(op), maps(getMaps()) {}
  void split(ArrayRef<FilterPosition> all, const FilterPosition &last);

private:
  /// A part of a tensor.
  struct Part {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  SmallVector<AffineMap> getMaps();
  Part getAll(Value value);
  Part getResults(Value c, const FilterPosition &position);
  Value cut(Value value, const Part &part);
  Value cutFactor(unsigned operand, const FilterPosition &position);
  Value add(Value partial, const FilterPosition &position);
  void finish(Value partial, const FilterPosition &position);

  kernel::ContractOp op;
  ArrayRef<SplitAxis> axes;
  OpBuilder b;
  SmallVector<AffineMap> maps;
};

} // namespace

/// The results for which filter position `index` is in the image.
static Reach findReach(const SplitAxis &axis, int64_t index) {
  int64_t shift = axis.offset + axis.dilation * index;
  auto countUntil = [&](int64_t distance) {
    return distance > 0 ? llvm::divideCeil(distance, axis.stride) : 0;
  };
  int64_t end =
      std::min<int64_t>(countUntil(axis.extent - shift), axis.resultSize);
  int64_t first = std::min<int64_t>(countUntil(-shift), end);
  return {first, end - first};
}

/// The window along an axis of an operand, if it is a sum over filter positions
/// of the results' pixels.
static std::optional<SplitAxis> findWindow(kernel::ContractOp op,
                                           unsigned image,
                                           const kernel::OperandAxis &axis,
                                           ArrayRef<int64_t> sizes) {
  auto window = axis.getWindow(/*sumsPixels=*/false);
  if (!window || !window->filter || window->stride < 1)
    return std::nullopt;
  int64_t extent = cast<RankedTensorType>(op->getOperand(image).getType())
                       .getDimSize(axis.position);
  int64_t filterSize = sizes[*window->filter];
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(filterSize) ||
      ShapedType::isDynamic(sizes[window->pixel]))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getMaps();
  auto resultAxis = kernel::findPlainAxis(maps.back(), window->pixel);
  auto filterAxis = kernel::findPlainAxis(maps[1 - image], *window->filter);
  if (!resultAxis || !filterAxis)
    return std::nullopt;
  SplitAxis split{*window, image, *resultAxis,         *filterAxis,
                  extent,  {},    sizes[window->pixel]};
  for (int64_t i = 0; i < filterSize; ++i)
    split.reaches.push_back(findReach(split, i));
  return split;
}

/// The axes of the image along which filters are split; none if that does not
/// pay.
static SmallVector<SplitAxis> findAxes(kernel::ContractOp op) {
  SmallVector<int64_t> sizes = kernel::getStaticSizes(op);
  for (unsigned image : {0, 1}) {
    SmallVector<SplitAxis> axes;
    llvm::SmallDenseSet<unsigned> seen;
    double share = 1;
    for (const auto &axis : kernel::getOperandAxes(op.getMaps(), image)) {
      auto window = findWindow(op, image, axis, sizes);
      if (!window || window->getShare() > maxReads ||
          !seen.insert(window->pixel).second ||
          !seen.insert(*window->filter).second)
        continue;
      share *= window->getShare();
      axes.push_back(*window);
    }
    if (share > fewReads || axes.empty())
      continue;
    int64_t depth = 1;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (!op.getMaps().back().isFunctionOfDim(dim) && !seen.contains(dim))
        depth *= ShapedType::isDynamic(size) ? minDepth : size;
    if (depth >= minDepth)
      return axes;
  }
  return {};
}

/// All filter positions that reach a result.
static SmallVector<FilterPosition> combine(ArrayRef<SplitAxis> axes) {
  SmallVector<FilterPosition> all = {{}};
  for (const SplitAxis &axis : axes) {
    SmallVector<FilterPosition> longer;
    for (const FilterPosition &position : all)
      for (auto [index, reach] : llvm::enumerate(axis.reaches))
        if (reach.size > 0) {
          longer.push_back(position);
          longer.back().push_back(index);
        }
    all = std::move(longer);
  }
  return all;
}

/// The maps of all operands for parts of a filter position: without its
/// dimensions.
SmallVector<AffineMap> FilterSplitter::getMaps() {
  SmallVector<AffineExpr> dims(op.getNumLoops());
  for (const SplitAxis &axis : axes)
    dims[*axis.filter] = b.getAffineConstantExpr(0);
  unsigned numDims = 0;
  for (AffineExpr &dim : dims)
    if (!dim)
      dim = b.getAffineDimExpr(numDims++);
  SmallVector<AffineMap> maps;
  for (auto [operand, map] : llvm::enumerate(op.getMaps())) {
    AffineMap own = map.replaceDimsAndSymbols(dims, {}, numDims, 0);
    SmallVector<AffineExpr> places(own.getResults());
    if (operand == axes.front().image)
      for (const SplitAxis &axis : axes)
        places[axis.position] = dims[axis.pixel] * axis.stride;
    maps.push_back(AffineMap::get(numDims, 0, places, b.getContext()));
  }
  return maps;
}

FilterSplitter::Part FilterSplitter::getAll(Value value) {
  Part part;
  part.sizes = tensor::getMixedSizes(b, op.getLoc(), value);
  part.offsets.resize(part.sizes.size(), b.getIndexAttr(0));
  part.strides.resize(part.sizes.size(), b.getIndexAttr(1));
  return part;
}

Value FilterSplitter::cut(Value value, const Part &part) {
  return tensor::ExtractSliceOp::create(b, op.getLoc(), value, part.offsets,
                                        part.sizes, part.strides);
}

/// The part of the image that the position reads, or its part of the weights.
Value FilterSplitter::cutFactor(unsigned operand,
                                const FilterPosition &position) {
  Value factor = op->getOperand(operand);
  Part part = getAll(factor);
  bool isAll = operand == axes.front().image;
  for (auto [axis, index] : llvm::zip_equal(axes, position)) {
    Reach reach = axis.reaches[index];
    if (operand == axis.image) {
      int64_t first =
          axis.stride * reach.first + axis.dilation * index + axis.offset;
      int64_t size = axis.stride * (reach.size - 1) + 1;
      isAll &= size == axis.extent;
      part.offsets[axis.position] = b.getIndexAttr(first);
      part.sizes[axis.position] = b.getIndexAttr(size);
    } else {
      part.offsets[axis.filterAxis] = b.getIndexAttr(index);
      part.sizes[axis.filterAxis] = b.getIndexAttr(1);
    }
  }
  // Memory of which this is known is read along longer lines.
  return isAll ? factor : cut(factor, part);
}

/// The results that the position reaches.
FilterSplitter::Part
FilterSplitter::getResults(Value c, const FilterPosition &position) {
  Part part = getAll(c);
  for (auto [axis, index] : llvm::zip_equal(axes, position)) {
    part.offsets[axis.resultAxis] = b.getIndexAttr(axis.reaches[index].first);
    part.sizes[axis.resultAxis] = b.getIndexAttr(axis.reaches[index].size);
  }
  return part;
}

/// Returns `partial` plus the products of this position.
Value FilterSplitter::add(Value partial, const FilterPosition &position) {
  Part part = getResults(partial, position);
  Value c = cut(partial, part);
  auto contract = kernel::createContract(
      b, op.getLoc(), cutFactor(0, position), cutFactor(1, position), c,
      {maps[0], maps[1], maps.back()}, {kernel::Extra{c, maps.back()}},
      [](OpBuilder &b, Location loc, Value sum, ValueRange extras) -> Value {
        return arith::AddFOp::create(b, loc, extras[0], sum);
      });
  contract.copyRounding(op);
  return tensor::InsertSliceOp::create(b, op.getLoc(), contract.getResult(),
                                       partial, part.offsets, part.sizes,
                                       part.strides);
}

/// Makes `op` add the products of this position, which reaches all results, to
/// `partial`.
void FilterSplitter::finish(Value partial, const FilterPosition &position) {
  for (unsigned operand : {0, 1})
    op->setOperand(operand, cutFactor(operand, position));
  op.getExtrasMutable().append(partial);
  SmallVector<AffineMap> all = maps;
  all.insert(all.end() - 1, maps.back());
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(all));
  Block &block = op.getEpilogue().front();
  Value sum = block.getArgument(0);
  Value before = block.addArgument(op.getAccumulatorType(), op.getLoc());
  b.setInsertionPointToStart(&block);
  auto both = arith::AddFOp::create(b, op.getLoc(), before, sum);
  sum.replaceAllUsesExcept(both, both);
}

void FilterSplitter::split(ArrayRef<FilterPosition> all,
                           const FilterPosition &last) {
  Location loc = op.getLoc();
  Type element = op.getAccumulatorType();
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, op.getC()), element);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  Value partial = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  for (const FilterPosition &position : all)
    if (position != last)
      partial = add(partial, position);
  finish(partial, last);
}

static void split(kernel::ContractOp op) {
  bool storesPlainly =
      op.getMaps().back().isProjectedPermutation() && op.getSizes().empty();
  if (!storesPlainly || !isa<RankedTensorType>(op.getC().getType()))
    return;
  SmallVector<SplitAxis> axes = findAxes(op);
  if (axes.empty())
    return;
  SmallVector<FilterPosition> all = combine(axes);
  auto reachesAll = [&](const FilterPosition &position) {
    return llvm::all_of(llvm::zip_equal(axes, position), [](auto pair) {
      auto [axis, index] = pair;
      return axis.reaches[index].size == axis.resultSize;
    });
  };
  auto last = llvm::find_if(all, reachesAll);
  if (all.size() > maxContractions || last == all.end())
    return;
  FilterSplitter(op, axes).split(all, *last);
}

void splitFilters(func::FuncOp function) {
  SmallVector<kernel::ContractOp> contracts;
  function.walk([&](kernel::ContractOp op) { contracts.push_back(op); });
  for (kernel::ContractOp op : contracts)
    split(op);
}

} // namespace mp
