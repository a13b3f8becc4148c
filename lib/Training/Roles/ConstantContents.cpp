//===- ConstantContents.cpp - Contents of constants -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantContents.h"

#include "CirclePairs.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

TypedAttr getElements(Operation *constant) {
  Attribute held;
  if (auto initializer = dyn_cast<InitializerOp>(constant))
    held = initializer.getValueAttr();
  else if (isStandardOp(constant, "Constant"))
    held = constant->getAttr("value");
  else
    return {};
  if (auto tensor = dyn_cast_or_null<TensorAttr>(held))
    held = tensor.getValue();
  if (held)
    return dyn_cast<TypedAttr>(held);
  Type element = getTensorElementType(constant->getResult(0).getType());
  if (!element || !element.isF32())
    return {};
  if (auto number = constant->getAttrOfType<FloatAttr>("value_float"))
    return DenseElementsAttr::get(RankedTensorType::get({}, element),
                                  number.getValue());
  if (auto numbers = constant->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return DenseElementsAttr::get(
        RankedTensorType::get({numbers.size()}, element), numbers.asArrayRef());
  return {};
}

std::optional<FloatElements> FloatElements::get(Operation *constant) {
  TypedAttr value = getElements(constant);
  auto type = dyn_cast_or_null<ShapedType>(value ? value.getType() : Type());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  FloatElements found;
  found.kind = getElementKind(type.getElementType());
  switch (found.kind) {
  case ElementKind::Float16:
  case ElementKind::BFloat16:
    found.width = 2;
    break;
  case ElementKind::Float:
    found.width = 4;
    break;
  case ElementKind::Double:
    found.width = 8;
    break;
  default:
    return std::nullopt;
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    found.bytes = dense.getRawData();
    found.isSplat = dense.isSplat();
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      found.bytes = blob->getData();
  }
  found.count = type.getNumElements();
  found.shape.assign(type.getShape().begin(), type.getShape().end());
  int64_t held = found.isSplat ? 1 : found.count;
  if (int64_t(found.bytes.size()) < held * found.width)
    return std::nullopt;
  return found;
}

double FloatElements::operator[](int64_t index) const {
  const char *place = bytes.data() + (isSplat ? 0 : index * width);
  if (width == 4) {
    float number;
    memcpy(&number, place, sizeof number);
    return number;
  }
  if (width == 8) {
    double number;
    memcpy(&number, place, sizeof number);
    return number;
  }
  uint16_t bits;
  memcpy(&bits, place, sizeof bits);
  const llvm::fltSemantics &semantics =
      kind == ElementKind::BFloat16 ? APFloat::BFloat() : APFloat::IEEEhalf();
  return APFloat(semantics, APInt(16, bits)).convertToDouble();
}

double FloatElements::getRoundoff() const {
  switch (kind) {
  case ElementKind::BFloat16:
    return 0x1p-8;
  case ElementKind::Float16:
    return 0x1p-11;
  default:
    return 0x1p-24;
  }
}

std::optional<double> FloatElements::getUniform() const {
  if (count == 0)
    return std::nullopt;
  double first = (*this)[0];
  for (int64_t index = 1; !isSplat && index < count; ++index)
    if ((*this)[index] != first)
      return std::nullopt;
  return first;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// Numbers of at least this size are there to mask others.
static constexpr double maskBound = 1e4;

static bool allOf(const FloatElements &elements,
                  llvm::function_ref<bool(double)> holds) {
  for (int64_t index = 0; index < elements.size(); ++index)
    if (!holds(elements[index]))
      return false;
  return true;
}

static bool holdsMaskValue(const FloatElements &elements) {
  return !allOf(elements,
                [](double number) { return std::fabs(number) < maskBound; });
}

static bool hasTwoValues(const FloatElements &elements) {
  double first = elements[0];
  std::optional<double> second;
  return allOf(elements,
               [&](double number) {
                 if (number == first)
                   return true;
                 if (!second)
                   second = number;
                 return number == *second;
               }) &&
         second;
}

/// True for whole and half numbers: grids, anchors, strides, positions.
static bool isGrid(const FloatElements &elements) {
  return allOf(elements, [](double number) {
    return number * 2 == std::rint(number * 2);
  });
}

static bool selects(const FloatElements &elements) {
  return allOf(elements, [](double number) {
    return number == 0 || std::fabs(number) == 1;
  });
}

static bool hasOneAxis(const FloatElements &elements) {
  return llvm::count_if(elements.getShape(),
                        [](int64_t size) { return size != 1; }) == 1;
}

/// True for frequencies, bins, schedules: a weight of this size is not ordered.
static bool isMonotone(const FloatElements &elements) {
  if (!hasOneAxis(elements))
    return false;
  bool rises = elements[1] > elements[0];
  for (int64_t index = 1; index < elements.size(); ++index)
    if (elements[index] == elements[index - 1] ||
        (elements[index] > elements[index - 1]) != rises)
      return false;
  return true;
}

/// True for 0, 1, 2 ...: the expectation of a distribution over bins.
static bool isCount(const FloatElements &elements) {
  if (!hasOneAxis(elements))
    return false;
  for (int64_t index = 0; index < elements.size(); ++index)
    if (elements[index] != double(index))
      return false;
  return true;
}

/// True for equal filters of all channels: blurs, derivatives, means.
static bool repeatsFilter(const FloatElements &elements) {
  ArrayRef<int64_t> shape = elements.getShape();
  if (shape.size() < 3 || shape[0] < 2)
    return false;
  int64_t filter = elements.size() / shape[0];
  int64_t positions = filter / shape[1];
  if (positions < 2)
    return false;
  if (std::optional<double> uniform = elements.getUniform())
    return std::fabs(*uniform * positions - 1) < 1e-5;
  for (int64_t index = filter; index < elements.size(); ++index)
    if (elements[index] != elements[index - filter])
      return false;
  return true;
}

/// True for overlapping windows over frequencies: no element is negative, most
/// are zero.
static bool isFilterBank(const FloatElements &elements) {
  int64_t zeros = 0;
  return allOf(elements,
               [&](double number) {
                 zeros += number == 0;
                 return number >= 0;
               }) &&
         zeros * 2 > elements.size();
}

namespace {

/// Elements along one axis.
struct Line {
  const FloatElements &elements;
  int64_t offset, stride, size;

  double operator[](int64_t i) const { return elements[offset + i * stride]; }
};

enum class Wave { No, Flat, Yes };

/// The tolerance relative to the largest sum of three elements.
constexpr double waveTolerance = 0.02;

} // namespace

/// True if x[i + 1] + x[i - 1] is the same multiple, at most twice, of x[i] all
/// along a line as at its element `at`. Two elements may differ, for the seam
/// between two tables.
static bool isWaveFrom(const Line &line, int64_t at, double peak) {
  if (line[at] == 0)
    return false;
  double factor = (line[at + 1] + line[at - 1]) / line[at];
  if (std::fabs(factor) > 2.01)
    return false;
  int64_t misses = 0;
  for (int64_t i = 1; i + 1 < line.size && misses <= 2; ++i)
    misses += std::fabs(line[i + 1] + line[i - 1] - factor * line[i]) >
              waveTolerance * peak;
  return misses <= (line.size < 12 ? 0 : 2);
}

static Wave classifyLine(const Line &line) {
  // The largest element of each third: one of them is not at a seam.
  int64_t largest[3] = {1, line.size / 2, line.size - 2};
  double peak = 0, lo = line[0], hi = line[0];
  for (int64_t i = 0; i < line.size; ++i) {
    lo = std::min(lo, line[i]);
    hi = std::max(hi, line[i]);
    peak = std::max(peak, std::fabs(line[i]));
    int64_t &at = largest[i * 3 / line.size];
    if (i > 0 && i + 1 < line.size && std::fabs(line[i]) > std::fabs(line[at]))
      at = i;
  }
  // Values that are nearly constant are a slow cosine, or weights near 1.
  if (hi - lo <= 2 * waveTolerance * peak)
    return Wave::Flat;
  bool isWave = std::isfinite(peak) && llvm::any_of(largest, [&](int64_t at) {
                  return isWaveFrom(line, at, peak);
                });
  return isWave ? Wave::Yes : Wave::No;
}

static bool isSampledSine(const FloatElements &elements) {
  constexpr int64_t minSize = 6;
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(elements.getShape())) {
    bool isWave = size >= minSize, varies = false;
    for (int64_t line = 0; isWave && line < elements.size() / size; ++line) {
      int64_t offset = line / stride * stride * size + line % stride;
      Wave wave = classifyLine({elements, offset, stride, size});
      isWave = wave != Wave::No;
      varies |= wave == Wave::Yes;
    }
    if (isWave && varies)
      return true;
    stride *= size;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

static StringRef describeFactor(const FloatElements &elements, ContentUse use) {
  if (elements.size() >= 16 && selects(elements))
    return "zeros and ones that select";
  if (elements.size() >= 8 && isCount(elements))
    return "the numbers 0, 1, 2 ...";
  if (elements.size() >= 64 && isFilterBank(elements))
    return "a filter bank";
  if (use == ContentUse::Convolution && repeatsFilter(elements))
    return "one filter for all channels";
  return {};
}

bool holdsPositions(const FloatElements &elements) {
  constexpr int64_t least = 6;
  return elements.size() >= least && isGrid(elements) &&
         !elements.getUniform() && !hasTwoValues(elements) &&
         !holdsMaskValue(elements);
}

static StringRef describeTable(const FloatElements &elements) {
  if (holdsMaskValue(elements))
    return "a mask of large numbers";
  if (elements.size() >= 8 && hasTwoValues(elements))
    return "a mask of two values";
  if (elements.size() >= 6 && isGrid(elements))
    return "a grid of whole and half numbers";
  if (elements.size() >= 8 && isMonotone(elements))
    return "a sequence in order";
  return {};
}

StringRef describeFixedContents(const FloatElements &elements, ContentUse use) {
  if (elements.size() < 2)
    return {};
  bool isFactor = use == ContentUse::Product || use == ContentUse::Convolution;
  if (elements.getUniform()) {
    if (!isFactor && holdsMaskValue(elements))
      return "a mask of large numbers";
    if (use == ContentUse::Convolution && repeatsFilter(elements))
      return "a mean";
    return {};
  }
  StringRef form =
      isFactor ? describeFactor(elements, use) : describeTable(elements);
  if (form.empty() && elements.size() >= 12 &&
      (isSampledSine(elements) || pairsUp(elements)))
    return "sampled sines and cosines";
  return form;
}

/// True for a quotient of small integers, within fp32's precision.
static bool isFraction(double value) {
  constexpr double precision = 3e-7;
  constexpr int64_t maxBelow = 16;
  for (int64_t below = 1; below <= maxBelow; ++below) {
    double maxAbove = below == 1 ? 65536 : 1024;
    for (double above : {value * double(below), double(below) / value})
      if (above > 0.5 && above <= maxAbove &&
          std::fabs(above - std::rint(above)) < precision * above)
        return true;
  }
  return false;
}

bool isFormulaNumber(double number) {
  double size = std::fabs(number);
  if (!std::isfinite(size) || size >= maskBound || size <= 1 / maskBound)
    return size != 0;
  // 8, or 1/8, is the root of a width.
  auto isWhole = [](double value) {
    return std::fabs(value - std::rint(value)) < 3e-7 * value;
  };
  if ((size >= 2 && isWhole(size)) || (size <= 0.25 && isWhole(1 / size)))
    return true;
  if (isFraction(size))
    return false;
  return isFraction(size * size) || isFraction(size / M_PI) ||
         isFraction(size * M_PI) || isFraction(size * size * M_PI);
}

/// True for a number that was written by hand: 0.044715, 1.702.
static bool isShortDecimal(double size) {
  constexpr double precision = 6e-8, maxDigits = 1e5;
  double digits = size * std::pow(10, 4 - std::floor(std::log10(size)));
  return digits < maxDigits &&
         std::fabs(digits - std::rint(digits)) < precision * digits;
}

bool isPlainNumber(double number) {
  double size = std::fabs(number);
  return number == 0 || isFormulaNumber(number) || isFraction(size) ||
         isShortDecimal(size);
}

} // namespace mp
