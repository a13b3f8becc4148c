//===- SmallConstants.cpp - Constants that steer operators ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallConstants.h"

#include "mp-opt/Operators/OperatorTraits.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The greatest number of elements that a list of axes or an exponent may have.
static constexpr int64_t maxElements = 64;

static Attribute getHeldValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto initializer = dyn_cast<InitializerOp>(op))
    return initializer.getValueAttr();
  if (!isStandardOp(op, "Constant"))
    return {};
  for (StringRef name :
       {"value", "value_float", "value_floats", "value_int", "value_ints"})
    if (Attribute held = op->getAttr(name)) {
      auto tensor = dyn_cast<TensorAttr>(held);
      return tensor ? Attribute(tensor.getValue()) : held;
    }
  return {};
}

template <typename T>
static std::optional<SmallVector<T>> copyBlob(DenseResourceElementsAttr held) {
  AsmResourceBlob *blob = held.getRawHandle().getBlob();
  size_t count = held.getNumElements();
  if (!blob || blob->getData().size() != count * sizeof(T))
    return std::nullopt;
  SmallVector<T> elements(count);
  memcpy(elements.data(), blob->getData().data(), count * sizeof(T));
  return elements;
}

std::optional<std::vector<float>> getFloatElements(Value value,
                                                   int64_t maxCount) {
  Attribute held = getHeldValue(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(held))
    return std::vector<float>{float(number.getValueAsDouble())};
  if (auto numbers = dyn_cast_or_null<DenseF32ArrayAttr>(held))
    return std::vector<float>(numbers.asArrayRef());
  auto elements = dyn_cast_or_null<ElementsAttr>(held);
  if (!elements || !elements.getElementType().isF32() ||
      elements.getNumElements() > maxCount)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(held)) {
    if (dense.isSplat())
      return std::vector<float>{dense.getSplatValue<float>()};
    auto values = dense.getValues<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(held);
  auto copy = resource ? copyBlob<float>(resource) : std::nullopt;
  return copy ? std::make_optional<std::vector<float>>(copy->begin(),
                                                       copy->end())
              : std::nullopt;
}

std::optional<SmallVector<int64_t>> getIntegerConstant(Value value) {
  Attribute held = getHeldValue(value);
  if (auto number = dyn_cast_or_null<IntegerAttr>(held))
    return SmallVector<int64_t>{number.getInt()};
  if (auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(held))
    return SmallVector<int64_t>(numbers.asArrayRef());
  auto elements = dyn_cast_or_null<ElementsAttr>(held);
  if (!elements || elements.getNumElements() > maxElements)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseIntElementsAttr>(held)) {
    SmallVector<int64_t> numbers;
    for (const APInt &number : dense.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    return numbers;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(held);
  if (!resource || !resource.getElementType().isInteger(64))
    return std::nullopt;
  return copyBlob<int64_t>(resource);
}

/// The constant before ops that change neither the values nor their number
/// much.
static Value skipCopies(Value value) {
  for (unsigned step = 0; step < 4; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      break;
    const OperatorTraits &traits = getOperatorTraits(op);
    if (traits.kind != OperatorKind::Movement &&
        traits.math != OperatorMath::Cast)
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<double> getUniformConstant(Value value) {
  value = skipCopies(value);
  Attribute held = getHeldValue(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(held))
    return number.getValueAsDouble();
  if (auto numbers = dyn_cast_or_null<DenseF32ArrayAttr>(held))
    return numbers.size() == 1 ? std::optional<double>(numbers[0])
                               : std::nullopt;
  if (auto dense = dyn_cast_or_null<DenseFPElementsAttr>(held);
      dense && (dense.isSplat() || dense.getNumElements() == 1)) {
    APFloat number = *dense.value_begin<APFloat>();
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.convertToDouble();
  }
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(held);
      resource && resource.getNumElements() == 1 &&
      resource.getElementType().isF32())
    if (auto numbers = copyBlob<float>(resource))
      return numbers->front();
  auto integers = getIntegerConstant(value);
  if (integers && integers->size() == 1)
    return integers->front();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> getReducedAxes(Operation *reduction) {
  auto type = dyn_cast<RankedTensorType>(reduction->getOperand(0).getType());
  if (!type)
    return std::nullopt;
  int64_t rank = type.getRank();
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (getOpType(reduction).starts_with("Global")) {
    all.erase(all.begin(), all.begin() + std::min<int64_t>(2, rank));
    return all;
  }
  SmallVector<int64_t> axes;
  bool isGiven = reduction->getNumOperands() > 1 &&
                 !isa<NoneType>(reduction->getOperand(1).getType());
  if (isGiven) {
    auto constant = getIntegerConstant(reduction->getOperand(1));
    if (!constant)
      return std::nullopt;
    axes = std::move(*constant);
  } else if (auto held = reduction->getAttrOfType<DenseI64ArrayAttr>("axes")) {
    axes.assign(held.asArrayRef().begin(), held.asArrayRef().end());
  }
  if (axes.empty()) {
    auto noop = reduction->getAttrOfType<IntegerAttr>("noop_with_empty_axes");
    return noop && noop.getInt() ? axes : all;
  }
  for (int64_t &axis : axes) {
    if (axis < -rank || axis >= rank)
      return std::nullopt;
    axis += axis < 0 ? rank : 0;
  }
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}

} // namespace mp
