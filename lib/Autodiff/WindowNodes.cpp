//===- WindowNodes.cpp - Sliding windows and their transposes -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowNodes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The distance from the first cell of a window to the end of its last one.
static Size getSpan(SizeMath &math, const WindowAxis &axis) {
  return math.add(math.mul(math.sub(axis.kernel, 1), axis.dilation), 1);
}

Size getExtent(SizeMath &math, const WindowAxis &axis) {
  return math.add(math.mul(math.sub(axis.count, 1), axis.stride),
                  getSpan(math, axis));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Reads strides and dilations; absent if a list does not fit.
static std::optional<Windows> readSteps(const NodeView &node,
                                        ArrayRef<Size> image,
                                        ArrayRef<Size> kernel,
                                        ArrayRef<Size> count) {
  SmallVector<int64_t> strides = node.getInts("strides");
  SmallVector<int64_t> dilations = node.getInts("dilations");
  size_t rank = image.size();
  auto fits = [&](ArrayRef<int64_t> list, size_t size) {
    return list.empty() || list.size() == size;
  };
  auto isPositive = [](int64_t number) { return number > 0; };
  if (kernel.size() != rank || count.size() != rank || !fits(strides, rank) ||
      !fits(dilations, rank) || !fits(node.getInts("pads"), 2 * rank) ||
      !llvm::all_of(strides, isPositive) ||
      !llvm::all_of(dilations, isPositive))
    return std::nullopt;
  Windows windows(rank);
  for (auto [index, axis] : llvm::enumerate(windows)) {
    axis.image = image[index];
    axis.kernel = kernel[index];
    axis.count = count[index];
    axis.stride = strides.empty() ? 1 : strides[index];
    axis.dilation = dilations.empty() ? 1 : dilations[index];
  }
  return windows;
}

static void setExplicitPads(const NodeView &node, Windows &windows) {
  SmallVector<int64_t> pads = node.getInts("pads");
  for (size_t index = 0; !pads.empty() && index < windows.size(); ++index) {
    windows[index].begin = pads[index];
    windows[index].end = pads[index + windows.size()];
  }
}

/// Divides `total` between both ends; an odd cell goes to the front or the
/// back.
static void setPads(SizeMath &math, WindowAxis &axis, Size total,
                    bool oddInFront) {
  Size less = math.div(total, 2), more = math.sub(total, less);
  axis.begin = oddInFront ? more : less;
  axis.end = oddInFront ? less : more;
}

std::optional<Windows> readWindows(NodeBuilder &b, const NodeView &node,
                                   ArrayRef<Size> image, ArrayRef<Size> kernel,
                                   ArrayRef<Size> count) {
  auto windows = readSteps(node, image, kernel, count);
  if (!windows)
    return std::nullopt;
  StringRef mode = node.getString("auto_pad");
  if (!mode.starts_with("SAME")) {
    if (mode != "VALID")
      setExplicitPads(node, *windows);
    return windows;
  }
  // There are as many windows as strides that begin within the image.
  SizeMath math(b);
  for (WindowAxis &axis : *windows) {
    if (axis.stride == 1) {
      setPads(math, axis, math.sub(getSpan(math, axis), 1),
              mode == "SAME_LOWER");
      continue;
    }
    Size total = math.sub(getExtent(math, axis), axis.image);
    setPads(math, axis, math.max(total, 0), mode == "SAME_LOWER");
  }
  return windows;
}

std::optional<Windows> readTransposedWindows(NodeBuilder &b,
                                             const NodeView &node,
                                             ArrayRef<Size> image,
                                             ArrayRef<Size> kernel,
                                             ArrayRef<Size> count) {
  auto windows = readSteps(node, image, kernel, count);
  SmallVector<int64_t> extra = node.getInts("output_padding");
  if (!windows || (!extra.empty() && extra.size() != image.size()))
    return std::nullopt;
  StringRef mode = node.getString("auto_pad");
  bool isSame = mode.starts_with("SAME");
  if (!isSame && node.getInts("output_shape").empty()) {
    if (mode != "VALID")
      setExplicitPads(node, *windows);
    return windows;
  }
  // The size of the result is given; pads follow from it.
  SizeMath math(b);
  for (auto [index, axis] : llvm::enumerate(*windows)) {
    Size full =
        math.add(getExtent(math, axis), extra.empty() ? 0 : extra[index]);
    setPads(math, axis, math.max(math.sub(full, axis.image), 0),
            mode != "SAME_UPPER");
  }
  return windows;
}

SmallVector<NamedAttribute>
getAttributes(NodeBuilder &b, const Windows &windows, int64_t group) {
  SmallVector<int64_t> strides, dilations;
  SmallVector<Size> pads;
  for (const WindowAxis &axis : windows) {
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    pads.push_back(axis.begin);
  }
  for (const WindowAxis &axis : windows)
    pads.push_back(axis.end);
  SmallVector<NamedAttribute> attributes{b.attr("strides", strides),
                                         b.attr("dilations", dilations)};
  if (auto known = getKnown(pads))
    attributes.push_back(b.attr("pads", *known));
  if (group != 1)
    attributes.push_back(b.attr("group", group));
  return attributes;
}

/// One field of every axis.
static SmallVector<Size> collect(const Windows &windows,
                                 Size WindowAxis::*field) {
  return llvm::map_to_vector(
      windows, [&](const WindowAxis &axis) { return axis.*field; });
}

static void clearPads(Windows &windows) {
  for (WindowAxis &axis : windows)
    axis.begin = axis.end = 0;
}

//===----------------------------------------------------------------------===//
// Images from windows
//===----------------------------------------------------------------------===//

Value writeBackwardData(NodeBuilder &b, Value values, Value weight,
                        const Windows &windows, int64_t group) {
  SizeMath math(b);
  // The distance that the windows reach beyond the image; less than 0 if they
  // do not reach its end.
  Windows cut = windows;
  SmallVector<int64_t> missing;
  bool isKnown = true;
  for (WindowAxis &axis : cut) {
    // With steps of 1, windows reach the last pad for any sizes.
    if (axis.stride != 1)
      axis.end =
          math.sub(math.sub(getExtent(math, axis), axis.begin), axis.image);
    isKnown &= axis.begin.isKnown() && axis.end.isKnown();
    if (!isKnown)
      continue;
    missing.push_back(std::max<int64_t>(-axis.end.get(), 0));
    axis.end = std::max<int64_t>(axis.end.get(), 0);
    // The output padding of transposed convolutions is less than a step.
    isKnown &= missing.back() < axis.stride;
  }
  if (isKnown) {
    auto attributes = getAttributes(b, cut, group);
    if (llvm::any_of(missing, [](int64_t cells) { return cells > 0; }))
      attributes.push_back(b.attr("output_padding", missing));
    return b.create("ConvTranspose", {values, weight}, attributes);
  }
  cut = windows;
  clearPads(cut);
  Value full =
      b.create("ConvTranspose", {values, weight}, getAttributes(b, cut, group));
  SmallVector<Size> begins(windows.size()), ends;
  for (const WindowAxis &axis : windows)
    ends.push_back(math.max(
        math.sub(math.add(axis.begin, axis.image), getExtent(math, axis)), 0));
  return math.crop(math.pad(full, 2, begins, ends), 2,
                   collect(windows, &WindowAxis::begin),
                   collect(windows, &WindowAxis::image));
}

//===----------------------------------------------------------------------===//
// Windows of images
//===----------------------------------------------------------------------===//

/// Pads the image if attributes cannot hold the pads.
static Value materializePads(SizeMath &math, Value image, Windows &windows) {
  SmallVector<Size> begins = collect(windows, &WindowAxis::begin);
  SmallVector<Size> ends = collect(windows, &WindowAxis::end);
  if (getKnown(begins) && getKnown(ends))
    return image;
  clearPads(windows);
  return math.pad(image, 2, begins, ends);
}

Value writeForward(NodeBuilder &b, Value image, Value weight,
                   const Windows &windows, int64_t group) {
  SizeMath math(b);
  Windows padded = windows;
  image = materializePads(math, image, padded);
  Value all =
      b.create("Conv", {image, weight}, getAttributes(b, padded, group));
  // Excess cells beyond the windows could hold another window.
  return math.crop(all, 2, SmallVector<Size>(windows.size()),
                   collect(windows, &WindowAxis::count));
}

/// Swaps batch and channels, for each group separately: C/group x (group * N) x
/// sizes.
static Value swapBatch(NodeBuilder &b, Value value, int64_t rank,
                       int64_t group) {
  SmallVector<int64_t> order{1, 0};
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  if (group == 1)
    return b.transpose(value, order);
  SizeMath math(b);
  SmallVector<Size> sizes = math.from(value, 2, rank);
  Size batch = math.of(value, 0);
  Size channels = math.div(math.of(value, 1), group);
  SmallVector<Size> split{batch, group, channels};
  SmallVector<Size> joined{channels, math.mul(batch, group)};
  split.append(sizes);
  joined.append(sizes);
  order = {2, 1, 0};
  llvm::append_range(order, llvm::seq<int64_t>(3, rank + 1));
  Value parts = b.reshape(value, math.vector(split));
  return b.reshape(b.transpose(parts, order), math.vector(joined));
}

Value writeBackwardWeights(NodeBuilder &b, Value image, Value values,
                           const Windows &windows, int64_t group) {
  SizeMath math(b);
  int64_t rank = 2 + int64_t(windows.size());
  // The values become the kernel: its cells lie a stride apart.
  Windows turned = windows;
  image = materializePads(math, image, turned);
  for (WindowAxis &axis : turned)
    std::swap(axis.stride, axis.dilation);
  Value all = b.create(
      "Conv", {swapBatch(b, image, rank, group), swapBatch(b, values, rank, 1)},
      getAttributes(b, turned, group));
  Value cells = math.crop(all, 2, SmallVector<Size>(windows.size()),
                          collect(windows, &WindowAxis::kernel));
  return swapBatch(b, cells, rank, 1);
}

} // namespace mp
