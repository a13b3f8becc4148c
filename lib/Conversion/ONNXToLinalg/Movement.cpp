//===- Movement.cpp - Tensors made of parts of others ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Movement.h"

using namespace mlir;

namespace mp {

Value insertSlice(Emitter &e, TensorValue source, Value dest,
                  ArrayRef<Size> offsets, int64_t dropped) {
  Sizes extents = e.sizes(source), strides(offsets.size(), e.size(1));
  // Sizes are constants only where the type has them.
  for (auto [axis, extent] : llvm::enumerate(source.getType().getShape()))
    extents[axis] = ShapedType::isDynamic(extent) ? Size(e.index(extents[axis]))
                                                  : e.size(extent);
  if (dropped >= 0)
    extents.insert(extents.begin() + dropped, e.size(1));
  while (extents.size() < offsets.size())
    extents.insert(extents.begin(), e.size(1));
  return tensor::InsertSliceOp::create(e.b, e.loc, source.value, dest, offsets,
                                       extents, strides);
}

TensorValue takeAt(Emitter &e, TensorValue tensor, int64_t axis, Size index) {
  Sizes extents = e.sizes(tensor);
  Sizes offsets(extents.size(), e.size(0)), strides(extents.size(), e.size(1));
  offsets[axis] = index;
  extents[axis] = e.size(1);
  Sizes kept(extents);
  kept.erase(kept.begin() + axis);
  RankedTensorType type = e.getTensorType(kept, tensor.element);
  Value result = tensor::ExtractSliceOp::create(e.b, e.loc, type, tensor.value,
                                                offsets, extents, strides);
  e.noteSizes(result, kept);
  return {result, tensor.element};
}

SmallVector<TensorValue> takeParts(Emitter &e, TensorValue tensor,
                                   Sizes extents, int64_t axis,
                                   ArrayRef<Size> lengths) {
  Sizes offsets(extents.size(), e.size(0)), strides(extents.size(), e.size(1));
  SmallVector<TensorValue> parts;
  for (Size length : lengths) {
    extents[axis] = length;
    parts.push_back(e.slice(tensor, offsets, extents, strides));
    offsets[axis] = e.add(offsets[axis], length);
  }
  return parts;
}

TensorValue takeFirst(Emitter &e, TensorValue tensor, Size count) {
  Sizes extents = e.sizes(tensor);
  Sizes offsets(extents.size(), e.size(0)), strides(extents.size(), e.size(1));
  if (extents[0] == count)
    return tensor;
  extents[0] = count;
  return e.slice(tensor, offsets, extents, strides);
}

Value castTo(Emitter &e, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(e.b, e.loc, type, value);
}

LogicalResult checkEqual(NodeLowering &node, Size found, Size expected,
                         const Twine &text) {
  if (found == expected)
    return success();
  auto have = Emitter::getConstant(found),
       want = Emitter::getConstant(expected);
  if (have && want) {
    std::string message = text.str();
    for (auto [mark, number] : {std::pair("%0", *have), std::pair("%1", *want)})
      if (size_t place = message.find(mark); place != std::string::npos)
        message.replace(place, 2, std::to_string(number));
    return node.fail(message);
  }
  Emitter &e = node.e;
  e.check(node.s.compare(Scalars::EQ, e.index(found), e.index(expected)), text,
          found, expected);
  return success();
}

LogicalResult checkParts(NodeLowering &node, ArrayRef<Size> parts,
                         Size extent) {
  Emitter &e = node.e;
  Size total = e.size(0);
  for (Size part : parts) {
    std::optional<int64_t> known = Emitter::getConstant(part);
    if (known.value_or(0) < 0)
      return node.fail("a part has a negative size");
    if (!known)
      e.check(node.s.compare(Scalars::GE, e.index(part), node.s.index(0)),
              "the size %0 of a part is negative", part, extent);
    total = e.add(total, part);
  }
  return checkEqual(node, total, extent,
                    "the sizes of the parts add up to %0, expected %1");
}

FailureOr<Value> loadOne(NodeLowering &node, TensorValue tensor,
                         const Twine &what) {
  Emitter &e = node.e;
  Size count = e.product(e.sizes(tensor));
  if (failed(checkEqual(node, count, e.size(1),
                        what + " has %0 elements, expected %1")))
    return failure();
  return e.load(tensor, SmallVector<Value>(tensor.getRank(), node.s.index(0)));
}

FailureOr<Value> loadScalar(NodeLowering &node, unsigned operand) {
  return loadOne(node, node.in(operand), "operand " + Twine(operand));
}

FailureOr<Sizes> getAxisList(NodeLowering &node, StringRef name,
                             unsigned operand, unsigned count, int64_t rank) {
  Sizes axes;
  if (node.states(name)) {
    for (int64_t axis : node.getInts(name))
      axes.push_back(node.e.size(axis));
  } else if (node.has(operand)) {
    std::optional<Sizes> given = node.ints(operand);
    if (!given) {
      (void)node.fail("the number of axes is known at run time only");
      return failure();
    }
    axes = *given;
  } else {
    for (unsigned axis = 0; axis < count; ++axis)
      axes.push_back(node.e.size(axis));
  }
  if (axes.size() != count) {
    (void)node.fail("found " + Twine(axes.size()) + " axes, expected " +
                    Twine(count));
    return failure();
  }
  llvm::SmallDenseSet<int64_t> seen;
  for (Size &axis : axes) {
    std::optional<int64_t> constant = Emitter::getConstant(axis);
    if (!constant)
      continue;
    FailureOr<int64_t> normal = node.normalizeAxis(*constant, rank);
    if (failed(normal))
      return failure();
    if (!seen.insert(*normal).second) {
      (void)node.fail("axis " + Twine(*normal) + " is given twice");
      return failure();
    }
    axis = node.e.size(*normal);
  }
  return axes;
}

Sizes spreadOverAxes(Emitter &e, ArrayRef<Size> axes, ArrayRef<Size> values,
                     ArrayRef<Size> others) {
  Scalars &s = e.s;
  int64_t rank = others.size();
  Sizes result(others);
  for (auto [position, listed] : llvm::enumerate(axes)) {
    if (std::optional<int64_t> constant = Emitter::getConstant(listed)) {
      result[*constant] = values[position];
      continue;
    }
    Value axis = e.index(listed);
    Value isNegative = s.compare(Scalars::LT, axis, s.index(0));
    axis = s.select(isNegative, s.add(axis, s.index(rank)), axis);
    e.check(s.compare(Scalars::LT, axis, s.index(rank), /*isUnsigned=*/true),
            "axis %0 of a tensor with %1 axes", listed, e.size(rank));
    for (int64_t other = 0; other < rank; ++other) {
      Value isListed = s.compare(Scalars::EQ, axis, s.index(other));
      result[other] = e.select(isListed, values[position], result[other]);
    }
  }
  return result;
}

FailureOr<TensorValue>
concatenate(NodeLowering &node, ArrayRef<TensorValue> operands, int64_t axis) {
  Emitter &e = node.e;
  Sizes to = e.sizes(operands[0]);
  for (TensorValue operand : operands.drop_front()) {
    Sizes from = e.sizes(operand);
    if (from.size() != to.size()) {
      (void)node.fail("operands have " + Twine(to.size()) + " and " +
                      Twine(from.size()) + " axes");
      return failure();
    }
    for (unsigned other = 0; other < to.size(); ++other) {
      if (int64_t(other) == axis) {
        to[other] = e.add(to[other], from[other]);
        continue;
      }
      if (failed(checkEqual(node, from[other], to[other],
                            "size %0 of axis " + Twine(other) +
                                ", other operands have %1")))
        return failure();
      if (!Emitter::getConstant(to[other]))
        to[other] = from[other];
    }
  }
  if (operands.size() == 1)
    return operands[0];
  Value result = e.empty(to, operands[0].element);
  Sizes offsets(to.size(), e.size(0));
  for (TensorValue operand : operands) {
    Size extent = e.dim(operand, axis);
    if (Emitter::isConstant(extent, 0))
      continue;
    result = insertSlice(e, operand, result, offsets);
    offsets[axis] = e.add(offsets[axis], extent);
  }
  e.noteSizes(result, to);
  return TensorValue{result, operands[0].element};
}

SmallVector<Value> getAxisFlags(Emitter &e, ArrayRef<Size> axes, int64_t rank) {
  Sizes ones(axes.size(), e.size(1)), zeros(rank, e.size(0));
  SmallVector<Value> flags;
  for (Size flag : spreadOverAxes(e, axes, ones, zeros))
    flags.push_back(e.s.compare(Scalars::NE, e.index(flag), e.s.index(0)));
  return flags;
}

TensorValue dropFlagged(Emitter &e, TensorValue tensor, ArrayRef<Value> flags,
                        unsigned count) {
  Scalars &s = e.s;
  Sizes from = e.sizes(tensor), to(from.size() - count, e.size(1));
  // The place of the next kept axis in the result.
  Size place = e.size(0);
  for (auto [flag, extent] : llvm::zip(flags, from)) {
    Value isOne = s.compare(Scalars::EQ, e.index(extent), s.index(1));
    e.check(arith::OrIOp::create(e.b, e.loc, s.logicalNot(flag), isOne),
            "the size of a dropped axis is %0, expected %1", extent, e.size(1));
    for (auto [position, target] : llvm::enumerate(to)) {
      Value isHere = s.compare(Scalars::EQ, e.index(place), s.index(position));
      Value isTaken =
          arith::AndIOp::create(e.b, e.loc, isHere, s.logicalNot(flag));
      target = e.select(isTaken, extent, target);
    }
    place = e.add(place, e.select(flag, e.size(0), e.size(1)));
  }
  e.check(s.compare(Scalars::EQ, e.index(place), s.index(to.size())),
          "an axis is given twice: %0 stay, expected %1", place,
          e.size(to.size()));
  return e.reshape(tensor, to);
}

TensorValue generateFrom(Emitter &e, ArrayRef<Size> sizes, Type element,
                         TensorValue input, AffineMap map,
                         function_ref<Value(ValueRange, Value)> body) {
  unsigned rank = sizes.size();
  Value init = e.empty(sizes, element);
  AffineMap maps[] = {map, e.b.getMultiDimIdentityMap(rank)};
  auto op = linalg::GenericOp::create(
      e.b, e.loc, init.getType(), input.value, init, maps, getParallel(rank),
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
        SmallVector<Value> indices;
        for (unsigned axis = 0; axis < rank; ++axis)
          indices.push_back(linalg::IndexOp::create(e.b, e.loc, axis));
        Value value = body(indices, e.s.widen(arguments[0], input.element));
        linalg::YieldOp::create(e.b, e.loc, e.s.narrow(value, element));
      });
  e.noteSizes(op.getResult(0), sizes);
  return {op.getResult(0), element};
}

Value accumulate(Emitter &e, TensorValue source, TensorValue accumulator,
                 function_ref<Value(Value, Value)> combine) {
  unsigned rank = accumulator.getRank();
  AffineMap map = e.b.getMultiDimIdentityMap(rank);
  auto op = linalg::GenericOp::create(
      e.b, e.loc, accumulator.value.getType(), source.value, accumulator.value,
      {map, map}, getParallel(rank),
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
        Value more = e.s.widen(arguments[0], source.element);
        Value old = e.s.widen(arguments[1], accumulator.element);
        Value value = e.s.narrow(combine(old, more), accumulator.element);
        linalg::YieldOp::create(e.b, e.loc, value);
      });
  return op.getResult(0);
}

TensorValue normalizeIndices(Emitter &e, TensorValue indices, Size limit) {
  Type wide = e.b.getI64Type();
  return e.map(wide, indices, [&](ValueRange values) {
    Value index = e.checkedIndex(e.s.toIndex(values[0]), limit);
    return e.s.fromIndex(index, wide);
  });
}

void checkIndexable(Emitter &e, Size limit, Size indexCount) {
  if (Emitter::getConstant(limit).value_or(0) > 0)
    return;
  Value isSome = e.s.compare(Scalars::GT, e.index(limit), e.s.index(0));
  Value isNone = e.s.compare(Scalars::EQ, e.index(indexCount), e.s.index(0));
  e.check(arith::OrIOp::create(e.b, e.loc, isSome, isNone),
          "%1 indices into an axis of size %0", limit, indexCount);
}

} // namespace mp
