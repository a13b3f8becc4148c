//===- Options.cpp - The command line of mp-opt ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Help.h"
#include "InputFlags.h"
#include "MLIRFlags.h"
#include "OptionGroups.h"

#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/Nearest.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;

namespace mp {

/// The flags, and what of them Options does not hold as it was given.
struct Options::Flags {
  explicit Flags(Options &options)
      : precision(set, options.conversion.mixed.emplace(), options.dims),
        training(set, options.conversion.training.emplace()),
        code(set, options.code) {
    options.addFlags(*this);
  }

  mp::Flags set{"mp-opt", help::options};
  bool elideWeights = false;
  PrecisionFlags precision;
  TrainingFlags training;
  CodeFlags code;
  std::string cache, crashIn, writeStep;
  std::optional<SummaryForm> summary;
  double tolerance = 0;
};

/// What is read, written and checked.
void Options::addFiles(Flags &flags) {
  static constexpr std::pair<StringRef, Format> formats[] = {
      {"onnx", Format::ONNX},   {"onnxtext", Format::ONNXText},
      {"mlir", Format::MLIR},   {"bytecode", Format::Bytecode},
      {"llvm", Format::LLVM},   {"obj", Format::Object},
      {"lib", Format::Library},
  };
  mp::Flags &set = flags.set;
  set.beginGroup("Input and output");
  set.add("o", output, "output file", "FILE").synonyms = {"output"};
  set.addChoice("emit", "output format, of code the last three",
                to_vector(make_first_range(formats)),
                [this](size_t place) { emit = formats[place].second; });
  set.add("emulate", conversion.emulate, "write 16-bit values as rounded fp32");
  set.add("dry-run", isDryRun, "say what would be written, and write nothing");
  set.add("elide-weights", flags.elideWeights,
          "leave big weights out of MLIR text");
  set.add("schemas", schemas, "operators of further domains", "FILE");
  set.add("external-data-root", externalDataRoots,
          "folder where external data may lie behind links", "DIR");
  addCheck(set, "check", check);
  set.addOptional("verify", verification.data,
                  "run the result against the input", "DATA");
  set.addChoice("device", "where --verify and code run the result",
                getDeviceWords(), [this](size_t word) {
                  verification.device = code.device = DeviceKind(word);
                });
  set.addChoice("fp32-products", "how a GPU multiplies fp32 by fp32",
                getFP32ProductsWords(), [this](size_t word) {
                  verification.fp32Products = code.fp32Products =
                      FP32Products(word);
                });
  set.add("rtol", flags.tolerance, "relative error that --verify allows");
  mp::Flag &where = set.add("cache", flags.cache,
                            "where --verify keeps compiled code", "WHERE");
  where.expected = "on, off or a folder with a slash in its name";
  where.words = {"on", "off"};
}

void Options::addFlags(Flags &flags) {
  addFiles(flags);
  mp::Flags &set = flags.set;
  set.beginGroup("Explanations");
  set.add("print-config", printConfig, "print the policy in force");
  mp::Flag &form =
      set.addOptional("summary", "table at the end: text, json or none", "FORM",
                      [&](StringRef word) {
                        flags.summary = parseSummaryForm(word);
                        return flags.summary.has_value();
                      });
  form.expected = "text, json or none";
  form.words = {"text", "json", "none"};
  set.add("explain", reports.explain, "say why a node is so", "NODE");
  set.add("report", reports.report, "report as one HTML file", "FILE");
  set.add("profile", reports.profile, "times of nodes for the report", "FILE");
  set.add("overlay", reports.overlay, "node data for Model Explorer", "FILE");
  set.add("annotate", reports.annotate, "write precision into node metadata");
  // What tests of internal errors, and their handler, say to mp-opt: crash at
  // PLACE[:KIND], write what is at STEP:DESCRIPTOR.
  set.add("debug-crash-in", flags.crashIn, "", "PLACE").isHidden = true;
  set.add("debug-write-step", flags.writeStep, "", "STEP").isHidden = true;
  set.addTopic("train", [] { outs() << help::training; });
  set.addTopic("code", [] { outs() << help::code; });
}

Error Options::parseReports(Flags &flags) {
  bool mixed = conversion.mixed.has_value();
  bool explains =
      !flags.set.findGiven({"explain", "report", "overlay"}).empty();
  if ((explains || reports.annotate) && !mixed)
    return createStringError(
        "--explain, --report, --overlay and --annotate need "
        "--mixed-bf16, --mixed-fp16 or --policy");
  if (flags.set.isGiven("profile") && reports.report.empty())
    return createStringError("--profile needs --report, which shows its times");
  writesModel = !explains || !flags.set.findGiven({"o", "emit"}).empty();
  if (isDryRun && !flags.set.findGiven({"report", "overlay"}).empty())
    return createStringError("--dry-run writes nothing, --report and "
                             "--overlay write a file");
  reports.isTraining = conversion.training.has_value();
  bool decides = mixed || reports.isTraining;
  reports.summary = decides && (reports.explain.empty() || writesModel)
                        ? SummaryForm::Text
                        : SummaryForm::None;
  if (flags.summary)
    reports.summary = *flags.summary;
  reports.version = MPOPT_VERSION;
  reports.input = input;
  reports.output = output;
  reports.isCode = isCode(emit);
  if (mixed)
    reports.dims = dims;
  return Error::success();
}

Error Options::parseVerification(Flags &flags) {
  verify = flags.set.isGiven("verify");
  if (flags.set.isGiven("rtol")) {
    verification.tolerance = flags.tolerance;
    if (!verify || !(flags.tolerance >= 0))
      return createStringError(verify
                                   ? "--rtol: expected a number of at least 0"
                                   : "--rtol needs --verify");
  }
  if (flags.set.isGiven("cache") && !verify)
    return createStringError("--cache needs --verify");
  if (flags.set.isGiven("device") && !verify && !isCode(emit))
    return createStringError(
        "--device needs --verify, or --emit=llvm, obj or lib");
  if (std::optional<std::string> misfit =
          findMisfit(code.fp32Products, code.device))
    return createStringError(*misfit);
  if (verify) {
    auto cache = CodeCacheOptions::parse(flags.cache);
    if (!cache)
      return cache.takeError();
    verification.cache = std::move(*cache);
  }
  verification.dims = dims;
  verification.title = "mp-opt";
  if (verify && conversion.training)
    return createStringError(
        "--verify compares a model with its input; a training "
        "step has none that takes the same");
  return Error::success();
}

Error Options::parseCode(Flags &flags) {
  if (Error failed = flags.code.check(code, isCode(emit)))
    return failed;
  if (output.empty() && (emit == Format::Object || emit == Format::Library))
    return createStringError("--emit=obj and lib need -o");
  if (isDryRun && isCode(emit))
    return createStringError("--dry-run is for models; code is made to be "
                             "written");
  code.dims = dims;
  if (!isCode(emit))
    return Error::success();
  DimensionSizes sizes;
  if (Error failed = parseDimensions(code.dims, sizes))
    return addContext("--dim", std::move(failed));
  return Error::success();
}

/// What is wrong with several inputs.
static std::string describeInputs(ArrayRef<std::string> inputs) {
  std::string text =
      "expected one input, got '" + inputs[0] + "' and '" + inputs[1] + "'; ";
  static constexpr StringRef commands[] = {"run", "bench", "compare", "train",
                                           "show"};
  if (is_contained(commands, inputs[0]))
    return text + "did you mean 'mp-run " + join(inputs, " ") + "'?";
  return text + "an output is given by -o";
}

/// Gives all flags, MLIR's among them, their values.
std::optional<int> Options::parseArguments(Flags &flags,
                                           ArrayRef<const char *> arguments,
                                           mlir::DialectRegistry &registry) {
  MLIRFlags others(registry);
  flags.set.addTopic("all", [&] {
    outs() << "mp-opt: mixed precision for ONNX models\n";
    flags.set.printRows(outs());
    outs() << "\nMLIR's:\n\n";
    others.printHelp();
  });
  std::vector<std::string> inputs;
  if (auto code = flags.set.parse(arguments, inputs, &others))
    return code;
  if (inputs.size() > 1)
    return flags.set.usageError(describeInputs(inputs));
  if (!inputs.empty())
    input = inputs.front();
  Error failed = others.parse();
  return failed
             ? std::optional(flags.set.usageError(toString(std::move(failed))))
             : std::nullopt;
}

/// What is done to the model.
Error Options::parseConversion(Flags &flags) {
  // A policy or a file for Gaudi says what --mixed-bf16 would say.
  bool isMixed = flags.precision.isMixed() || printConfig;
  // Sizes are for what runs the model as well.
  bool needsMixed =
      !dims.empty() && !flags.set.isGiven("verify") && !isCode(emit);
  if (needsMixed && !isMixed)
    return createStringError("--dim needs --mixed-bf16, --mixed-fp16, "
                             "--policy, --verify, or --emit=llvm, obj or lib");
  conversion.mixed->dims = dims;
  conversion.lossScale = flags.training.lossScale;
  Error failed = flags.precision.check(*conversion.mixed, isMixed);
  if (!failed)
    failed = flags.training.check(isMixed);
  if (!isMixed)
    conversion.mixed.reset();
  if (!flags.training.train)
    conversion.training.reset();
  return failed;
}

/// What is read and what is written.
Error Options::parseOutput(Flags &flags) {
  if (input == "-" && isatty(0))
    return createStringError("expected an input file; see --help");
  if (output == "-")
    output.clear();
  if (flags.set.isGiven("elide-weights"))
    elideWeights = flags.elideWeights;
  return watch.parse(flags.crashIn, flags.writeStep);
}

/// ".so" is "lib".
static StringRef getCodeFormat(StringRef suffix) {
  return StringSwitch<StringRef>(suffix)
      .Case(".so", "lib")
      .Case(".o", "obj")
      .Case(".ll", "llvm")
      .Default("");
}

Error Options::checkOutputName(Format from) const {
  StringRef suffix = sys::path::extension(output);
  if (emit != Format::Auto || suffix.empty() ||
      getFormatOfName(output) != Format::Auto)
    return Error::success();
  std::vector<StringRef> known = getFormatExtensions();
  StringRef code = getCodeFormat(suffix);
  std::string hint = code.empty()
                         ? suggestNearest(suffix, known)
                         : ("; did you mean --emit=" + code + "?").str();
  // mlir-opt writes text of MLIR whatever the name is.
  if (isMLIR(from) && hint.empty())
    return Error::success();
  return createStringError("-o: expected a name that ends in " +
                           join(known, ", ") + ", or --emit=FORMAT, got '" +
                           output + "'" + hint);
}

std::optional<int> Options::parse(ArrayRef<const char *> arguments,
                                  mlir::DialectRegistry &registry) {
  Flags flags(*this);
  if (auto code = parseArguments(flags, arguments, registry))
    return code;
  if (Error failed = checkRoots(externalDataRoots))
    return flags.set.usageError(toString(std::move(failed)));
  using ParsePart = Error (Options::*)(Flags &);
  std::vector<ParsePart> parts = {&Options::parseConversion};
  if (!printConfig)
    parts.insert(parts.end(),
                 {&Options::parseOutput, &Options::parseVerification,
                  &Options::parseCode, &Options::parseReports});
  for (ParsePart parsePart : parts)
    if (Error failed = (this->*parsePart)(flags))
      return flags.set.usageError(toString(std::move(failed)));
  return std::nullopt;
}

} // namespace mp
