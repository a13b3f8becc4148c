//===- DepthwiseStrategy.cpp - Convolutions of single channels ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DepthwiseStrategy.h"

using namespace mlir;

namespace mp::kernel {

/// Code is written out for each tap.
constexpr int64_t maxTaps = 64;

/// Of one dimension of the image; absent if it is none, or too many taps.
static std::optional<SlidingAxis> findAxis(const ContractShape &shape,
                                           unsigned position) {
  AffineMap result = shape.contract.maps.back();
  AffineMap weights = shape.contract.maps[shape.lhs];
  AffineMap image = shape.contract.maps[shape.rhs];
  LinearForm form =
      *getLinearForm(image.getResult(position), image.getNumDims());
  SlidingAxis axis;
  axis.constant = form.constant;
  axis.position = position;
  bool hasKept = false;
  for (unsigned dim = 0; dim < image.getNumDims(); ++dim) {
    int64_t factor = form.factors[dim];
    if (factor == 0)
      continue;
    if (result.isFunctionOfDim(dim)) {
      if (hasKept || weights.isFunctionOfDim(dim) || factor < 0)
        return std::nullopt;
      hasKept = true;
      axis.kept = dim;
      axis.stride = factor;
      continue;
    }
    // Only sizes below that of a vector are known.
    int64_t taps = shape.contract.minSizes[dim];
    if (axis.summed || taps == 0 || taps >= minLong)
      return std::nullopt;
    axis.summed = dim;
    axis.taps = taps;
    axis.dilation = factor;
  }
  return hasKept ? std::optional(axis) : std::nullopt;
}

static bool isPlain(AffineMap map) {
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    return isa<AffineDimExpr, AffineConstantExpr>(expr);
  });
}

/// Results but constants at the end, which are dimensions of size one.
static ArrayRef<AffineExpr> dropUnits(AffineMap map) {
  ArrayRef<AffineExpr> results = map.getResults();
  while (!results.empty() && isa<AffineConstantExpr>(results.back()))
    results = results.drop_back();
  return results;
}

/// The dimension of channels, if it is the last in memory of both images.
static std::optional<unsigned> findChannels(const ContractShape &shape) {
  AffineMap image = shape.contract.maps[shape.rhs];
  AffineMap weights = shape.contract.maps[shape.lhs];
  unsigned numOperands = shape.operands.size();
  for (unsigned dim = 0; dim < image.getNumDims(); ++dim) {
    bool isLast = true;
    for (unsigned operand : {shape.rhs, numOperands - 1}) {
      ArrayRef<AffineExpr> results = dropUnits(shape.contract.maps[operand]);
      isLast &= !results.empty() &&
                results.back() == getAffineDimExpr(dim, image.getContext()) &&
                shape.operands[operand].steps[dim] == 1;
    }
    if (isLast && weights.isFunctionOfDim(dim))
      return dim;
  }
  return std::nullopt;
}

std::optional<SlidingWindows> findSlidingWindows(const ContractShape &shape) {
  AffineMap result = shape.contract.maps.back();
  AffineMap weights = shape.contract.maps[shape.lhs];
  AffineMap image = shape.contract.maps[shape.rhs];
  MemRefType type = shape.contract.types[shape.rhs];
  bool isRow = shape.groups[M].empty() && !shape.groups[K].empty();
  if (!isRow || !shape.accumulator.isF32() || !isPlain(weights) ||
      !isPlain(result))
    return std::nullopt;
  SlidingWindows windows;
  windows.image = shape.rhs;
  windows.channels = findChannels(shape);
  unsigned end = image.getNumResults();
  if (windows.channels)
    end = dropUnits(image).size() - 1;
  if (end == 0)
    return std::nullopt;
  auto columns = findAxis(shape, end - 1);
  bool isDense = type.getLayout().isIdentity() &&
                 shape.contract.types.back().getLayout().isIdentity();
  if (!columns || (!windows.channels &&
                   (!isDense || columns->stride > 2 ||
                    result.getResults().back() !=
                        getAffineDimExpr(columns->kept, result.getContext()))))
    return std::nullopt;
  windows.columns = *columns;
  if (end > 1)
    windows.rows = findAxis(shape, end - 2);
  if (windows.rows &&
      (windows.rows->kept == columns->kept ||
       (columns->summed && windows.rows->summed == columns->summed)))
    return std::nullopt;
  if (columns->taps * windows.getRowTaps() > maxTaps)
    return std::nullopt;
  for (unsigned dim = 0; dim < image.getNumDims(); ++dim) {
    bool isSummed = !result.isFunctionOfDim(dim);
    bool isOwn = dim == columns->kept || columns->summed == dim ||
                 windows.channels == dim ||
                 (windows.rows &&
                  (dim == windows.rows->kept || windows.rows->summed == dim));
    if (isSummed && !isOwn)
      return std::nullopt;
    if (!isSummed && !isOwn)
      windows.outer.push_back(dim);
  }
  // Elsewhere in the image, dimensions stand alone, and none of them twice.
  for (AffineExpr expr :
       image.getResults().take_front(end - (windows.rows ? 2 : 1))) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!isa<AffineConstantExpr>(expr) &&
        (!dim || !llvm::is_contained(windows.outer, dim.getPosition())))
      return std::nullopt;
  }
  return windows;
}

} // namespace mp::kernel
