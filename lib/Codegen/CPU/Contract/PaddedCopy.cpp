//===- PaddedCopy.cpp - Images with zeros around them ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line of the copy consists of all axes from the last one with bounds on:
// zeros, the image's elements, zeros. Lines before and after the image are
// zeros.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

using namespace mlir;

namespace mp::kernel {

namespace {
/// The approximate number of elements that a task copies.
constexpr int64_t taskElements = 1 << 14;
constexpr int64_t lanes = 16;

/// An axis of the copy: its index 0 is index `low` of the image.
struct Axis {
  Value low, size, copied;
};

class PaddedCopy {
public:
  PaddedCopy(LoopBuilder &e, Contraction &contraction, unsigned operand)
      : e(e), contraction(contraction), view(contraction.views[operand]),
        map(contraction.shape.contract.maps[operand]),
        source(contraction.op.getMappedOperands()[operand]) {}

  Value emit();

private:
  void findAxes();
  void copyLine(Value number);
  void fill(Value begin, Value end);
  void copy(Value from, Value to, Value count);
  Value multiply(ArrayRef<Axis> list, bool isCopy) {
    Value product = e.index(1);
    for (const Axis &axis : list)
      product = e.mul(product, isCopy ? axis.copied : axis.size);
    return product;
  }
  void replaceView();

  LoopBuilder &e;
  Contraction &contraction;
  View &view;
  AffineMap map;
  Value source, memory;
  SmallVector<Axis> axes;
  /// The last axis with bounds; lines begin with it.
  unsigned line = 0;
  Value lineLength;
};
} // namespace

void PaddedCopy::findAxes() {
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    Value size = memref::DimOp::create(e, source, int64_t(position));
    Axis axis{e.index(0), size, size};
    bool isBounded = llvm::any_of(view.shape.bounds, [&](const Bound &bound) {
      return bound.position == axes.size();
    });
    if (isBounded) {
      LinearForm form = *getLinearForm(expr, map.getNumDims());
      Value high = axis.low = e.index(form.constant);
      for (auto [factor, count] :
           llvm::zip_equal(form.factors, contraction.sizes)) {
        Value reach = e.mul(e.sub(count, e.index(1)), factor);
        if (factor != 0)
          (factor < 0 ? axis.low : high) =
              e.add(factor < 0 ? axis.low : high, reach);
      }
      axis.copied = e.max(e.add(e.sub(high, axis.low), 1), e.index(0));
      line = position;
    }
    axes.push_back(axis);
  }
}

void PaddedCopy::fill(Value begin, Value end) {
  VectorType type = e.vectorType(view.shape.element, lanes);
  Value zeros = arith::ConstantOp::create(e, e.getZeroAttr(type));
  e.loop(begin, end, lanes, [&](Value at) {
    vector::MaskedStoreOp::create(e, memory, ValueRange{at},
                                  e.firstLanes(e.sub(end, at), lanes), zeros);
  });
}

void PaddedCopy::copy(Value from, Value to, Value count) {
  VectorType type = e.vectorType(view.shape.element, lanes);
  Value zeros = arith::ConstantOp::create(e, e.getZeroAttr(type));
  e.loop(e.index(0), count, lanes, [&](Value i) {
    Value mask = e.firstLanes(e.sub(count, i), lanes);
    Value read = vector::MaskedLoadOp::create(
        e, type, view.memory, ValueRange{e.add(from, i)}, mask, zeros);
    vector::MaskedStoreOp::create(e, memory, ValueRange{e.add(to, i)}, mask,
                                  read);
  });
}

void PaddedCopy::copyLine(Value number) {
  Value to = e.mul(number, lineLength);
  Value end = e.add(to, lineLength);
  // The position of the line in the image.
  Value rest = number, from = e.index(0), pitch = e.index(1), isThere;
  for (unsigned i = axes.size(); i-- > line;)
    pitch = e.mul(pitch, axes[i].size);
  for (unsigned i = line; i-- > 0;) {
    Value index = i == 0 ? rest : e.rem(rest, axes[i].copied);
    rest = e.div(rest, axes[i].copied);
    index = e.add(index, axes[i].low);
    Value isWithin = arith::AndIOp::create(e, e.less(e.index(-1), index),
                                           e.less(index, axes[i].size));
    isThere = isThere ? arith::AndIOp::create(e, isThere, isWithin).getResult()
                      : isWithin;
    from = e.add(from, e.mul(index, pitch));
    pitch = e.mul(pitch, axes[i].size);
  }
  const Axis &axis = axes[line];
  Value inner = multiply(ArrayRef(axes).drop_front(line + 1), /*isCopy=*/false);
  Value zero = e.index(0);
  Value skipped = e.max(axis.low, zero);
  Value first = e.min(e.sub(skipped, axis.low), axis.copied);
  Value last = e.min(e.max(e.sub(axis.size, axis.low), first), axis.copied);
  auto copyAll = [&] {
    Value begin = e.add(to, e.mul(first, inner));
    Value copyEnd = e.add(to, e.mul(last, inner));
    fill(to, begin);
    copy(e.add(from, e.mul(skipped, inner)), begin, e.sub(copyEnd, begin));
    fill(copyEnd, end);
  };
  if (isThere)
    e.ifElse(isThere, copyAll, [&] { fill(to, end); });
  else
    copyAll();
}

/// Makes the view one of the copy, which contains all indices.
void PaddedCopy::replaceView() {
  Value stride = e.index(1);
  view.memory = memref::CastOp::create(e, getLineType(view.shape), memory);
  view.origin = e.index(0);
  view.strides.assign(view.strides.size(), Value());
  for (unsigned position = axes.size(); position-- > 0;) {
    LinearForm form = *getLinearForm(map.getResult(position), map.getNumDims());
    Value constant = e.sub(e.index(form.constant), axes[position].low);
    view.origin = e.add(view.origin, e.mul(stride, constant));
    for (auto [dim, factor] : llvm::enumerate(form.factors)) {
      if (factor == 0)
        continue;
      Value step = e.mul(stride, factor);
      Value &sum = view.strides[dim];
      sum = sum ? e.add(sum, step) : step;
    }
    stride = e.mul(stride, axes[position].copied);
  }
  view.shape.bounds.clear();
  view.boundSizes.clear();
}

Value PaddedCopy::emit() {
  findAxes();
  memory = e.allocate(multiply(axes, /*isCopy=*/true), view.shape.element);
  lineLength = multiply(ArrayRef(axes).drop_front(line), /*isCopy=*/true);
  Value lines = multiply(ArrayRef(axes).take_front(line), /*isCopy=*/true);
  Value chunk =
      e.add(e.div(e.index(taskElements), e.max(lineLength, e.index(1))), 1);
  e.parallel(e.ceilDiv(lines, chunk), [&](Value task) {
    Value first = e.mul(task, chunk);
    e.loop(first, e.min(e.add(first, chunk), lines), 1,
           [&](Value number) { copyLine(number); });
  });
  replaceView();
  return memory;
}

void Contraction::pad(LoopBuilder &e, unsigned operand) {
  if (!views[operand].shape.bounds.empty())
    tables.push_back(PaddedCopy(e, *this, operand).emit());
}

} // namespace mp::kernel
