//===- OutputDifferences.cpp - Outputs against expected ones --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/OutputDifferences.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Support/ShownText.h"

using namespace llvm;

namespace mp {

/// Compares floats of different types as float64, which holds all of them:
/// models with other types of outputs (--io) give the same numbers.
static Expected<Difference> compareTensors(const Tensor &actual,
                                           const Tensor &expected,
                                           const Tolerance &tolerance) {
  if (actual.getKind() == expected.getKind())
    return Difference::compute(actual, expected, tolerance);
  Expected<Tensor> left = convertFloats(actual, ElementKind::Double);
  Expected<Tensor> right = convertFloats(expected, ElementKind::Double);
  if (!left || !right)
    return joinErrors(left.takeError(), right.takeError());
  return Difference::compute(*left, *right, tolerance);
}

Expected<std::vector<OutputDifference>>
compareOutputs(ArrayRef<NamedTensor> outputs, ArrayRef<NamedTensor> expected,
               bool isPositional, const Tolerance &tolerance) {
  std::vector<StringRef> names;
  for (const NamedTensor &output : outputs)
    names.push_back(output.name);
  if (isPositional && expected.size() > outputs.size())
    return createStringError("the model has " + Twine(outputs.size()) +
                             " outputs, expected " + Twine(expected.size()));
  std::vector<OutputDifference> differences;
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto &[name, tensor] = expected[i];
    size_t place = isPositional ? i : llvm::find(names, name) - names.begin();
    if (place == names.size())
      return createStringError("the model has no output '" + name + "'" +
                               suggestNearest(name, names));
    const Tensor &actual = outputs[place].tensor;
    bool areAlike = actual.getKind() == tensor.getKind() ||
                    (isFloat(actual.getKind()) && isFloat(tensor.getKind()));
    if (!areAlike || actual.getSizes() != tensor.getSizes())
      return createStringError(
          "output '" + names[place] + "': expected " +
          describeType(tensor.getKind(), tensor.getSizes()) + ", found " +
          describeType(actual.getKind(), actual.getSizes()));
    Expected<Difference> found = compareTensors(actual, tensor, tolerance);
    if (!found)
      return prefixError("output '" + names[place] + "'", found.takeError());
    differences.push_back({names[place].str(), std::move(*found)});
  }
  return differences;
}

Expected<std::vector<OutputDifference>>
compareOutputs(ArrayRef<NamedTensor> outputs, const DataSet &data,
               const Tolerance &tolerance) {
  if (data.expected.empty())
    return createStringError(
        (data.path.empty() ? "" : data.path + ": ") +
        "there are no expected outputs to check against: expected arrays "
        "called out:NAME next to the inputs in:NAME of an .npz, output_0.pb in "
        "a test_data_set folder, or a file of outputs in --expected=FILE, such "
        "as mp-run run -o writes");
  return compareOutputs(outputs, data.expected, data.isPositional, tolerance);
}

bool OutputDifference::isOutside() const {
  if (!otherSizes.empty())
    return true;
  bool isNaN = numbers.count && numbers.nans == numbers.count;
  if (!bound)
    return numbers.outside != 0 || isNaN;
  if (numbers.isEmpty())
    return numbers.count != 0;
  return numbers.specials || !(numbers.getError() <= bound->get());
}

std::string OutputDifference::describeEmpty() const {
  std::string text = "output '" + name + "' ";
  if (!numbers.count)
    return text + "has no elements";
  if (numbers.isEmpty())
    return text + (numbers.nans == numbers.count ? "is NaN in both"
                   : numbers.nans                ? "is NaN or infinite in both"
                                                 : "is infinite in both");
  return isConstant ? text + "does not depend on the data" : "";
}

std::string describeEmpty(ArrayRef<OutputDifference> differences) {
  bool provesAny = false;
  std::string found;
  for (const OutputDifference &output : differences) {
    std::string text = output.describeEmpty();
    provesAny |= text.empty();
    if (output.numbers.isEmpty() && output.numbers.count)
      return "nothing compared: " + text;
    if (found.empty())
      found = text;
  }
  return provesAny || found.empty() ? "" : "nothing compared: " + found;
}

bool isOutside(ArrayRef<OutputDifference> differences) {
  return llvm::any_of(differences, [](const OutputDifference &difference) {
    return difference.isOutside();
  });
}

/// Explains how an output violates its tolerance or bound.
static std::string describeOutside(const OutputDifference &difference) {
  const Difference &numbers = difference.numbers;
  if (difference.isAgainstOwn)
    return "compared with fp32, which is off itself by " +
           formatPercent(*difference.ownError);
  if (!difference.otherSizes.empty())
    return "is " + difference.otherSizes;
  if (!difference.isOutside())
    return difference.bound ? "" : "0";
  if (numbers.isEmpty())
    return "nothing compared";
  std::string text;
  raw_string_ostream os(text);
  if (!difference.bound)
    os << numbers.outside << " of " << numbers.count << ", worst at "
       << numbers.worstPlace << ": " << formatShort(numbers.worstActual)
       << ", expected " << formatShort(numbers.worstExpected);
  else if (numbers.specials)
    os << numbers.specials << " of " << numbers.count
       << " are NaN or infinite, or should be";
  else
    os << "outside";
  if (difference.bound && difference.ownError)
    os << ", fp32 itself is off by " << formatPercent(*difference.ownError);
  return text;
}

void printDifferences(ArrayRef<OutputDifference> differences, raw_ostream &os) {
  constexpr size_t column = 12;
  bool isBounded = llvm::all_of(differences, [](const auto &difference) {
    return difference.bound.has_value();
  });
  size_t width = 6;
  for (const OutputDifference &difference : differences)
    width = std::max(width, escapeText(difference.name).size());
  os << pad("output", width);
  for (StringRef title : {"max abs", "max rel", "1 - cosine", "RMSE / RMS"})
    os << padLeft(title, column);
  os << (isBounded ? padLeft("allowed", column) : "  outside") << "\n";
  for (const OutputDifference &difference : differences) {
    const Difference &numbers = difference.numbers;
    os << pad(escapeText(difference.name), width);
    for (double number : {numbers.maxAbs, numbers.maxRel, 1 - numbers.cosine})
      os << padLeft(numbers.compared ? formatError(number) : "-", column);
    os << padLeft(numbers.compared ? formatPercent(numbers.getError()) : "-",
                  column);
    if (isBounded)
      os << padLeft(formatPercent(difference.bound->get()), column);
    std::string outside = describeOutside(difference);
    os << (outside.empty() ? "" : "  ") << outside << "\n";
  }
}

void printJSON(const OutputDifference &difference, json::OStream &json) {
  const Difference &numbers = difference.numbers;
  auto toNumber = [&](double number) {
    return numbers.compared ? toJSON(number) : json::Value(nullptr);
  };
  json.object([&] {
    json.attribute("name", json::fixUTF8(difference.name));
    json.attribute("max_abs", toNumber(numbers.maxAbs));
    json.attribute("max_rel", toNumber(numbers.maxRel));
    json.attribute("rmse", toNumber(numbers.rmse));
    json.attribute("rms", toNumber(numbers.rms));
    json.attribute("cosine", toNumber(numbers.cosine));
    if (difference.bound) {
      json.attribute("error", toJSON(numbers.getError()));
      json.attribute("allowed", toJSON(difference.bound->get()));
      json.attribute("explained_by_rounding",
                     toJSON(difference.bound->explained));
      json.attribute("is_outside", difference.isOutside());
      json.attribute("reference", difference.isAgainstOwn ? "fp32" : "float64");
    }
    if (!difference.otherSizes.empty())
      json.attribute("other_sizes", difference.otherSizes);
    if (difference.ownError)
      json.attribute("fp32_error", toJSON(*difference.ownError));
    if (std::string empty = difference.describeEmpty(); !empty.empty())
      json.attribute("nothing_compared", json::fixUTF8(empty));
    json.attribute("count", numbers.count);
    json.attribute("compared", numbers.compared);
    json.attribute("outside", numbers.outside);
    json.attribute("new_specials", numbers.specials);
    json.attribute("worst_index", numbers.worstPlace);
  });
}

void printJSON(ArrayRef<NamedTensor> outputs,
               ArrayRef<OutputDifference> differences, raw_ostream &os) {
  json::OStream json(os, 2);
  json.object([&] {
    json.attributeArray("outputs", [&] {
      for (const NamedTensor &named : outputs)
        printJSON(named, json);
    });
    if (!differences.empty())
      json.attributeArray("differences", [&] {
        for (const OutputDifference &difference : differences)
          printJSON(difference, json);
      });
  });
  os << "\n";
}

} // namespace mp
