//===- Bisect.cpp - mp-opt bisect -----------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bisect.h"

#include "DataCommands.h"
#include "ExitCodes.h"
#include "Help.h"
#include "SearchFlags.h"

#include "mp-opt/API/Search/Bisection.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Options/OptionGroups.h"
#include "mp-opt/Support/ShownText.h"

using namespace mlir;

namespace mp {

namespace {
struct BisectFlags {
  BisectFlags()
      : flags("mp-opt bisect", help::bisect), search(flags, "mp-opt bisect"),
        precision(flags, options.request, options.request.dims) {
    flags.beginGroup("Search");
    flags.add("tolerance", tolerance,
              "greatest relative error of an output, instead of a command");
    flags.add("o", search.output, "policy that keeps the nodes in fp32", "FILE")
        .synonyms = {"output"};
  }

  std::optional<int> parse(ArrayRef<const char *> arguments,
                           DialectRegistry &registry);
  std::optional<std::string> findMistake() const;
  llvm::Expected<CandidateSearch> open(DialectRegistry &registry);

  BisectionOptions options;
  Flags flags;
  SearchFlags search;
  PrecisionFlags precision;
  double tolerance = 0;
};
} // namespace

/// A contradiction among the flags.
std::optional<std::string> BisectFlags::findMistake() const {
  bool hasCheck = flags.isGiven("check"),
       hasTolerance = flags.isGiven("tolerance");
  if (hasCheck == hasTolerance)
    return std::string(hasCheck ? "--check and --tolerance exclude each other"
                                : "expected --check=COMMAND or --tolerance=X");
  if (hasTolerance && !(tolerance >= 0))
    return "--tolerance: expected a number of at least 0";
  if (flags.isGiven("data") && !hasTolerance)
    return "--data is for --tolerance: the command of --check has data of its "
           "own";
  if (!precision.isMixed())
    return "expected --mixed-bf16, --mixed-fp16 or --policy: the conversion "
           "that is searched";
  return std::nullopt;
}

std::optional<int> BisectFlags::parse(ArrayRef<const char *> arguments,
                                      DialectRegistry &registry) {
  if (std::optional<int> code = search.parse(arguments, registry))
    return code;
  if (std::optional<std::string> mistake = findMistake())
    return flags.usageError(*mistake);
  if (llvm::Error failed = precision.check(options.request, /*isMixed=*/true))
    return flags.usageError(toString(std::move(failed)));
  options.input = search.input;
  options.reading = search.getModelOptions();
  return std::nullopt;
}

llvm::Expected<CandidateSearch> BisectFlags::open(DialectRegistry &registry) {
  if (!flags.isGiven("tolerance"))
    return search.open();
  ToleranceCheckOptions checking;
  checking.tolerance = tolerance;
  checking.data = search.data;
  checking.reading = options.reading;
  checking.reading.onMessage = nullptr;
  checking.onMessage = options.reading.onMessage;
  if (llvm::Error failed =
          parseDimensions(options.request.dims, checking.compile.dims))
    return std::move(failed);
  if (search.data.empty())
    search.say(DiagnosticSeverity::Warning,
               "inputs are random numbers, whose ranges no real input may "
               "have; --data=DATA takes real ones");
  auto check = makeToleranceCheck(std::move(checking), registry);
  if (!check)
    return check.takeError();
  return search.open(std::move(*check));
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

static void printText(const BisectionResult &found, const SearchFlags &search,
                      raw_ostream &os) {
  if (found.kind == BisectionResult::NothingIsLow)
    os << "nothing to find: the conversion makes no node 16 bit\n";
  if (found.kind == BisectionResult::Passes)
    os << "nothing to find: the check passes with all " << found.numCandidates
       << " nodes in 16 bit\n";
  if (found.kind != BisectionResult::Found)
    return;
  os << found.names.size() << " of " << found.numCandidates
     << (found.isMinimal ? " nodes must stay" : " nodes suffice in")
     << " fp32 (" << found.numRuns << " runs):\n";
  for (const std::string &node : found.nodes)
    os << "  " << node << "\n";
  if (search.output.empty())
    os << "-o POLICY.yaml writes a policy that keeps them in fp32\n";
  else
    os << "written: mp-opt " << search.input << " --policy=" << search.output
       << " -o OUTPUT passes the check\n";
}

static void printJSON(const BisectionResult &found, const SearchFlags &search,
                      raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("schema_version", 1);
    json.attribute("found", found.kind == BisectionResult::Found);
    json.attributeArray("nodes", [&] {
      for (const std::string &name : found.names)
        json.value(llvm::json::fixUTF8(name));
    });
    json.attribute("candidates", int64_t(found.numCandidates));
    json.attribute("runs", int64_t(found.numRuns));
    json.attribute("minimal", found.isMinimal);
    json.attribute("policy", search.output);
  });
  os << "\n";
}

/// The exit code of a search without a result; absent if there is one.
static std::optional<int> findFailure(const BisectionResult &found,
                                      const SearchFlags &search) {
  switch (found.kind) {
  case BisectionResult::Found:
  case BisectionResult::NothingIsLow:
  case BisectionResult::Passes:
    return std::nullopt;
  case BisectionResult::UnchangedFails:
    return search.refuse("the check fails on the unchanged model (" +
                             found.answer.reason +
                             "): it must end with exit status 0 there",
                         found.answer);
  case BisectionResult::AllKeptFails:
    return search.refuse(
        "the check passes on the unchanged model, and fails (" +
            found.answer.reason +
            ") after the conversion with all nodes in fp32: 16 bit is not the "
            "cause; the opset may be (--raise-opset=false)",
        found.answer);
  case BisectionResult::Varies:
    return search.refuse(
        "the check gives two answers for the same model: it needs fixed data "
        "and seeds, or a wider tolerance",
        found.answer);
  case BisectionResult::Stopped:
    return search.reportInterrupt(found.numRuns);
  case BisectionResult::OutOfRuns:
    return search.refuse("the runs of --max-runs are used up before there is "
                         "a result",
                         {});
  }
  return exitInternal;
}

int runBisect(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  BisectFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  const SearchFlags &search = flags.search;
  auto session = flags.open(registry);
  if (!session)
    return search.report(session.takeError());
  auto found = bisectNodes(flags.options, *session, registry);
  if (!found)
    return search.report(found.takeError());
  if (std::optional<int> code = findFailure(*found, search))
    return *code;
  if (!found->isMinimal)
    search.say(DiagnosticSeverity::Warning,
               "the runs of --max-runs are used up: fewer nodes in fp32 may "
               "do");
  if (found->kind == BisectionResult::Found && !search.output.empty())
    if (llvm::Error failed = writeText(search.output, found->policy))
      return search.report(std::move(failed));
  if (search.isJSON)
    printJSON(*found, search, llvm::outs());
  else
    printText(*found, search, EscapingStream(llvm::outs()).get());
  if (llvm::Error failed = flushStandardOutput())
    return search.report(std::move(failed));
  return exitOk;
}

} // namespace mp
