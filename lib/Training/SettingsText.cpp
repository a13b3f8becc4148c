//===- SettingsText.cpp - Lists of key=value ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SettingsText.h"

#include "mp-opt/Data/DataFiles.h"
#include "mp-opt/Support/ConfigFile.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;

namespace mp {

StringRef stripBraces(StringRef text) {
  return text.starts_with("{") && text.ends_with("}")
             ? text.drop_front().drop_back()
             : text;
}

bool startsWithSetting(StringRef text) {
  StringRef key = text.take_while(
      [](char c) { return isAlnum(c) || c == '-' || c == '_'; });
  return !key.empty() && isAlpha(key.front()) &&
         text.drop_front(key.size()).starts_with("=");
}

SmallVector<Setting> splitSettings(StringRef text) {
  SmallVector<Setting> settings;
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (!startsWithSetting(part) && !settings.empty()) {
      StringRef &value = settings.back().value;
      value = StringRef(value.begin(), part.end() - value.begin());
      continue;
    }
    auto [key, value] = part.split('=');
    settings.push_back({key, value});
  }
  return settings;
}

std::optional<double> parseNumber(StringRef text) {
  double number;
  if (text.empty() || text.getAsDouble(number) || !std::isfinite(number))
    return std::nullopt;
  return number;
}

static Expected<std::vector<double>> readText(StringRef path) {
  auto content = readTextFile(path);
  if (!content)
    return content.takeError();
  std::vector<double> numbers;
  unsigned line = 0;
  for (StringRef text : split(*content, '\n')) {
    ++line;
    text = text.trim();
    if (text.empty())
      continue;
    auto number = parseNumber(text);
    if (!number)
      return errorAt(path, line, "'" + text + "' is not a number");
    numbers.push_back(*number);
  }
  return numbers;
}

static Expected<std::vector<double>> readNumbers(StringRef path) {
  if (!path.ends_with(".npy"))
    return readText(path);
  auto tensors = readDataFile(path);
  if (!tensors)
    return tensors.takeError();
  const Tensor &tensor = tensors->front().tensor;
  if (tensor.getSizes().size() != 1)
    return createStringError(path + ": expected a vector, found " +
                             describeType(tensor.getKind(), tensor.getSizes()));
  std::vector<double> numbers = tensor.toDoubles();
  for (double number : numbers)
    if (!std::isfinite(number))
      return createStringError(path + ": expected finite numbers");
  return numbers;
}

Expected<std::vector<double>> parseNumbers(StringRef text) {
  std::vector<double> numbers;
  if (text.consume_front("@")) {
    auto read = readNumbers(text);
    if (!read)
      return read.takeError();
    if (read->empty())
      return createStringError(text + ": it has no numbers");
    return read;
  }
  for (StringRef part : split(text, ',')) {
    auto number = parseNumber(part);
    if (!number)
      return createStringError("'" + part + "' is not a number");
    numbers.push_back(*number);
  }
  return numbers;
}

} // namespace mp
