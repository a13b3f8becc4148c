//===- ConvertOptions.cpp - Options for converting a model ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/ConvertOptions.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Options/InputFlags.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mp {

ConvertFlags::ConvertFlags(FlagTable &table, ConvertOptions &options)
    : set(table), options(options),
      precision(table, options.conversion.mixed.emplace(), options.dims,
                &options.calibration),
      training(table, options.conversion.training.emplace()),
      code(table, options.code) {
  addFiles();
  addExplanations();
}

/// Adds the flags for input, output and checks.
void ConvertFlags::addFiles() {
  static constexpr std::pair<StringRef, Format> formats[] = {
      {"onnx", Format::ONNX},   {"onnxtext", Format::ONNXText},
      {"mlir", Format::MLIR},   {"bytecode", Format::Bytecode},
      {"llvm", Format::LLVM},   {"obj", Format::Object},
      {"lib", Format::Library},
  };
  set.beginGroup("Input and output");
  Flag &output = set.add("o", options.output, "output file", "FILE");
  output.synonyms = {"output"};
  output.foreignNames = {"out", "output-file", "output-path"};
  set.addChoice("emit", "output format; the last three are code",
                to_vector(make_first_range(formats)),
                [this](size_t place) { options.emit = formats[place].second; });
  set.add("target-error", targetError,
          "fewest bytes within this error, measured on --calibrate's data", 0);
  set.add("emulate", options.conversion.emulate,
          "write 16-bit values as rounded fp32");
  set.add("dry-run", options.isDryRun, "convert and check, but write nothing");
  set.add("elide-weights", elideWeights, "leave big weights out of MLIR text");
  set.add("schemas", options.schemas, "operators of further domains", "FILE");
  set.add("external-data-root", options.externalDataRoots,
          "folder that links of external data may lead to", "DIR");
  addCheck(set, "check", options.check);
  set.addOptional("verify", options.verification.data,
                  "run the result against the input", "DATA");
  addDeviceFlag(set, "where --verify and code run the result",
                [this](DeviceKind kind) {
                  options.verification.device = options.code.device = kind;
                });
  set.addChoice("fp32-products", "how a GPU multiplies fp32 by fp32",
                getFP32ProductsWords(), [this](size_t word) {
                  options.verification.fp32Products =
                      options.code.fp32Products = FP32Products(word);
                });
  set.add("excess-precision", options.code.excessPrecision,
          "--verify and code drop roundings of 16-bit products that only fp32 "
          "nodes read");
  set.add("rtol", tolerance, "relative error that --verify allows");
  Flag &where =
      set.add("cache", cache, "where --verify keeps compiled code", "WHERE");
  where.expected = "on, off or a folder with a slash in its name";
  where.words = {"on", "off"};
}

void ConvertFlags::addExplanations() {
  set.beginGroup("Explanations");
  set.add("print-config", options.printConfig, "print the policy in force");
  Flag &form =
      set.addOptional("summary", "table at the end: text, json or none", "FORM",
                      [this](StringRef word) {
                        summary = parseSummaryForm(word);
                        return summary.has_value();
                      });
  form.expected = "text, json or none";
  form.words = {"text", "json", "none"};
  set.add("explain", options.reports.explain, "why a node has its precision",
          "NODE");
  set.add("attribute", attributes,
          "predict and measure the error of nodes on --calibrate's data");
  set.add("report", options.reports.report, "report as one HTML file", "FILE");
  set.add("profile", options.reports.profile, "times of nodes for the report",
          "FILE");
  set.add("overlay", options.reports.overlay, "node data for Model Explorer",
          "FILE");
  set.add("annotate", options.reports.annotate,
          "write precision into node metadata");
}

Error ConvertFlags::completeReports() {
  bool mixed = options.conversion.mixed.has_value();
  bool explains = !set.findGiven({"explain", "report", "overlay"}).empty();
  if ((explains || options.reports.annotate) && !mixed)
    return createStringError(
        "--explain, --report, --overlay and --annotate need "
        "--mixed-bf16, --mixed-fp16 or --policy");
  if (set.isGiven("profile") && options.reports.report.empty())
    return createStringError("--profile needs --report, which shows its times");
  options.writesModel = !explains || !set.findGiven({"o", "emit"}).empty();
  if (options.isDryRun && !set.findGiven({"report", "overlay"}).empty())
    return createStringError("--dry-run writes nothing, --report and "
                             "--overlay write a file");
  options.reports.isTraining = options.conversion.training.has_value();
  bool decides = mixed || options.reports.isTraining;
  options.reports.summary =
      decides && (options.reports.explain.empty() || options.writesModel)
          ? SummaryForm::Text
          : SummaryForm::None;
  if (summary)
    options.reports.summary = *summary;
  options.reports.version = version;
  options.reports.input = options.input;
  options.reports.output = options.output;
  options.reports.isCode = isCode(options.emit);
  options.reports.isVerified = options.verify;
  if (mixed)
    options.reports.dims = options.dims;
  return Error::success();
}

/// Only code can drop roundings: a model's are what its nodes say.
Error ConvertFlags::completeExcessPrecision() {
  options.verification.excessPrecision = options.code.excessPrecision;
  if (!options.code.excessPrecision)
    return Error::success();
  if (!options.verify && !isCode(options.emit))
    return createStringError(
        "--excess-precision needs --verify, or --emit=llvm, obj or lib: it "
        "changes code, not models; mp-run has it as well");
  if (options.conversion.emulate)
    return createStringError(
        "--excess-precision and --emulate exclude each other: --emulate "
        "writes every rounding as a node");
  return Error::success();
}

Error ConvertFlags::completeVerification() {
  options.verify = set.isGiven("verify");
  if (set.isGiven("rtol")) {
    options.verification.tolerance = tolerance;
    if (!options.verify || !(tolerance >= 0))
      return createStringError(options.verify
                                   ? "--rtol: expected a number of at least 0"
                                   : "--rtol needs --verify");
  }
  if (set.isGiven("cache") && !options.verify)
    return createStringError("--cache needs --verify");
  if (set.isGiven("device") && !options.verify && !isCode(options.emit))
    return createStringError(
        "--device needs --verify, or --emit=llvm, obj or lib");
  if (Error failed = completeExcessPrecision())
    return failed;
  if (std::optional<std::string> misfit =
          findMisfit(options.code.fp32Products, options.code.device))
    return createStringError(*misfit);
  if (options.verify) {
    auto parsed = CodeCacheOptions::parse(cache);
    if (!parsed)
      return parsed.takeError();
    options.verification.cache = std::move(*parsed);
  }
  options.verification.dims = options.dims;
  options.verification.title = "mp-opt";
  if (options.verify && options.conversion.training)
    return createStringError(
        "--verify compares a model with its input; a training "
        "step has none that takes the same");
  return Error::success();
}

Error ConvertFlags::completeCode() {
  if (Error failed = code.check(options.code, isCode(options.emit)))
    return failed;
  if (options.output.empty() &&
      (options.emit == Format::Object || options.emit == Format::Library))
    return createStringError("--emit=obj and lib need -o");
  if (options.isDryRun && isCode(options.emit))
    return createStringError("--dry-run is for models, not for code");
  options.code.dims = options.dims;
  if (!isCode(options.emit))
    return Error::success();
  DimensionSizes sizes;
  if (Error failed = parseDimensions(options.code.dims, sizes))
    return addContext("--dim", std::move(failed));
  return Error::success();
}

/// Completes the options for converting the model.
/// Attribution and search need data, and a decision.
Error ConvertFlags::completeErrors(bool isMixed) {
  bool hasTarget = set.isGiven("target-error");
  if (!hasTarget && !attributes)
    return Error::success();
  StringRef flag = hasTarget ? "--target-error" : "--attribute";
  if (!isMixed)
    return createStringError(flag +
                             " needs --mixed-bf16, --mixed-fp16 or --policy");
  if (options.calibration.data.empty())
    return createStringError(flag + " needs data: --calibrate=DATA");
  if (hasTarget && !(targetError > 0 && targetError < 1))
    return createStringError("--target-error: expected a relative error "
                             "between 0 and 1, such as 1e-3");
  Attributor::Request request;
  request.readBatches = [&data = options.calibration](mlir::ModuleOp module) {
    return readModelBatches(module, data);
  };
  request.options.name = options.input;
  request.announces = true;
  if (hasTarget)
    request.target = targetError;
  if (attributes)
    request.measured = 10;
  if (Error failed =
          parseDimensions(options.dims, request.options.compile.dims))
    return addContext("--dim", std::move(failed));
  options.attributor = std::make_shared<Attributor>(std::move(request));
  options.attributor->addTo(options.conversion);
  return Error::success();
}

/// --runtime=FILE is the former name of --runtime-library; any other value is a
/// runtime that the model is for.
Error ConvertFlags::completeRuntime() {
  std::string &runtime = options.conversion.mixed->runtime;
  if (!sys::fs::is_regular_file(runtime))
    return Error::success();
  if (set.isGiven("runtime-library"))
    return createStringError("--runtime=FILE is the former name of "
                             "--runtime-library: expected one of them");
  if (!isCode(options.emit))
    return createStringError("--runtime=FILE needs --emit=llvm, obj or lib");
  options.code.runtime = std::move(runtime);
  runtime.clear();
  return Error::success();
}

Error ConvertFlags::completeConversion() {
  if (Error failed = completeRuntime())
    return failed;
  // A policy or a file for Gaudi implies --mixed-bf16.
  bool isMixed = precision.isMixed() || options.printConfig;
  // Sizes are also used by programs that run the model.
  bool needsMixed =
      !options.dims.empty() && !set.isGiven("verify") && !isCode(options.emit);
  if (needsMixed && !isMixed)
    return createStringError("--dim needs --mixed-bf16, --mixed-fp16, "
                             "--policy, --verify, or --emit=llvm, obj or lib");
  options.conversion.mixed->dims = options.dims;
  options.conversion.lossScale = training.lossScale;
  Error failed = precision.check(*options.conversion.mixed, isMixed);
  if (!failed)
    failed =
        precision.checkRanges(*options.conversion.mixed, options.calibration);
  if (!failed)
    failed = training.check(isMixed);
  options.calibration.dims = options.dims;
  options.calibration.isDryRun = options.isDryRun;
  if (isMixed)
    options.conversion.ranges = makeRangeObserver(options.calibration);
  if (!failed)
    failed = completeErrors(isMixed);
  options.conversion.runtime = options.conversion.mixed->runtime;
  options.conversion.isRuntimeLenient =
      set.isGiven("check") && options.check == CheckLevel::Lenient;
  options.conversion.io = options.conversion.mixed->policy.io;
  options.conversion.raiseOpset = options.conversion.mixed->raiseOpset;
  if (!isMixed)
    options.conversion.mixed.reset();
  if (!training.train)
    options.conversion.training.reset();
  return failed;
}

/// Completes the options for output.
Error ConvertFlags::completeOutput() {
  if (options.output == "-")
    options.output.clear();
  if (set.isGiven("elide-weights"))
    options.elideWeights = elideWeights;
  return Error::success();
}

Error ConvertFlags::complete(StringRef version) {
  this->version = version.str();
  auto refuse = [](Error failed) {
    return makeError({ErrorKind::Usage, toString(std::move(failed))});
  };
  if (Error failed = checkRoots(options.externalDataRoots))
    return refuse(std::move(failed));
  using Part = Error (ConvertFlags::*)();
  std::vector<Part> parts = {&ConvertFlags::completeConversion};
  if (!options.printConfig)
    parts.insert(parts.end(),
                 {&ConvertFlags::completeOutput,
                  &ConvertFlags::completeVerification,
                  &ConvertFlags::completeCode, &ConvertFlags::completeReports});
  for (Part part : parts)
    if (Error failed = (this->*part)())
      return refuse(std::move(failed));
  return Error::success();
}

} // namespace mp
