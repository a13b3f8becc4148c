//===- TensorText.cpp - Tensors as users see them -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/TensorText.h"

#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace mp {

TensorRange::TensorRange(const Tensor &tensor)
    : least(std::numeric_limits<double>::infinity()), greatest(-least) {
  double sum = 0;
  for (double element : tensor.toDoubles()) {
    ++count;
    if (std::isnan(element)) {
      ++nans;
    } else if (std::isinf(element)) {
      ++infinities;
    } else {
      least = std::min(least, element);
      greatest = std::max(greatest, element);
      sum += element;
    }
  }
  if (int64_t finite = count - nans - infinities)
    mean = sum / double(finite);
}

std::string formatShort(double number) {
  std::string text;
  raw_string_ostream os(text);
  // The sign of a NaN is chosen by compilers and has no meaning.
  os << format("%.6g", std::isnan(number) ? std::abs(number) : number);
  return text;
}

std::string formatError(double number) {
  std::string text;
  raw_string_ostream os(text);
  os << format("%.3g", number);
  return text;
}

std::string formatPercent(double share) {
  if (!std::isfinite(share))
    return formatError(share);
  std::string text;
  raw_string_ostream os(text);
  double percent = 100 * share;
  os << format(percent >= 10 ? "%.0f" : "%.2g", percent) << " %";
  return text;
}

json::Value toJSON(double number) {
  return std::isfinite(number) ? json::Value(number) : json::Value(nullptr);
}

std::string pad(StringRef text, size_t width) {
  std::string padded = text.str();
  padded.resize(std::max(width, text.size()), ' ');
  return padded;
}

std::string padLeft(StringRef text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text.str();
}

static std::string describeRange(const Tensor &tensor) {
  TensorRange range(tensor);
  std::string text;
  raw_string_ostream os(text);
  if (range.least <= range.greatest) {
    os << "[" << formatShort(range.least) << ", " << formatShort(range.greatest)
       << "]";
    os << " mean " << formatShort(range.mean);
  }
  if (range.nans)
    os << " NaN: " << range.nans;
  if (range.infinities)
    os << " Inf: " << range.infinities;
  return text;
}

static std::string describeType(const Tensor &tensor) {
  return mp::describeType(tensor.getKind(), tensor.getSizes());
}

static void print(ArrayRef<NamedTensor> tensors, raw_ostream &os,
                  function_ref<std::string(const Tensor &)> describe) {
  size_t name = 0, type = 0;
  for (const NamedTensor &named : tensors) {
    name = std::max(name, escapeText(named.name).size());
    type = std::max(type, describeType(named.tensor).size());
  }
  for (const NamedTensor &named : tensors) {
    std::string shown = escapeText(named.name);
    os << (shown.empty() ? "" : pad(shown, name) + "  ")
       << pad(describeType(named.tensor), type) << "  "
       << describe(named.tensor) << "\n";
  }
}

void printTable(ArrayRef<NamedTensor> tensors, raw_ostream &os) {
  print(tensors, os, describeRange);
}

void printValues(ArrayRef<NamedTensor> tensors, raw_ostream &os) {
  constexpr size_t shown = 4;
  print(tensors, os, [](const Tensor &tensor) {
    std::vector<double> values = tensor.toDoubles();
    std::string text;
    raw_string_ostream stream(text);
    ListSeparator separator(" ");
    for (double value : ArrayRef(values).take_front(shown))
      stream << separator << formatShort(value);
    if (values.size() > shown)
      stream << " ...  " << describeRange(tensor);
    return text;
  });
}

void printJSON(const NamedTensor &named, json::OStream &json) {
  TensorRange range(named.tensor);
  json.object([&] {
    json.attribute("name", json::fixUTF8(named.name));
    json.attribute("type", getElementKindName(named.tensor.getKind()));
    json.attributeArray("shape", [&] {
      for (int64_t size : named.tensor.getSizes())
        json.value(size);
    });
    bool isFinite = range.least <= range.greatest;
    json.attribute("min", isFinite ? toJSON(range.least) : nullptr);
    json.attribute("max", isFinite ? toJSON(range.greatest) : nullptr);
    json.attribute("mean", isFinite ? toJSON(range.mean) : nullptr);
    json.attribute("nan", range.nans);
    json.attribute("inf", range.infinities);
  });
}

} // namespace mp
