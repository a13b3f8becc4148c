//===- Problem.cpp - A contraction as products of matrices ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

using namespace mlir;

namespace mp::kernel::tiling {

Problem Problem::get(ContractOp op) {
  Problem problem;
  problem.op = op;
  problem.dimSizes = getStaticSizes(op);
  problem.addOperands();
  problem.addGroups();
  return problem;
}

Type Problem::getFactor(unsigned operand) const {
  return ContractOp(op).getFactorType(operand);
}

FloatType Problem::getAccumulator() const {
  return ContractOp(op).getAccumulatorType();
}

std::optional<Layout> getLayout(MemRefType type) {
  if (!type.hasStaticShape())
    return std::nullopt;
  Layout layout;
  if (type.getNumElements() == 0) {
    layout.strides.assign(type.getRank(), 0);
    return layout;
  }
  if (failed(type.getStridesAndOffset(layout.strides, layout.offset)) ||
      ShapedType::isDynamic(layout.offset) ||
      llvm::any_of(layout.strides, ShapedType::isDynamic))
    return std::nullopt;
  return layout;
}

void Problem::addOperands() {
  unsigned numDims = dimSizes.size();
  for (auto [number, map, value] :
       llvm::enumerate(op.getMaps(), op.getMappedOperands())) {
    auto type = cast<MemRefType>(value.getType());
    auto [strides, offset] = *getLayout(type);
    types.push_back(type);
    origins.push_back(offset);
    steps.emplace_back(numDims, 0);
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      LinearForm form = *getLinearForm(expr, numDims);
      origins.back() += form.constant * strides[position];
      for (unsigned dim = 0; dim < numDims; ++dim)
        steps.back()[dim] += form.factors[dim] * strides[position];
      int64_t size = type.getDimSize(position);
      if (number < 2 && !isInBounds(form, dimSizes, size)) {
        bounds.push_back({unsigned(number), form.constant, size});
        factors.push_back(form.factors);
      }
    }
  }
}

Axis Problem::getAxis(unsigned dim) const {
  Axis axis{dimSizes[dim], {}, {}};
  for (ArrayRef<int64_t> of : steps)
    axis.steps.push_back(of[dim]);
  for (ArrayRef<int64_t> of : factors)
    axis.factors.push_back(of[dim]);
  return axis;
}

/// Orders K as its elements are in an operand whose other group is not
/// contiguous.
void Problem::orderSum(SmallVectorImpl<unsigned> &dims) const {
  for (unsigned operand : {rhs, lhs}) {
    GroupKind other = operand == lhs ? M : N;
    if (getLastStep(other, operand) == 1)
      continue;
    auto *found = llvm::find_if(
        dims, [&](unsigned dim) { return steps[operand][dim] == 1; });
    if (found != dims.end())
      std::rotate(found, found + 1, dims.end());
  }
}

static bool follows(int64_t outer, int64_t inner, int64_t size) {
  return outer == inner * size;
}

/// True if every operand can be indexed by the flat index of both axes.
static bool areJoined(const Axis &outer, const Axis &inner) {
  for (auto [a, b] : llvm::zip_equal(outer.steps, inner.steps))
    if (!follows(a, b, inner.size))
      return false;
  for (auto [a, b] : llvm::zip_equal(outer.factors, inner.factors))
    if (!follows(a, b, inner.size))
      return false;
  return true;
}

/// M, N and batches have the order of their elements in c.
void Problem::addGroups() {
  SmallVector<unsigned> order;
  for (auto [dim, size] : llvm::enumerate(dimSizes))
    if (size != 1)
      order.push_back(dim);
  ArrayRef<int64_t> output = steps.back();
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return std::abs(output[a]) > std::abs(output[b]);
  });
  ContractGroups found = ContractGroups::get(op.getMaps(), order);
  lhs = found.lhs;
  rhs = found.rhs;
  for (GroupKind kind : {Batch, M, N, K}) {
    if (kind == K)
      orderSum(found.dims[K]);
    for (unsigned dim : found.dims[kind]) {
      Axis axis = getAxis(dim);
      sizes[kind] *= axis.size;
      if (groups[kind].empty() || !areJoined(groups[kind].back(), axis)) {
        groups[kind].push_back(axis);
        continue;
      }
      axis.size *= groups[kind].back().size;
      groups[kind].back() = axis;
    }
  }
}

SmallVector<View> Problem::getViews(GroupKind kind, unsigned operand) const {
  SmallVector<View> views;
  int64_t inner = 1;
  for (const Axis &axis : llvm::reverse(groups[kind])) {
    View view{inner, axis.size, axis.steps[operand], {}};
    for (auto [bound, factor] : llvm::zip_equal(bounds, axis.factors))
      if (bound.operand == operand)
        view.factors.push_back(factor);
    inner *= axis.size;
    View *last = views.empty() ? nullptr : &views.back();
    if (last && follows(view.step, last->step, last->size) &&
        llvm::all_of(llvm::zip_equal(view.factors, last->factors),
                     [&](auto pair) {
                       auto [a, b] = pair;
                       return follows(a, b, last->size);
                     }))
      last->size *= view.size;
    else
      views.push_back(view);
  }
  // The outermost index needs no remainder.
  if (!views.empty())
    views.back().size = 0;
  llvm::erase_if(views, [](const View &view) {
    return view.step == 0 && llvm::all_of(view.factors, [](int64_t factor) {
             return factor == 0;
           });
  });
  std::reverse(views.begin(), views.end());
  return views;
}

bool Problem::dependsOn(unsigned operand, GroupKind kind) const {
  return !getViews(kind, operand).empty();
}

int64_t Problem::getLastStep(GroupKind kind, unsigned operand) const {
  return groups[kind].empty() ? 0 : groups[kind].back().steps[operand];
}

/// The width if the contiguous neighbours have this length.
int64_t Problem::getWidth(GroupKind kind, unsigned operand,
                          int64_t length) const {
  int64_t bits = types[operand].getElementTypeBitWidth();
  // The largest power of two that divides all of these.
  uint64_t all = uint64_t(length) | uint64_t(origins[operand]) |
                 uint64_t(std::max<int64_t>(128 / bits, 1));
  for (GroupKind other : {Batch, M, N, K})
    for (const View &view : getViews(other, operand))
      if (other != kind || view.inner != 1)
        all |= uint64_t(view.step);
  return int64_t(all & -all);
}

/// True for contiguous neighbours that are all in bounds or all out of bounds.
static bool isLine(ArrayRef<View> views) {
  return !views.empty() && views.back().inner == 1 && views.back().step == 1 &&
         llvm::all_of(views.back().factors,
                      [](int64_t factor) { return factor == 0; });
}

int64_t Problem::getWidth(GroupKind kind, unsigned operand) const {
  SmallVector<View> views = getViews(kind, operand);
  if (!isLine(views))
    return 1;
  int64_t length = views.back().size ? views.back().size : sizes[kind];
  return getWidth(kind, operand, length);
}

int64_t Problem::getRaggedWidth(GroupKind kind, unsigned operand) const {
  SmallVector<View> views = getViews(kind, operand);
  // The neighbours are those of the flat index.
  if (!isLine(views) || views.size() > 1 || views.back().size)
    return getWidth(kind, operand);
  return getWidth(kind, operand, /*length=*/0);
}

} // namespace mp::kernel::tiling
