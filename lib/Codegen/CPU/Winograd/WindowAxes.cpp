//===- WindowAxes.cpp - Images that are read in windows -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowAxes.h"

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

std::optional<Windows> findWindows(const ContractShape &shape) {
  ArrayRef<AffineMap> maps = shape.contract.maps;
  for (unsigned operand : {0, 1})
    if (auto axes = findAxes(maps[operand], maps.back()))
      return Windows{operand, *axes};
  return std::nullopt;
}

} // namespace mp::kernel
