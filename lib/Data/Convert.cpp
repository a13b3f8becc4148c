//===- Convert.cpp - Tensors of one type as those of another --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/Convert.h"

#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace mp {

bool isFloat(ElementKind kind) {
  return kind == ElementKind::Float || kind == ElementKind::Double ||
         kind == ElementKind::Float16 || kind == ElementKind::BFloat16;
}

/// Converts directly from float64: by way of float some numbers would be
/// rounded twice.
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
// Kinds of elements
//===----------------------------------------------------------------------===//

namespace {
/// Elements of a C++ type: their storage and their numeric value.
template <typename T> struct Plain {
  using Storage = T;
  using Number = T;
  static Number load(Storage stored) { return stored; }
  template <typename From> static Storage store(From number) {
    return Storage(number);
  }
};

struct Boolean {
  using Storage = uint8_t;
  using Number = uint8_t;
  static Number load(Storage stored) { return stored; }
  template <typename From> static Storage store(From number) {
    return number != From();
  }
};

struct Half {
  using Storage = uint16_t;
  using Number = float;
  static Number load(Storage stored) { return widenFloat16(stored); }
  template <typename From> static Storage store(From number) {
    return round(double(number), APFloat::IEEEhalf());
  }
};

struct BrainHalf {
  using Storage = uint16_t;
  using Number = float;
  static Number load(Storage stored) { return widenBFloat16(stored); }
  template <typename From> static Storage store(From number) {
    return round(double(number), APFloat::BFloat());
  }
};
} // namespace

/// Calls `function` with the form of elements of `kind`, or not at all if they
/// are not real numbers.
template <typename Fn> static void visit(ElementKind kind, Fn function) {
  switch (kind) {
  case ElementKind::Float:
    return function(Plain<float>());
  case ElementKind::Double:
    return function(Plain<double>());
  case ElementKind::Float16:
    return function(Half());
  case ElementKind::BFloat16:
    return function(BrainHalf());
  case ElementKind::Bool:
    return function(Boolean());
  case ElementKind::Int8:
    return function(Plain<int8_t>());
  case ElementKind::Int16:
    return function(Plain<int16_t>());
  case ElementKind::Int32:
    return function(Plain<int32_t>());
  case ElementKind::Int64:
    return function(Plain<int64_t>());
  case ElementKind::UInt8:
    return function(Plain<uint8_t>());
  case ElementKind::UInt16:
    return function(Plain<uint16_t>());
  case ElementKind::UInt32:
    return function(Plain<uint32_t>());
  case ElementKind::UInt64:
    return function(Plain<uint64_t>());
  default:
    return;
  }
}

/// Calls `function` with both forms.
template <typename Fn>
static void visit(ElementKind a, ElementKind b, Fn function) {
  visit(a, [&](auto first) {
    visit(b, [&](auto second) { function(first, second); });
  });
}

bool isInteger(ElementKind kind) {
  bool isOne = false;
  visit(kind, [&](auto form) {
    isOne = std::is_integral_v<typename decltype(form)::Number> &&
            kind != ElementKind::Bool;
  });
  return isOne;
}

//===----------------------------------------------------------------------===//
// Numbers of any kind
//===----------------------------------------------------------------------===//

/// True if the number is exactly representable in the other type.
template <typename To, typename From> static bool holds(From number) {
  if constexpr (std::is_integral_v<From>) {
    return From(To(number)) == number && (To(number) < 0) == (number < 0);
  } else {
    // Both bounds are powers of two, or 0: floats have them exactly.
    From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
    return number >= From(std::numeric_limits<To>::min()) && number < end &&
           number == std::trunc(number);
  }
}

/// Integers of 64 bits have more digits than float64.
template <typename From> static bool isDouble(From number) {
  if constexpr (std::is_integral_v<From>) {
    double end = std::ldexp(1.0, std::numeric_limits<From>::digits);
    return double(number) < end && From(double(number)) == number;
  }
  return true;
}

/// True if elements of the form `To` can hold a number.
template <typename To, typename From> static bool takes(From number) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return number == From(0) || number == From(1);
  } else if constexpr (std::is_integral_v<typename To::Number>) {
    return holds<typename To::Number>(number);
  } else if constexpr (std::is_same_v<To, Plain<float>>) {
    return !std::isfinite(double(number)) || std::isfinite(float(number));
  } else if constexpr (std::is_same_v<To, Plain<double>>) {
    return isDouble(number);
  } else if constexpr (std::is_floating_point_v<From>) {
    return !std::isfinite(number) || std::isfinite(To::load(To::store(number)));
  } else {
    return isDouble(number) && To::load(To::store(number)) == double(number);
  }
}

bool isConvertible(ElementKind from, ElementKind to) {
  bool isOne = false;
  visit(from, to, [&](auto, auto) { isOne = true; });
  return isOne;
}

/// Digits and exponents of one kind of floats include those of another.
static bool takesFloats(ElementKind to, ElementKind from) {
  return from == to || to == ElementKind::Double ||
         (to == ElementKind::Float && from != ElementKind::Double);
}

bool takesAllOf(ElementKind to, ElementKind from) {
  if (isFloat(from) || !isConvertible(from, to))
    return isFloat(from) && isFloat(to) && takesFloats(to, from);
  bool all = false;
  visit(to, from, [&](auto wide, auto narrow) {
    using To = decltype(wide);
    using Limits = std::numeric_limits<typename decltype(narrow)::Number>;
    auto least = Limits::min(), greatest = Limits::max();
    if (from == ElementKind::Bool)
      greatest = 1;
    all = takes<To>(least) && takes<To>(greatest);
  });
  return all;
}

std::optional<uint64_t> findRefused(const Tensor &tensor, ElementKind kind) {
  std::optional<uint64_t> found;
  if (takesAllOf(kind, tensor.getKind()))
    return found;
  visit(kind, tensor.getKind(), [&](auto wanted, auto given) {
    using From = decltype(given);
    auto elements = tensor.get<typename From::Storage>();
    auto place = llvm::find_if(elements, [](auto stored) {
      return !takes<decltype(wanted)>(From::load(stored));
    });
    if (place != elements.end())
      found = uint64_t(place - elements.begin());
  });
  return found;
}

void copyElements(const Tensor &from, const Tensor &to) {
  visit(to.getKind(), from.getKind(), [&](auto wanted, auto given) {
    using From = decltype(given);
    using To = decltype(wanted);
    llvm::transform(from.get<typename From::Storage>(),
                    to.get<typename To::Storage>().begin(),
                    [](auto stored) { return To::store(From::load(stored)); });
  });
}

std::string formatElement(const Tensor &tensor, uint64_t place) {
  std::string text;
  raw_string_ostream os(text);
  visit(tensor.getKind(), [&](auto form) {
    using Form = decltype(form);
    auto number = Form::load(tensor.get<typename Form::Storage>()[place]);
    if constexpr (std::is_integral_v<decltype(number)>)
      os << +number;
    else if (std::isfinite(number))
      os << format("%g", double(number));
    else
      os << (std::isnan(number) ? "NaN"
             : number < 0       ? "-infinity"
                                : "infinity");
  });
  return text;
}

StringRef getArrayTypeName(ElementKind kind) {
  if (kind == ElementKind::Float)
    return "float32";
  return kind == ElementKind::Double ? "float64" : getElementKindName(kind);
}

std::string describeArray(ElementKind kind, ArrayRef<int64_t> sizes) {
  std::string type = describeType(kind, sizes);
  StringRef name = getElementKindName(kind);
  return (getArrayTypeName(kind) + StringRef(type).drop_front(name.size()))
      .str();
}

} // namespace mp
