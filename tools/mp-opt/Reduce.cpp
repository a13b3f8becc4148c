//===- Reduce.cpp - mp-opt reduce -----------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include "ExitCodes.h"
#include "Help.h"
#include "SearchFlags.h"

#include "mp-opt/API/Search/Reduction.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mp {

/// The file of the data next to the output: SMALL.npz of SMALL.onnx.
static std::string getDataName(StringRef output) {
  SmallString<128> name(output);
  llvm::sys::path::replace_extension(name, "npz");
  return name.str().str();
}

static std::optional<std::string> findMistake(const SearchFlags &search,
                                              const Flags &flags) {
  if (search.check.empty())
    return "expected --check=COMMAND, which fails on the model";
  if (search.output.empty())
    return "expected -o FILE.onnx for the small model";
  if (getFormatOfName(search.output) != Format::ONNX)
    return "-o: expected a name that ends with .onnx, got '" + search.output +
           "'";
  for (const std::string &read : {search.input, search.data, search.state})
    if (isSameFile(getDataName(search.output), read))
      return "the data are written to '" + getDataName(search.output) +
             "', which this run uses; choose another name for -o";
  if (flags.isGiven("data") && !takesData(search.check))
    return "--data: the command of --check does not use them; '{data}' in it "
           "is the path of the candidate's data";
  return std::nullopt;
}

static void printText(const ReductionResult &found, const SearchFlags &search,
                      bool hasData, raw_ostream &os) {
  os << "before: " << found.before << "\n"
     << "after:  " << found.after << " (" << found.numRuns << " runs)\n"
     << "written: " << search.output;
  if (hasData)
    os << ", " << getDataName(search.output);
  os << "\n";
}

static void printJSON(const ReductionResult &found, const SearchFlags &search,
                      bool hasData, raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("schema_version", 1);
    json.attribute("before", found.before);
    json.attribute("after", found.after);
    json.attribute("runs", int64_t(found.numRuns));
    json.attribute("minimal", found.isMinimal);
    json.attribute("model", search.output);
    json.attribute("data", hasData ? getDataName(search.output) : "");
  });
  os << "\n";
}

/// Writes the model, and its data before it: a model without its data would be
/// of no use.
static llvm::Error write(const ReductionResult &found,
                         const SearchFlags &search,
                         const DialectRegistry &registry) {
  if (!found.files.data.empty()) {
    auto tensors = readDataFile(found.files.data);
    if (!tensors)
      return tensors.takeError();
    if (llvm::Error failed =
            writeDataFile(getDataName(search.output), *tensors))
      return failed;
  }
  ModelOptions reading = search.getModelOptions();
  auto model = Model::read(found.files.model, registry, std::move(reading));
  if (!model)
    return model.takeError();
  return (*model)->writeONNX(search.output, /*copiesDataFiles=*/true);
}

static std::optional<int> findFailure(const ReductionResult &found,
                                      const SearchFlags &search) {
  switch (found.kind) {
  case ReductionResult::Reduced:
    return std::nullopt;
  case ReductionResult::UnchangedPasses:
    return search.refuse("the command passes on the unchanged model (" +
                             found.answer.reason +
                             "): nothing to reduce; it must fail there",
                         found.answer);
  case ReductionResult::Stopped:
    return search.reportInterrupt(found.numRuns);
  case ReductionResult::OutOfRuns:
    return search.refuse("the runs of --max-runs are used up before there is "
                         "a result",
                         {});
  }
  return exitInternal;
}

int runReduce(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  Flags flags("mp-opt reduce", help::reduce);
  SearchFlags search(flags, "mp-opt reduce");
  flags.beginGroup("Output");
  flags.add("o", search.output, "the small model", "FILE").synonyms = {
      "output"};
  if (std::optional<int> code = search.parse(arguments, registry))
    return *code;
  if (std::optional<std::string> mistake = findMistake(search, flags))
    return flags.usageError(*mistake);
  ReductionOptions options;
  options.input = search.input;
  options.data = search.data;
  options.hasData = takesData(search.check);
  options.reading = search.getModelOptions();
  auto session = search.open();
  if (!session)
    return search.report(session.takeError());
  auto found = reduceModel(options, *session, registry);
  if (!found)
    return search.report(found.takeError());
  if (std::optional<int> code = findFailure(*found, search))
    return *code;
  if (!found->isMinimal)
    search.say(DiagnosticSeverity::Warning,
               "the runs of --max-runs are used up: the model may get "
               "smaller");
  if (!found->isRepeatable)
    search.say(DiagnosticSeverity::Warning,
               "the command has failed on the small model, and passes when it "
               "is run once more: its answers vary");
  if (llvm::Error failed = write(*found, search, registry))
    return search.report(std::move(failed));
  if (search.isJSON)
    printJSON(*found, search, options.hasData, llvm::outs());
  else
    printText(*found, search, options.hasData,
              EscapingStream(llvm::outs()).get());
  if (llvm::Error failed = flushStandardOutput())
    return search.report(std::move(failed));
  return exitOk;
}

} // namespace mp
