//===- NormGradients.cpp - Gradients of normalizations --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Autodiff/NormGradients.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Value widen(NodeBuilder &b, Value value) {
  auto type =
      dyn_cast_or_null<FloatType>(getTensorElementType(value.getType()));
  return type && type.getWidth() == 16
             ? b.castTo(value, Float32Type::get(b.getContext()))
             : value;
}

SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(
      llvm::seq<int64_t>(first < 0 ? first + rank : first, rank));
}

SmallVector<int64_t> axesBesideChannels(int64_t rank) {
  SmallVector<int64_t> axes{0};
  llvm::append_range(axes, llvm::seq<int64_t>(2, rank));
  return axes;
}

Normalization normalize(NodeBuilder &b, Value value, ArrayRef<int64_t> axes,
                        double epsilon, bool subtractsMean) {
  Value mean;
  Value centered = value;
  if (subtractsMean) {
    mean = b.reduceMean(value, axes, /*keepDims=*/true);
    centered = b.sub(value, mean);
  }
  Value variance = b.reduceMean(b.mul(centered, centered), axes, true);
  Value deviation = b.create("Sqrt", {b.addScalar(variance, epsilon)});
  Value factor = b.create("Reciprocal", {deviation});
  return {llvm::to_vector(axes), subtractsMean, b.mul(centered, factor), factor,
          mean};
}

Normalization normalizeBy(NodeBuilder &b, Value value, ArrayRef<int64_t> axes,
                          Value mean, Value factor) {
  Value centered = mean ? b.sub(value, mean) : value;
  return {llvm::to_vector(axes), bool(mean), b.mul(centered, factor), factor,
          mean};
}

Value getNormGradient(NodeBuilder &b, const Normalization &norm,
                      Value gradient) {
  Value share = b.reduceMean(b.mul(gradient, norm.normalized), norm.axes, true);
  Value rest = b.sub(gradient, b.mul(norm.normalized, share));
  if (norm.subtractsMean)
    rest = b.sub(rest, b.reduceMean(gradient, norm.axes, true));
  return b.mul(rest, norm.factor);
}

Value alongChannels(NodeBuilder &b, Value vector, int64_t rank) {
  return b.unsqueeze(vector, axesFrom(1, rank - 1));
}

} // namespace mp
