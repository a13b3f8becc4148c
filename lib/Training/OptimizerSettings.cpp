//===- OptimizerSettings.cpp - Settings of an optimizer -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerRules.h"
#include "SettingsText.h"

#include "mp-opt/Support/NameRegex.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace mp {

std::string getOptimizerNames() {
  return llvm::join(
      llvm::map_range(getOptimizerRules(),
                      [](const OptimizerRule &rule) { return rule.name; }),
      ", ");
}

/// Decays are between zero and one; numbers added to a divisor are positive.
static bool isInRange(StringRef name, double number) {
  if (name == "mode")
    return number == 0 || number == 1;
  return name == "eps" ? number > 0 && std::isfinite(number)
                       : number >= 0 && number < 1;
}

/// A hint, for an error, about a number that the optimizer does not have.
static std::string describeNumber(StringRef key, const OptimizerRule &rule) {
  if (key == "lr" || key == "learning-rate" || key == "learning_rate")
    return "; --lr=X gives the learning rate";
  if (key == "weight-decay" || key == "weight_decay")
    return "; --weight-decay=X gives it";
  auto names = llvm::make_first_range(rule.numbers);
  std::string hint = suggestNearest(key, names);
  if (hint.empty() && !rule.numbers.empty())
    hint = "; it has " + llvm::join(names, ", ");
  for (const OptimizerRule &other : getOptimizerRules())
    if (hint.empty() &&
        llvm::is_contained(llvm::make_first_range(other.numbers), key))
      hint = ("; optimizer '" + other.name + "' has it").str();
  return hint;
}

llvm::Error OptimizerSettings::parse(StringRef text) {
  auto error = [&](const Twine &message) {
    return llvm::createStringError("optimizer '" + text + "': " + message);
  };
  StringRef name = text.split(':').first, rest = text.split(':').second;
  // torch and Keras use class names: AdamW.
  const auto *found =
      llvm::find_if(getOptimizerRules(), [&](const OptimizerRule &known) {
        return name.equals_insensitive(known.name);
      });
  if (found == getOptimizerRules().end())
    return error(
        "expected " + getOptimizerNames() +
        suggestNearest(
            name, llvm::map_range(getOptimizerRules(), [](const auto &known) {
              return StringRef(known.name);
            })));
  rule = found;
  for (auto [key, value] : rule->numbers)
    numbers[key] = value;
  SmallVector<StringRef> parts;
  rest.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    auto it = numbers.find(key);
    if (it == numbers.end()) {
      return error("it has no number '" + key + "'" +
                   describeNumber(key, *rule));
    }
    if (value.getAsDouble(it->second) || !isInRange(key, it->second))
      return error("'" + value + "' is not a valid value for '" + key + "'");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

llvm::Error OptimizerSettings::addGroup(StringRef given) {
  StringRef text = stripBraces(given);
  auto error = [&](const Twine &message) {
    return llvm::createStringError("group '" + text + "': " + message);
  };
  // A pattern may contain colons.
  auto [pattern, rest] = text.rsplit(':');
  if (pattern.empty() || !startsWithSetting(rest))
    return error("expected REGEX:key=value,...");
  ParameterGroup group;
  group.text = text.str();
  group.pattern = pattern.str();
  llvm::Expected<NameRegex> regex = NameRegex::compile(pattern);
  if (!regex)
    return error(toString(regex.takeError()));
  group.regex = std::make_shared<const NameRegex>(std::move(*regex));
  std::vector<StringRef> known{"weight-decay", "lr", "lr-scale"};
  llvm::append_range(known, llvm::make_first_range(rule->numbers));
  for (auto [key, value] : splitSettings(rest)) {
    if (!llvm::is_contained(known, key))
      return error("there is no setting '" + key + "'" +
                   suggestNearest(key, known));
    auto number = parseNumber(value);
    bool isFactor = !numbers.contains(key);
    if (!number || (isFactor ? *number < 0 : !isInRange(key, *number)))
      return error("'" + value + "' is not a valid value for '" + key + "'");
    if (!group.numbers.try_emplace(key, *number).second)
      return error("'" + key + "' is given twice");
  }
  if (group.numbers.contains("lr") && group.numbers.contains("lr-scale"))
    return error("'lr' and 'lr-scale' exclude each other");
  groups.push_back(std::move(group));
  return llvm::Error::success();
}

OptimizerSettings OptimizerSettings::forParameter(StringRef name,
                                                  llvm::BitVector &used) const {
  OptimizerSettings own = *this;
  used.resize(groups.size());
  for (auto [index, group] : llvm::enumerate(groups)) {
    if (!group.regex->matches(name))
      continue;
    used.set(index);
    for (const auto &[key, number] : group.numbers)
      if (key == "weight-decay")
        own.weightDecay = number;
      else if (key == "lr-scale")
        own.rateFactor = number;
      else if (key == "lr")
        own.rateFactor = number / learningRate;
      else
        own.numbers[key] = number;
  }
  return own;
}

llvm::Error OptimizerSettings::parseAverage(StringRef text) {
  if (text.empty())
    return llvm::Error::success();
  auto error = [&](const Twine &message) {
    return llvm::createStringError("average '" + text + "': " + message);
  };
  auto [kind, rest] = text.split(':');
  if (kind != "ema")
    return error("expected ema or ema:decay=D");
  averageDecay = 0.999;
  for (auto [key, value] : splitSettings(rest)) {
    auto number = parseNumber(value);
    if (key != "decay")
      return error("there is no setting '" + key + "'" +
                   suggestNearest(key, ArrayRef<StringRef>("decay")));
    if (!number || *number < 0 || *number >= 1)
      return error("expected a decay from 0 on and below 1, got '" + value +
                   "'");
    averageDecay = *number;
  }
  return llvm::Error::success();
}

} // namespace mp
