//===- Convert.cpp - Tensors of one type as those of another --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/Convert.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

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

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Calls `function` with a zero of the C++ type that `kind` stands for.
template <typename Fn> static void visitInteger(ElementKind kind, Fn function) {
  switch (kind) {
  case ElementKind::Int8:
    return function(int8_t());
  case ElementKind::Int16:
    return function(int16_t());
  case ElementKind::Int32:
    return function(int32_t());
  case ElementKind::Int64:
    return function(int64_t());
  case ElementKind::UInt8:
    return function(uint8_t());
  case ElementKind::UInt16:
    return function(uint16_t());
  case ElementKind::UInt32:
    return function(uint32_t());
  case ElementKind::UInt64:
    return function(uint64_t());
  default:
    return;
  }
}

/// Calls `function` with zeros of both types.
template <typename Fn>
static void visitIntegers(ElementKind a, ElementKind b, Fn function) {
  visitInteger(a, [&](auto first) {
    visitInteger(b, [&](auto second) { function(first, second); });
  });
}

bool isInteger(ElementKind kind) {
  bool isOne = false;
  visitInteger(kind, [&](auto) { isOne = true; });
  return isOne;
}

/// The same number, of another type, is neither more nor less.
template <typename To, typename From> static bool holds(From number) {
  return From(To(number)) == number && (To(number) < 0) == (number < 0);
}

bool holdsAllOf(ElementKind to, ElementKind from) {
  bool all = false;
  visitIntegers(to, from, [&](auto wide, auto narrow) {
    using Limits = std::numeric_limits<decltype(narrow)>;
    all = holds<decltype(wide)>(Limits::min()) &&
          holds<decltype(wide)>(Limits::max());
  });
  return all;
}

std::optional<std::string> findOutside(const Tensor &tensor, ElementKind kind) {
  std::optional<std::string> found;
  visitIntegers(kind, tensor.getKind(), [&](auto wanted, auto given) {
    for (auto element : tensor.get<decltype(given)>())
      if (!holds<decltype(wanted)>(element)) {
        found = std::to_string(element);
        return;
      }
  });
  return found;
}

void copyIntegers(const Tensor &from, const Tensor &to) {
  visitIntegers(to.getKind(), from.getKind(), [&](auto wanted, auto given) {
    using To = decltype(wanted);
    llvm::transform(from.get<decltype(given)>(), to.get<To>().begin(),
                    [](auto element) { return To(element); });
  });
}

} // namespace mp
