//===- FlattenedConvolutions.cpp - Convolutions along lines ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At stride 1, windows that follow each other along the last axis do so in
// memory. An image with its pads is one line, in which each filter position of
// all windows is a line, too:
//
//     result[p] = sum over filter positions f: weight[f] * image[p + offset[f]]
//
// If results have few channels, kernels multiply the lines in place, without
// any bounds checks. At the end of each row of windows, a few windows that do
// not exist are computed and cut off.
//
//===----------------------------------------------------------------------===//

#include "Contractions.h"
#include "Convolutions.h"

using namespace mlir;

namespace mp {

namespace {

struct FlatAxis {
  int64_t image, begin, count, kernel, dilation;
  /// The size with pads.
  int64_t padded = 0;
  /// The number of elements from one position to the next.
  int64_t pitch = 1;

  int64_t getReach() const { return (kernel - 1) * dilation; }
};

} // namespace

/// Sizes up to which the arithmetic below stays far from overflow.
constexpr int64_t maxCells = int64_t(1) << 20;
constexpr double maxElements = 1e12;

/// The axes without pitches, if their sizes are known.
static std::optional<SmallVector<FlatAxis>>
readAxes(const SlidingWindows &windows, bool isGradient) {
  SmallVector<FlatAxis> axes;
  for (const SlidingAxis &axis : windows) {
    auto image = Emitter::getConstant(axis.image);
    auto begin = Emitter::getConstant(axis.begin);
    auto count = Emitter::getConstant(axis.count);
    auto kernel = Emitter::getConstant(axis.kernel);
    if (axis.stride != 1 || !image || !begin || !count || !kernel ||
        *image < 1 || *count < 1 || *kernel < 1)
      return std::nullopt;
    for (int64_t size : {*image, *begin, *count, *kernel, axis.dilation})
      if (size > maxCells)
        return std::nullopt;
    FlatAxis flat{*image, *begin, *count, *kernel, axis.dilation};
    if (isGradient) {
      std::swap(flat.image, flat.count);
      flat.begin = flat.getReach() - flat.begin;
    }
    if (flat.begin < 0)
      return std::nullopt;
    axes.push_back(flat);
  }
  return axes;
}

/// Sets pads and pitches; false if too much would be computed in vain.
static bool layOut(MutableArrayRef<FlatAxis> axes, double maxWaste) {
  double waste = 1;
  int64_t volume = 1, pitch = 1, reach = 0;
  for (FlatAxis &axis : llvm::reverse(axes)) {
    axis.padded =
        std::max(axis.begin + axis.image, axis.count + axis.getReach());
    axis.pitch = pitch;
    volume *= axis.kernel;
    if (&axis == &axes.front())
      break;
    pitch *= axis.padded;
    reach += axis.getReach() * axis.pitch;
    waste *= static_cast<double>(axis.padded) / axis.count;
    if (static_cast<double>(pitch) * maxCells > maxElements)
      return false;
  }
  // Windows that do not exist reach into one more row.
  axes.front().padded += reach > 0;
  return axes.size() > 1 && volume > 1 && waste <= maxWaste;
}

static TensorValue padImage(Emitter &e, TensorValue image,
                            ArrayRef<FlatAxis> axes) {
  Sizes from = e.sizes(image), to = from;
  Sizes offsets(from.size(), e.size(0)), steps(from.size(), e.size(1));
  unsigned first = from.size() - axes.size();
  for (auto [index, axis] : llvm::enumerate(axes)) {
    to[first + index] = e.size(axis.padded);
    offsets[first + index] = e.size(axis.begin);
  }
  TensorValue zeros = e.full(to, image.element, 0.0);
  Value padded = tensor::InsertSliceOp::create(
      e.b, e.loc, image.value, zeros.value, offsets, from, steps);
  Sizes flat(ArrayRef<Size>(to).take_front(first));
  int64_t length = 1;
  for (const FlatAxis &axis : axes)
    length *= axis.padded;
  flat.push_back(e.size(length));
  e.noteSizes(padded, to);
  return e.reshape({padded, image.element}, flat);
}

/// The maps of image, weight and result.
static SmallVector<AffineMap> getFlatMaps(MLIRContext *context,
                                          ArrayRef<FlatAxis> axes, bool grouped,
                                          bool isGradient) {
  unsigned next = 0;
  auto take = [&] { return getAffineDimExpr(next++, context); };
  SmallVector<AffineExpr> image = {take()}, weight;
  if (grouped) {
    image.push_back(take());
    weight.push_back(image.back());
  }
  SmallVector<AffineExpr> result = image;
  AffineExpr outer = take(), place = take(), inner = take();
  image.push_back(inner);
  result.append({outer, place});
  if (isGradient)
    weight.append({inner, outer});
  else
    weight.append({outer, inner});
  for (const FlatAxis &axis : axes) {
    AffineExpr filterIndex = take();
    weight.push_back(filterIndex);
    int64_t step = axis.dilation * axis.pitch;
    place = isGradient ? place - filterIndex * step + (axis.kernel - 1) * step
                       : place + filterIndex * step;
  }
  image.push_back(place);
  auto get = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(next, 0, exprs, context);
  };
  return {get(image), get(weight), get(result)};
}

TensorValue ConvolutionEmitter::flattened(TensorValue image, TensorValue weight,
                                          const ContractionEnd &end,
                                          bool isGradient) {
  auto axes = readAxes(windows, isGradient);
  bool grouped = groups != 1;
  Size channels = e.dim(weight, grouped + (isGradient ? 1 : 0));
  auto few = Emitter::getConstant(channels);
  // Windows of one channel slide along rows, which needs no copy.
  auto summed = Emitter::getConstant(e.dim(weight, grouped + !isGradient));
  bool isDepthwise = grouped && few == 1 && summed == 1;
  if (!axes || !isa<FloatType>(element) || !few || isDepthwise ||
      *few > e.numbers.flattenedChannels ||
      !layOut(*axes, e.numbers.flattenedWaste))
    return {};
  auto maps = getFlatMaps(e.b.getContext(), *axes, grouped, isGradient);
  Sizes sizes = e.sizes(image);
  sizes.truncate(1 + grouped);
  sizes.push_back(channels);
  Sizes rows = sizes, counts = sizes;
  sizes.push_back(e.size(axes->front().count * axes->front().pitch));
  TensorValue lines = contract(e, padImage(e, image, *axes), weight, sizes,
                               element, maps, {}, end);
  for (auto [index, axis] : llvm::enumerate(*axes)) {
    rows.push_back(e.size(index == 0 ? axis.count : axis.padded));
    counts.push_back(e.size(axis.count));
  }
  return e.slice(e.reshape(lines, rows), Sizes(rows.size(), e.size(0)), counts,
                 Sizes(rows.size(), e.size(1)));
}

} // namespace mp
