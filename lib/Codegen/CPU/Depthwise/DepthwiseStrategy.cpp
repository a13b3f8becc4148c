//===- DepthwiseStrategy.cpp - Convolutions of single channels ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DepthwiseStrategy.h"

using namespace mlir;

namespace mp::kernel {

/// The code is unrolled over filter positions.
constexpr int64_t maxFilterArea = 64;

/// The axis of a dimension of the image; absent if it is not a window's, or has
/// too many filter positions.
static std::optional<SlidingAxis> findAxis(const ContractShape &shape,
                                           unsigned position, bool sumsPixels) {
  AffineMap result = shape.contract.maps.back();
  AffineMap other = shape.contract.maps[shape.lhs];
  AffineMap image = shape.contract.maps[shape.rhs];
  LinearForm form =
      *getLinearForm(image.getResult(position), image.getNumDims());
  SlidingAxis axis;
  axis.constant = form.constant;
  axis.position = position;
  bool hasPixel = false;
  for (unsigned dim = 0; dim < image.getNumDims(); ++dim) {
    int64_t factor = form.factors[dim];
    if (factor == 0)
      continue;
    if (result.isFunctionOfDim(dim) != sumsPixels) {
      if (hasPixel || other.isFunctionOfDim(dim) != sumsPixels || factor < 0)
        return std::nullopt;
      hasPixel = true;
      axis.pixel = dim;
      axis.stride = factor;
      continue;
    }
    // Only sizes below that of a vector are known.
    int64_t filterSize = shape.contract.minSizes[dim];
    if (axis.filterDim || filterSize == 0 || filterSize >= minLong ||
        (sumsPixels && other.isFunctionOfDim(dim)))
      return std::nullopt;
    axis.filterDim = dim;
    axis.filterSize = filterSize;
    axis.dilation = factor;
  }
  return hasPixel ? std::optional(axis) : std::nullopt;
}

/// The results without constants at the end, which are dimensions of size one.
static ArrayRef<AffineExpr> dropUnits(AffineMap map) {
  ArrayRef<AffineExpr> results = map.getResults();
  while (!results.empty() && isa<AffineConstantExpr>(results.back()))
    results = results.drop_back();
  return results;
}

/// The dimension of channels, if it is the last in memory of the operands with
/// pixels.
static std::optional<unsigned> findChannels(const ContractShape &shape,
                                            bool sumsPixels) {
  AffineMap image = shape.contract.maps[shape.rhs];
  unsigned result = shape.operands.size() - 1;
  unsigned pixels = sumsPixels ? shape.lhs : result;
  unsigned filter = sumsPixels ? result : shape.lhs;
  for (unsigned dim = 0; dim < image.getNumDims(); ++dim) {
    bool isLast = true;
    for (unsigned operand : {shape.rhs, pixels}) {
      ArrayRef<AffineExpr> results = dropUnits(shape.contract.maps[operand]);
      isLast &= !results.empty() &&
                results.back() == getAffineDimExpr(dim, image.getContext()) &&
                shape.operands[operand].steps[dim] == 1;
    }
    if (isLast && shape.contract.maps[filter].isFunctionOfDim(dim))
      return dim;
  }
  return std::nullopt;
}

static std::optional<SlidingWindows> findWindows(const ContractShape &shape,
                                                 bool sumsPixels) {
  AffineMap result = shape.contract.maps.back();
  AffineMap image = shape.contract.maps[shape.rhs];
  MemRefType type = shape.contract.types[shape.rhs];
  if (!shape.groups[M].empty() || !shape.accumulator.isF32() ||
      !hasSingleDims(result) || !hasSingleDims(shape.contract.maps[shape.lhs]))
    return std::nullopt;
  SlidingWindows windows;
  windows.image = shape.rhs;
  windows.sumsPixels = sumsPixels;
  windows.channels = findChannels(shape, sumsPixels);
  // Without a sum there may be one filter position of several: of a gradient at
  // stride 2.
  if (!windows.channels && (sumsPixels || shape.groups[K].empty()))
    return std::nullopt;
  unsigned end = image.getNumResults();
  if (windows.channels)
    end = dropUnits(image).size() - 1;
  // Constants are dimensions of size one.
  auto dropConstants = [&] {
    while (end > 0 && isa<AffineConstantExpr>(image.getResult(end - 1)))
      --end;
  };
  dropConstants();
  if (end == 0)
    return std::nullopt;
  auto columns = findAxis(shape, --end, sumsPixels);
  bool isDense = type.getLayout().isIdentity() &&
                 shape.contract.types.back().getLayout().isIdentity();
  if (!columns || (!windows.channels &&
                   (!isDense || columns->stride > 2 ||
                    result.getResults().back() !=
                        getAffineDimExpr(columns->pixel, result.getContext()))))
    return std::nullopt;
  windows.columns = *columns;
  dropConstants();
  if (end > 0)
    windows.rows = findAxis(shape, end - 1, sumsPixels);
  if (windows.rows)
    --end;
  if (windows.rows &&
      (windows.rows->pixel == columns->pixel ||
       (columns->filterDim && windows.rows->filterDim == columns->filterDim)))
    return std::nullopt;
  if (columns->filterSize * windows.getFilterRows() > maxFilterArea)
    return std::nullopt;
  // Without a filter, either operand could be the image.
  if (sumsPixels && !columns->filterDim &&
      !(windows.rows && windows.rows->filterDim))
    return std::nullopt;
  for (unsigned dim = 0; dim < image.getNumDims(); ++dim) {
    bool isFilter = result.isFunctionOfDim(dim) == sumsPixels;
    bool isOwn = dim == columns->pixel || columns->filterDim == dim ||
                 windows.channels == dim ||
                 (windows.rows && (dim == windows.rows->pixel ||
                                   windows.rows->filterDim == dim));
    if (isFilter && !isOwn)
      return std::nullopt;
    if (!isFilter && !isOwn)
      windows.outer.push_back(dim);
  }
  // The other dimensions of the image must be alone in an axis, and none may
  // occur twice.
  for (AffineExpr expr : image.getResults().take_front(end)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!isa<AffineConstantExpr>(expr) &&
        (!dim || !llvm::is_contained(windows.outer, dim.getPosition())))
      return std::nullopt;
  }
  return windows;
}

std::optional<SlidingWindows> findSlidingWindows(const ContractShape &shape) {
  if (auto windows = findWindows(shape, /*sumsPixels=*/false))
    return windows;
  return findWindows(shape, /*sumsPixels=*/true);
}

} // namespace mp::kernel
