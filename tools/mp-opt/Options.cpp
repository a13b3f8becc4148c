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

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;

namespace mp {

/// The flags, and what of them Options does not hold as it was given.
struct Options::Flags {
  explicit Flags(Options &options)
      : precision(set, options.conversion.mixed.emplace()),
        training(set, options.conversion.training.emplace()),
        code(options.code) {
    options.addFlags(*this);
  }

  FlagSet set{"mp-opt"};
  bool elideWeights = false;
  PrecisionFlags precision;
  TrainingFlags training;
  CodeFlags code;
  std::string summary, cache, crashIn, writeStep;
  double tolerance = 0;
};

void Options::addFlags(Flags &flags) {
  FlagSet &set = flags.set;
  set.addPositional(input, "<input>");
  set.add("o", output, "output file", "file");
  set.addChoice(
      "emit", emit, "output format",
      cl::values(
          clEnumValN(Format::ONNX, "onnx", "binary ONNX"),
          clEnumValN(Format::ONNXText, "onnxtext", "ONNX text"),
          clEnumValN(Format::MLIR, "mlir", "MLIR text"),
          clEnumValN(Format::Bytecode, "bytecode", "MLIR bytecode"),
          clEnumValN(Format::LLVM, "llvm", "LLVM IR of the code"),
          clEnumValN(Format::Object, "obj", "object file, C header"),
          clEnumValN(Format::Library, "lib", "shared library, C header")));
  set.addCommas("dim", dims, "sizes of symbolic dimensions", "name=size");
  set.add("raise-opset", conversion.mixed->raiseOpset,
          "raise the opset where 16 bit needs it");
  set.add("print-config", printConfig, "print the policy in force");
  set.add("emulate", conversion.emulate, "write 16-bit values as rounded fp32");
  set.addOptional("verify", verification.data,
                  "run the result against the input", "data");
  set.add("rtol", flags.tolerance, "relative error that --verify allows");
  set.add("cache", flags.cache, "where --verify keeps compiled code",
          "on, off or a folder");
  set.add("elide-weights", flags.elideWeights,
          "leave big weights out of MLIR text");
  set.addOptional("summary", flags.summary, "text, json or none");
  set.add("explain", reports.explain, "say why a node is so", "node");
  set.add("report", reports.report, "report as one HTML file", "file");
  set.add("overlay", reports.overlay, "node data for Model Explorer", "file");
  set.add("annotate", reports.annotate, "write precision into node metadata");
  set.add("schemas", schemas, "operators of further domains", "file");
  set.add("external-data-root", externalDataRoots,
          "folder where external data may lie behind links", "folder");
  // What tests of internal errors, and their handler, say to mp-opt: crash at
  // PLACE[:KIND], write what is at STEP:DESCRIPTOR.
  set.addHidden("debug-crash-in", flags.crashIn);
  set.addHidden("debug-write-step", flags.writeStep);
}

Error Options::parseReports(Flags &flags) {
  bool mixed = conversion.mixed.has_value();
  bool explains =
      !flags.set.findGiven({"explain", "report", "overlay"}).empty();
  if ((explains || reports.annotate) && !mixed)
    return createStringError(
        "--explain, --report, --overlay and --annotate need "
        "--mixed-bf16, --mixed-fp16 or --policy");
  if (is_contained(reports.explain, ""))
    return createStringError("--explain: expected the name of a node");
  writesModel = !explains || !flags.set.findGiven({"o", "emit"}).empty();
  reports.isTraining = conversion.training.has_value();
  bool decides = mixed || reports.isTraining;
  reports.summary = decides && (reports.explain.empty() || writesModel)
                        ? SummaryForm::Text
                        : SummaryForm::None;
  if (flags.set.isGiven("summary")) {
    std::optional<SummaryForm> form = parseSummaryForm(flags.summary);
    if (!form)
      return createStringError("--summary: unknown form '" + flags.summary +
                               "', expected text, json or none");
    reports.summary = *form;
  }
  reports.version = MPOPT_VERSION;
  reports.input = input;
  reports.output = output;
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
  if (verify) {
    auto cache = CodeCacheOptions::parse(flags.cache);
    if (!cache)
      return cache.takeError();
    verification.cache = std::move(*cache);
  }
  verification.dims = dims;
  verification.title = "mp-opt";
  verification.isHalf =
      conversion.mixed && conversion.mixed->policy.precision == "fp16";
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
  code.dims = dims;
  if (!isCode(emit))
    return Error::success();
  DimensionSizes sizes;
  if (Error failed = parseDimensions(code.dims, sizes))
    return addContext("--dim", std::move(failed));
  return Error::success();
}

/// What is to be printed where help is asked for; LLVM's own, with all options,
/// is --help=all.
static StringRef findHelp(MutableArrayRef<const char *> arguments) {
  for (const char *&argument : arguments) {
    StringRef text = argument;
    // Two dashes or one.
    text.consume_front("-");
    if (text == "-help" || text == "help" || text == "h")
      return help::options;
    if (text == "-help=train" || text == "help=train")
      return help::training;
    if (text == "-help=code" || text == "help=code")
      return help::code;
    if (text == "-help=all" || text == "help=all")
      argument = "--help";
  }
  return "";
}

/// Gives all flags, MLIR's among them, their values.
static std::optional<int> parseArguments(int argc, char **argv,
                                         mlir::DialectRegistry &registry) {
  mlir::registerCLIOptions("mp-opt", registry);
  keepPluginsOut();
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "mp-opt " MPOPT_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  std::vector<const char *> arguments(argv, argv + argc);
  if (StringRef text = findHelp(arguments); !text.empty()) {
    outs() << text;
    return exitOk;
  }
  if (cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(),
                                  "mixed precision for ONNX models\n", &errs()))
    return std::nullopt;
  return exitUsage;
}

/// What is done to the model.
Error Options::parseConversion(Flags &flags) {
  // A policy or a file for Gaudi says what --mixed-bf16 would say.
  bool isMixed = flags.precision.bf16 || flags.precision.fp16 || printConfig ||
                 !flags.set.findGiven({"policy", "gaudi-config"}).empty();
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

/// What is read besides the model.
Error Options::parseFiles(Flags &flags) {
  if (Error failed = joinErrors(refusePlugins(), flags.set.checkValues()))
    return failed;
  return checkRoots(externalDataRoots);
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

std::optional<int> Options::parse(int argc, char **argv,
                                  mlir::DialectRegistry &registry) {
  static Flags flags(*this);
  if (std::optional<int> exitCode = parseArguments(argc, argv, registry))
    return exitCode;
  using ParsePart = Error (Options::*)(Flags &);
  std::vector<ParsePart> parts = {&Options::parseFiles,
                                  &Options::parseConversion};
  if (!printConfig)
    parts.insert(parts.end(),
                 {&Options::parseOutput, &Options::parseVerification,
                  &Options::parseCode, &Options::parseReports});
  for (ParsePart parsePart : parts)
    if (Error failed = (this->*parsePart)(flags)) {
      errs() << "mp-opt: error: " << toString(std::move(failed)) << "\n";
      return exitUsage;
    }
  return std::nullopt;
}

} // namespace mp
