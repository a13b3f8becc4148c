//===- Options.cpp - The command line of mp-opt ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "CodeFlags.h"
#include "InputFlags.h"
#include "PolicyFlags.h"
#include "TrainingFlags.h"

#include "mp-opt/Graph/ValueSizes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
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

/// The flags of mp-opt itself, as LLVM's parser knows them.
struct Options::Flags {
  cl::OptionCategory category{"mp-opt"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<input>"), cl::init("-"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("output file"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<Format> emit{
      "emit", cl::desc("output format"), cl::init(Format::Auto),
      cl::values(
          clEnumValN(Format::ONNX, "onnx", "binary ONNX"),
          clEnumValN(Format::ONNXText, "onnxtext", "ONNX text"),
          clEnumValN(Format::MLIR, "mlir", "MLIR text"),
          clEnumValN(Format::Bytecode, "bytecode", "MLIR bytecode"),
          clEnumValN(Format::LLVM, "llvm", "LLVM IR of the code"),
          clEnumValN(Format::Object, "obj", "object file, C header"),
          clEnumValN(Format::Library, "lib", "shared library, C header")),
      cl::cat(category)};
  cl::opt<bool> bf16{"mixed-bf16", cl::desc("mixed precision with bf16"),
                     cl::cat(category)};
  cl::opt<bool> fp16{"mixed-fp16", cl::desc("mixed precision with fp16"),
                     cl::cat(category)};
  PolicyFlags policy{category};
  cl::opt<bool> printConfig{
      "print-config", cl::desc("print the policy in force"), cl::cat(category)};
  cl::opt<std::string> assign{"assign", cl::init("min-cut"),
                              cl::desc("rule between allow and deny"),
                              cl::value_desc("rule"), cl::cat(category)};
  cl::opt<std::string> minSaving{
      "min-saving", cl::desc("percentage that a 16-bit region must save"),
      cl::value_desc("percent"), cl::cat(category)};
  cl::list<std::string> dims{"dim", cl::CommaSeparated,
                             cl::desc("sizes of symbolic dimensions"),
                             cl::value_desc("name=size"), cl::cat(category)};
  cl::opt<int64_t> maxWeightCopy{
      "max-weight-copy", cl::init(4096),
      cl::desc("bytes up to which weights are stored in both types"),
      cl::value_desc("bytes"), cl::cat(category)};
  cl::opt<bool> raiseOpset{"raise-opset", cl::init(true),
                           cl::desc("raise the opset where 16 bit needs it"),
                           cl::cat(category)};
  cl::opt<int64_t> opsetLimit{"opset-limit", cl::init(25),
                              cl::desc("newest opset to raise to"),
                              cl::value_desc("N"), cl::cat(category)};
  cl::opt<bool> emulate{"emulate",
                        cl::desc("write 16-bit values as rounded fp32"),
                        cl::cat(category)};
  cl::opt<std::string> verify{"verify", cl::ValueOptional,
                              cl::desc("run the result against the input"),
                              cl::value_desc("data"), cl::cat(category)};
  cl::opt<double> verifyTolerance{
      "rtol", cl::desc("relative error that --verify allows"),
      cl::cat(category)};
  cl::opt<std::string> cache{
      "cache", cl::desc("where --verify keeps compiled code"),
      cl::value_desc("on, off or a folder"), cl::cat(category)};
  cl::opt<bool> elideWeights{"elide-weights",
                             cl::desc("leave big weights out of MLIR text"),
                             cl::cat(category)};
  cl::opt<std::string> summary{"summary", cl::ValueOptional,
                               cl::desc("text, json or none"),
                               cl::cat(category)};
  cl::list<std::string> explain{"explain", cl::desc("say why a node is so"),
                                cl::value_desc("node"), cl::cat(category)};
  cl::opt<std::string> report{"report", cl::desc("report as one HTML file"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> overlay{"overlay",
                               cl::desc("node data for Model Explorer"),
                               cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> annotate{"annotate",
                         cl::desc("write precision into node metadata"),
                         cl::cat(category)};
  cl::opt<std::string> schemas{"schemas",
                               cl::desc("operators of further domains"),
                               cl::value_desc("file"), cl::cat(category)};
  cl::list<std::string> externalDataRoots{
      "external-data-root",
      cl::desc("folder where external data may lie behind links"),
      cl::value_desc("folder"), cl::cat(category)};

  // What tests of internal errors, and their handler, say to mp-opt.
  cl::opt<std::string> crashIn{"debug-crash-in", cl::ReallyHidden,
                               cl::desc("crash at PLACE[:KIND]"),
                               cl::cat(category)};
  cl::opt<std::string> writeStep{"debug-write-step", cl::ReallyHidden,
                                 cl::desc("write what is at STEP:DESCRIPTOR"),
                                 cl::cat(category)};
  TrainingFlags training{category};
  CodeFlags code{category};

  bool needMixed() const;
  void fill(MixedPrecisionOptions &mixed) const;
};

/// True if a flag is there that speaks of precision.
bool Options::Flags::needMixed() const {
  const std::reference_wrapper<const cl::Option> options[] = {
      opsetLimit, assign, minSaving, maxWeightCopy};
  // Sizes are for what runs the model as well.
  bool needsSizes = verify.getNumOccurrences() || isCode(emit);
  return (dims.getNumOccurrences() && !needsSizes) || policy.isGiven() ||
         llvm::any_of(options, [](const cl::Option &option) {
           return option.getNumOccurrences();
         });
}

void Options::Flags::fill(MixedPrecisionOptions &mixed) const {
  PolicyRequest request = policy.getRequest();
  request.precision = bf16 ? "bf16" : fp16 ? "fp16" : "";
  mixed.policy.set(request);
  mixed.raiseOpset = raiseOpset.getValue();
  mixed.opsetLimit = opsetLimit.getValue();
  mixed.assign = assign.getValue();
  mixed.minSaving = minSaving.getValue();
  mixed.dims = dims;
  mixed.maxWeightCopy = maxWeightCopy.getValue();
  mixed.lossScale = training.lossScale.getValue();
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
  explain = flags.explain;
  report = flags.report;
  overlay = flags.overlay;
  annotate = flags.annotate;
  bool explains = !explain.empty() || flags.report.getNumOccurrences() ||
                  flags.overlay.getNumOccurrences();
  if ((explains || annotate) && !mixed)
    return usageError("--explain, --report, --overlay and --annotate need "
                      "--mixed-bf16, --mixed-fp16 or --policy");
  for (auto *flag : {&flags.report, &flags.overlay})
    if (flag->getNumOccurrences() && flag->empty())
      return usageError("--" + flag->ArgStr + ": expected a file name");
  if (is_contained(explain, ""))
    return usageError("--explain: expected the name of a node");
  writesModel = !explains || flags.output.getNumOccurrences() ||
                flags.emit.getNumOccurrences();
  bool decides = mixed || training;
  summary = decides && (explain.empty() || writesModel) ? SummaryForm::Text
                                                        : SummaryForm::None;
  if (flags.summary.getNumOccurrences()) {
    std::optional<SummaryForm> form = getSummaryForm(flags.summary);
    if (!form)
      return usageError("--summary: unknown form '" + flags.summary +
                        "', expected text, json or none");
    summary = *form;
  }
  if (mixed)
    mixed->keepMarks = explains || annotate || summary != SummaryForm::None;
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
  crashPlace = place.str();
  crashKind = *known;
  if (!flags.writeStep.getNumOccurrences())
    return std::nullopt;
  auto [step, descriptor] = StringRef(flags.writeStep).split(':');
  unsigned number = 0;
  if (step.getAsInteger(10, number) ||
      descriptor.getAsInteger(10, writeDescriptor))
    return usageError("--debug-write-step: expected STEP:DESCRIPTOR");
  writeStep = number;
  return std::nullopt;
}

std::optional<int> Options::parseVerification(Flags &flags) {
  verify = flags.verify.getNumOccurrences();
  if (flags.verifyTolerance.getNumOccurrences()) {
    verifyTolerance = flags.verifyTolerance;
    if (!verify || !(*verifyTolerance >= 0))
      return usageError(verify ? "--rtol: expected a number of at least 0"
                               : "--rtol needs --verify");
  }
  if (flags.cache.getNumOccurrences() && !verify)
    return usageError("--cache needs --verify");
  auto wanted = CodeCacheOptions::parse(flags.cache);
  if (verify && !wanted)
    return usageError(toString(wanted.takeError()));
  if (wanted)
    cache = std::move(*wanted);
  else
    consumeError(wanted.takeError());
  verifyData = flags.verify;
  verifyDims.assign(flags.dims.begin(), flags.dims.end());
  if (verify && training)
    return usageError("--verify compares a model with its input; a training "
                      "step has none that takes the same");
  return std::nullopt;
}

bool isCode(Format format) {
  return format == Format::LLVM || format == Format::Object ||
         format == Format::Library;
}

std::optional<int> Options::parseCode(Flags &flags) {
  if (Error failed = flags.code.check(isCode(emit)))
    return usageError(toString(std::move(failed)));
  if (output.empty() && (emit == Format::Object || emit == Format::Library))
    return usageError("--emit=obj and lib need -o");
  flags.code.fill(code);
  code.dims.assign(flags.dims.begin(), flags.dims.end());
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

std::optional<int> Options::parse(int argc, char **argv,
                                  mlir::DialectRegistry &registry) {
  static Flags flags;
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
  if (std::optional<int> exitCode = refusePlugins())
    return exitCode;
  if (flags.bf16 && flags.fp16)
    return usageError("--mixed-bf16 and --mixed-fp16 exclude each other");
  // A policy or a file for Gaudi says what --mixed-bf16 would say.
  bool isMixed = flags.bf16 || flags.fp16 || flags.policy.isGiven("policy") ||
                 flags.policy.isGiven("gaudi-config") || flags.printConfig;
  if (flags.opsetLimit.getNumOccurrences() && flags.opsetLimit < 1)
    return usageError("--opset-limit: expected an opset of at least 1");
  if (flags.needMixed() && !isMixed)
    return usageError("options of mixed precision need --mixed-bf16, "
                      "--mixed-fp16 or --policy");
  if (flags.policy.isGiven("policy") &&
      flags.policy.getRequest().policy.empty())
    return usageError("--policy: expected a file name");
  if (isMixed)
    mixed.emplace(), flags.fill(*mixed);
  if (Error failed = flags.training.check(isMixed))
    return usageError(toString(std::move(failed)));
  if (flags.training.train)
    training.emplace(), flags.training.fill(*training);
  if (flags.training.lossScale != "auto")
    lossScale = flags.training.lossScale;
  schemas = flags.schemas;
  externalDataRoots = flags.externalDataRoots;
  if (Error failed = checkRoots(externalDataRoots))
    return usageError(toString(std::move(failed)));
  printConfig = flags.printConfig;
  if (printConfig)
    return std::nullopt;
  if (flags.input == "-" && isatty(0))
    return usageError("expected an input file; see --help");
  input = flags.input;
  output = flags.output == "-" ? std::string() : flags.output.getValue();
  if (flags.output.getNumOccurrences() && flags.output.empty())
    return usageError("-o: expected a file name");
  emit = flags.emit;
  emulate = flags.emulate;
  if (flags.elideWeights.getNumOccurrences())
    elideWeights = flags.elideWeights;
  for (auto parsePart : {&Options::parseVerification, &Options::parseCode,
                         &Options::parseDebugging})
    if (std::optional<int> exitCode = (this->*parsePart)(flags))
      return exitCode;
  return parseReports(flags);
}

} // namespace mp
