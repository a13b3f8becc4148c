//===- Emitter.cpp - Writes loops on tensors ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value Emitter::index(Size size) {
  return getValueOrCreateConstantIndexOp(b, loc, size);
}

Size Emitter::fold(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return size(*constant);
  return value;
}

template <typename Op> Size Emitter::binary(Size x, Size y) {
  return fold(b.createOrFold<Op>(loc, index(x), index(y)));
}

Size Emitter::add(Size x, Size y) {
  if (isConstant(x, 0))
    return y;
  return isConstant(y, 0) ? x : binary<arith::AddIOp>(x, y);
}

Size Emitter::sub(Size x, Size y) {
  if (isConstant(y, 0))
    return x;
  return x == y ? size(0) : binary<arith::SubIOp>(x, y);
}

Size Emitter::mul(Size x, Size y) {
  if (isConstant(x, 1))
    return y;
  return isConstant(y, 1) ? x : binary<arith::MulIOp>(x, y);
}

Size Emitter::floorDiv(Size x, Size y) {
  return isConstant(y, 1) ? x : binary<arith::DivSIOp>(x, y);
}

Size Emitter::ceilDiv(Size x, Size y) {
  return isConstant(y, 1) ? x : floorDiv(add(x, sub(y, size(1))), y);
}

Size Emitter::rem(Size x, Size y) { return binary<arith::RemSIOp>(x, y); }

Size Emitter::min(Size x, Size y) {
  return x == y ? x : binary<arith::MinSIOp>(x, y);
}

Size Emitter::max(Size x, Size y) {
  return x == y ? x : binary<arith::MaxSIOp>(x, y);
}

Size Emitter::select(Value condition, Size x, Size y) {
  if (x == y)
    return x;
  return fold(
      b.createOrFold<arith::SelectOp>(loc, condition, index(x), index(y)));
}

Size Emitter::product(ArrayRef<Size> sizes) {
  Size result = size(1);
  for (Size factor : sizes)
    result = mul(result, factor);
  return result;
}

Sizes Emitter::sizes(TensorValue tensor) {
  auto found = known.find(tensor.value);
  if (found != known.end())
    return found->second;
  Sizes result;
  for (auto [axis, extent] : llvm::enumerate(tensor.getType().getShape())) {
    if (!ShapedType::isDynamic(extent))
      result.push_back(size(extent));
    else
      result.push_back(
          tensor::DimOp::create(b, loc, tensor.value, axis).getResult());
  }
  return result;
}

void Emitter::noteSizes(Value tensor, ArrayRef<Size> sizes) {
  known[tensor] = Sizes(sizes);
}

RankedTensorType Emitter::getTensorType(ArrayRef<Size> sizes, Type element) {
  SmallVector<int64_t> shape;
  for (Size extent : sizes)
    shape.push_back(getConstant(extent).value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, getStorageType(element));
}

//===----------------------------------------------------------------------===//
// Making tensors
//===----------------------------------------------------------------------===//

Value Emitter::empty(ArrayRef<Size> sizes, Type element) {
  return tensor::EmptyOp::create(b, loc, sizes, getStorageType(element));
}

TensorValue Emitter::full(ArrayRef<Size> sizes, Type element, Value value) {
  Value filled = linalg::FillOp::create(b, loc, s.narrow(value, element),
                                        empty(sizes, element))
                     .getResult(0);
  noteSizes(filled, sizes);
  return {filled, element};
}

TensorValue Emitter::fromSizes(ArrayRef<Size> values) {
  SmallVector<Value> elements;
  for (Size value : values)
    elements.push_back(s.fromIndex(index(value), b.getI64Type()));
  auto type = RankedTensorType::get(values.size(), b.getI64Type());
  if (values.empty())
    return {tensor::EmptyOp::create(b, loc, type.getShape(), b.getI64Type()),
            b.getI64Type()};
  return {tensor::FromElementsOp::create(b, loc, type, elements),
          b.getI64Type()};
}

Value Emitter::load(TensorValue tensor, ValueRange indices) {
  Value element = tensor::ExtractOp::create(b, loc, tensor.value, indices);
  return s.widen(element, tensor.element);
}

Value Emitter::loadAt(TensorValue tensor, int64_t position) {
  if (tensor.getRank() == 0)
    return load(tensor, {});
  return load(tensor, s.index(position));
}

Value Emitter::store(Value tensor, Type element, ValueRange indices,
                     Value value) {
  return tensor::InsertOp::create(b, loc, s.narrow(value, element), tensor,
                                  indices);
}

SmallVector<utils::IteratorType> getParallel(unsigned count) {
  return SmallVector<utils::IteratorType>(count, utils::IteratorType::parallel);
}

Sizes Emitter::broadcastPair(ArrayRef<Size> x, ArrayRef<Size> y) {
  if (x.size() < y.size())
    std::swap(x, y);
  Sizes result(x);
  unsigned shift = x.size() - y.size();
  for (auto [axis, other] : llvm::enumerate(y)) {
    Size &mine = result[axis + shift];
    if (mine == other || isConstant(other, 1))
      continue;
    if (isConstant(mine, 1)) {
      mine = other;
      continue;
    }
    Value left = index(mine), right = index(other);
    Value isOne = s.compare(Scalars::EQ, left, s.index(1));
    Value fits = s.compare(Scalars::EQ, left, right);
    Value otherIsOne = s.compare(Scalars::EQ, right, s.index(1));
    fits = arith::OrIOp::create(
        b, loc, fits, arith::OrIOp::create(b, loc, isOne, otherIsOne));
    check(fits, "sizes %0 and %1 do not fit together", mine, other);
    // A constant greater than one is the size in all cases that pass the check.
    if (!getConstant(mine))
      mine = getConstant(other) ? other : select(isOne, other, mine);
  }
  return result;
}

Sizes Emitter::broadcast(ArrayRef<Sizes> shapes) {
  Sizes result;
  for (const Sizes &shape : shapes)
    result = broadcastPair(result, shape);
  return result;
}

/// Returns the source of `operand` if `operand` only adds axes of size 1 to it,
/// and the axes of `operand` that the source's axes became.
static std::pair<Value, SmallVector<unsigned>> lookThrough(Value operand) {
  SmallVector<unsigned> axes;
  auto expand = operand.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand)
    return {operand, axes};
  auto type = cast<RankedTensorType>(operand.getType());
  auto groups = expand.getReassociationIndices();
  for (const ReassociationIndices &group : groups) {
    std::optional<unsigned> kept;
    for (int64_t axis : group) {
      if (type.getDimSize(axis) == 1)
        continue;
      if (kept)
        return {operand, {}};
      kept = axis;
    }
    axes.push_back(kept.value_or(group.front()));
  }
  return {expand.getSrc(), axes};
}

TensorValue Emitter::map(Type element, ArrayRef<TensorValue> operands,
                         BodyFn body) {
  SmallVector<Sizes> shapes;
  for (TensorValue operand : operands)
    shapes.push_back(sizes(operand));
  Sizes result = broadcast(shapes);
  unsigned rank = result.size();
  // An operand of unknown size that may be one is loaded in the body.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<bool> isLoaded;
  for (auto [operand, shape] : llvm::zip(operands, shapes)) {
    SmallVector<AffineExpr> exprs;
    bool unclear = false;
    unsigned shift = rank - shape.size();
    for (auto [axis, extent] : llvm::enumerate(shape)) {
      bool spread =
          isConstant(extent, 1) && !isConstant(result[axis + shift], 1);
      unclear |=
          !spread && !getConstant(extent) && extent != result[axis + shift];
      exprs.push_back(spread ? b.getAffineConstantExpr(0)
                             : b.getAffineDimExpr(axis + shift));
    }
    isLoaded.push_back(unclear);
    if (unclear)
      continue;
    auto [source, axes] = lookThrough(operand.value);
    if (source != operand.value) {
      SmallVector<AffineExpr> kept;
      for (unsigned axis : axes)
        kept.push_back(exprs[axis]);
      exprs = kept;
    }
    inputs.push_back(source);
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  Value init = empty(result, element);
  auto op = linalg::GenericOp::create(
      b, loc, init.getType(), inputs, init, maps, getParallel(rank),
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        SmallVector<Value> values;
        unsigned next = 0;
        for (auto [position, operand] : llvm::enumerate(operands)) {
          if (!isLoaded[position]) {
            values.push_back(s.widen(arguments[next++], operand.element));
            continue;
          }
          SmallVector<Value> indices;
          unsigned shift = rank - shapes[position].size();
          for (auto [axis, extent] : llvm::enumerate(shapes[position])) {
            Value i = linalg::IndexOp::create(b, loc, axis + shift);
            Value isOne = s.compare(Scalars::EQ, index(extent), s.index(1));
            indices.push_back(s.select(isOne, s.index(0), i));
          }
          values.push_back(load(operand, indices));
        }
        Value value = s.narrow(body(values), element);
        linalg::YieldOp::create(b, loc, value);
      });
  noteSizes(op.getResult(0), result);
  return {op.getResult(0), element};
}

TensorValue Emitter::generate(ArrayRef<Size> sizes, Type element,
                              IndexFn body) {
  unsigned rank = sizes.size();
  Value init = empty(sizes, element);
  auto op = linalg::GenericOp::create(
      b, loc, init.getType(), ValueRange(), init,
      b.getMultiDimIdentityMap(rank), getParallel(rank),
      [&](OpBuilder &nested, Location, ValueRange) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        SmallVector<Value> indices;
        for (unsigned axis = 0; axis < rank; ++axis)
          indices.push_back(linalg::IndexOp::create(b, loc, axis));
        linalg::YieldOp::create(b, loc, s.narrow(body(indices), element));
      });
  noteSizes(op.getResult(0), sizes);
  return {op.getResult(0), element};
}

TensorValue Emitter::reduce(TensorValue tensor, ArrayRef<int64_t> axes,
                            bool keepDims, Type resultElement, Value init,
                            function_ref<Value(Value, Value)> combine,
                            BodyFn finish) {
  Sizes from = sizes(tensor), to;
  unsigned rank = from.size();
  SmallVector<AffineExpr> exprs;
  auto iterators = getParallel(rank);
  for (unsigned axis = 0; axis < rank; ++axis) {
    if (llvm::is_contained(axes, axis)) {
      iterators[axis] = utils::IteratorType::reduction;
      continue;
    }
    exprs.push_back(b.getAffineDimExpr(axis));
    to.push_back(from[axis]);
  }
  Type accumulator = init.getType();
  Value start = tensor::EmptyOp::create(b, loc, to, accumulator);
  start = linalg::FillOp::create(b, loc, init, start).getResult(0);
  AffineMap maps[] = {b.getMultiDimIdentityMap(rank),
                      AffineMap::get(rank, 0, exprs, b.getContext())};
  auto op = linalg::GenericOp::create(
      b, loc, start.getType(), tensor.value, start, maps, iterators,
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value element = s.widen(arguments[0], tensor.element);
        linalg::YieldOp::create(b, loc, combine(element, arguments[1]));
      });
  // The accumulator has a compute type; booleans have their storage type.
  TensorValue result = {op.getResult(0), accumulator};
  noteSizes(result.value, to);
  if (finish || accumulator != getStorageType(resultElement))
    result = map(resultElement, result, [&](ValueRange values) {
      return finish ? finish(values) : values[0];
    });
  result.element = resultElement;
  if (!keepDims)
    return result;
  for (int64_t axis : axes)
    to.insert(to.begin() + axis, size(1));
  return reshape(result, to);
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

TensorValue Emitter::transpose(TensorValue tensor,
                               ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return tensor;
  Sizes from = sizes(tensor), to;
  SmallVector<AffineExpr> exprs(from.size());
  for (auto [axis, source] : llvm::enumerate(permutation)) {
    to.push_back(from[source]);
    exprs[source] = b.getAffineDimExpr(axis);
  }
  return copyFrom(tensor, exprs, to);
}

TensorValue Emitter::copyFrom(TensorValue tensor, ArrayRef<AffineExpr> places,
                              ArrayRef<Size> to) {
  unsigned rank = to.size();
  Value init = empty(to, tensor.element);
  AffineMap maps[] = {AffineMap::get(rank, 0, places, b.getContext()),
                      b.getMultiDimIdentityMap(rank)};
  auto op = linalg::GenericOp::create(
      b, loc, init.getType(), tensor.value, init, maps, getParallel(rank),
      [&](OpBuilder &nested, Location where, ValueRange arguments) {
        linalg::YieldOp::create(nested, where, arguments[0]);
      });
  noteSizes(op.getResult(0), to);
  return {op.getResult(0), tensor.element};
}

/// Groups the axes of `fine` such that their products are the sizes of
/// `coarse`, in the form for collapse_shape; absent if sizes are unknown and
/// differ.
static std::optional<SmallVector<ReassociationIndices>>
getGroups(ArrayRef<Size> fine, ArrayRef<Size> coarse) {
  SmallVector<ReassociationIndices> groups;
  unsigned next = 0;
  for (Size extent : coarse) {
    ReassociationIndices group;
    if (next < fine.size() && fine[next] == extent) {
      group.push_back(next++);
    } else {
      std::optional<int64_t> want = getConstantIntValue(extent);
      int64_t have = 1;
      while (want && next < fine.size() && (have != *want || group.empty())) {
        std::optional<int64_t> factor = getConstantIntValue(fine[next]);
        if (!factor)
          return std::nullopt;
        have *= *factor;
        group.push_back(next++);
        if (*want && have > *want)
          return std::nullopt;
      }
      if (!want || have != *want || group.empty())
        return std::nullopt;
    }
    groups.push_back(group);
  }
  for (; next < fine.size(); ++next) {
    if (getConstantIntValue(fine[next]) != 1 || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  return groups;
}

TensorValue Emitter::reshape(TensorValue tensor, ArrayRef<Size> to) {
  Sizes from = sizes(tensor);
  if (from == Sizes(to))
    return tensor;
  RankedTensorType type = getTensorType(to, tensor.element);
  Value result;
  bool isEmpty = llvm::any_of(from, [](Size s) { return isConstant(s, 0); });
  bool allOnes = llvm::all_of(from, [](Size s) { return isConstant(s, 1); }) &&
                 llvm::all_of(to, [](Size s) { return isConstant(s, 1); });
  if (!isEmpty && allOnes && to.empty()) {
    result = tensor::CollapseShapeOp::create(b, loc, type, tensor.value,
                                             ArrayRef<ReassociationIndices>());
  } else if (!isEmpty && allOnes && from.empty()) {
    result = tensor::ExpandShapeOp::create(
        b, loc, type, tensor.value, ArrayRef<ReassociationIndices>(), to);
  } else if (auto groups = getGroups(from, to);
             !isEmpty && groups && from.size() > to.size() && !to.empty()) {
    result =
        tensor::CollapseShapeOp::create(b, loc, type, tensor.value, *groups);
  } else if (auto inverse = getGroups(to, from);
             !isEmpty && inverse && to.size() > from.size() && !from.empty()) {
    result =
        tensor::ExpandShapeOp::create(b, loc, type, tensor.value, *inverse, to);
  } else {
    SmallVector<Value> extents;
    for (Size extent : to)
      extents.push_back(index(extent));
    auto shape = RankedTensorType::get(to.size(), b.getIndexType());
    Value list = to.empty()
                     ? tensor::EmptyOp::create(b, loc, shape.getShape(),
                                               b.getIndexType())
                           .getResult()
                     : tensor::FromElementsOp::create(b, loc, shape, extents)
                           .getResult();
    result = tensor::ReshapeOp::create(b, loc, type, tensor.value, list);
  }
  noteSizes(result, to);
  return {result, tensor.element};
}

TensorValue Emitter::broadcastTo(TensorValue tensor, ArrayRef<Size> to) {
  Sizes from = sizes(tensor);
  if (from == Sizes(to))
    return tensor;
  unsigned shift = to.size() - from.size();
  SmallVector<AffineExpr> exprs;
  for (auto [axis, extent] : llvm::enumerate(from)) {
    if (!getConstant(extent) && extent != to[axis + shift])
      return generate(to, tensor.element, [&](ValueRange indices) {
        SmallVector<Value> source;
        for (auto [axis, extent] : llvm::enumerate(from)) {
          Value isOne = s.compare(Scalars::EQ, index(extent), s.index(1));
          source.push_back(s.select(isOne, s.index(0), indices[axis + shift]));
        }
        return load(tensor, source);
      });
    exprs.push_back(isConstant(extent, 1) ? b.getAffineConstantExpr(0)
                                          : b.getAffineDimExpr(axis + shift));
  }
  return copyFrom(tensor, exprs, to);
}

TensorValue Emitter::slice(TensorValue tensor, ArrayRef<Size> offsets,
                           ArrayRef<Size> extents, ArrayRef<Size> strides) {
  // An empty slice may begin past the end.
  if (llvm::any_of(extents, [](Size s) { return isConstant(s, 0); })) {
    Value nothing = empty(extents, tensor.element);
    noteSizes(nothing, extents);
    return {nothing, tensor.element};
  }
  bool isForward = llvm::all_of(
      strides, [](Size stride) { return getConstant(stride).value_or(0) > 0; });
  if (!isForward)
    return generate(extents, tensor.element, [&](ValueRange indices) {
      SmallVector<Value> source;
      for (auto [axis, i] : llvm::enumerate(indices))
        source.push_back(
            index(add(offsets[axis], mul(strides[axis], Size(i)))));
      return load(tensor, source);
    });
  RankedTensorType type = getTensorType(extents, tensor.element);
  Value result = tensor::ExtractSliceOp::create(b, loc, type, tensor.value,
                                                offsets, extents, strides);
  noteSizes(result, extents);
  return {result, tensor.element};
}

TensorValue Emitter::cast(TensorValue tensor, Type element) {
  if (tensor.element == element)
    return tensor;
  return map(element, tensor, [&](ValueRange values) {
    return s.convert(values[0], tensor.element, element);
  });
}

TensorValue Emitter::refine(TensorValue tensor, ArrayRef<int64_t> shape) {
  Sizes extents = sizes(tensor);
  if (extents.size() != shape.size())
    return tensor;
  bool changed = false;
  for (auto [axis, wanted] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(wanted) || getConstant(extents[axis]))
      continue;
    Value fits = s.compare(Scalars::EQ, index(extents[axis]), s.index(wanted));
    check(fits, "a size is %0, the model says %1", extents[axis], size(wanted));
    extents[axis] = size(wanted);
    changed = true;
  }
  if (!changed)
    return tensor;
  Value result = tensor::CastOp::create(
      b, loc, getTensorType(extents, tensor.element), tensor.value);
  noteSizes(result, extents);
  return {result, tensor.element};
}

} // namespace mp
