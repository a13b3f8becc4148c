//===- WinogradStrategy.cpp - Uses of Winograd's transforms ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WinogradStrategy.h"

#include "mp-opt/Codegen/CPU/Strategy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp::kernel {

/// The most pieces of rows in a vector: more of them cost more than is saved.
constexpr int64_t maxRuns = 6;

std::optional<ImageWindows> findWindows(const ContractShape &shape,
                                        bool sumsPixels) {
  for (unsigned image : {0, 1}) {
    SmallVector<WindowAxis> found;
    for (const OperandAxis &axis : getOperandAxes(shape.contract.maps, image)) {
      if (!axis.isWindow())
        continue;
      auto window = axis.getWindow(sumsPixels);
      if (!window || !window->filter || window->stride != 1 ||
          std::abs(window->dilation) != 1) {
        found.clear();
        break;
      }
      found.push_back(*window);
    }
    if (found.size() == 2)
      return ImageWindows{image, {found[0], found[1]}};
  }
  return std::nullopt;
}

static bool isNarrow(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 16;
}

/// True if results are not more exact than 16 bits.
static bool isRoundedToNarrow(ContractOp op) {
  Value sum = op.getEpilogue().front().getArgument(0);
  return isNarrow(op.getC().getType()) ||
         llvm::all_of(sum.getUsers(), [&](Operation *user) {
           return isa<arith::TruncFOp>(user) &&
                  isNarrow(user->getResult(0).getType());
         });
}

bool isNarrow(ContractOp op, const ContractShape &shape) {
  if (!isNarrow(shape.factors[0]) || !isNarrow(shape.factors[1]))
    return false;
  auto module = op->getParentOfType<ModuleOp>();
  return isRoundedToNarrow(op) ||
         (module && module->hasAttr(excessPrecisionName));
}

int64_t getNumRuns(const ContractShape &shape, const ImageWindows &windows,
                   int64_t edge, int64_t lanes) {
  int64_t least = shape.getMinSizes()[windows.axes[1].pixel];
  if (least < edge)
    return maxRuns + 1;
  return getMaxRuns(lanes, llvm::divideCeil(least, edge));
}

/// True if only axes of windows may exceed an image.
static bool isWithinOthers(const OperandShape &image) {
  return llvm::all_of(image.bounds, [](const Bound &bound) {
    return llvm::count(bound.factors, 0) + 2 == int64_t(bound.factors.size());
  });
}

static bool isOne(ArrayRef<unsigned> dims, unsigned dim) {
  return dims.size() == 1 && dims.front() == dim;
}

/// True if `group`, which ends with the two axes of an image, is known to have
/// so many tiles with `edge` x `edge` elements each, few of them beyond the
/// image: tiles of 16 bits save at most half of the products.
static bool hasTiles(const ContractShape &shape, GroupKind group, int64_t edge,
                     int64_t fewest) {
  ArrayRef<SmallVector<unsigned>> groupDims = shape.groups[group];
  int64_t tiles = 1, kept = 1, computed = 1;
  for (auto [number, dims] : llvm::enumerate(groupDims))
    for (unsigned dim : dims) {
      int64_t least = std::max<int64_t>(shape.getMinSizes()[dim], 1);
      if (number + 2 < groupDims.size()) {
        tiles *= least;
        continue;
      }
      int64_t count = llvm::divideCeil(least, edge);
      tiles *= count;
      kept *= least;
      computed *= least < minLong ? count * edge : least;
    }
  return tiles >= fewest && 10 * kept >= 7 * computed;
}

bool canTransform(const ContractShape &shape, const ImageWindows &windows,
                  int64_t edge, int64_t lanes) {
  const auto &[rowAxis, columnAxis] = windows.axes;
  const auto &columns = shape.groups[N];
  const auto &summed = shape.groups[K];
  for (const WindowAxis &axis : windows.axes)
    if (shape.getMinSizes()[*axis.filter] != winogradFilterSize)
      return false;
  if (columns.size() < 2 || columns.size() > 3 ||
      !isOne(columns.end()[-2], rowAxis.pixel) ||
      !isOne(columns.end()[-1], columnAxis.pixel))
    return false;
  if (summed.size() != 3 || !isOne(summed[1], *rowAxis.filter) ||
      !isOne(summed[2], *columnAxis.filter) || !shape.isSingle(M))
    return false;
  if (shape.rhs != windows.image || !shape.accumulator.isF32())
    return false;
  if (!isWithinOthers(shape.getRHS()) || !shape.getLHS().bounds.empty() ||
      shape.getRHS().steps[columnAxis.pixel] != 1 ||
      getNumRuns(shape, windows, edge, lanes) > maxRuns)
    return false;
  return llvm::all_of(ArrayRef(shape.operands).drop_front(2),
                      [&](const OperandShape &operand) {
                        return !shape.moves(N, operand) ||
                               operand.steps[windows.axes[1].pixel] == 1;
                      });
}

bool paysToTransform(const ContractShape &shape, const ImageWindows &windows,
                     int64_t edge) {
  constexpr int64_t fewestChannels = 8;
  // These pay for weights of four times their size.
  constexpr int64_t fewestTiles = 80;
  std::optional<int64_t> rows = shape.getShortSize(M);
  return shape.getMinSizes()[shape.groups[K][0].back()] >= fewestChannels &&
         (!rows || *rows >= fewestChannels) &&
         (edge == 2 || hasTiles(shape, N, edge, fewestTiles));
}

bool canTransformWeights(const ContractShape &shape,
                         const ImageWindows &windows) {
  const auto &[rowAxis, columnAxis] = windows.axes;
  for (const WindowAxis &axis : windows.axes)
    if (axis.dilation < 0 ||
        shape.getMinSizes()[*axis.filter] != winogradFilterSize)
      return false;
  const auto &across = shape.groups[N];
  const auto &summed = shape.groups[K];
  if (shape.isBatched() || !shape.isSingle(M) || across.size() != 3 ||
      !isOne(across[1], *rowAxis.filter) ||
      !isOne(across[2], *columnAxis.filter))
    return false;
  if (summed.size() != 3 || !isOne(summed[1], rowAxis.pixel) ||
      !isOne(summed[2], columnAxis.pixel))
    return false;
  return shape.rhs == windows.image && shape.accumulator.isF32() &&
         isWithinOthers(shape.getRHS()) && shape.getLHS().bounds.empty() &&
         shape.getRHS().steps[columnAxis.pixel] == 1 &&
         shape.getLHS().steps[columnAxis.pixel] == 1;
}

bool paysToTransformWeights(const ContractShape &shape, int64_t edge) {
  // Both operands are transformed: the savings grow with their channels.
  int64_t channels = 1;
  for (unsigned dim : shape.groups[N][0])
    channels *= shape.getMinSizes()[dim];
  // The sums are transformed, too.
  constexpr int64_t fewestTiles = 128;
  return channels > maxFew && !shape.hasFewRows() &&
         hasTiles(shape, K, edge, fewestTiles);
}

} // namespace mp::kernel
