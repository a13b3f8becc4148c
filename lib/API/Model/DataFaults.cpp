//===- DataFaults.cpp - Data that a step cannot be trained on -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/DataRules.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Convert.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The first pass only counts and is vectorized. The second one finds the
/// position if there is a fault.
template <typename T, typename Predicate>
static DataFault find(ArrayRef<T> elements, uint64_t first, Predicate isWrong) {
  DataFault fault;
  for (T element : elements)
    fault.count += isWrong(element);
  if (fault)
    fault.place =
        first + uint64_t(llvm::find_if(elements, isWrong) - elements.begin());
  return fault;
}

template <typename T>
static DataFault findOutside(ArrayRef<T> elements, uint64_t first,
                             const DataRule::Range &range) {
  auto least = range.least, greatest = range.greatest;
  bool hasIgnored = range.ignored.has_value();
  int64_t ignored = range.ignored.value_or(0);
  return find<T>(elements, first, [=](T element) -> bool {
    if constexpr (std::is_same_v<T, uint64_t>)
      if (element > uint64_t(INT64_MAX))
        return true;
    int64_t number = int64_t(element);
    return ((number < least) | (number > greatest)) &
           !(hasIgnored & (number == ignored));
  });
}

/// Tests bits of floats: all bits of `exponent` are set in non-finite numbers,
/// and a NaN also has mantissa bits. The sign bit precedes them. Numbers from
/// `end` on are infinite in the input's type.
template <typename Bits>
static DataFault findSpecial(ArrayRef<Bits> elements, uint64_t first,
                             Bits exponent, Bits end, const DataRule &rule) {
  constexpr Bits sign = Bits(Bits(1) << (sizeof(Bits) * 8 - 1));
  Bits magnitude = Bits(~sign);
  bool mayBeNaN = rule.mayBeNaN, mayBeInfinite = rule.mayBeInfinite;
  return find<Bits>(elements, first, [=](Bits bits) -> bool {
    Bits number = bits & magnitude;
    bool isNaN = number > exponent;
    bool isInfinite = (number >= end) & (number <= exponent);
    return (isNaN & !mayBeNaN) | (isInfinite & !mayBeInfinite);
  });
}

/// Finds numbers that are not probabilities, NaN included. The bits of floats
/// are ordered as their values; -0 is the only value allowed to have a sign.
template <typename Bits>
static DataFault findImprobable(ArrayRef<Bits> elements, uint64_t first,
                                Bits one) {
  constexpr Bits negativeZero = Bits(Bits(1) << (sizeof(Bits) * 8 - 1));
  return find<Bits>(elements, first, [=](Bits bits) -> bool {
    return (bits > one) & (bits != negativeZero);
  });
}

template <typename Bits>
static DataFault findFloat(const Tensor &tensor, const DataRule &rule,
                           uint64_t first, uint64_t count, Bits exponent,
                           Bits one) {
  auto elements = ArrayRef<Bits>(tensor.get<Bits>()).slice(first, count);
  if (rule.areProbabilities)
    return findImprobable(elements, first, one);
  Bits end = exponent;
  // Float64 from half a unit above the greatest float on is rounded to
  // infinity.
  if constexpr (sizeof(Bits) == 8)
    if (rule.kind == ElementKind::Float)
      end = 0x47effffff0000000;
  return findSpecial(elements, first, exponent, end, rule);
}

template <typename T>
static DataFault findInteger(const Tensor &tensor, const DataRule &rule,
                             uint64_t first, uint64_t count) {
  if (!rule.range)
    return {};
  auto elements = ArrayRef<T>(tensor.get<T>()).slice(first, count);
  return findOutside(elements, first, *rule.range);
}

DataFault findFault(const Tensor &tensor, const DataRule &rule, uint64_t first,
                    uint64_t count) {
  switch (tensor.getKind()) {
  case ElementKind::Float:
    return findFloat<uint32_t>(tensor, rule, first, count, 0x7f800000,
                               0x3f800000);
  case ElementKind::Double:
    return findFloat<uint64_t>(tensor, rule, first, count, 0x7ff0000000000000,
                               0x3ff0000000000000);
  case ElementKind::Float16:
    return findFloat<uint16_t>(tensor, rule, first, count, 0x7c00, 0x3c00);
  case ElementKind::BFloat16:
    return findFloat<uint16_t>(tensor, rule, first, count, 0x7f80, 0x3f80);
  case ElementKind::Int8:
    return findInteger<int8_t>(tensor, rule, first, count);
  case ElementKind::Int16:
    return findInteger<int16_t>(tensor, rule, first, count);
  case ElementKind::Int32:
    return findInteger<int32_t>(tensor, rule, first, count);
  case ElementKind::Int64:
    return findInteger<int64_t>(tensor, rule, first, count);
  case ElementKind::UInt8:
    return findInteger<uint8_t>(tensor, rule, first, count);
  case ElementKind::UInt16:
    return findInteger<uint16_t>(tensor, rule, first, count);
  case ElementKind::UInt32:
    return findInteger<uint32_t>(tensor, rule, first, count);
  case ElementKind::UInt64:
    return findInteger<uint64_t>(tensor, rule, first, count);
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string describePlace(ArrayRef<int64_t> sizes, uint64_t place,
                          bool areBatches) {
  SmallVector<uint64_t> indices(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0;) {
    indices[axis] = place % uint64_t(sizes[axis]);
    place /= uint64_t(sizes[axis]);
  }
  ArrayRef<uint64_t> rest(indices);
  std::string text;
  raw_string_ostream os(text);
  if (areBatches && rest.size() > 1) {
    os << "batch " << rest.front() << ", ";
    rest = rest.drop_front();
  }
  os << (areBatches && indices.size() == 1 ? "batch " : "row ") << rest.front();
  rest = rest.drop_front();
  if (rest.size() == 1)
    os << ", column " << rest.front();
  else if (!rest.empty())
    os << ", place ["
       << llvm::join(
              llvm::map_range(
                  rest, [](uint64_t index) { return std::to_string(index); }),
              ",")
       << "]";
  return text;
}

static double getElement(const Tensor &tensor, uint64_t place) {
  size_t width = getElementBytes(tensor.getKind());
  char *data = static_cast<char *>(tensor.getData()) + place * width;
  return Tensor(tensor.getKind(), {}, data, nullptr).toDoubles().front();
}

static std::string describeElement(double number) {
  if (std::isnan(number))
    return "NaN";
  if (std::isinf(number))
    return number < 0 ? "-infinity" : "infinity";
  return formatShort(number);
}

/// Returns "3 labels outside of the classes 0 to 9 of node ...".
static std::string describeRule(const DataRule &rule, bool isFloat, bool isWide,
                                uint64_t count) {
  bool isOne = count == 1;
  std::string text;
  raw_string_ostream os(text);
  os << count;
  if (isFloat && rule.areProbabilities) {
    os << (isOne ? " target that is" : " targets that are") << " not in [0, 1]";
  } else if (isFloat) {
    os << (isOne ? " element that is" : " elements that are") << " not finite"
       << (isWide ? " as float32" : "");
  } else {
    const DataRule::Range &range = *rule.range;
    os << (range.areLabels ? isOne ? " label outside of the classes "
                                   : " labels outside of the classes "
           : isOne         ? " index that is not in ["
                           : " indices that are not in [")
       << range.least << (range.areLabels ? " to " : ", ") << range.greatest
       << (range.areLabels ? " of " : "] of ") << range.node;
    if (range.ignored)
      os << ", nor " << *range.ignored << ", which is ignored";
  }
  return text;
}

std::string describeFault(const NamedTensor &data, const DataRule &rule,
                          const DataFault &fault, bool areBatches) {
  const Tensor &tensor = data.tensor;
  bool isFloat = !isInteger(tensor.getKind());
  double number = getElement(tensor, fault.place);
  bool isWide = std::isfinite(number) && tensor.getKind() != rule.kind;
  std::string text = "'" + data.name + "' has " +
                     describeRule(rule, isFloat, isWide, fault.count) +
                     (fault.count == 1 ? ": " : ", the first is ") +
                     describeElement(number) + " in " +
                     describePlace(tensor.getSizes(), fault.place, areBatches);
  bool isRange = !isFloat && rule.range->areLabels && !rule.range->ignored;
  if (isRange && number < 0)
    text += "; ignore-index=N of mp-opt --loss leaves out labels N";
  return text;
}

} // namespace mp
