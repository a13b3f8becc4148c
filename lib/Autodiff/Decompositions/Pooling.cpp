//===- Pooling.cpp - Gradients of pools in standard ops -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"
#include "../WindowGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The sizes of the result: batch and channels are those of the gradient dY;
/// only the type gives the others.
static std::optional<SmallVector<Size>> getImage(NodeDecomposition &op) {
  auto type = dyn_cast<RankedTensorType>(op.out().getType());
  if (!type || type.getRank() < 3 ||
      NodeBuilder::getRank(op.in(0)) != type.getRank())
    return std::nullopt;
  SizeMath math(op.b);
  SmallVector<Size> image{math.of(op.in(0), 0), math.of(op.in(0), 1)};
  for (int64_t size : type.getShape().drop_front(2)) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    image.push_back(size);
  }
  return image;
}

static LogicalResult failOnImage(NodeDecomposition &op) {
  return op.fail("the spatial sizes of its result are unknown");
}

static LogicalResult failOnAttributes(NodeDecomposition &op) {
  return op.fail("its attributes do not fit its operands");
}

/// MaxPoolGrad(dY, Indices)
static LogicalResult maxPoolGrad(NodeDecomposition &op) {
  auto image = getImage(op);
  if (!image)
    return failOnImage(op);
  auto windows = readPool(op.b, op.getNode(), *image, op.in(0));
  if (!windows)
    return failOnAttributes(op);
  op.replace(scatterToCells(op.b, op.in(0), op.in(1), *image, *windows,
                            op.getInt("storage_order", 0)));
  return success();
}

/// AveragePoolGrad(dY)
static LogicalResult averagePoolGrad(NodeDecomposition &op) {
  auto image = getImage(op);
  if (!image)
    return failOnImage(op);
  auto windows = readPool(op.b, op.getNode(), *image, op.in(0));
  if (!windows)
    return failOnAttributes(op);
  op.replace(spreadMeans(op.b, op.getNode(), op.in(0), *image, *windows));
  return success();
}

static constexpr Decomposition poolingDecompositions[] = {
    {"AveragePoolGrad", averagePoolGrad},
    {"MaxPoolGrad", maxPoolGrad},
    {"com.microsoft.AveragePoolGrad", averagePoolGrad},
    {"com.microsoft.MaxPoolGrad", maxPoolGrad}};

ArrayRef<Decomposition> getPoolingDecompositions() {
  return poolingDecompositions;
}

} // namespace mp
