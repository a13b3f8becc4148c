//===- OutputDifferences.cpp - Outputs against expected ones --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/OutputDifferences.h"
#include "mp-opt/API/TensorText.h"
#include "mp-opt/Support/Nearest.h"

using namespace llvm;

namespace mp {

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
    if (actual.getKind() != tensor.getKind() ||
        actual.getSizes() != tensor.getSizes())
      return createStringError(
          "output '" + names[place] + "': expected " +
          describeType(tensor.getKind(), tensor.getSizes()) + ", found " +
          describeType(actual.getKind(), actual.getSizes()));
    differences.push_back(
        {names[place].str(), Difference::compute(actual, tensor, tolerance)});
  }
  return differences;
}

Expected<std::vector<OutputDifference>>
compareOutputs(ArrayRef<NamedTensor> outputs, const DataSet &data,
               const Tolerance &tolerance) {
  if (data.expected.empty())
    return createStringError("there are no expected outputs: DATA has no "
                             "out:NAME and no output_0.pb");
  return compareOutputs(outputs, data.expected, data.isPositional, tolerance);
}

bool isOutside(ArrayRef<OutputDifference> differences) {
  return llvm::any_of(differences, [](const OutputDifference &difference) {
    return difference.numbers.outside != 0;
  });
}

void printDifferences(ArrayRef<OutputDifference> differences, raw_ostream &os) {
  constexpr size_t column = 12;
  size_t width = 6;
  for (const OutputDifference &difference : differences)
    width = std::max(width, difference.name.size());
  os << pad("output", width);
  for (StringRef title : {"max abs", "max rel", "RMSE", "cosine"})
    os << padLeft(title, column);
  os << "  outside\n";
  for (const auto &[name, numbers] : differences) {
    os << pad(name, width);
    for (double number : {numbers.maxAbs, numbers.maxRel, numbers.rmse})
      os << padLeft(formatShort(number), column);
    // A cosine is told by its distance from 1.
    os << padLeft(numbers.describeCosine(), column) << "  ";
    if (numbers.outside)
      os << numbers.outside << " of " << numbers.count << ", worst at "
         << numbers.worstPlace << ": " << formatShort(numbers.worstActual)
         << ", expected " << formatShort(numbers.worstExpected);
    else
      os << "0";
    os << "\n";
  }
}

void printJSON(const OutputDifference &difference, json::OStream &json) {
  const Difference &numbers = difference.numbers;
  json.object([&] {
    json.attribute("name", json::fixUTF8(difference.name));
    json.attribute("max_abs", toJSON(numbers.maxAbs));
    json.attribute("max_rel", toJSON(numbers.maxRel));
    json.attribute("rmse", toJSON(numbers.rmse));
    json.attribute("rms", toJSON(numbers.rms));
    json.attribute("cosine", toJSON(numbers.cosine));
    json.attribute("count", numbers.count);
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
