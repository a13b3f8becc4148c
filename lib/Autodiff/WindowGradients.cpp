//===- WindowGradients.cpp - Convolution and pool gradients ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowGradients.h"
#include "mp-opt/Autodiff/NormGradients.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

std::optional<Windows> readConvolution(NodeBuilder &b,
                                       const Convolution &convolution) {
  auto rank = NodeBuilder::getRank(convolution.image);
  if (!rank || *rank < 3 || convolution.node.getInt("group", 1) < 1)
    return std::nullopt;
  SizeMath math(b);
  SmallVector<Size> image = math.from(convolution.image, 2, *rank);
  SmallVector<Size> count = math.from(convolution.grad, 2, *rank);
  SmallVector<Size> kernel = math.from(convolution.weight, 2, *rank);
  SmallVector<int64_t> stated = convolution.node.getInts("kernel_shape");
  if (!stated.empty() && stated.size() != kernel.size())
    return std::nullopt;
  for (auto [size, known] : llvm::zip(kernel, stated))
    size = known;
  // A transposed convolution has a window for each cell of its operand.
  if (convolution.isTransposed)
    return readTransposedWindows(b, convolution.node, count, kernel, image);
  return readWindows(b, convolution.node, image, kernel, count);
}

std::array<Value, 3> getConvGradients(NodeBuilder &b,
                                      const Convolution &convolution,
                                      const Windows &windows,
                                      std::array<bool, 3> wanted) {
  auto [node, grad, image, weight, isTransposed] = convolution;
  // The gradient ops have this attribute without a default.
  int64_t group = node.getInt("group", 1);
  std::array<Value, 3> found;
  if (wanted[0])
    found[0] = isTransposed
                   ? writeForward(b, grad, weight, windows, group)
                   : writeBackwardData(b, grad, weight, windows, group);
  if (wanted[1])
    found[1] = isTransposed
                   ? writeBackwardWeights(b, grad, image, windows, group)
                   : writeBackwardWeights(b, image, grad, windows, group);
  if (wanted[2]) {
    SmallVector<int64_t> axes{0};
    llvm::append_range(axes, llvm::seq<int64_t>(2, 2 + windows.size()));
    found[2] = b.reduceSum(grad, axes, /*keepDims=*/false);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

std::optional<Windows> readPool(NodeBuilder &b, const NodeView &node,
                                ArrayRef<Size> image, Value values) {
  SmallVector<int64_t> kernel = node.getInts("kernel_shape");
  int64_t rank = image.size();
  if (rank < 3 || rank != int64_t(kernel.size()) + 2)
    return std::nullopt;
  SmallVector<Size> sizes(kernel.begin(), kernel.end());
  return readWindows(b, node, image.drop_front(2), sizes,
                     SizeMath(b).from(values, 2, rank));
}

Value spreadEvenly(NodeBuilder &b, Value values, ArrayRef<Size> image,
                   const Windows &windows) {
  SizeMath math(b);
  // Every channel becomes a separate image.
  SmallVector<Size> single{-1, 1}, ones{1, 1};
  for (const WindowAxis &axis : windows) {
    single.push_back(axis.count);
    ones.push_back(axis.kernel);
  }
  Value cells = b.reshape(values, math.vector(single));
  Value weight = b.expand(b.scalarLike(1, values), math.vector(ones));
  Value spread = writeBackwardData(b, cells, weight, windows, 1);
  return b.reshape(spread, math.vector(image));
}

/// The number of cells of each window of an axis that lie in the image, or also
/// in its pads. Cells beyond these, where the last window may reach, do not
/// count.
static SmallVector<int64_t> countKnown(const WindowAxis &axis, bool countPads) {
  int64_t low = countPads ? -axis.begin.get() : 0;
  int64_t high = axis.image.get() + (countPads ? axis.end.get() : 0);
  SmallVector<int64_t> counts(axis.count.get());
  for (auto [index, count] : llvm::enumerate(counts))
    for (int64_t cell = 0; cell < axis.kernel.get(); ++cell) {
      int64_t place = int64_t(index) * axis.stride - axis.begin.get() +
                      cell * axis.dilation;
      count += place >= low && place < high;
    }
  return counts;
}

/// The same, computed by nodes.
static Value countUnknown(NodeBuilder &b, const WindowAxis &axis,
                          bool countPads) {
  SizeMath math(b);
  Value windows = b.mul(math.range(axis.count), b.ints(axis.stride));
  Value cells = b.mul(math.range(axis.kernel), b.ints(axis.dilation));
  Value starts = b.sub(windows, axis.begin.getValue(b));
  Value places = b.add(b.unsqueeze(starts, 1), cells);
  Size low = countPads ? math.sub(0, axis.begin) : Size(0);
  Size high = countPads ? math.add(axis.image, axis.end) : axis.image;
  Value isInside =
      b.create("And", {b.create("GreaterOrEqual", {places, low.getValue(b)}),
                       b.create("Less", {places, high.getValue(b)})});
  Value counted = b.castTo(isInside, b.getBuilder().getI64Type());
  return b.reduceSum(counted, 1, /*keepDims=*/false);
}

/// The number of cells of each window that count, as 1 x 1 x counts, or as a
/// scalar if it is the same everywhere.
static Value countCells(NodeBuilder &b, const Windows &windows, bool countPads,
                        Type elementType) {
  Value product;
  double factor = 1;
  for (auto [index, axis] : llvm::enumerate(windows)) {
    Value counts;
    if (getKnown({axis.image, axis.count, axis.begin, axis.end})) {
      SmallVector<int64_t> known = countKnown(axis, countPads);
      if (llvm::all_equal(known)) {
        factor *= known.empty() ? 1 : double(known.front());
        continue;
      }
      counts = b.ints(known);
    } else {
      counts = countUnknown(b, axis, countPads);
    }
    auto after =
        llvm::to_vector(llvm::seq<int64_t>(1, int64_t(windows.size() - index)));
    counts = b.castTo(b.unsqueeze(counts, after), elementType);
    product = product ? b.mul(product, counts) : counts;
  }
  if (!product)
    return b.scalar(factor, elementType);
  return factor == 1 ? product : b.scale(product, factor);
}

Value spreadMeans(NodeBuilder &b, const NodeView &node, Value values,
                  ArrayRef<Size> image, const Windows &windows) {
  values = widen(b, values);
  Value cells = countCells(b, windows, node.getFlag("count_include_pad"),
                           getTensorElementType(values.getType()));
  return spreadEvenly(b, b.div(values, cells), image, windows);
}

/// Takes every `step`-th window of each axis, from `start` on.
static Value takeWindows(NodeBuilder &b, Value values, ArrayRef<int64_t> start,
                         ArrayRef<int64_t> step) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, 2 + start.size()));
  SmallVector<int64_t> ends(start.size(), std::numeric_limits<int64_t>::max());
  return b.create("Slice", {values, b.ints(start), b.ints(ends), b.ints(axes),
                            b.ints(step)});
}

/// If the scatter has no sums (opset 15 and older), windows that share no cell
/// are scattered together, and the images are added.
static Value scatterDisjoint(NodeBuilder &b, Value zeros, Value values,
                             Value indices, const Windows &windows) {
  SmallVector<int64_t> step;
  int64_t groups = 1;
  for (const WindowAxis &axis : windows) {
    int64_t span = (axis.kernel.get() - 1) * axis.dilation + 1;
    step.push_back((span + axis.stride - 1) / axis.stride);
    groups *= step.back();
  }
  SmallVector<Value> images;
  for (int64_t group = 0; group < groups; ++group) {
    SmallVector<int64_t> start;
    int64_t rest = group;
    for (int64_t size : step) {
      start.push_back(rest % size);
      rest /= size;
    }
    auto take = [&](Value value) {
      return b.reshape(groups == 1 ? value : takeWindows(b, value, start, step),
                       ArrayRef<int64_t>(-1));
    };
    images.push_back(
        b.create("ScatterElements", {zeros, take(indices), take(values)}));
  }
  return images.size() == 1 ? images.front() : b.create("Sum", images);
}

/// Scatters each plane separately, which makes the searches per cell short.
static Value scatterInPlanes(NodeBuilder &b, Value values, Value indices,
                             Size planes, Size cells, int64_t rank) {
  SizeMath math(b);
  Type word = b.getBuilder().getI64Type();
  Value first = b.mul(math.range(planes), math.scalar(cells, word));
  Size count = 1;
  for (const Size &size : math.from(values, 2, rank))
    count = math.mul(count, size);
  Value rows = math.vector({planes, count});
  Value places = b.sub(b.reshape(indices, rows),
                       b.reshape(first, ArrayRef<int64_t>{-1, 1}));
  Value zeros = b.expand(b.scalarLike(0, values), math.vector({planes, cells}));
  NamedAttribute attributes[] = {b.attr("axis", int64_t(1)),
                                 b.attr("reduction", StringRef("add"))};
  return b.create("ScatterElements", {zeros, places, b.reshape(values, rows)},
                  attributes);
}

Value scatterToCells(NodeBuilder &b, Value values, Value indices,
                     ArrayRef<Size> image, const Windows &windows,
                     bool isColumnMajor) {
  SizeMath math(b);
  Size planes = math.mul(image[0], image[1]), cells = 1;
  for (const Size &size : image.drop_front(2))
    cells = math.mul(cells, size);
  Value flat;
  Operation *holder = b.getBuilder().getInsertionBlock()->getParentOp();
  if (getOpset(holder, "").value_or(1) >= 16) {
    flat = scatterInPlanes(b, values, indices, planes, cells, image.size());
  } else {
    Size all = math.mul(planes, cells);
    Value zeros = b.expand(b.scalarLike(0, values), all.getValue(b));
    flat = scatterDisjoint(b, zeros, values, indices, windows);
  }
  if (!isColumnMajor)
    return b.reshape(flat, math.vector(image));
  SmallVector<Size> turned(image.begin(), image.begin() + 2);
  SmallVector<int64_t> order{0, 1};
  for (int64_t axis = image.size() - 1; axis >= 2; --axis) {
    turned.push_back(image[axis]);
    order.push_back(axis);
  }
  return b.transpose(b.reshape(flat, math.vector(turned)), order);
}

} // namespace mp
