//===- Attribute.cpp - mp-opt attribute -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attribute.h"

#include "ExitCodes.h"
#include "Flags.h"
#include "Help.h"
#include "InternalErrors.h"
#include "MessagePrinter.h"

#include "mp-opt/API/Run/AttributionReport.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Options/OptionGroups.h"
#include "mp-opt/Support/ShownText.h"

using namespace mlir;

namespace mp {

namespace {
struct AttributeFlags {
  ConversionOptions conversion;
  std::vector<std::string> dims, roots, data, paths;
  std::string schemas;
  uint64_t measured = 10, shown = 10, probes = 2;
  bool isJSON = false;

  std::optional<int> parse(ArrayRef<const char *> arguments,
                           DialectRegistry &registry);

private:
  llvm::Error complete(PrecisionFlags &precision, TrainingFlags &training);
};
} // namespace

llvm::Error AttributeFlags::complete(PrecisionFlags &precision,
                                     TrainingFlags &training) {
  if (!precision.isMixed())
    return llvm::createStringError(
        "expected --mixed-bf16, --mixed-fp16 or --policy");
  if (data.empty())
    return llvm::createStringError("expected --data=DATA");
  if (paths.size() != 1)
    return llvm::createStringError("expected one model, got " +
                                   Twine(paths.size()));
  conversion.mixed->dims = dims;
  conversion.lossScale = training.lossScale;
  if (llvm::Error failed = precision.check(*conversion.mixed, true))
    return failed;
  if (llvm::Error failed = training.check(true))
    return failed;
  if (!training.train)
    conversion.training.reset();
  return checkRoots(roots);
}

std::optional<int> AttributeFlags::parse(ArrayRef<const char *> arguments,
                                         DialectRegistry &registry) {
  Flags flags("mp-opt attribute", help::attribute);
  PrecisionFlags precision(flags, conversion.mixed.emplace(), dims);
  TrainingFlags training(flags, conversion.training.emplace());
  flags.beginGroup("Options");
  flags.addCommas("data", data, "inputs, a batch for each", "DATA");
  Flag &measure =
      flags.addOptional("measure", "how many nodes are measured alone", "N",
                        [this](StringRef text) {
                          measured = UINT64_MAX;
                          return text.empty() || text == "all" ||
                                 !text.getAsInteger(10, measured);
                        });
  measure.expected = "a number or all";
  flags.add("nodes", shown, "how many nodes are shown");
  flags.add("probes", probes, "random probes, at least one per batch", 1);
  flags.add("json", isJSON, "as JSON");
  flags.add("schemas", schemas, "operators of further domains", "FILE");
  flags.add("external-data-root", roots,
            "folder that links of external data may lead to", "DIR");
  if (std::optional<int> code = flags.parse(arguments, paths))
    return code;
  if (llvm::Error failed = complete(precision, training))
    return flags.usageError(toString(std::move(failed)));
  llvm::Error failed = addSchemas(schemas, registry);
  return failed
             ? std::optional(reportError("mp-opt attribute", std::move(failed)))
             : std::nullopt;
}

int runAttribute(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  AttributeFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  progress::setObstacle("mp-opt attribute makes none");
  const std::string &path = flags.paths.front();
  ModelOptions reading;
  reading.externalDataRoots = flags.roots;
  MessagePrinter printer(path);
  reading.onMessage = [&](StringRef, DiagnosticSeverity severity,
                          const Twine &text) {
    if (severity == DiagnosticSeverity::Error)
      printer.print(severity, text);
  };
  auto model = Model::read(path, registry, reading);
  if (!model)
    return reportError(path, model.takeError());
  std::vector<DataSet> batches;
  for (const std::string &file : flags.data) {
    auto batch = readDataSet(file);
    if (!batch)
      return reportError(file, batch.takeError());
    batches.push_back(std::move(*batch));
  }
  AttributionOptions options;
  options.probes = flags.probes;
  if (llvm::Error failed = parseDimensions(flags.dims, options.compile.dims))
    return reportError("mp-opt attribute", std::move(failed));
  auto report =
      attributeErrors(**model, flags.conversion, flags.dims, std::move(batches),
                      std::move(options), flags.measured);
  if (!report)
    return reportError(path, report.takeError());
  if (flags.isJSON)
    report->printJSON(llvm::outs());
  else
    report->print(EscapingStream(llvm::outs()).get(), flags.shown);
  llvm::Error failed = flushStandardOutput();
  return failed ? reportError("mp-opt attribute", std::move(failed)) : exitOk;
}

} // namespace mp
