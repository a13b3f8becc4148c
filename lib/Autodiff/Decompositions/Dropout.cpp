//===- Dropout.cpp - Gradients of dropouts in standard ops ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Replaces the result by dY where the mask (of its shape) is true, scaled like
/// the kept elements; by dY itself if the mode says that nothing was dropped.
static void writeMasked(NodeDecomposition &op, Value mask) {
  Value grad = op.wide(0);
  double stated = op.getFloat("ratio", 0.5);
  Value ratio =
      op.has(2) ? op.b.castLike(op.in(2), grad) : op.b.scalarLike(stated, grad);
  Value one = op.b.scalarLike(1, grad), zero = op.b.scalarLike(0, grad);
  Value kept = op.b.sub(one, ratio);
  if (op.has(3))
    kept = op.b.where(op.in(3), kept, one);
  // If all elements are dropped, the quotient is not used.
  Value isNone = op.b.create("Equal", {kept, zero});
  Value scaled = op.b.div(grad, op.b.where(isNone, one, kept));
  op.replace(op.b.where(mask, scaled, zero));
}

/// DropoutGrad(dY, mask, ratio, training mode)
static LogicalResult dropoutGrad(NodeDecomposition &op) {
  writeMasked(op, op.in(1));
  return success();
}

/// BitmaskDropoutGrad: element i of the flat tensor is bit i % 32 of word
/// i / 32.
static LogicalResult bitmaskDropoutGrad(NodeDecomposition &op) {
  Value grad = op.in(0);
  Type wide = op.b.getBuilder().getI64Type();
  Value words = op.b.unsqueeze(op.b.castTo(op.in(1), wide), 1);
  SmallVector<int64_t> places;
  for (int64_t bit = 0; bit < 32; ++bit)
    places.push_back(int64_t(1) << bit);
  Value shifted = op.b.div(words, op.b.ints(places));
  Value bits = op.b.create("Mod", {shifted, op.b.ints(2)});
  Value flat = op.b.reshape(bits, ArrayRef<int64_t>(-1));
  Value size = op.b.unsqueeze(op.b.create("Size", {grad}), 0);
  Value used = op.b.create("Slice", {flat, op.b.ints(0), size, op.b.ints(0)});
  Value mask = op.b.castTo(used, op.b.getBuilder().getI1Type());
  writeMasked(op, op.b.reshapeLike(mask, grad));
  return success();
}

static constexpr Decomposition dropoutDecompositions[] = {
    {"com.microsoft.BitmaskDropoutGrad", bitmaskDropoutGrad},
    {"com.microsoft.DropoutGrad", dropoutGrad}};

ArrayRef<Decomposition> getDropoutDecompositions() {
  return dropoutDecompositions;
}

} // namespace mp
