//===- DataCommands.cpp - Commands that run a model on data ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataCommands.h"

#include "ExitCodes.h"
#include "Flags.h"
#include "Help.h"
#include "InternalErrors.h"
#include "MessagePrinter.h"

#include "mp-opt/API/Run/AttributionReport.h"
#include "mp-opt/API/Run/PrecisionTuning.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Options/OptionGroups.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/ShownText.h"

using namespace mlir;

namespace mp {

namespace {

/// A command: its flags, its model and its data.
class DataCommand {
public:
  DataCommand(StringRef title, StringRef help);

  /// An exit code if the run is over.
  std::optional<int> parse(ArrayRef<const char *> arguments,
                           DialectRegistry &registry);
  std::optional<int> read(const DialectRegistry &registry);
  /// Reads the data for the model as it is before precision is decided.
  BatchSource getBatches();
  int fail(llvm::Error error) const {
    return reportError(paths.front(), std::move(error));
  }
  int finish() const;

  const std::string title;
  ConversionOptions conversion;
  std::vector<std::string> dims;
  Flags flags;
  bool isJSON = false;
  AttributionOptions attribution;
  std::unique_ptr<Model> model;

private:
  llvm::Error complete();

  PrecisionFlags precision;
  TrainingFlags training;
  /// `data` are those that errors are measured on; without them, those of
  /// --calibrate.
  CalibrationOptions calibration, data;
  std::vector<std::string> roots, paths;
  std::string schemas;
  uint64_t probes = 2;
};

} // namespace

DataCommand::DataCommand(StringRef title, StringRef help)
    : title(title), flags(this->title, help),
      precision(flags, conversion.mixed.emplace(), dims, &calibration),
      training(flags, conversion.training.emplace()) {
  flags.beginGroup("Options");
  flags.addCommas("data", data.data, "data to measure errors on", "DATA");
  flags.add("probes", probes, "random probes, at least one per batch", 1);
  flags.add("metric", attribution.metric,
            "the output, a scalar, whose error counts", "OUTPUT");
  addDeviceFlag(flags, "where the model runs",
                [this](DeviceKind kind) { attribution.compile.device = kind; });
  flags.add("json", isJSON, "as JSON");
  flags.add("schemas", schemas, "operators of further domains", "FILE");
  flags.add("external-data-root", roots,
            "folder that links of external data may lead to", "DIR");
}

llvm::Error DataCommand::complete() {
  if (!precision.isMixed())
    return llvm::createStringError(
        "expected --mixed-bf16, --mixed-fp16 or --policy");
  if (data.data.empty())
    data.data = calibration.data;
  if (data.data.empty())
    return llvm::createStringError("expected --data=DATA");
  if (paths.size() != 1)
    return llvm::createStringError("expected one model, got " +
                                   Twine(paths.size()));
  conversion.mixed->dims = dims;
  conversion.lossScale = training.lossScale;
  if (llvm::Error failed = precision.check(*conversion.mixed, true))
    return failed;
  if (llvm::Error failed =
          precision.checkRanges(*conversion.mixed, calibration))
    return failed;
  if (llvm::Error failed = training.check(true))
    return failed;
  calibration.dims = data.dims = dims;
  conversion.ranges = makeRangeObserver(calibration);
  if (!training.train)
    conversion.training.reset();
  attribution.probes = unsigned(probes);
  if (llvm::Error failed = parseDimensions(dims, attribution.compile.dims))
    return addContext("--dim", std::move(failed));
  return checkRoots(roots);
}

std::optional<int> DataCommand::parse(ArrayRef<const char *> arguments,
                                      DialectRegistry &registry) {
  if (std::optional<int> code = flags.parse(arguments, paths))
    return code;
  if (llvm::Error failed = complete())
    return flags.usageError(toString(std::move(failed)));
  if (llvm::Error failed = addSchemas(schemas, registry))
    return reportError(title, std::move(failed));
  progress::setObstacle("this command makes none");
  return read(registry);
}

std::optional<int> DataCommand::read(const DialectRegistry &registry) {
  ModelOptions reading;
  reading.externalDataRoots = roots;
  MessagePrinter printer(paths.front());
  reading.onMessage = [&](StringRef, DiagnosticSeverity severity,
                          const Twine &text) {
    if (severity == DiagnosticSeverity::Error)
      printer.print(severity, text);
  };
  auto found = Model::read(paths.front(), registry, reading);
  if (!found)
    return fail(found.takeError());
  model = std::move(*found);
  return std::nullopt;
}

BatchSource DataCommand::getBatches() {
  return [this](ModuleOp module) { return readModelBatches(module, data); };
}

int DataCommand::finish() const {
  llvm::Error failed = flushStandardOutput();
  return failed ? reportError(title, std::move(failed)) : exitOk;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

int runAttribute(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  DataCommand command("mp-opt attribute", help::attribute);
  uint64_t measured = 10, shown = 10;
  bool measuresTime = false;
  Flag &measure = command.flags.addOptional(
      "measure", "how many nodes are measured alone", "N", [&](StringRef text) {
        measured = UINT64_MAX;
        return text.empty() || text == "all" ||
               !text.getAsInteger(10, measured);
      });
  measure.expected = "a number or all";
  command.flags.add("nodes", shown, "how many nodes are shown");
  command.flags.add("cost", measuresTime, "measure the time of a plain run");
  if (std::optional<int> code = command.parse(arguments, registry))
    return *code;
  command.attribution.name = command.model->getName();
  Attributor attributor({command.getBatches(), command.attribution, measured,
                         /*target=*/std::nullopt, measuresTime});
  attributor.addTo(command.conversion);
  if (llvm::Error failed =
          command.model->convert(command.conversion, nullptr, command.dims))
    return command.fail(std::move(failed));
  const AttributionReport &report = attributor.getReport();
  if (command.isJSON)
    report.printJSON(llvm::outs());
  else
    report.print(EscapingStream(llvm::outs()).get(), shown);
  return command.finish();
}

llvm::Error writeText(StringRef path, StringRef text) {
  auto file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  (*file)->os() << text;
  if (llvm::Error failed = (*file)->finish())
    return failed;
  return (*file)->commit();
}

int runTune(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  DataCommand command("mp-opt tune", help::tune);
  TuningOptions options;
  std::string output, page;
  double target = 0;
  bool hidesCurve = false;
  command.flags.add("target-error", target, "error to stay within", 0);
  command.flags.add("o", output, "policy of the result", "FILE");
  command.flags.add("report", page, "page with a plot", "FILE.html");
  command.flags.add("no-curve", hidesCurve, "search only");
  command.flags.add("baselines", options.hasBaselines,
                    "search by bisection and by a list, too");
  if (std::optional<int> code = command.parse(arguments, registry))
    return *code;
  if (command.flags.isGiven("target-error"))
    options.target = target;
  if (!options.target &&
      (!output.empty() || options.hasBaselines || hidesCurve))
    return command.flags.usageError(
        "-o, --baselines and --no-curve need --target-error=X");
  options.hasCurve = !hidesCurve;
  options.attribution = command.attribution;
  auto report = tunePrecision(*command.model, command.conversion, command.dims,
                              command.getBatches(), std::move(options));
  if (!report)
    return command.fail(report.takeError());
  if (command.isJSON)
    report->printJSON(llvm::outs());
  else
    report->print(EscapingStream(llvm::outs()).get());
  if (!output.empty())
    if (llvm::Error failed = writeText(output, report->policy))
      return reportError(output, std::move(failed));
  if (!page.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    report->printHTML(command.model->getName(), os);
    if (llvm::Error failed = writeText(page, text))
      return reportError(page, std::move(failed));
  }
  return command.finish();
}

} // namespace mp
