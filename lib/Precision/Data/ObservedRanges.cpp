//===- ObservedRanges.cpp - Ranges of values in data ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Data/ObservedRanges.h"

#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/FlatJSON.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace mp {

static constexpr StringLiteral rangesFormat = "mp-opt.ranges";
static constexpr int64_t rangesVersion = 1;
static constexpr StringLiteral rangeFields[] = {"max", "energy", "lost",
                                                "smallest", "partial"};
static constexpr size_t numRangeFields = std::size(rangeFields);

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

double ObservedRange::getLostShare() const {
  // Squares of elements below 2^-63 are zero in fp32.
  if (energy <= 0)
    return max > 0 ? 1 : 0;
  return std::isfinite(energy) ? lost / energy : 0;
}

static std::optional<double> combine(std::optional<double> a,
                                     std::optional<double> b,
                                     double (*choose)(double, double)) {
  return a && b ? choose(*a, *b) : a ? a : b;
}

void ObservedRange::merge(const ObservedRange &other) {
  max = std::max(max, other.max);
  energy += other.energy;
  lost += other.lost;
  smallest = combine(smallest, other.smallest,
                     [](double a, double b) { return std::min(a, b); });
  partial = combine(partial, other.partial,
                    [](double a, double b) { return std::max(a, b); });
}

Error ObservedRanges::merge(const ObservedRanges &other) {
  if (!model.empty() && !other.model.empty() && model != other.model)
    return createStringError("ranges of another model: its structure has the "
                             "digest " +
                             other.model + ", expected " + model);
  if (model.empty())
    model = other.model;
  batches += other.batches;
  for (const auto &[name, range] : other.values) {
    auto [it, isNew] = values.try_emplace(name, range);
    if (!isNew)
      it->second.merge(range);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Error refuseRanges(const Twine &what) {
  return createStringError("expected ranges as --calibrate with --ranges=FILE "
                           "writes them: " +
                           what);
}

/// A number from 0 on, or "inf".
static std::optional<double> readNumber(const json::Value &value) {
  if (auto text = value.getAsString())
    return *text == "inf"
               ? std::optional(std::numeric_limits<double>::infinity())
               : std::nullopt;
  auto number = value.getAsNumber();
  return number && *number >= 0 && std::isfinite(*number) ? number
                                                          : std::nullopt;
}

static Expected<ObservedRange> readRange(StringRef name,
                                         const json::Value &value) {
  auto fail = [&](const Twine &what) {
    return refuseRanges("value '" + name + "': " + what);
  };
  const json::Array *list = value.getAsArray();
  if (!list || list->size() != numRangeFields)
    return fail("expected a list of " + Twine(numRangeFields) + " numbers");
  std::optional<double> numbers[numRangeFields];
  for (size_t i = 0; i < numRangeFields; ++i) {
    bool mayBeAbsent = i >= 3;
    numbers[i] = readNumber((*list)[i]);
    bool isAbsent = (*list)[i].kind() == json::Value::Null;
    if (!numbers[i] && !(mayBeAbsent && isAbsent))
      return fail("'" + rangeFields[i] + "' is not a number from 0 on");
  }
  return ObservedRange{*numbers[0], *numbers[1], *numbers[2], numbers[3],
                       numbers[4]};
}

Expected<ObservedRanges> ObservedRanges::parse(StringRef text) {
  constexpr unsigned maxDepth = 8;
  Expected<json::Value> parsed = parseFlatJSON(text, maxDepth);
  if (!parsed)
    return refuseRanges(toString(parsed.takeError()));
  const json::Object *root = parsed->getAsObject();
  if (!root || root->getString("format") != StringRef(rangesFormat))
    return refuseRanges("there is no \"format\": \"" + rangesFormat + "\"");
  std::optional<int64_t> version = root->getInteger("version");
  if (version != rangesVersion)
    return refuseRanges("expected version " + Twine(rangesVersion) +
                        (version ? ", found " + Twine(*version) : Twine()));
  ObservedRanges ranges;
  ranges.model = root->getString("model").value_or("").str();
  std::optional<int64_t> batches = root->getInteger("batches");
  const json::Object *values = root->getObject("values");
  if (!batches || *batches < 1)
    return refuseRanges("\"batches\" is not a count from 1 on");
  if (!values)
    return refuseRanges("there are no \"values\"");
  ranges.batches = uint64_t(*batches);
  for (const auto &[name, value] : *values) {
    Expected<ObservedRange> range = readRange(StringRef(name), value);
    if (!range)
      return range.takeError();
    ranges.values[StringRef(name).str()] = *range;
  }
  return ranges;
}

Expected<ObservedRanges> ObservedRanges::read(StringRef path) {
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return createStringError(path +
                             ": cannot read it: " + file.getError().message());
  auto ranges = parse((*file)->getBuffer());
  if (!ranges)
    return createStringError(path + ": " + toString(ranges.takeError()));
  return ranges;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void printNumber(std::optional<double> number, bool isCompact,
                        raw_ostream &os) {
  if (!number)
    os << "null";
  else if (!std::isfinite(*number))
    os << "\"inf\"";
  else
    os << format(isCompact ? "%.4g" : "%.9g", *number);
}

static void printText(StringRef text, raw_ostream &os) {
  os << json::Value(json::fixUTF8(text));
}

void ObservedRanges::print(raw_ostream &os, bool isCompact) const {
  StringRef line = isCompact ? "" : "\n ";
  os << "{\"format\": \"" << rangesFormat << "\"," << line
     << "\"version\": " << rangesVersion << "," << line << "\"model\": ";
  printText(model, os);
  os << "," << line << "\"batches\": " << batches << "," << line
     << "\"fields\": [\"" << llvm::join(ArrayRef(rangeFields), "\", \"")
     << "\"]," << line << "\"values\": {";
  ListSeparator comma(",");
  for (const auto &[name, range] : values) {
    os << comma << (isCompact ? "" : "\n  ");
    printText(name, os);
    os << ":" << (isCompact ? "[" : " [");
    ListSeparator next(isCompact ? "," : ", ");
    for (std::optional<double> number :
         {std::optional(range.max), std::optional(range.energy),
          std::optional(range.lost), range.smallest, range.partial}) {
      os << next;
      printNumber(number, isCompact, os);
    }
    os << "]";
  }
  os << line << "}}" << (isCompact ? "" : "\n");
}

Error ObservedRanges::write(StringRef path) const {
  auto file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  print((*file)->os(), /*isCompact=*/false);
  if (Error failed = (*file)->finish())
    return failed;
  return (*file)->commit();
}

} // namespace mp
