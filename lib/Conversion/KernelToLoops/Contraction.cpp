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

Value IndexFunction::at(Emitter &e, Value i) const {
  auto cast = [&](Value value) {
    return type.isIndex() ? value : e.toI32(value);
  };
  if (table)
    return e.load(table, i);
  if (!factor)
    return cast(e.index(0));
  return cast(e.mul(i, factor));
}

Value IndexFunction::vectorAt(Emitter &e, Value i, int64_t lanes) const {
  if (table)
    return vector::LoadOp::create(e, e.vectorType(type, lanes), table,
                                  ValueRange{i});
  Value first = e.splat(at(e, i), lanes);
  if (!factor)
    return first;
  Value step = type.isIndex() ? factor : e.toI32(factor);
  return e.add(first, e.mul(e.iota(type, lanes), e.splat(step, lanes)));
}

/// Which of the maps have factors for a dimension.
static bool occurs(AffineMap map, unsigned dim) {
  return map.isFunctionOfDim(dim);
}

Contraction::Contraction(Emitter &e, ContractOp op)
    : op(op), maps(op.getMaps()), operands(op.getMappedOperands()) {
  for (auto [operand, position] : op.getSizeSources())
    sizes.push_back(
        operand < 0 ? op.getSizes()[position]
                    : memref::DimOp::create(e, operands[operand],
                                            static_cast<int64_t>(position)));
  findGroups();
  for (unsigned i = 0; i < operands.size(); ++i)
    addView(e, i);
  separateColumns();
  for (Group &group : groups) {
    group.total = e.index(1);
    for (ArrayRef<unsigned> dims : group.dims) {
      Value size = e.index(1);
      for (unsigned dim : dims)
        size = e.mul(size, sizes[dim]);
      group.sizes.push_back(size);
      group.total = e.mul(group.total, size);
    }
  }
}

/// Whether index pairs of both dimensions are places of one line, in all
/// operands.
bool Contraction::follows(unsigned first, unsigned second) {
  for (auto [operand, map] : llvm::zip_equal(operands, maps)) {
    if (!occurs(map, first) && !occurs(map, second))
      continue;
    if (!cast<MemRefType>(operand.getType()).getLayout().isIdentity())
      return false;
    AffineExpr before = getAffineDimExpr(first, map.getContext());
    AffineExpr behind = getAffineDimExpr(second, map.getContext());
    unsigned uses = 0;
    bool inOrder = false;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      uses += expr.isFunctionOfDim(first) || expr.isFunctionOfDim(second);
      inOrder |= position > 0 && map.getResult(position - 1) == before &&
                 expr == behind;
    }
    if (!inOrder || uses != 2)
      return false;
  }
  return true;
}

void Contraction::findGroups() {
  AffineMap a = maps[0], b = maps[1], c = maps.back();
  unsigned numDims = c.getNumDims();
  // Lanes go along the last dimension of c, since they are stored there.
  columnsOperand = 1;
  for (AffineExpr expr : llvm::reverse(c.getResults())) {
    std::optional<unsigned> dim;
    for (unsigned i = 0; i < numDims; ++i)
      if (expr.isFunctionOfDim(i) && occurs(a, i) != occurs(b, i))
        dim = i;
    if (!dim)
      continue;
    columnsOperand = occurs(b, *dim) ? 1 : 0;
    break;
  }
  rowsOperand = 1 - columnsOperand;
  SmallVector<unsigned> order;
  for (AffineExpr expr : c.getResults())
    for (unsigned i = 0; i < numDims; ++i)
      if (expr.isFunctionOfDim(i))
        order.push_back(i);
  for (unsigned i = 0; i < numDims; ++i)
    if (!occurs(c, i))
      order.push_back(i);
  for (unsigned dim : order) {
    bool rows = occurs(maps[rowsOperand], dim);
    bool columns = occurs(maps[columnsOperand], dim);
    GroupKind kind = !occurs(c, dim)   ? Depth
                     : rows == columns ? Batch
                     : rows            ? Rows
                                       : Columns;
    auto &dims = groups[kind].dims;
    if (!dims.empty() && follows(dims.back().back(), dim))
      dims.back().push_back(dim);
    else
      dims.push_back({dim});
  }
}

void Contraction::addView(Emitter &e, unsigned operand) {
  auto type = cast<MemRefType>(operands[operand].getType());
  AffineMap map = maps[operand];
  unsigned numDims = map.getNumDims();
  View view;
  view.element = type.getElementType();
  if (operand < 2)
    view.rounding = op.getRounding(operand);
  auto [staticStrides, staticOffset] = type.getStridesAndOffset();
  auto data = memref::ExtractStridedMetadataOp::create(e, operands[operand]);
  view.origin = e.index(0);
  view.strides.resize(numDims);
  view.steps.resize(numDims, 0);
  auto inBounds = op->getAttrOfType<ArrayAttr>(inBoundsName);
  Value last = e.index(0);
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    LinearForm form = *getLinearForm(expr, numDims);
    Value stride =
        staticStrides[position] == 1 ? e.index(1) : data.getStrides()[position];
    Value size = memref::DimOp::create(e, operands[operand],
                                       static_cast<int64_t>(position));
    last = e.add(last, e.mul(e.sub(size, e.index(1)), stride));
    view.origin = e.add(view.origin, e.mul(stride, form.constant));
    for (unsigned dim = 0; dim < numDims; ++dim) {
      if (form.factors[dim] == 0)
        continue;
      bool isStep = !view.strides[dim] && staticStrides[position] == 1 &&
                    (form.factors[dim] == 1 || form.factors[dim] == 2);
      view.steps[dim] = isStep ? form.factors[dim] : 0;
      Value step = e.mul(stride, form.factors[dim]);
      view.strides[dim] =
          view.strides[dim] ? e.add(view.strides[dim], step) : step;
    }
    bool safe = form.getSingleDim() >= 0;
    if (inBounds)
      safe |= cast<DenseBoolArrayAttr>(inBounds[operand])[position];
    if (operand < 2 && !safe)
      view.bounds.push_back({form.factors, form.constant, e.toI32(size)});
  }
  auto line = MemRefType::get(
      {ShapedType::kDynamic}, view.element,
      StridedLayoutAttr::get(e.getContext(), ShapedType::kDynamic, {1}));
  view.memory = memref::ReinterpretCastOp::create(
      e, line, data.getBaseBuffer(), OpFoldResult(data.getOffset()),
      ArrayRef<OpFoldResult>{OpFoldResult(e.add(last, 1))},
      ArrayRef<OpFoldResult>{OpFoldResult(e.getIndexAttr(1))});
  views.push_back(view);
}

IndexFunction Contraction::tabulate(Emitter &e, const Group &group,
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
  tables.push_back(table);
  function.table = table;
  return function;
}

IndexFunction Contraction::getOffsets(Emitter &e, GroupKind kind,
                                      unsigned operand) {
  const Group &group = groups[kind];
  SmallVector<Value> factors;
  int64_t known = 0;
  for (ArrayRef<unsigned> dims : group.dims) {
    factors.push_back(views[operand].strides[dims.back()]);
    known = views[operand].steps[dims.back()];
  }
  IndexFunction function = tabulate(e, group, factors, e.getIndexType());
  function.step = known;
  return function;
}

/// The factors of a bounded dimension for a group's dimensions.
static SmallVector<Value> getFactors(Emitter &e, const Group &group,
                                     const Bound &bound) {
  SmallVector<Value> factors;
  for (ArrayRef<unsigned> dims : group.dims) {
    int64_t factor = bound.factors[dims.back()];
    factors.push_back(factor == 0 ? Value() : e.index(factor));
  }
  return factors;
}

IndexFunction Contraction::getCoordinates(Emitter &e, GroupKind kind,
                                          const Bound &bound) {
  return tabulate(e, groups[kind], getFactors(e, groups[kind], bound),
                  e.getI32Type());
}

Value Contraction::sumBatch(Emitter &e, Value batch, ArrayRef<Value> factors) {
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

Value Contraction::getBatchOffset(Emitter &e, Value batch, unsigned operand) {
  SmallVector<Value> factors;
  for (ArrayRef<unsigned> dims : groups[Batch].dims)
    factors.push_back(views[operand].strides[dims.back()]);
  return e.add(views[operand].origin, sumBatch(e, batch, factors));
}

Value Contraction::getBatchCoordinate(Emitter &e, Value batch,
                                      const Bound &bound) {
  Value sum = sumBatch(e, batch, getFactors(e, groups[Batch], bound));
  return e.toI32(e.add(sum, bound.constant));
}

/// Of joined dimensions; zero where it is not known.
int64_t Contraction::getLeastSize(ArrayRef<unsigned> dims) const {
  auto sizes = op->getAttrOfType<DenseI64ArrayAttr>(leastSizesName);
  int64_t product = 1;
  for (unsigned dim : dims)
    product *= sizes ? sizes[dim] : 0;
  return product;
}

bool Contraction::isShort(ArrayRef<unsigned> dims) const {
  int64_t size = getLeastSize(dims);
  return size > 0 && size < leastLong;
}

std::optional<int64_t> Contraction::getShortSize(GroupKind kind) const {
  int64_t product = 1;
  for (ArrayRef<unsigned> dims : groups[kind].dims)
    for (unsigned dim : dims) {
      if (!isShort(dim))
        return std::nullopt;
      product *= getLeastSize(dim);
    }
  return product;
}

int64_t Contraction::getLeastLength(GroupKind kind) const {
  const Group &group = groups[kind];
  return group.dims.empty() ? 0 : getLeastSize(group.dims.back());
}

bool Contraction::hasFewRows() const {
  if (std::optional<int64_t> count = getShortSize(Rows))
    return *count <= mostFew;
  const Group &rows = groups[Rows];
  return rows.isSingle() && rows.dims.front().size() == 1 &&
         getLeastSize(rows.dims.front()) == leastLong;
}

bool Contraction::readsColumnsInPlace() const {
  const Group &columns = groups[Columns];
  const View &view = views[columnsOperand];
  return hasFewRows() && columns.isSingle() && view.bounds.empty() &&
         view.steps[columns.dims.front().back()] == 1;
}

/// Lines of columns that could be read in place each become batches.
void Contraction::separateColumns() {
  auto &columns = groups[Columns].dims;
  const View &view = views[columnsOperand];
  if (columns.size() < 2 || !hasFewRows() || !view.bounds.empty() ||
      view.steps[columns.back().back()] != 1 || isShort(columns.back()))
    return;
  auto &batch = groups[Batch].dims;
  batch.insert(batch.end(), columns.begin(), columns.end() - 1);
  columns.erase(columns.begin(), columns.end() - 1);
}

void Contraction::release(Emitter &e) {
  for (Value table : tables)
    memref::DeallocOp::create(e, table);
  tables.clear();
}

Value makeOnce(Emitter &e, ContractOp op, Value count, Type element,
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
