//===- Contraction.cpp - Operands, dimensions and offsets -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mp::kernel {

Value IndexFunction::at(LoopBuilder &e, Value i) const {
  auto cast = [&](Value value) {
    return type.isIndex() ? value : e.toI32(value);
  };
  if (table)
    return e.load(table, i);
  if (!factor)
    return cast(e.index(0));
  return cast(e.mul(i, factor));
}

Value IndexFunction::vectorAt(LoopBuilder &e, Value i, int64_t lanes) const {
  if (table)
    return vector::LoadOp::create(e, e.vectorType(type, lanes), table,
                                  ValueRange{i});
  Value first = e.splat(at(e, i), lanes);
  if (!factor)
    return first;
  Value step = type.isIndex() ? factor : e.toI32(factor);
  return e.add(first, e.mul(e.iota(type, lanes), e.splat(step, lanes)));
}

Contraction::Contraction(LoopBuilder &e, ContractOp op)
    : op(op), shape(ContractShape::get(op)) {
  SmallVector<Value> operands = op.getMappedOperands();
  for (auto [operand, position] : op.getSizeSources())
    sizes.push_back(
        operand < 0 ? op.getSizes()[position]
                    : memref::DimOp::create(e, operands[operand],
                                            static_cast<int64_t>(position)));
  for (unsigned i = 0; i < operands.size(); ++i)
    addView(e, i);
  for (auto [group, dims] : llvm::zip_equal(groups, shape.groups)) {
    group.dims = dims;
    group.total = e.index(1);
    for (ArrayRef<unsigned> joined : dims) {
      Value size = e.index(1);
      for (unsigned dim : joined)
        size = e.mul(size, sizes[dim]);
      group.sizes.push_back(size);
      group.total = e.mul(group.total, size);
    }
  }
}

void Contraction::addView(LoopBuilder &e, unsigned number) {
  Value operand = op.getMappedOperands()[number];
  AffineMap map = shape.contract.maps[number];
  unsigned numDims = map.getNumDims();
  View view;
  view.shape = shape.operands[number];
  auto [staticStrides, staticOffset] =
      cast<MemRefType>(operand.getType()).getStridesAndOffset();
  auto data = memref::ExtractStridedMetadataOp::create(e, operand);
  view.origin = e.index(0);
  view.strides.resize(numDims);
  Value last = e.index(0);
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    LinearForm form = *getLinearForm(expr, numDims);
    Value stride =
        staticStrides[position] == 1 ? e.index(1) : data.getStrides()[position];
    Value size =
        memref::DimOp::create(e, operand, static_cast<int64_t>(position));
    last = e.add(last, e.mul(e.sub(size, e.index(1)), stride));
    view.origin = e.add(view.origin, e.mul(stride, form.constant));
    for (unsigned dim = 0; dim < numDims; ++dim) {
      if (form.factors[dim] == 0)
        continue;
      Value step = e.mul(stride, form.factors[dim]);
      view.strides[dim] =
          view.strides[dim] ? e.add(view.strides[dim], step) : step;
    }
    if (llvm::any_of(view.shape.bounds, [&, at = position](const Bound &bound) {
          return bound.position == at;
        }))
      view.boundSizes.push_back(e.toI32(size));
  }
  view.memory = memref::ReinterpretCastOp::create(
      e, getLineType(view.shape), data.getBaseBuffer(),
      OpFoldResult(data.getOffset()),
      ArrayRef<OpFoldResult>{OpFoldResult(e.add(last, 1))},
      ArrayRef<OpFoldResult>{OpFoldResult(e.getIndexAttr(1))});
  views.push_back(view);
}

/// Repeats the last entry after the end: vectors there are read under empty
/// masks, but invalid addresses cost hundreds of cycles.
static void fillSlack(LoopBuilder &e, Value table, Value count) {
  constexpr int64_t lanes = 16;
  static_assert(tableSlack % lanes == 0);
  Value zero = e.index(0);
  Value last = e.load(table, e.max(e.sub(count, e.index(1)), zero));
  Value entries = e.splat(last, lanes);
  Value none = e.zeros(last.getType(), lanes);
  Value isEmpty = e.equal(count, zero);
  entries = arith::SelectOp::create(e, isEmpty, none, entries);
  e.loop(count, e.add(count, tableSlack), lanes, [&](Value i) {
    vector::StoreOp::create(e, entries, table, ValueRange{i});
  });
}

IndexFunction Contraction::tabulate(LoopBuilder &e, const Group &group,
                                    ArrayRef<Value> factors, Type type) {
  IndexFunction function;
  function.type = type;
  if (llvm::none_of(factors, [](Value value) { return bool(value); }))
    return function;
  if (group.isSingle()) {
    function.factor = factors.front();
    return function;
  }
  Value table = e.allocate(e.add(group.total, tableSlack), type);
  std::function<void(unsigned, Value, Value)> fill = [&](unsigned level,
                                                         Value position,
                                                         Value sum) {
    if (level == group.sizes.size()) {
      Value entry = type.isIndex() ? sum : e.toI32(sum);
      memref::StoreOp::create(e, entry, table, ValueRange{position});
      return;
    }
    e.loop(group.sizes[level], [&](Value i) {
      Value at = e.add(e.mul(position, group.sizes[level]), i);
      Value next = factors[level] ? e.add(sum, e.mul(i, factors[level])) : sum;
      fill(level + 1, at, next);
    });
  };
  fill(0, e.index(0), e.index(0));
  fillSlack(e, table, group.total);
  tables.push_back(table);
  function.table = table;
  return function;
}

IndexFunction Contraction::getOffsets(LoopBuilder &e, GroupKind kind,
                                      unsigned operand) {
  const Group &group = groups[kind];
  SmallVector<Value> factors;
  for (ArrayRef<unsigned> dims : group.dims)
    factors.push_back(views[operand].strides[dims.back()]);
  IndexFunction function = tabulate(e, group, factors, e.getIndexType());
  function.step = shape.getStep(kind, operand);
  return function;
}

/// The factors of a bounded dimension for a group's dimensions.
static SmallVector<Value> getFactors(LoopBuilder &e, const Group &group,
                                     const Bound &bound) {
  SmallVector<Value> factors;
  for (ArrayRef<unsigned> dims : group.dims) {
    int64_t factor = bound.factors[dims.back()];
    factors.push_back(factor == 0 ? Value() : e.index(factor));
  }
  return factors;
}

IndexFunction Contraction::getCoordinates(LoopBuilder &e, GroupKind kind,
                                          const Bound &bound) {
  return tabulate(e, groups[kind], getFactors(e, groups[kind], bound),
                  e.getI32Type());
}

Value Contraction::sumBatch(LoopBuilder &e, Value batch,
                            ArrayRef<Value> factors) {
  Value sum = e.index(0);
  const Group &group = groups[Batch];
  for (unsigned i = group.dims.size(); i-- > 0;) {
    Value own = i == 0 ? batch : e.rem(batch, group.sizes[i]);
    if (factors[i])
      sum = e.add(sum, e.mul(own, factors[i]));
    if (i > 0)
      batch = e.div(batch, group.sizes[i]);
  }
  return sum;
}

Value View::getOffset(LoopBuilder &e, ArrayRef<Value> indices) const {
  Value place = origin;
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    if (index && stride)
      place = e.add(place, e.mul(index, stride));
  return place;
}

Value Contraction::getBatchOffset(LoopBuilder &e, Value batch,
                                  unsigned operand) {
  SmallVector<Value> factors;
  for (ArrayRef<unsigned> dims : groups[Batch].dims)
    factors.push_back(views[operand].strides[dims.back()]);
  return e.add(views[operand].origin, sumBatch(e, batch, factors));
}

Value Contraction::getBatchCoordinate(LoopBuilder &e, Value batch,
                                      const Bound &bound) {
  Value sum = sumBatch(e, batch, getFactors(e, groups[Batch], bound));
  return e.toI32(e.add(sum, bound.constant));
}

void Contraction::release(LoopBuilder &e) {
  for (Value table : tables)
    memref::DeallocOp::create(e, table);
  tables.clear();
}

Value makeOnce(LoopBuilder &e, ContractOp op, Value count, Type element,
               llvm::function_ref<Value()> make) {
  Value entry =
      op->getParentOfType<FunctionOpInterface>().getArguments().back();
  auto type = MemRefType::get({ShapedType::kDynamic}, element);
  auto found =
      runtime::CacheLookupOp::create(e, type, e.getI1Type(), entry, count);
  return e.choose(
      found.getThere(), type, [&]() -> Value { return found.getMemory(); },
      [&]() -> Value {
        return runtime::CacheInsertOp::create(e, type, entry, make());
      });
}

} // namespace mp::kernel
