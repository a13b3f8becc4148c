//===- Windows.cpp - Windows of contractions ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Windows.h"

using namespace mlir;

namespace mp::kernel {

std::optional<unsigned> OperandAxis::getPlainLoop() const {
  if (isConstant() || isWindow() || offset != 0)
    return std::nullopt;
  const AxisLoop &loop = kept.empty() ? summed.front() : kept.front();
  return loop.step == 1 ? std::optional(loop.dim) : std::nullopt;
}

std::optional<WindowAxis> OperandAxis::getWindow(bool sumsPixels) const {
  const auto &pixels = sumsPixels ? summed : kept;
  const auto &filters = sumsPixels ? kept : summed;
  if (pixels.size() != 1 || filters.size() > 1)
    return std::nullopt;
  WindowAxis window;
  window.position = position;
  window.pixel = pixels.front().dim;
  window.stride = pixels.front().step;
  window.offset = offset;
  if (!filters.empty()) {
    window.filter = filters.front().dim;
    window.dilation = filters.front().step;
  }
  return window;
}

SmallVector<OperandAxis> getOperandAxes(ArrayRef<AffineMap> maps,
                                        unsigned operand) {
  AffineMap result = maps.back();
  SmallVector<OperandAxis> axes;
  for (auto [position, expr] : llvm::enumerate(maps[operand].getResults())) {
    LinearForm form = *getLinearForm(expr, result.getNumDims());
    OperandAxis &axis = axes.emplace_back();
    axis.position = position;
    axis.offset = form.constant;
    for (auto [dim, step] : llvm::enumerate(form.factors))
      if (step != 0)
        (result.isFunctionOfDim(dim) ? axis.kept : axis.summed)
            .push_back({unsigned(dim), step});
  }
  return axes;
}

bool hasSingleDims(AffineMap map) {
  // All loops are the result's: `map` is the only one.
  return llvm::none_of(getOperandAxes(map, 0),
                       [](const OperandAxis &axis) { return axis.isWindow(); });
}

std::optional<unsigned> findPlainAxis(AffineMap map, unsigned dim) {
  std::optional<unsigned> found;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(dim))
      continue;
    if (found || !isa<AffineDimExpr>(expr))
      return std::nullopt;
    found = axis;
  }
  return found;
}

} // namespace mp::kernel
