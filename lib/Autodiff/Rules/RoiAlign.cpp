//===- RoiAlign.cpp - Gradients of regions of images ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mean over a region's samples is a product with a matrix for its rows and
// one for its columns; the gradient is the product with both transposed. As in
// torchvision, the regions themselves have no gradient.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "../Sizes.h"
#include "mp-opt/Autodiff/NormGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// One axis of the image.
struct RegionAxis {
  /// Indices of its coordinates in the list of a region: begin and end.
  int64_t begin, end;
  /// Cells of the result.
  int64_t cells;
  Size from;
};

class Regions {
public:
  Regions(NodeBuilder &b, const NodeView &node, Value rois)
      : b(b), math(b), node(node), rois(rois),
        element(getTensorElementType(rois.getType())) {}

  /// The weight of each cell of the image in each cell of the result: a matrix
  /// per region.
  Value makeMatrices(const RegionAxis &axis);

private:
  Value number(double value) { return b.scalar(value, element); }
  Value column(int64_t index) { return b.slice(rois, 1, index, index + 1); }

  NodeBuilder &b;
  SizeMath math;
  NodeView node;
  Value rois;
  Type element;
};

} // namespace

Value Regions::makeMatrices(const RegionAxis &axis) {
  bool isHalf =
      node.getString("coordinate_transformation_mode") == "half_pixel";
  int64_t ratio = node.getInt("sampling_ratio");
  double scale = node.getFloat("spatial_scale");
  Value begin = b.mul(column(axis.begin), number(scale));
  Value end = b.mul(column(axis.end), number(scale));
  Value length = b.sub(end, begin);
  if (isHalf)
    begin = b.sub(begin, number(0.5));
  else
    length = b.create("Max", {length, number(1)});
  // The axes are regions, cells, samples. Without a ratio, larger cells have
  // more samples.
  Value cell = b.unsqueeze(b.div(length, number(axis.cells)), {2});
  begin = b.unsqueeze(begin, {2});
  Value most, count = ratio > 0 ? number(ratio) : b.create("Ceil", {cell});
  if (ratio <= 0)
    most = b.reshape(
        b.castTo(b.create("ReduceMax", {count}), b.getBuilder().getI64Type()),
        ArrayRef<int64_t>{1});
  Value sample = b.castTo(math.range(most ? Size(most) : Size(ratio)), element);
  Value counted = b.create("Max", {count, number(1)});
  Value index = b.unsqueeze(b.castTo(math.range(axis.cells), element), {1});
  Value within = b.div(b.add(sample, number(0.5)), counted);
  Value place = b.add(begin, b.mul(cell, b.add(index, within)));
  Value size = math.scalar(axis.from, element);
  Value last = b.sub(size, number(1));
  Value isInside =
      b.create("And", {b.create("GreaterOrEqual", {place, number(-1)}),
                       b.create("LessOrEqual", {place, size})});
  isInside = b.create("And", {isInside, b.create("Less", {sample, count})});
  // The weights are a hat function around each position.
  Value clamped = b.create("Min", {b.create("Max", {place, number(0)}), last});
  Value distance =
      b.create("Abs", {b.sub(b.unsqueeze(clamped, {3}),
                             b.castTo(math.range(axis.from), element))});
  Value hat = b.create("Relu", {b.sub(number(1), distance)});
  Value weight = b.where(b.unsqueeze(isInside, {3}), hat, number(0));
  return b.div(b.reduceSum(weight, {2}, /*keepDims=*/false), counted);
}

static LogicalResult roiAlignRule(NodeAdjoint &op) {
  if (!op.wants(0))
    return success();
  NodeBuilder &b = op.b;
  if (NodeBuilder::getRank(op.in(0)) != 4)
    return op.fail("expected an image of known rank, four");
  if (op.getString("mode") != "avg")
    return op.fail("there is a gradient for mode 'avg' only");
  SizeMath math(b);
  Value image = op.in(0), grad = widen(b, op.grad());
  Regions regions(b, op, b.castLike(op.in(1), grad));
  Value rows = regions.makeMatrices(
      {1, 3, op.getInt("output_height"), math.of(image, 2)});
  Value columns = regions.makeMatrices(
      {0, 2, op.getInt("output_width"), math.of(image, 3)});
  Value parts = b.matmul(b.unsqueeze(b.transposeLast(rows), {1}), grad);
  parts = b.matmul(parts, b.unsqueeze(columns, {1}));
  op.set(0, b.create("com.microsoft.GatherGrad",
                     {b.shapeOf(image), op.in(2), b.castLike(parts, image)},
                     b.attr("axis", int64_t(0)), image.getType()));
  return success();
}

static constexpr GradientRule roiAlignGradients[] = {
    {"RoiAlign", roiAlignRule}};

ArrayRef<GradientRule> getRoiAlignGradients() { return roiAlignGradients; }

} // namespace mp
