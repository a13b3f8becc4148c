//===- TrainingSummary.cpp - Parameters as table and JSON -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkForms.h"

#include "mp-opt/Report/ReportForms.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace mp {

namespace {

struct Total {
  int64_t tensors = 0, elements = 0, bytes = 0;
  std::vector<StringRef> names;

  void add(const ParameterRecord &record) {
    ++tensors;
    elements += record.elements;
    bytes += record.bytes;
    names.push_back(record.name);
  }
};

/// Totals in the order of the first record of each.
using Totals = std::vector<std::pair<std::string, Total>>;

} // namespace

static Totals addUp(ArrayRef<ParameterRecord> parameters,
                    std::string ParameterRecord::*key) {
  Totals totals;
  llvm::StringMap<size_t> places;
  for (const ParameterRecord &record : parameters) {
    auto [place, isNew] = places.try_emplace(record.*key, totals.size());
    if (isNew)
      totals.emplace_back(record.*key, Total());
    totals[place->second].second.add(record);
  }
  return totals;
}

/// For example "a, b, c and 5 more".
static std::string listNames(ArrayRef<StringRef> names) {
  constexpr size_t most = 3;
  std::string text = llvm::join(names.take_front(most), ", ");
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

static void printTotal(StringRef name, const Total &total, raw_ostream &os) {
  os << llvm::format("  %-17s %6lld tensors %12lld elements %14lld bytes\n",
                     name.str().c_str(), static_cast<long long>(total.tensors),
                     static_cast<long long>(total.elements),
                     static_cast<long long>(total.bytes));
}

/// False for a single number that is not a parameter: a line for each of these
/// would not be informative.
static bool isWorthALine(const ParameterRecord &record) {
  return record.elements > 1 || record.state != "not a parameter";
}

/// Prints one line per reason, with the names to which it applies.
static void printReasons(ArrayRef<ParameterRecord> parameters, StringRef state,
                         raw_ostream &os) {
  std::vector<ParameterRecord> chosen;
  int64_t numbers = 0;
  for (const ParameterRecord &record : parameters) {
    if (record.state != state)
      continue;
    if (isWorthALine(record))
      chosen.push_back(record);
    else
      ++numbers;
  }
  for (const auto &[reason, total] : addUp(chosen, &ParameterRecord::reason))
    printWrapped(listNames(total.names) + ": " + reason, 4, os);
  if (numbers)
    os << "    " << numbers << " single numbers\n";
}

/// Prints hints for the reader, one line per kind.
static void printNotes(ArrayRef<ParameterRecord> parameters, raw_ostream &os) {
  for (const auto &[note, total] : addUp(parameters, &ParameterRecord::note))
    if (!note.empty())
      printWrapped(note + ": " + listNames(total.names), 2, os);
}

void printParameters(ArrayRef<ParameterRecord> parameters, raw_ostream &os) {
  if (parameters.empty())
    return;
  os << "training\n";
  Totals states = addUp(parameters, &ParameterRecord::state);
  for (StringRef state : {"trained", "frozen", "not a parameter"}) {
    auto found = llvm::find_if(
        states, [&](const auto &entry) { return entry.first == state; });
    if (found == states.end())
      continue;
    printTotal(state, found->second, os);
    if (state != "trained")
      printReasons(parameters, state, os);
  }
  printNotes(parameters, os);
  llvm::MapVector<StringRef, std::vector<StringRef>> copies;
  for (const ParameterRecord &record : parameters) {
    bool isTrained = record.state == "trained";
    if (isTrained && record.sharers.size() > 1)
      printWrapped("tied: " + record.name + " is shared by " +
                       listNames(llvm::to_vector_of<StringRef>(record.sharers)),
                   2, os);
    if (isTrained && !record.splitFrom.empty())
      copies[record.splitFrom].push_back(record.name);
  }
  for (const auto &[name, made] : copies)
    printWrapped("split: " + name.str() + " was shared by modules, " +
                     std::to_string(made.size()) +
                     " got copies: " + listNames(made),
                 2, os);
}

void writeParameters(ArrayRef<ParameterRecord> parameters,
                     llvm::json::OStream &json) {
  auto writeRecord = [&](const ParameterRecord &record) {
    json.attribute("name", toJSON(record.name));
    json.attribute("state", record.state);
    json.attribute("role", record.role);
    if (!record.reason.empty())
      json.attribute("reason", toJSON(record.reason));
    if (!record.note.empty())
      json.attribute("note", record.note);
    json.attribute("type", record.type);
    json.attribute("elements", record.elements);
    json.attribute("bytes", record.bytes);
    if (!record.splitFrom.empty())
      json.attribute("split_from", toJSON(record.splitFrom));
    if (record.sharers.size() > 1)
      json.attributeArray("shared_by", [&] {
        for (const std::string &name : record.sharers)
          json.value(toJSON(name));
      });
  };
  json.attributeObject("training", [&] {
    for (const auto &[state, total] :
         addUp(parameters, &ParameterRecord::state)) {
      std::string key = state;
      std::replace(key.begin(), key.end(), ' ', '_');
      json.attributeObject(key, [&, &total = total] {
        json.attribute("tensors", total.tensors);
        json.attribute("elements", total.elements);
        json.attribute("bytes", total.bytes);
      });
    }
    json.attributeArray("parameters", [&] {
      for (const ParameterRecord &record : parameters)
        json.object([&] { writeRecord(record); });
    });
  });
}

} // namespace mp
