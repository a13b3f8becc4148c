//===- Convert.cpp - Tensors of one type as those of another --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/Convert.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>

using namespace llvm;

namespace mp {

bool isFloat(ElementKind kind) {
  return kind == ElementKind::Float || kind == ElementKind::Double ||
         kind == ElementKind::Float16 || kind == ElementKind::BFloat16;
}

/// From float64 at once: by way of float some numbers would be rounded twice.
static uint16_t round(double number, const fltSemantics &semantics) {
  APFloat value(number);
  bool losesInfo;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return uint16_t(value.bitcastToAPInt().getZExtValue());
}

Expected<Tensor> convertFloats(const Tensor &tensor, ElementKind kind) {
  if (!isFloat(tensor.getKind()) || !isFloat(kind) || tensor.getKind() == kind)
    return tensor;
  Expected<Tensor> result = Tensor::create(kind, tensor.getSizes());
  if (!result)
    return result;
  std::vector<double> numbers = tensor.toDoubles();
  if (kind == ElementKind::Double) {
    llvm::copy(numbers, result->get<double>().begin());
  } else if (kind == ElementKind::Float) {
    std::transform(numbers.begin(), numbers.end(), result->get<float>().begin(),
                   [](double number) { return float(number); });
  } else {
    const fltSemantics &semantics =
        kind == ElementKind::BFloat16 ? APFloat::BFloat() : APFloat::IEEEhalf();
    std::transform(numbers.begin(), numbers.end(),
                   result->get<uint16_t>().begin(),
                   [&](double number) { return round(number, semantics); });
  }
  return result;
}

} // namespace mp
