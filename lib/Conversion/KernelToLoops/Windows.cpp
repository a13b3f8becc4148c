//===- Windows.cpp - Images that are read in windows ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

using namespace mlir;

namespace mp::kernel {

static std::optional<std::array<WindowAxis, 2>> findAxes(AffineMap map,
                                                         AffineMap result) {
  SmallVector<WindowAxis> axes;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    LinearForm form = *getLinearForm(expr, map.getNumDims());
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      if (form.factors[dim] != 0)
        dims.push_back(dim);
    if (dims.size() < 2)
      continue;
    if (dims.size() > 2)
      return std::nullopt;
    if (!result.isFunctionOfDim(dims[0]))
      std::swap(dims[0], dims[1]);
    int64_t factor = form.factors[dims[1]];
    if (!result.isFunctionOfDim(dims[0]) || result.isFunctionOfDim(dims[1]) ||
        form.factors[dims[0]] != 1 || std::abs(factor) != 1)
      return std::nullopt;
    axes.push_back({dims[0], dims[1], factor < 0, form.constant,
                    static_cast<unsigned>(position)});
  }
  if (axes.size() != 2)
    return std::nullopt;
  return std::array<WindowAxis, 2>{axes[0], axes[1]};
}

std::optional<Windows> findWindows(ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  for (unsigned operand : {0, 1})
    if (auto axes = findAxes(maps[operand], maps.back()))
      return Windows{operand, *axes};
  return std::nullopt;
}

bool isWithinOthers(const View &image) {
  return llvm::all_of(image.bounds, [](const Bound &bound) {
    return llvm::count(bound.factors, 0) + 2 == int64_t(bound.factors.size());
  });
}

/// Whether results are no more exact than 16 bit.
static bool isRoundedToNarrow(ContractOp op) {
  auto isNarrow = [](Type type) {
    return getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 16;
  };
  Value sum = op.getEpilogue().front().getArgument(0);
  return isNarrow(op.getC().getType()) ||
         llvm::all_of(sum.getUsers(), [&](Operation *user) {
           return isa<arith::TruncFOp>(user) &&
                  isNarrow(user->getResult(0).getType());
         });
}

SmallVector<int64_t> getTileEdges(ContractOp op, const KernelTarget &target) {
  auto isNarrow = [](Type type) { return type.getIntOrFloatBitWidth() == 16; };
  Type first = op.getFactorType(0), second = op.getFactorType(1);
  bool isPaired =
      target.form != Form::Widen && first.isBF16() && second.isBF16();
  // Processors with narrower vectors have no masks for elements of 16 bits.
  constexpr int64_t maskedBytes = 64;
  SmallVector<int64_t> edges;
  if (isNarrow(first) && isNarrow(second) && isRoundedToNarrow(op) &&
      !(isPaired && target.form == Form::Amx) &&
      target.vectorBytes >= maskedBytes)
    edges.push_back(4);
  if (!isPaired)
    edges.push_back(2);
  return edges;
}

bool hasTiles(const Contraction &contraction, GroupKind group, int64_t edge,
              int64_t fewest) {
  ArrayRef<SmallVector<unsigned>> groupDims = contraction.groups[group].dims;
  int64_t tiles = 1, kept = 1, computed = 1;
  for (auto [number, dims] : llvm::enumerate(groupDims))
    for (unsigned dim : dims) {
      int64_t least = std::max<int64_t>(contraction.getLeastSizes()[dim], 1);
      if (number + 2 < groupDims.size()) {
        tiles *= least;
        continue;
      }
      int64_t count = llvm::divideCeil(least, edge);
      tiles *= count;
      kept *= least;
      computed *= least < leastLong ? count * edge : least;
    }
  return tiles >= fewest && 10 * kept >= 7 * computed;
}

} // namespace mp::kernel
