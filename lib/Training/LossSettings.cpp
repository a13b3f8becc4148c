//===- LossSettings.cpp - Settings of a loss ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossKinds.h"
#include "SettingsText.h"

#include "mp-opt/Support/Nearest.h"

#include <cmath>

using namespace llvm;

namespace mp {

std::string getLossNames() {
  std::string names;
  for (const LossKind &kind : getLossKinds())
    names += (kind.name + ", ").str();
  return names + "output:NAME";
}

/// Reads an integer that may be a label.
static Error readInteger(StringRef value, int64_t &number) {
  int32_t found;
  if (value.getAsInteger(10, found))
    return createStringError("expected an integer, got '" + value + "'");
  number = found;
  return Error::success();
}

/// Reads a number within the interval.
static Error readNumber(StringRef value, double least, double greatest,
                        double &number) {
  auto found = parseNumber(value);
  std::string range = greatest < HUGE_VAL ? " from 0 to 1"
                      : least == 0        ? " from 0 on"
                                          : "";
  if (!found || *found < least || *found > greatest)
    return createStringError("expected a number" + range + ", got '" + value +
                             "'");
  number = *found;
  return Error::success();
}

static Error readPositive(StringRef value, double &number) {
  auto found = parseNumber(value);
  if (!found || *found <= 0)
    return createStringError("expected a positive number, got '" + value + "'");
  number = *found;
  return Error::success();
}

static Error readWeights(StringRef value, std::vector<double> &numbers) {
  auto found = parseNumbers(value);
  if (!found)
    return found.takeError();
  for (double number : *found)
    if (number < 0)
      return createStringError("expected numbers from 0 on, got %g", number);
  numbers = std::move(*found);
  return Error::success();
}

static Error readReduction(StringRef value, const LossKind &kind,
                           std::string &reduction) {
  bool hasBatchMean = kind.name == "kl-div";
  if (value != "mean" && value != "sum" &&
      !(hasBatchMean && value == "batchmean"))
    return createStringError(Twine("expected mean") +
                             (hasBatchMean ? ", batchmean" : "") +
                             " or sum, got '" + value + "'");
  reduction = value.str();
  return Error::success();
}

static Error set(LossRequest &request, const Setting &setting) {
  auto [key, value] = setting;
  if (key == "labels") {
    request.labels = value.str();
    request.namesLabels = true;
    return value.empty() ? createStringError("expected the name of an input")
                         : Error::success();
  }
  if (key == "weight")
    return readNumber(value, -HUGE_VAL, HUGE_VAL, request.weight);
  if (key == "reduction")
    return readReduction(value, *request.kind, request.reduction);
  if (key == "class-axis")
    return readInteger(value, request.classAxis);
  if (key == "ignore-index")
    return readInteger(value, request.ignoreIndex.emplace());
  if (key == "label-smoothing")
    return readNumber(value, 0, 1, request.labelSmoothing);
  if (key == "beta")
    return readNumber(value, 0, HUGE_VAL, request.beta);
  if (key == "delta")
    return readPositive(value, request.delta);
  return readWeights(value,
                     key == "weights" ? request.weights : request.posWeight);
}

/// The kind, the name of the output, and the text of settings.
static std::tuple<StringRef, StringRef, StringRef>
splitLoss(StringRef text, ArrayRef<std::string> outputs) {
  auto [kind, rest] = text.split(':');
  if (is_contained(outputs, rest))
    return {kind, rest, ""};
  if (startsWithSetting(rest))
    return {kind, "", rest};
  // Names of outputs may contain colons.
  for (size_t at = rest.find(':'); at != StringRef::npos;
       at = rest.find(':', at + 1))
    if (startsWithSetting(rest.drop_front(at + 1)))
      return {kind, rest.take_front(at), rest.drop_front(at + 1)};
  return {kind, rest, ""};
}

/// The letters that "cross-entropy", "cross_entropy" and "CrossEntropy" share.
static std::string getLetters(StringRef name) {
  std::string text = name.lower();
  llvm::erase_if(text, [](char c) { return c == '-' || c == '_'; });
  return text;
}

/// True if it is a name of the loss, in any spelling.
static bool isName(StringRef name, const LossKind &kind) {
  std::string letters = getLetters(name);
  return letters == getLetters(kind.name) ||
         any_of(kind.otherNames,
                [&](StringRef other) { return letters == getLetters(other); });
}

Error LossRequest::parse(StringRef given, int64_t axis,
                         ArrayRef<std::string> outputs) {
  text = stripBraces(given).str();
  classAxis = axis;
  auto [name, rest, settings] = splitLoss(text, outputs);
  output = rest.str();
  std::vector<StringRef> known;
  for (const LossKind &entry : getLossKinds()) {
    known.push_back(entry.name);
    llvm::append_range(known, entry.otherNames);
    if (isName(name, entry))
      kind = &entry;
  }
  if (!kind && (name != "output" || output.empty()))
    return createStringError("unknown loss '" + text + "': expected " +
                             getLossNames() + suggestNearest(name, known));
  std::vector<StringRef> keys{"weight"};
  if (kind) {
    keys.insert(keys.end(), {"labels", "reduction"});
    keys.insert(keys.end(), kind->keys.begin(), kind->keys.end());
  }
  SmallVector<StringRef> seen;
  for (const Setting &setting : splitSettings(settings)) {
    auto fail = [&](const Twine &message) {
      return createStringError("loss '" + text + "': " + message);
    };
    if (!is_contained(keys, setting.key))
      return fail("it has no setting '" + setting.key + "'" +
                  suggestNearest(setting.key, keys));
    if (is_contained(seen, setting.key))
      return fail("'" + setting.key + "' is given twice");
    seen.push_back(setting.key);
    if (Error failed = set(*this, setting))
      return fail(setting.key + ": " + toString(std::move(failed)));
  }
  return Error::success();
}

} // namespace mp
