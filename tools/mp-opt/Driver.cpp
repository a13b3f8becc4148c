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

#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Schema/RuntimeTable.h"
#include "mp-opt/Support/ShownText.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"

using namespace mlir;

namespace mp {

Driver::Driver(const Options &options, DialectRegistry &registry)
    : options(options), registry(registry),
      config(MlirOptMainConfig::createFromCLOptions()), watch(options.watch),
      conversion(options, input,
                 {[](StringRef name, DiagnosticSeverity severity,
                     const Twine &text) { printMessage(name, severity, text); },
                  [this](StringRef step) { watch.reach(step); }}) {
  auto fromFlags = config;
  config.setPassPipelineSetupFn([this, fromFlags](PassManager &pm) {
    auto addFlags = [&] {
      isMisused = failed(fromFlags.setupPassPipeline(pm));
      return failure(isMisused);
    };
    if (failed(conversion.addPasses(pm, addFlags)))
      return failure();
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
  return conversion.isRefused()  ? exitNotSupported
         : conversion.isMissed() ? exitOutside
         : isMisused             ? exitUsage
                                 : exitBadInput;
}

int Driver::runOnMLIR() {
  Format format = conversion.getFormat();
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
      failedReport = conversion.getReports().prepare();
    return succeeded(result) && !failedReport;
  };
  llvm::Error failedWrite = llvm::Error::success();
  if (options.writesModel && !options.isDryRun && !options.watch.writeStep)
    failedWrite = conversion.getOutput().write(print);
  else
    print(llvm::nulls());
  if (options.isDryRun && succeeded(result))
    failedWrite = describeWrite(/*module=*/{});
  if (llvm::Error failed =
          joinErrors(std::move(failedReport), std::move(failedWrite)))
    return fail(std::move(failed));
  if (succeeded(result))
    if (llvm::Error failed = conversion.writeRanges())
      return fail(std::move(failed));
  return succeeded(result) ? finishReports() : getFailureCode();
}

/// Sets the names of the reports and prints those without a file: standard
/// output is for the model, then for explanations, then for JSON.
int Driver::finishReports() {
  Reports &reports = conversion.getReports();
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

llvm::Error Driver::describeWrite(ModuleOp module) {
  llvm::Expected<std::string> text =
      conversion.getOutput().describeWrite(module, conversion.getFormat());
  if (!text)
    return text.takeError();
  printMessage("mp-opt", DiagnosticSeverity::Note, "dry run: " + *text);
  return llvm::Error::success();
}

int Driver::runOnModel() {
  DefaultTimingManager timingManager;
  applyDefaultTimingManagerCLOptions(timingManager);
  TimingScope timing = timingManager.getRootScope();
  MLIRContext &context = this->context.emplace(registry);
  // Nothing runs in parallel before the result is written, and without threads
  // each attribute takes one look-up instead of two and a lock.
  context.disableMultithreading();
  // A message names its node; printing the IR around it would hide that.
  context.printOpOnDiagnostic(false);
  MessagePrinter printer(input.getName());
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    printer.print(diag);
    if (diag.getSeverity() == DiagnosticSeverity::Warning)
      conversion.getReports().addWarning(diag.str());
  });
  if (!options.watch.writeStep && failed(setUpRemarks(config, context)))
    return exitBadInput;
  TimingScope reading = timing.nest("Import");
  OwningOpRef<ModuleOp> module = input.import(
      context, {options.externalDataRoots, options.check}, &llvm::errs());
  reading.stop();
  if (!module || failed(verify(*module)))
    return exitBadInput;
  if (llvm::Error failed = conversion.start(*module))
    return fail(std::move(failed));
  bool isConverted = succeeded(runPasses(*module, timing));
  if (options.attributor)
    options.attributor->release();
  if (!isConverted)
    return getFailureCode();
  watch.startWriting(*module);
  if (config.shouldVerifyRoundtrip() &&
      failed(verifyRoundtrip(*module, registry)))
    return exitBadInput;
  conversion.finish(*module);
  context.enableMultithreading();
  if (int code = compareNumbers(*module, timing))
    return code;
  if (llvm::Error failed = conversion.write(*module, timing))
    return fail(std::move(failed));
  if (options.writesModel && options.isDryRun)
    if (llvm::Error failed = describeWrite(*module))
      return fail(std::move(failed));
  return finishReports();
}

/// Prints the result of the verification, if there is one.
int Driver::compareNumbers(ModuleOp result, TimingScope &timing) {
  auto verdict = conversion.verify(result, timing, llvm::errs());
  if (!verdict)
    return reportError(input.getName() + ": --verify", verdict.takeError());
  if (*verdict && (*verdict)->isVerified)
    llvm::errs() << escapeText(input.getName() + ": " + (*verdict)->text)
                 << "\n";
  return !*verdict || (*verdict)->isVerified ? exitOk : exitOutside;
}

/// Prints the table of a runtime as comments of the policy.
static void printRuntime(StringRef request, raw_ostream &os) {
  StringRef text = RuntimeTable::getText(request.split(':').first);
  if (text.empty())
    return;
  os << "\n# The table of --runtime=" << request << ":\n";
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    os << "# " << line.ltrim("# ") << "\n";
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
  if (failed)
    return reportError("mp-opt", std::move(failed));
  printRuntime(options.conversion.runtime, llvm::outs());
  return exitOk;
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
  if (llvm::Error failed = conversion.checkPaths())
    return fail(std::move(failed));
  watch.startReading(input, options.input);
  watch.reach("import");
  if (llvm::Error failed = conversion.checkOutputName())
    return reportError("mp-opt", std::move(failed));
  Format from = input.getFormat();
  int code = isMLIR(from) && isMLIR(conversion.getFormat()) ? runOnMLIR()
                                                            : runOnModel();
  if (code == exitOk && isONNX(from))
    hintAtOutput();
  return code;
}

} // namespace mp
