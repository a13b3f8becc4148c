//===- Conversion.cpp - From one model file to another --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Conversion.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mp {

static ModelOutputOptions getOutputOptions(const ConvertOptions &options,
                                           const ConversionObserver &observer) {
  ModelOutputOptions output;
  output.path = options.output;
  output.inputPath = options.input;
  output.externalDataRoots = options.externalDataRoots;
  output.writesModel = options.writesModel;
  output.elideWeights = options.elideWeights;
  output.others = {options.reports.report, options.reports.overlay};
  if (!options.calibration.data.empty())
    llvm::append_range(output.others, options.calibration.ranges);
  output.onStep = observer.onStep;
  return output;
}

Conversion::Conversion(const ConvertOptions &options, const ModelInput &input,
                       ConversionObserver given)
    : options(options), input(input), observer(std::move(given)),
      reports(options.reports),
      output(getOutputOptions(options, observer), input) {}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// ".so" is "lib".
static StringRef getCodeFormat(StringRef suffix) {
  return llvm::StringSwitch<StringRef>(suffix)
      .Case(".so", "lib")
      .Case(".o", "obj")
      .Case(".ll", "llvm")
      .Default("");
}

llvm::Error Conversion::checkOutputName() const {
  StringRef suffix = llvm::sys::path::extension(options.output);
  if (options.emit != Format::Auto || suffix.empty() ||
      getFormatOfName(options.output) != Format::Auto)
    return llvm::Error::success();
  std::vector<StringRef> known = getFormatExtensions();
  StringRef code = getCodeFormat(suffix);
  std::string hint = code.empty()
                         ? suggestNearest(suffix, known)
                         : ("; did you mean --emit=" + code + "?").str();
  // mlir-opt writes MLIR text for any name.
  if (isMLIR(input.getFormat()) && hint.empty())
    return llvm::Error::success();
  return makeError({ErrorKind::Usage, "-o: expected a name that ends in " +
                                          llvm::join(known, ", ") +
                                          ", or --emit=FORMAT, got '" +
                                          options.output + "'" + hint});
}

llvm::Error Conversion::checkPaths() const {
  std::vector<std::string> alsoRead = {options.schemas};
  if (options.conversion.mixed)
    llvm::append_range(alsoRead, options.conversion.mixed->policy.getFiles());
  llvm::append_range(alsoRead, options.calibration.data);
  if (options.calibration.data.empty())
    llvm::append_range(alsoRead, options.calibration.ranges);
  return output.checkPaths(alsoRead);
}

Format Conversion::getFormat() const {
  return chooseFormat(options.emit, options.output, input.getFormat());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

llvm::Error Conversion::start(ModuleOp module,
                              std::optional<ModuleDigest> digest) {
  if (isONNX(input.getFormat()))
    if (llvm::Error failed = output.checkDataFiles(module))
      return failed;
  // Only a file of the same format can be copied.
  if (input.getFormat() == Format::ONNX && getFormat() == Format::ONNX)
    before = digest ? *digest : ModuleDigest(module);
  if (options.verify)
    original = module.clone();
  return llvm::Error::success();
}

LogicalResult
Conversion::addPasses(PassManager &pm,
                      llvm::function_ref<LogicalResult()> addOthers) {
  return addConversion(pm, options.conversion, options.dims, &reports, refused,
                       addOthers);
}

void Conversion::finish(ModuleOp module) {
  module->removeDiscardableAttr(mark::summary);
  unchanged = before && *before == ModuleDigest(module);
}

llvm::Expected<std::optional<Verdict>>
Conversion::verify(ModuleOp result, TimingScope &timing, raw_ostream &table) {
  if (!original)
    return std::nullopt;
  VerificationOptions verification = options.verification;
  verification.onMessage = [&](StringRef file, DiagnosticSeverity severity,
                               const Twine &text) {
    if (observer.onMessage)
      observer.onMessage(file.empty() ? StringRef(input.getName()) : file,
                         severity, text);
  };
  auto verdict = verifyResult(*original, result, verification, input.getName(),
                              timing, table);
  original = {};
  if (!verdict)
    return verdict.takeError();
  return std::move(*verdict);
}

llvm::Error Conversion::write(ModuleOp result, TimingScope &timing) {
  if (llvm::Error failed = reports.prepare())
    return failed;
  if (llvm::Error failed = writeModel(result, timing))
    return failed;
  return writeRanges();
}

llvm::Error Conversion::writeRanges() {
  auto &finish = options.conversion.ranges.finish;
  return finish ? finish() : llvm::Error::success();
}

llvm::Error Conversion::writeModel(ModuleOp result, TimingScope &timing) {
  if (!options.writesModel || options.isDryRun)
    return llvm::Error::success();
  Format format = getFormat();
  if (!isCode(format))
    return output.write(result, format, unchanged);
  return writeCode(result, format, options.code, options.output,
                   llvm::sys::path::filename(input.getName()), timing);
}

} // namespace mp
