//===- Options.cpp - The command line of mp-opt ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "CodeFlags.h"
#include "InputFlags.h"
#include "TrainingFlags.h"

#include "mp-opt/Graph/ValueSizes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;

namespace mp {

static constexpr StringLiteral help = R"(mp-opt: mixed precision for ONNX models

usage: mp-opt INPUT [--mixed-bf16 | --mixed-fp16] [-o OUTPUT] [options]
       mp-opt INPUT --train --loss=LOSS ...    a training step: --help=train
       mp-opt INPUT --emit=lib -o OUTPUT ...   code and C header: --help=code

INPUT is an ONNX model (.onnx), ONNX text (.onnxtxt), MLIR text (.mlir) or MLIR
bytecode (.mlirbc); other names are recognised by content, '-' is standard
input. Without -o the result goes to standard output as MLIR text.

Precision:
  --mixed-bf16          bf16 where it is safe, fp32 elsewhere
  --mixed-fp16          the same with fp16
  --allow=OP,...        ops that run in 16 bit
  --deny=OP,...         ops that run in fp32
  --promote=OP,...      ops that run in the widest precision of their inputs
  --allow-file=FILE     the same from a file, one op a line, '#' comments; also
                        --deny-file and --promote-file (repeatable)
  --allow-node=REGEX    nodes, by name, that run in 16 bit (repeatable)
  --deny-node=REGEX     nodes, by name, that run in fp32 (repeatable)
  --gaudi-config=FILE   the op lists of a gaudi_config.json
  --policy=FILE         all of this and more in YAML (examples/policies); or
                        mixed_bfloat16, mixed_float16, float32 as in Keras
  --strict              exit code 4 if the 16 bit asked for cannot be had
  --print-config        print the policy in force, and where each word is from
  --assign=RULE         between allow and deny: min-cut (default), first-operand
  --min-saving=PERCENT  16-bit regions that save less of their bytes stay fp32
  --dim=NAME=SIZE,...   what symbolic dimensions count for (default: 32)
  --max-weight-copy=N   store weights of mixed use twice up to N bytes, cast
                        bigger ones at use (default: 4096)
  --raise-opset=false   keep the model's opset, even if 16 bit needs a newer one
  --opset-limit=N       newest opset that a model may be raised to (default: 25)
  --emulate             write fp32, rounded explicitly as 16-bit storage rounds
  --verify[=DATA]       run the result on DATA, or random numbers; exit code 3 if
                        it is further from float64 than --rtol=X (bf16: 0.016);
                        --cache=on|off|DIR/ keeps its code (mp-run run --help)

  Ops are names of ONNX (Softmax, com.microsoft.FusedMatMul) or torch (addmm).
  What is said of nodes beats the safety analyses, these beat lists of ops, a
  list beats the built-in profile, allow and deny beat promote. Flags and files
  rank equal: where they contradict each other, that is an error.

Input and output:
  -o FILE               write FILE (whole or not at all)
  --emit=FORMAT         onnx, onnxtext, mlir, bytecode, or code: llvm, obj, lib
                        (--help=code); by default what the output's name says
  --elide-weights=BOOL  leave big weights out of MLIR text (default: on stdout)
  --schemas=FILE        JSON with the operators of further domains
  --external-data-root=DIR  external data may be links to below DIR (repeatable)

Explanations (without -o, the first three write only themselves):
  --explain=NODE        why a node, or that of a value, runs as it does
  --report=FILE.html    page with the graph by precision, layers, savings
  --overlay=FILE.json   the same as node data for Model Explorer
  --annotate            precision and reason into the nodes' metadata
  --summary=FORM        text (default with --mixed-*), json or none
  --remarks-filter=mp-precision
                        every decision and every cast, as remarks
  mp-opt diff A B       what differs in precision; see mp-opt diff --help
  --help, --version     --help=all also lists passes and MLIR's options

Examples:
  mp-opt model.onnx --mixed-bf16 -o model.bf16.onnx
  mp-opt model.onnx --mixed-fp16 --deny=Gelu --deny-node='head/.*' -o out.onnx
  mp-opt model.onnx --mixed-bf16 --verify=data.npz -o out.onnx
  mp-opt model.mlir --mp-mixed-precision=precision=bf16 --mlir-print-ir-after-all

Exit codes: 0 done; 1 the model, a list or a pass failed; 2 wrong usage; 3 see
--verify; 4 unsupported (--strict, --emit); 70 internal error or out of memory;
130, 143 ended by a signal. After an error nothing is written, old files stay.
)";

/// The flags, and what of them Options does not hold as it was given.
struct Options::Flags {
  FlagSet set{"mp-opt"};
  bool bf16 = false, fp16 = false, elideWeights = false;
  TrainingFlags training;
  CodeFlags code;
  std::string summary, cache, crashIn, writeStep;
  double tolerance = 0;

  bool needMixed(bool isForCode) const;
};

static void addPolicyFlags(FlagSet &set, PolicyRequest &policy) {
  for (const PolicyField &field : getPolicyFields()) {
    StringRef value = field.namesFiles ? "file" : "";
    if (field.flag.empty())
      continue;
    if (field.text)
      set.add(field.flag, policy.*field.text, field.help, value);
    else if (field.isOn)
      set.add(field.flag, policy.*field.isOn, field.help);
    else if (field.hasCommas)
      set.addCommas(field.flag, policy.*field.list, field.help, value);
    else
      set.add(field.flag, policy.*field.list, field.help, value);
  }
}

static void addPrecisionFlags(FlagSet &set, MixedPrecisionRequest &mixed) {
  addPolicyFlags(set, mixed.policy);
  set.add("assign", mixed.assign, "rule between allow and deny", "rule");
  set.add("min-saving", mixed.minSaving,
          "percentage that a 16-bit region must save", "percent");
  set.addCommas("dim", mixed.dims, "sizes of symbolic dimensions", "name=size");
  set.add("max-weight-copy", mixed.maxWeightCopy,
          "bytes up to which weights are stored in both types");
  set.add("raise-opset", mixed.raiseOpset,
          "raise the opset where 16 bit needs it");
  set.add("opset-limit", mixed.opsetLimit, "newest opset to raise to");
}

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
  set.add("mixed-bf16", flags.bf16, "mixed precision with bf16");
  set.add("mixed-fp16", flags.fp16, "mixed precision with fp16");
  addPrecisionFlags(set, conversion.mixed.emplace());
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
  flags.training.addTo(set, conversion.training.emplace());
  flags.code.addTo(set, code);
  // What tests of internal errors, and their handler, say to mp-opt: crash at
  // PLACE[:KIND], write what is at STEP:DESCRIPTOR.
  set.addHidden("debug-crash-in", flags.crashIn);
  set.addHidden("debug-write-step", flags.writeStep);
}

/// True if a flag is there that speaks of precision.
bool Options::Flags::needMixed(bool isForCode) const {
  // Sizes are for what runs the model as well.
  bool needsSizes = set.isGiven("verify") || isForCode;
  auto isOfPolicy = [&](const PolicyField &field) {
    // A file that holds a policy says itself that precision is mixed.
    return !field.text && !field.flag.empty() && set.isGiven(field.flag);
  };
  return (set.isGiven("dim") && !needsSizes) ||
         llvm::any_of(getPolicyFields(), isOfPolicy) ||
         !set.findGiven(
                 {"opset-limit", "assign", "min-saving", "max-weight-copy"})
              .empty();
}

static int usageError(const Twine &message) {
  errs() << "mp-opt: error: " << message << "\n";
  return exitUsage;
}

static std::optional<SummaryForm> getSummaryForm(StringRef name) {
  return StringSwitch<std::optional<SummaryForm>>(name)
      .Cases({"", "text", "true", "1"}, SummaryForm::Text)
      .Cases({"none", "false", "0"}, SummaryForm::None)
      .Case("json", SummaryForm::JSON)
      .Default(std::nullopt);
}

std::optional<int> Options::parseReports(Flags &flags) {
  std::optional<MixedPrecisionRequest> &mixed = conversion.mixed;
  bool explains =
      !flags.set.findGiven({"explain", "report", "overlay"}).empty();
  if ((explains || reports.annotate) && !mixed)
    return usageError("--explain, --report, --overlay and --annotate need "
                      "--mixed-bf16, --mixed-fp16 or --policy");
  if (flags.set.isGiven("report") && reports.report.empty())
    return usageError("--report: expected a file name");
  if (flags.set.isGiven("overlay") && reports.overlay.empty())
    return usageError("--overlay: expected a file name");
  if (is_contained(reports.explain, ""))
    return usageError("--explain: expected the name of a node");
  writesModel = !explains || !flags.set.findGiven({"o", "emit"}).empty();
  reports.isTraining = conversion.training.has_value();
  bool decides = mixed || reports.isTraining;
  reports.summary = decides && (reports.explain.empty() || writesModel)
                        ? SummaryForm::Text
                        : SummaryForm::None;
  if (flags.set.isGiven("summary")) {
    std::optional<SummaryForm> form = getSummaryForm(flags.summary);
    if (!form)
      return usageError("--summary: unknown form '" + flags.summary +
                        "', expected text, json or none");
    reports.summary = *form;
  }
  reports.version = MPOPT_VERSION;
  reports.input = input;
  reports.output = output;
  if (!mixed)
    return std::nullopt;
  reports.dims = dims;
  mixed->keepMarks =
      explains || reports.annotate || reports.summary != SummaryForm::None;
  return std::nullopt;
}

static std::optional<CrashKind> getCrashKind(StringRef name) {
  return StringSwitch<std::optional<CrashKind>>(name)
      .Cases({"", "segv"}, CrashKind::Segv)
      .Case("bus", CrashKind::Bus)
      .Case("fpe", CrashKind::Fpe)
      .Case("ill", CrashKind::Ill)
      .Case("abort", CrashKind::Abort)
      .Case("terminate", CrashKind::Terminate)
      .Case("fatal", CrashKind::Fatal)
      .Case("stack", CrashKind::Stack)
      .Case("oom", CrashKind::Memory)
      .Default(std::nullopt);
}

std::optional<int> Options::parseDebugging(Flags &flags) {
  auto [place, kind] = StringRef(flags.crashIn).split(':');
  std::optional<CrashKind> known = getCrashKind(kind);
  if (!known)
    return usageError("--debug-crash-in: unknown kind '" + kind + "'");
  watch.crashPlace = place.str();
  watch.crashKind = *known;
  if (!flags.set.isGiven("debug-write-step"))
    return std::nullopt;
  auto [step, descriptor] = StringRef(flags.writeStep).split(':');
  unsigned number = 0;
  if (step.getAsInteger(10, number) ||
      descriptor.getAsInteger(10, watch.writeDescriptor))
    return usageError("--debug-write-step: expected STEP:DESCRIPTOR");
  watch.writeStep = number;
  return std::nullopt;
}

std::optional<int> Options::parseVerification(Flags &flags) {
  verify = flags.set.isGiven("verify");
  if (flags.set.isGiven("rtol")) {
    verification.tolerance = flags.tolerance;
    if (!verify || !(flags.tolerance >= 0))
      return usageError(verify ? "--rtol: expected a number of at least 0"
                               : "--rtol needs --verify");
  }
  if (flags.set.isGiven("cache") && !verify)
    return usageError("--cache needs --verify");
  if (verify) {
    auto cache = CodeCacheOptions::parse(flags.cache);
    if (!cache)
      return usageError(toString(cache.takeError()));
    verification.cache = std::move(*cache);
  }
  verification.dims = dims;
  verification.title = "mp-opt";
  verification.isHalf =
      conversion.mixed && conversion.mixed->policy.precision == "fp16";
  if (verify && conversion.training)
    return usageError("--verify compares a model with its input; a training "
                      "step has none that takes the same");
  return std::nullopt;
}

std::optional<int> Options::parseCode(Flags &flags) {
  if (Error failed = flags.code.check(flags.set, code, isCode(emit)))
    return usageError(toString(std::move(failed)));
  if (output.empty() && (emit == Format::Object || emit == Format::Library))
    return usageError("--emit=obj and lib need -o");
  code.dims = dims;
  if (!isCode(emit))
    return std::nullopt;
  DimensionSizes sizes;
  if (Error failed = parseDimensions(code.dims, sizes))
    return usageError("--dim: " + toString(std::move(failed)));
  return std::nullopt;
}

#ifdef MPOPT_STATIC
static constexpr StringLiteral pluginFlags[] = {"load-dialect-plugin",
                                                "load-pass-plugin"};

/// A plugin needs libMLIR.so, and nothing of one MLIR means anything to another
/// in the same process: it is not even opened.
static void keepPluginsOut() {
  for (StringRef name : pluginFlags)
    static_cast<cl::list<std::string> *>(cl::getRegisteredOptions()[name])
        ->setCallback([](const std::string &) {});
}

static std::optional<int> refusePlugins() {
  for (StringRef name : pluginFlags)
    if (cl::getRegisteredOptions()[name]->getNumOccurrences())
      return usageError("--" + name +
                        ": MLIR is part of this mp-opt, which loads no "
                        "plugins; mlir-opt does, mp-opt-plugin.so among them");
  return std::nullopt;
}
#else
static void keepPluginsOut() {}
static std::optional<int> refusePlugins() { return std::nullopt; }
#endif

/// Where help is asked for; LLVM's own, with all options, is --help=all.
static std::optional<int> printHelp(std::vector<const char *> &arguments) {
  for (const char *&argument : arguments) {
    StringRef text = argument;
    if (text == "--help" || text == "-help" || text == "-h") {
      outs() << help;
      return exitOk;
    }
    if (text == "--help=train" || text == "-help=train") {
      printTrainingHelp();
      return exitOk;
    }
    if (text == "--help=code" || text == "-help=code") {
      printCodeHelp();
      return exitOk;
    }
    if (text == "--help=all" || text == "-help=all")
      argument = "--help";
  }
  return std::nullopt;
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
  if (std::optional<int> exitCode = printHelp(arguments))
    return exitCode;
  std::string message;
  raw_string_ostream errors(message);
  if (!cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(),
                                   "mixed precision for ONNX models\n",
                                   &errors)) {
    errs() << message;
    return exitUsage;
  }
  return refusePlugins();
}

/// What is done to the model.
std::optional<int> Options::parseConversion(Flags &flags) {
  if (flags.bf16 && flags.fp16)
    return usageError("--mixed-bf16 and --mixed-fp16 exclude each other");
  // A policy or a file for Gaudi says what --mixed-bf16 would say.
  bool isMixed = flags.bf16 || flags.fp16 || printConfig ||
                 !flags.set.findGiven({"policy", "gaudi-config"}).empty();
  if (flags.set.isGiven("opset-limit") && conversion.mixed->opsetLimit < 1)
    return usageError("--opset-limit: expected an opset of at least 1");
  if (flags.needMixed(isCode(emit)) && !isMixed)
    return usageError("options of mixed precision need --mixed-bf16, "
                      "--mixed-fp16 or --policy");
  if (flags.set.isGiven("policy") && conversion.mixed->policy.policy.empty())
    return usageError("--policy: expected a file name");
  if (Error failed =
          flags.training.check(flags.set, *conversion.training, isMixed))
    return usageError(toString(std::move(failed)));
  conversion.mixed->policy.precision = flags.bf16   ? "bf16"
                                       : flags.fp16 ? "fp16"
                                                    : "";
  dims = conversion.mixed->dims;
  if (!isMixed)
    conversion.mixed.reset();
  if (!flags.training.train)
    conversion.training.reset();
  conversion.lossScale = flags.training.lossScale;
  return std::nullopt;
}

/// What is read and what is written.
std::optional<int> Options::parseFiles(Flags &flags) {
  if (input == "-" && isatty(0))
    return usageError("expected an input file; see --help");
  if (flags.set.isGiven("o") && output.empty())
    return usageError("-o: expected a file name");
  if (output == "-")
    output.clear();
  if (flags.set.isGiven("elide-weights"))
    elideWeights = flags.elideWeights;
  return std::nullopt;
}

std::optional<int> Options::parse(int argc, char **argv,
                                  mlir::DialectRegistry &registry) {
  static Flags flags;
  addFlags(flags);
  if (std::optional<int> exitCode = parseArguments(argc, argv, registry))
    return exitCode;
  if (std::optional<int> exitCode = parseConversion(flags))
    return exitCode;
  if (Error failed = checkRoots(externalDataRoots))
    return usageError(toString(std::move(failed)));
  if (printConfig)
    return std::nullopt;
  for (auto parsePart :
       {&Options::parseFiles, &Options::parseVerification, &Options::parseCode,
        &Options::parseDebugging, &Options::parseReports})
    if (std::optional<int> exitCode = (this->*parsePart)(flags))
      return exitCode;
  return std::nullopt;
}

} // namespace mp
