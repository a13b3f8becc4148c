//===- Convolutions.cpp - Convolutions and their gradients ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"

#include "Contractions.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <numeric>

using namespace mlir;

namespace mp {

TensorValue ConvolutionEmitter::split(TensorValue tensor, unsigned axis) {
  if (groups == 1)
    return tensor;
  Sizes sizes = e.sizes(tensor);
  Size inner = e.floorDiv(sizes[axis], e.size(groups));
  sizes[axis] = inner;
  sizes.insert(sizes.begin() + axis, e.size(groups));
  return e.reshape(tensor, sizes);
}

TensorValue ConvolutionEmitter::merge(TensorValue tensor, unsigned axis) {
  if (groups == 1)
    return tensor;
  Sizes sizes = e.sizes(tensor);
  sizes[axis] = e.mul(sizes[axis], sizes[axis + 1]);
  sizes.erase(sizes.begin() + axis + 1);
  return e.reshape(tensor, sizes);
}

TensorValue ConvolutionEmitter::materializePads(TensorValue image) {
  if (image.isFloat() && collectConstants(windows, &SlidingAxis::begin))
    return image;
  image = padForWindows(e, image, windows,
                        e.s.constant(getComputeType(image.element), 0));
  for (SlidingAxis &axis : windows)
    axis.begin = e.size(0);
  return image;
}

static kernel::Window getWindow(const SlidingWindows &windows, bool grouped) {
  kernel::Window window;
  for (const SlidingAxis &axis : windows) {
    window.strides.push_back(axis.stride);
    window.dilations.push_back(axis.dilation);
    window.padsBegin.push_back(*Emitter::getConstant(axis.begin));
  }
  window.grouped = grouped;
  return window;
}

/// Adds the bias to each sum; c's map begins with n, (g,) channel.
static void addBias(ContractionEnd &end, Scalars &s, TensorValue bias,
                    bool grouped, unsigned dims) {
  if (!bias)
    return;
  MLIRContext *context = s.b.getContext();
  SmallVector<AffineExpr> exprs = {getAffineDimExpr(1, context)};
  if (grouped)
    exprs.push_back(getAffineDimExpr(2, context));
  end.extras = {bias};
  end.maps = {AffineMap::get(dims, 0, exprs, context)};
}

TensorValue ConvolutionEmitter::forward(TensorValue image, TensorValue weight,
                                        TensorValue bias) {
  bool grouped = groups != 1;
  weight = split(weight, 0);
  ContractionEnd end;
  auto add = [&](ValueRange values) { return e.s.add(values[0], values[1]); };
  if (bias) {
    addBias(end, e.s, split(bias, 0), grouped, getRank() + 4 + grouped);
    end.finish = add;
  }
  if (TensorValue lines = flattened(split(image, 1), weight, end, false))
    return merge(lines, 1);
  image = materializePads(image);
  auto maps = kernel::getConvMaps(e.b.getContext(), getRank(),
                                  getWindow(windows, grouped));
  image = split(image, 1);
  Sizes sizes = {e.dim(image, 0)};
  if (grouped)
    sizes.push_back(e.size(groups));
  sizes.push_back(e.dim(weight, grouped));
  llvm::append_range(sizes, collect(windows, &SlidingAxis::count));
  if (bias)
    addBias(end, e.s, split(bias, 0), grouped, maps[0].getNumDims());
  return merge(contract(e, image, weight, sizes, element, maps, {}, end), 1);
}

TensorValue ConvolutionEmitter::backwardWeights(TensorValue grad,
                                                TensorValue image) {
  image = materializePads(image);
  bool grouped = groups != 1;
  auto maps = kernel::getConvMaps(e.b.getContext(), getRank(),
                                  getWindow(windows, grouped));
  grad = split(grad, 1);
  image = split(image, 1);
  Sizes sizes;
  if (grouped)
    sizes.push_back(e.size(groups));
  sizes.push_back(e.dim(grad, 1 + grouped));
  sizes.push_back(e.dim(image, 1 + grouped));
  llvm::append_range(sizes, collect(windows, &SlidingAxis::kernel));
  TensorValue result =
      contract(e, grad, image, sizes, element, {maps[2], maps[0], maps[1]});
  return merge(result, 0);
}

//===----------------------------------------------------------------------===//
// Images from windows
//===----------------------------------------------------------------------===//

namespace {

/// Positions r, r + stride, ... of the image along one axis, and the filter
/// positions that reach them: first + step * j from the window q + shift - hop
/// * j.
struct Phase {
  int64_t start, first, step, shift, hop;
  /// The number of these filter positions.
  int64_t filterSize;
  Size positions;
};

} // namespace

static Phase getPhase(Emitter &e, const SlidingAxis &axis, int64_t start) {
  int64_t stride = axis.stride, dilation = axis.dilation;
  int64_t place = start + *Emitter::getConstant(axis.begin);
  int64_t kernel = *Emitter::getConstant(axis.kernel);
  int64_t common = std::gcd(stride, dilation);
  Phase phase{start, 0, stride / common, 0, dilation / common, 0, Size()};
  phase.positions = e.ceilDiv(
      e.max(e.sub(axis.image, e.size(start)), e.size(0)), e.size(stride));
  for (int64_t filterIndex = 0; filterIndex < std::min(phase.step, kernel);
       ++filterIndex)
    if ((place - filterIndex * dilation) % stride == 0) {
      phase.first = filterIndex;
      phase.filterSize = (kernel - filterIndex + phase.step - 1) / phase.step;
      phase.shift = (place - filterIndex * dilation) / stride;
    }
  return phase;
}

/// The maps of grad, weight and image for one phase of each axis, and the sizes
/// of the loops that no operand gives.
static SmallVector<AffineMap> getPhaseMaps(Emitter &e,
                                           const SlidingWindows &windows,
                                           ArrayRef<Phase> phases, bool grouped,
                                           Sizes &loops) {
  MLIRContext *context = e.b.getContext();
  unsigned rank = windows.size(), next = 0;
  auto take = [&] { return getAffineDimExpr(next++, context); };
  SmallVector<AffineExpr> batch = {take()}, group;
  if (grouped)
    group.push_back(take());
  AffineExpr channel = take();
  auto space =
      llvm::map_to_vector(phases, [&](const Phase &) { return take(); });
  AffineExpr inner = take();
  auto filter =
      llvm::map_to_vector(phases, [&](const Phase &) { return take(); });
  auto grad = llvm::to_vector(llvm::concat<AffineExpr>(batch, group));
  auto image = grad;
  auto weight = group;
  grad.push_back(inner);
  image.push_back(channel);
  weight.append({inner, channel});
  for (unsigned i = 0; i < rank; ++i) {
    const Phase &phase = phases[i];
    grad.push_back(space[i] - filter[i] * phase.hop + phase.shift);
    weight.push_back(filter[i] * phase.step + phase.first);
    image.push_back(space[i] * windows[i].stride + phase.start);
  }
  // A dimension that occurs alone takes its size from the operand; the others
  // are given as loop sizes.
  auto isAlone = [](AffineExpr expr) { return isa<AffineDimExpr>(expr); };
  for (unsigned i = 0; i < rank; ++i)
    if (!isAlone(grad[grad.size() - rank + i]) &&
        !isAlone(image[image.size() - rank + i]))
      loops.push_back(phases[i].positions);
  for (unsigned i = 0; i < rank; ++i)
    if (!isAlone(weight[weight.size() - rank + i]))
      loops.push_back(e.size(phases[i].filterSize));
  auto get = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(next, 0, exprs, context);
  };
  return {get(grad), get(weight), get(image)};
}

/// Stride 1 needs one contraction.
TensorValue ConvolutionEmitter::backwardDataAtStrideOne(TensorValue grad,
                                                        TensorValue weight,
                                                        TensorValue bias) {
  bool grouped = groups != 1;
  ContractionEnd end;
  auto add = [&](ValueRange values) { return e.s.add(values[0], values[1]); };
  if (bias) {
    addBias(end, e.s, bias, grouped, getRank() + 4 + grouped);
    end.finish = add;
  }
  if (TensorValue lines = flattened(grad, weight, end, true))
    return lines;
  auto maps = kernel::getConvInputGradientMaps(e.b.getContext(), getRank(),
                                               getWindow(windows, grouped));
  Sizes sizes = {e.dim(grad, 0)};
  if (grouped)
    sizes.push_back(e.size(groups));
  sizes.push_back(e.dim(weight, 1 + grouped));
  llvm::append_range(sizes, collect(windows, &SlidingAxis::image));
  if (bias)
    addBias(end, e.s, bias, grouped, maps[0].getNumDims());
  return contract(e, grad, weight, sizes, element, maps, {}, end);
}

TensorValue ConvolutionEmitter::backwardDataByPhases(TensorValue grad,
                                                     TensorValue weight,
                                                     TensorValue bias) {
  bool grouped = groups != 1;
  Sizes sizes = {e.dim(grad, 0)};
  if (grouped)
    sizes.push_back(e.size(groups));
  sizes.push_back(e.dim(weight, 1 + grouped));
  llvm::append_range(sizes, collect(windows, &SlidingAxis::image));
  SmallVector<SmallVector<Phase>> combinations = {{}};
  for (const SlidingAxis &axis : windows) {
    SmallVector<SmallVector<Phase>> longer;
    for (const SmallVector<Phase> &front : combinations)
      for (int64_t start = 0; start < axis.stride; ++start) {
        longer.push_back(front);
        longer.back().push_back(getPhase(e, axis, start));
      }
    combinations = std::move(longer);
  }
  // Positions that no filter position reaches hold the bias only.
  Sizes channels(ArrayRef<Size>(sizes).slice(1, 1 + grouped));
  channels.append(getRank(), e.size(1));
  TensorValue result =
      e.full(sizes, element, e.s.constant(getComputeType(element), 0));
  if (bias)
    result = e.broadcastTo(e.cast(e.reshape(bias, channels), element), sizes);
  auto add = [&](ValueRange values) { return e.s.add(values[0], values[1]); };
  for (ArrayRef<Phase> phases : combinations) {
    if (llvm::any_of(phases, [](const Phase &phase) {
          return phase.filterSize == 0 ||
                 Emitter::isConstant(phase.positions, 0);
        }))
      continue;
    Sizes loops;
    auto maps = getPhaseMaps(e, windows, phases, grouped, loops);
    ContractionEnd end;
    end.init = result.value;
    if (bias) {
      addBias(end, e.s, bias, grouped, maps[0].getNumDims());
      end.finish = add;
    }
    result = contract(e, grad, weight, sizes, element, maps, loops, end);
  }
  return result;
}

/// Inserts the windows' values a stride apart into an image of zeros, which is
/// convolved at stride 1.
TensorValue ConvolutionEmitter::backwardDataDilated(TensorValue grad,
                                                    TensorValue weight,
                                                    TensorValue bias) {
  Sizes from = e.sizes(grad), to = from;
  Sizes offsets(from.size(), e.size(0)), steps(from.size(), e.size(1));
  unsigned first = from.size() - getRank();
  for (auto [index, axis] : llvm::enumerate(windows)) {
    Size &extent = to[first + index];
    steps[first + index] = e.size(axis.stride);
    extent =
        e.mul(e.max(e.sub(extent, e.size(1)), e.size(0)), e.size(axis.stride));
    extent = e.add(extent, e.min(from[first + index], e.size(1)));
    axis.stride = 1;
    axis.count = extent;
  }
  TensorValue zeros =
      e.full(to, grad.element, e.s.constant(getComputeType(grad.element), 0));
  Value apart = tensor::InsertSliceOp::create(
      e.b, e.loc, grad.value, zeros.value, offsets, from, steps);
  e.noteSizes(apart, to);
  return backwardDataAtStrideOne({apart, grad.element}, weight, bias);
}

TensorValue ConvolutionEmitter::backwardData(TensorValue grad,
                                             TensorValue weight,
                                             TensorValue bias) {
  // With more contractions, the code would grow more than time is saved.
  constexpr int64_t maxPhases = 16;
  auto begins = collectConstants(windows, &SlidingAxis::begin);
  SlidingWindows inside = windows;
  if (!begins)
    for (SlidingAxis &axis : windows) {
      axis.image = e.add(axis.begin, axis.image);
      axis.begin = e.size(0);
    }
  grad = split(grad, 1);
  weight = split(weight, 0);
  if (bias)
    bias = split(bias, 0);
  int64_t phases = 1;
  for (const SlidingAxis &axis : windows)
    phases =
        std::min(phases, maxPhases + 1) * std::min(axis.stride, maxPhases + 1);
  TensorValue result;
  if (phases == 1)
    result = backwardDataAtStrideOne(grad, weight, bias);
  else if (phases <= maxPhases &&
           collectConstants(windows, &SlidingAxis::kernel))
    result = backwardDataByPhases(grad, weight, bias);
  else
    result = backwardDataDilated(grad, weight, bias);
  result = merge(result, 1);
  if (begins)
    return result;
  Sizes offsets(2, e.size(0)), sizes = e.sizes(result);
  sizes.truncate(2);
  llvm::append_range(offsets, collect(inside, &SlidingAxis::begin));
  llvm::append_range(sizes, collect(inside, &SlidingAxis::image));
  return e.slice(result, offsets, sizes, Sizes(sizes.size(), e.size(1)));
}

} // namespace mp
