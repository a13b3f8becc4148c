//===- Driver.cpp - What a run of mp-opt does -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "InternalErrors.h"
#include "MLIRFlags.h"
#include "MessagePrinter.h"

#include "mp-opt/API/Model/ModuleDigest.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Support/ShownText.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;

namespace mp {

static ModelOutputOptions getOutputOptions(const Options &options,
                                           const RunWatch &watch) {
  ModelOutputOptions output;
  output.path = options.output;
  output.inputPath = options.input;
  output.externalDataRoots = options.externalDataRoots;
  output.writesModel = options.writesModel;
  output.elideWeights = options.elideWeights;
  output.others = {options.reports.report, options.reports.overlay};
  output.onStep = [&](StringRef step) { watch.reach(step); };
  return output;
}

Driver::Driver(const Options &options, DialectRegistry &registry)
    : options(options), registry(registry),
      config(MlirOptMainConfig::createFromCLOptions()),
      reports(options.reports), watch(options.watch),
      output(getOutputOptions(options, watch), input) {
  auto fromFlags = config;
  config.setPassPipelineSetupFn([this, fromFlags](PassManager &pm) {
    const ConversionOptions &conversion = this->options.conversion;
    if (!conversion.mixed)
      addDimensionCheck(pm, this->options.dims);
    buildConversion(pm, conversion, &reports);
    watchStrictCheck(pm, isRefused);
    if (failed(fromFlags.setupPassPipeline(pm))) {
      isMisused = true;
      return failure();
    }
    // The precision passes may be among those that the flags name.
    if (reports.isWanted() && !conversion.mixed)
      reports.addEnd(pm);
    watch.addTo(pm);
    return success();
  });
}

int Driver::fail(llvm::Error error) const {
  return reportError(input.getName(), std::move(error));
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

LogicalResult Driver::runPasses(ModuleOp module, TimingScope &timing) {
  PassManager pm(module.getContext(), module->getName().getStringRef());
  // One check at the end finds the same errors as one after each pass.
  bool verifyEach =
      llvm::cl::getRegisteredOptions()["verify-each"]->getNumOccurrences();
  pm.enableVerifier(verifyEach && config.shouldVerifyPasses());
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  pm.enableTiming(timing);
  if (failed(config.setupPassPipeline(pm)) || failed(pm.run(module)))
    return failure();
  return verifyEach || pm.empty() ? success() : verify(module);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// A pass that neither ended nor failed has crashed: MLIR recovers from that
/// if its own reproducer is asked for.
int Driver::getFailureCode() const {
  if (progress::isInPass())
    return exitInternal;
  return isRefused ? exitNotSupported : isMisused ? exitUsage : exitBadInput;
}

int Driver::runOnMLIR(Format format) {
  config.emitBytecode(
      format == Format::Bytecode ||
      (options.emit == Format::Auto && config.shouldEmitBytecode()));
  LogicalResult result = failure();
  llvm::Error failedReport = llvm::Error::success();
  auto print = [&](raw_ostream &os) {
    result = MlirOptMain(os,
                         llvm::MemoryBuffer::getMemBufferCopy(
                             input.getContent(), input.getName()),
                         registry, config);
    if (succeeded(result))
      failedReport = reports.prepare();
    return succeeded(result) && !failedReport;
  };
  llvm::Error failedWrite = llvm::Error::success();
  if (options.writesModel && !options.isDryRun && !options.watch.writeStep)
    failedWrite = output.write(print);
  else
    print(llvm::nulls());
  if (options.isDryRun && succeeded(result))
    failedWrite = describeWrite(/*module=*/{}, format);
  if (llvm::Error failed =
          joinErrors(std::move(failedReport), std::move(failedWrite)))
    return fail(std::move(failed));
  return succeeded(result) ? finishReports() : getFailureCode();
}

/// Sets the names of the reports and prints those without a file: standard
/// output is for the model, then for explanations, then for JSON.
int Driver::finishReports() {
  if (llvm::Error failed = reports.finish())
    return fail(std::move(failed));
  bool isFree =
      !options.writesModel || options.isDryRun || !options.output.empty();
  auto choose = [&]() -> raw_ostream & {
    return std::exchange(isFree, false) ? llvm::outs() : llvm::errs();
  };
  if (StringRef text = reports.getExplanation(); !text.empty())
    EscapingStream(choose()) << text;
  if (StringRef text = reports.getJSON(); !text.empty())
    choose() << text;
  EscapingStream(llvm::errs()) << reports.getTable();
  llvm::Error failed = flushStandardOutput();
  return failed ? fail(std::move(failed)) : exitOk;
}

llvm::Error Driver::describeWrite(ModuleOp module, Format format) {
  llvm::Expected<std::string> text = output.describeWrite(module, format);
  if (!text)
    return text.takeError();
  printMessage("mp-opt", DiagnosticSeverity::Note, "dry run: " + *text);
  return llvm::Error::success();
}

int Driver::write(ModuleOp module, Format format, bool unchanged,
                  TimingScope &timing) {
  if (llvm::Error failed = reports.prepare())
    return fail(std::move(failed));
  llvm::Error failed =
      !options.writesModel ? llvm::Error::success()
      : options.isDryRun   ? describeWrite(module, format)
      : isCode(format)
          ? writeCode(module, format, options.code, options.output,
                      llvm::sys::path::filename(input.getName()), timing)
          : output.write(module, format, unchanged);
  return failed ? fail(std::move(failed)) : finishReports();
}

int Driver::runOnModel(Format inputFormat, Format outputFormat) {
  DefaultTimingManager timingManager;
  applyDefaultTimingManagerCLOptions(timingManager);
  TimingScope timing = timingManager.getRootScope();
  MLIRContext context(registry);
  // Nothing runs in parallel before the result is written, and without threads
  // each attribute takes one look-up instead of two and a lock.
  context.disableMultithreading();
  // A message names its node; printing the IR around it would hide that.
  context.printOpOnDiagnostic(false);
  MessagePrinter printer(input.getName());
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    printer.print(diag);
    if (diag.getSeverity() == DiagnosticSeverity::Warning)
      reports.addWarning(diag.str());
  });
  if (!options.watch.writeStep && failed(setUpRemarks(config, context)))
    return exitBadInput;
  TimingScope reading = timing.nest("Import");
  OwningOpRef<ModuleOp> module = input.import(
      context, {options.externalDataRoots, options.check}, &llvm::errs());
  reading.stop();
  if (!module || failed(verify(*module)))
    return exitBadInput;
  if (isONNX(inputFormat))
    if (llvm::Error failed = output.checkDataFiles(*module))
      return fail(std::move(failed));
  ModuleDigest before(*module);
  OwningOpRef<ModuleOp> original(options.verify ? module->clone() : ModuleOp());
  if (failed(runPasses(*module, timing)))
    return getFailureCode();
  watch.startWriting(*module);
  if (config.shouldVerifyRoundtrip() &&
      failed(verifyRoundtrip(*module, registry)))
    return exitBadInput;
  (*module)->removeDiscardableAttr(mark::summary);
  bool unchanged = inputFormat == Format::ONNX &&
                   outputFormat == Format::ONNX &&
                   before == ModuleDigest(*module);
  context.enableMultithreading();
  if (original)
    if (int code = compareNumbers(*original, *module, timing))
      return code;
  return write(*module, outputFormat, unchanged, timing);
}

/// Prints the result of the verification.
int Driver::compareNumbers(ModuleOp original, ModuleOp result,
                           TimingScope &timing) {
  VerificationOptions verification = options.verification;
  verification.onMessage = [&](StringRef name, DiagnosticSeverity severity,
                               const Twine &text) {
    printMessage(name.empty() ? StringRef(input.getName()) : name, severity,
                 text);
  };
  auto verdict = verifyResult(original, result, verification, input.getName(),
                              timing, llvm::errs());
  if (!verdict)
    return reportError(input.getName() + ": --verify", verdict.takeError());
  if (!verdict->doubt.empty())
    printMessage(input.getName(), DiagnosticSeverity::Warning, verdict->doubt);
  if (verdict->isVerified)
    llvm::errs() << escapeText(input.getName() + ": " + verdict->text) << "\n";
  else
    printMessage(input.getName(), DiagnosticSeverity::Error, verdict->text);
  return verdict->isVerified ? exitOk : exitOutside;
}

/// Checks and prints the policy, without a model.
int Driver::printConfig() {
  if (llvm::Error failed = addSchemas(options.schemas, registry))
    return reportError("mp-opt", std::move(failed));
  llvm::Error failed =
      printPolicy(options.conversion.mixed->policy, registry, llvm::outs(),
                  [](DiagnosticSeverity severity, const Twine &text) {
                    printMessage("mp-opt", severity, text);
                  });
  return failed ? reportError("mp-opt", std::move(failed)) : exitOk;
}

/// A user who sees the text of a model on the terminal may not know how to
/// write it to a file.
void Driver::hintAtOutput() const {
  if (options.writesModel && !options.isDryRun && options.output.empty() &&
      options.emit == Format::Auto &&
      llvm::sys::Process::StandardOutIsDisplayed())
    printMessage("mp-opt", DiagnosticSeverity::Note,
                 "this was the model as MLIR; -o FILE.onnx writes it");
}

int Driver::run() {
  if (options.printConfig)
    return printConfig();
  if (llvm::Error failed = llvm::joinErrors(
          input.read(options.input), addSchemas(options.schemas, registry)))
    return fail(std::move(failed));
  std::vector<std::string> alsoRead = {options.schemas};
  if (options.conversion.mixed)
    llvm::append_range(alsoRead, options.conversion.mixed->policy.getFiles());
  if (llvm::Error failed = output.checkPaths(alsoRead))
    return fail(std::move(failed));
  watch.startReading(input, options.input);
  watch.reach("import");
  Format from = input.getFormat();
  if (llvm::Error failed = options.checkOutputName(from)) {
    reportError("mp-opt", std::move(failed));
    return exitUsage;
  }
  Format to = chooseFormat(options.emit, options.output, from);
  int code = isMLIR(from) && isMLIR(to) ? runOnMLIR(to) : runOnModel(from, to);
  if (code == exitOk && isONNX(from))
    hintAtOutput();
  return code;
}

} // namespace mp
