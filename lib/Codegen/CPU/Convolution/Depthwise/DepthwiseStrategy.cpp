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

namespace {
/// Finds the windows of a contraction that sums over filter positions, or over
/// pixels.
class WindowFinder {
public:
  WindowFinder(const ContractShape &shape, bool sumsPixels)
      : shape(shape), maps(shape.contract.maps), sumsPixels(sumsPixels) {
    windows.image = shape.rhs;
    windows.sumsPixels = sumsPixels;
  }
  std::optional<DepthwiseWindows> find();

private:
  SmallVector<OperandAxis> getAxes(unsigned operand) const;
  bool isSupported() const;
  std::optional<unsigned> findChannels() const;
  std::optional<DepthwiseAxis> getWindow(const OperandAxis &axis) const;
  bool isAlongMemory(const DepthwiseAxis &columns) const;
  bool addColumns();
  bool addRows();
  bool isOwn(unsigned dim) const;
  bool addOuter();

  const ContractShape &shape;
  ArrayRef<AffineMap> maps;
  bool sumsPixels;
  DepthwiseWindows windows;
  /// The image's axes outside of those that have been found.
  SmallVector<OperandAxis> left;
};
} // namespace

/// The operand's axes; constants are axes of size one.
SmallVector<OperandAxis> WindowFinder::getAxes(unsigned operand) const {
  SmallVector<OperandAxis> axes = getOperandAxes(maps, operand);
  llvm::erase_if(axes,
                 [](const OperandAxis &axis) { return axis.isConstant(); });
  return axes;
}

bool WindowFinder::isSupported() const {
  return shape.groups[M].empty() && shape.accumulator.isF32() &&
         hasSingleDims(maps.back()) && hasSingleDims(maps[shape.lhs]);
}

/// The dimension of channels, if it is the last in memory of the operands with
/// pixels.
std::optional<unsigned> WindowFinder::findChannels() const {
  unsigned result = shape.operands.size() - 1;
  unsigned pixels = sumsPixels ? shape.lhs : result;
  unsigned filter = sumsPixels ? result : shape.lhs;
  auto findLast = [&](unsigned operand) -> std::optional<unsigned> {
    SmallVector<OperandAxis> axes = getAxes(operand);
    auto dim = axes.empty() ? std::nullopt : axes.back().getPlainLoop();
    return dim && shape.operands[operand].steps[*dim] == 1 ? dim : std::nullopt;
  };
  std::optional<unsigned> dim = findLast(shape.rhs);
  return dim && dim == findLast(pixels) && maps[filter].isFunctionOfDim(*dim)
             ? dim
             : std::nullopt;
}

/// The window along an axis of the image; absent if there is none, or if it has
/// too many filter positions.
std::optional<DepthwiseAxis>
WindowFinder::getWindow(const OperandAxis &axis) const {
  std::optional<WindowAxis> window = axis.getWindow(sumsPixels);
  AffineMap other = maps[shape.lhs];
  if (!window || window->stride < 0 ||
      other.isFunctionOfDim(window->pixel) != sumsPixels)
    return std::nullopt;
  if (!window->filter)
    return DepthwiseAxis{*window};
  // Only sizes below that of a vector are known.
  int64_t filterSize = shape.contract.minSizes[*window->filter];
  if (filterSize == 0 || filterSize >= minLong ||
      (sumsPixels && other.isFunctionOfDim(*window->filter)))
    return std::nullopt;
  return DepthwiseAxis{*window, filterSize};
}

/// True if pixels follow each other in memory, so that vectors can be of them.
bool WindowFinder::isAlongMemory(const DepthwiseAxis &columns) const {
  ArrayRef<MemRefType> types = shape.contract.types;
  AffineExpr last = maps.back().getResults().back();
  return types[shape.rhs].getLayout().isIdentity() &&
         types.back().getLayout().isIdentity() && columns.stride <= 2 &&
         last == getAffineDimExpr(columns.pixel, last.getContext());
}

bool WindowFinder::addColumns() {
  if (left.empty())
    return false;
  auto columns = getWindow(left.pop_back_val());
  if (!columns || (!windows.channels && !isAlongMemory(*columns)))
    return false;
  windows.columns = *columns;
  return true;
}

/// Adds the rows, if there are any; false if they do not fit the columns.
bool WindowFinder::addRows() {
  const DepthwiseAxis &columns = windows.columns;
  if (!left.empty())
    windows.rows = getWindow(left.back());
  if (windows.rows) {
    left.pop_back();
    if (windows.rows->pixel == columns.pixel ||
        (columns.filter && windows.rows->filter == columns.filter))
      return false;
  }
  // Without a filter, either operand could be the image.
  if (sumsPixels && !columns.filter && !(windows.rows && windows.rows->filter))
    return false;
  return columns.filterSize * windows.getFilterRows() <= maxFilterArea;
}

/// True if `dim` is a dimension of the windows or that of the channels.
bool WindowFinder::isOwn(unsigned dim) const {
  auto isOf = [&](const WindowAxis &axis) {
    return dim == axis.pixel || axis.filter == dim;
  };
  return isOf(windows.columns) || windows.channels == dim ||
         (windows.rows && isOf(*windows.rows));
}

/// Adds the other dimensions, which are like pixels. Those of the image must be
/// alone in an axis, and none may occur twice.
bool WindowFinder::addOuter() {
  for (unsigned dim = 0; dim < maps.back().getNumDims(); ++dim) {
    if (isOwn(dim))
      continue;
    if (maps.back().isFunctionOfDim(dim) == sumsPixels)
      return false;
    windows.outer.push_back(dim);
  }
  return llvm::all_of(left, [&](const OperandAxis &axis) {
    std::optional<unsigned> dim = axis.getPlainLoop();
    return dim && llvm::is_contained(windows.outer, *dim);
  });
}

std::optional<DepthwiseWindows> WindowFinder::find() {
  if (!isSupported())
    return std::nullopt;
  windows.channels = findChannels();
  // Without a sum there may be one filter position of several: of a gradient at
  // stride 2.
  if (!windows.channels && (sumsPixels || shape.groups[K].empty()))
    return std::nullopt;
  left = getAxes(shape.rhs);
  if (windows.channels)
    left.pop_back();
  if (!addColumns() || !addRows() || !addOuter())
    return std::nullopt;
  return windows;
}

std::optional<DepthwiseWindows>
findDepthwiseWindows(const ContractShape &shape) {
  if (auto windows = WindowFinder(shape, /*sumsPixels=*/false).find())
    return windows;
  return WindowFinder(shape, /*sumsPixels=*/true).find();
}

} // namespace mp::kernel
