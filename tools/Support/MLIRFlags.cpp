//===- MLIRFlags.cpp - What MLIR's own flags ask for ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLIRFlags.h"

#include "mp-opt/Support/NameRegex.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/Support/CommandLine.h"

#ifdef __linux__
#include <sys/mman.h>
#endif
#include <unistd.h>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

#ifdef MPOPT_STATIC
static constexpr llvm::StringLiteral pluginFlags[] = {"load-dialect-plugin",
                                                      "load-pass-plugin"};

/// A plugin needs libMLIR.so, and two copies of MLIR in one process cannot
/// share objects: if this tool contains MLIR, plugins are not even opened.
static void keepPluginsOut() {
  for (StringRef name : pluginFlags)
    static_cast<llvm::cl::list<std::string> *>(
        llvm::cl::getRegisteredOptions()[name])
        ->setCallback([](const std::string &) {});
}

static llvm::Error refusePlugins() {
  for (StringRef name : pluginFlags)
    if (llvm::cl::getRegisteredOptions()[name]->getNumOccurrences())
      return llvm::createStringError(
          "--" + Twine(name) +
          ": MLIR is part of this mp-opt, which loads no "
          "plugins; mlir-opt does, mp-opt-plugin.so among them");
  return llvm::Error::success();
}
#else
static void keepPluginsOut() {}
static llvm::Error refusePlugins() { return llvm::Error::success(); }
#endif

MLIRFlags::MLIRFlags(DialectRegistry &registry) {
  // LLVM's options are registered before main.
  auto &known = llvm::cl::getRegisteredOptions();
  foreign.reserve(known.size());
  for (const auto &entry : known)
    foreign.insert(entry.second);
  registerCLIOptions("mp-opt", registry);
  keepPluginsOut();
}

llvm::cl::Option *MLIRFlags::find(StringRef name) const {
  auto &known = llvm::cl::getRegisteredOptions();
  auto found = known.find(name);
  return found == known.end() || foreign.contains(found->second)
             ? nullptr
             : found->second;
}

bool MLIRFlags::needsValue(StringRef name) const {
  llvm::cl::Option *option = find(name);
  return option && option->getValueExpectedFlag() == llvm::cl::ValueRequired;
}

std::vector<std::string> MLIRFlags::getNames() const {
  std::vector<std::string> names;
  for (const auto &entry : llvm::cl::getRegisteredOptions())
    if (!foreign.contains(entry.second))
      names.push_back(("--" + entry.first).str());
  // The map is unordered.
  llvm::sort(names);
  return names;
}

namespace {
/// Captures standard error while it lives, if the system allows it: LLVM's
/// parser prints most errors instead of returning them.
class ErrorCapture {
public:
  ErrorCapture() {
#ifdef __linux__
    kept = ::dup(STDERR_FILENO);
    file = ::memfd_create("messages", MFD_CLOEXEC);
    if (kept >= 0 && file >= 0)
      ::dup2(file, STDERR_FILENO);
#endif
  }
  ~ErrorCapture() {
    if (kept >= 0)
      ::dup2(kept, STDERR_FILENO);
    for (int descriptor : {kept, file})
      if (descriptor >= 0)
        ::close(descriptor);
  }

  /// The first captured line.
  std::string getLine() const {
    char text[1024];
    ssize_t size = file >= 0 ? ::pread(file, text, sizeof(text), 0) : 0;
    return StringRef(text, std::max<ssize_t>(size, 0)).split('\n').first.str();
  }

private:
  int kept = -1, file = -1;
};
} // namespace

/// Passes `arguments` to LLVM's parser; returns its error, or nothing.
static std::optional<std::string>
parseWithLLVM(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "mp-opt");
  ErrorCapture capture;
  if (llvm::cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(),
                                        "", &llvm::errs()))
    return std::nullopt;
  std::string line = capture.getLine();
  // "mp-opt: for the --NAME option: ..."
  StringRef text = line;
  text.consume_front("mp-opt: ");
  return text.str();
}

llvm::Error MLIRFlags::parse() {
  if (given.empty())
    return llvm::Error::success();
  if (std::optional<std::string> message = parseWithLLVM(given))
    return llvm::createStringError(*message);
  return refusePlugins();
}

void MLIRFlags::printHelp() const {
  // An empty parse sets the name of the program in the list.
  parseWithLLVM({});
  for (const auto &entry : llvm::cl::getRegisteredOptions())
    if (foreign.contains(entry.second))
      entry.second->setHiddenFlag(llvm::cl::ReallyHidden);
  llvm::outs().flush();
  llvm::cl::PrintHelpMessage();
}

//===----------------------------------------------------------------------===//
// Actions of the flags
//===----------------------------------------------------------------------===//

/// LLVM compiles the filters without a bound.
static LogicalResult checkFilters(const remark::RemarkCategories &categories,
                                  MLIRContext &context) {
  for (const auto &filter :
       {categories.all, categories.passed, categories.missed,
        categories.analysis, categories.failed}) {
    if (!filter || filter->empty())
      continue;
    if (llvm::Error invalid = NameRegex::compile(*filter).takeError())
      return emitError(UnknownLoc::get(&context))
             << "filter of remarks '" << *filter
             << "' is not a regular expression: "
             << toString(std::move(invalid));
  }
  return success();
}

LogicalResult setUpRemarks(const MlirOptMainConfig &config,
                           MLIRContext &context) {
  if (!config.shouldEmitRemarks())
    return success();
  remark::RemarkCategories categories{
      config.getRemarksAllFilter(), config.getRemarksPassedFilter(),
      config.getRemarksMissedFilter(), config.getRemarksAnalyseFilter(),
      config.getRemarksFailedFilter()};
  if (failed(checkFilters(categories, context)))
    return failure();
  std::unique_ptr<remark::detail::RemarkEmittingPolicyBase> policy;
  if (config.getRemarkPolicy() == RemarkPolicy::REMARK_POLICY_FINAL)
    policy = std::make_unique<remark::RemarkEmittingPolicyFinal>();
  else
    policy = std::make_unique<remark::RemarkEmittingPolicyAll>();
  RemarkFormat format = config.getRemarkFormat();
  if (format == RemarkFormat::REMARK_FORMAT_STDOUT)
    return remark::enableOptimizationRemarks(context, nullptr,
                                             std::move(policy), categories,
                                             /*printAsEmitRemarks=*/true);
  bool yaml = format == RemarkFormat::REMARK_FORMAT_YAML;
  std::string file = config.getRemarksOutputFile();
  if (file.empty())
    file = yaml ? "mp-opt-remarks.yaml" : "mp-opt-remarks.bitstream";
  return remark::enableOptimizationRemarksWithLLVMStreamer(
      context, file,
      yaml ? llvm::remarks::Format::YAML : llvm::remarks::Format::Bitstream,
      std::move(policy), categories);
}

LogicalResult verifyRoundtrip(ModuleOp module,
                              const DialectRegistry &registry) {
  auto print = [](ModuleOp op) {
    std::string text;
    llvm::raw_string_ostream os(text);
    op->print(os, OpPrintingFlags().useLocalScope());
    return text;
  };
  std::string text = print(module), bytecode;
  llvm::raw_string_ostream os(bytecode);
  if (failed(writeBytecodeToFile(module, os)))
    return failure();
  for (StringRef form : {StringRef(text), StringRef(bytecode)}) {
    MLIRContext fresh(registry);
    auto parsed = parseSourceString<ModuleOp>(form, ParserConfig(&fresh));
    if (!parsed || print(*parsed) != text)
      return module.emitError() << "the IR does not survive a round trip";
  }
  return success();
}

} // namespace mp
