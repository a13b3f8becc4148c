//===- StoreVector.cpp - Vectors of results along a dimension -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreVector.h"
#include "../../Contract/Tile.h"

using namespace mlir;

namespace mp::kernel {

/// Reads elements of an operand of the epilogue.
static Value readVector(LoopBuilder &e, const View &view,
                        const ResultVector &vector) {
  Value place = view.getOffset(e, vector.indices);
  Value stride = view.strides[vector.dim];
  if (!stride)
    return e.splat(e.load(view.memory, place), vector.lanes);
  VectorType type = e.vectorType(view.shape.element, vector.lanes);
  if (view.shape.steps[vector.dim] != 1) {
    Value offsets = e.mul(e.iota(e.getIndexType(), vector.lanes),
                          e.splat(stride, vector.lanes));
    Value all = vector.mask ? vector.mask
                            : e.firstLanes(e.index(vector.lanes), vector.lanes);
    return e.gather(view.memory, place, offsets, all);
  }
  if (vector.mask)
    return vector::MaskedLoadOp::create(
        e, type, view.memory, ValueRange{place}, vector.mask,
        e.zeros(view.shape.element, vector.lanes));
  return vector::LoadOp::create(e, type, view.memory, ValueRange{place});
}

void storeVector(LoopBuilder &e, const Contraction &contraction,
                 const ResultVector &vector, Value sums) {
  SmallVector<Value> arguments{sums};
  for (const View &view : ArrayRef(contraction.views).drop_front(2).drop_back())
    arguments.push_back(readVector(e, view, vector));
  Value result = applyEpilogue(e, contraction.op, arguments, vector.lanes);
  const View &output = contraction.views.back();
  Value place = output.getOffset(e, vector.indices);
  if (output.shape.steps[vector.dim] != 1) {
    Value offsets = e.mul(e.iota(e.getIndexType(), vector.lanes),
                          e.splat(output.strides[vector.dim], vector.lanes));
    Value all = vector.mask ? vector.mask
                            : e.firstLanes(e.index(vector.lanes), vector.lanes);
    vector::ScatterOp::create(e, Type(), output.memory, ValueRange{place},
                              offsets, all, result);
  } else if (vector.mask)
    vector::MaskedStoreOp::create(e, output.memory, ValueRange{place},
                                  vector.mask, result);
  else
    vector::StoreOp::create(e, result, output.memory, ValueRange{place});
}

} // namespace mp::kernel
