//===- MLIRFlags.cpp - What MLIR's own flags ask for ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLIRFlags.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace mp {

#ifdef MPOPT_STATIC
static constexpr llvm::StringLiteral pluginFlags[] = {"load-dialect-plugin",
                                                      "load-pass-plugin"};

void keepPluginsOut() {
  for (StringRef name : pluginFlags)
    static_cast<llvm::cl::list<std::string> *>(
        llvm::cl::getRegisteredOptions()[name])
        ->setCallback([](const std::string &) {});
}

llvm::Error refusePlugins() {
  for (StringRef name : pluginFlags)
    if (llvm::cl::getRegisteredOptions()[name]->getNumOccurrences())
      return llvm::createStringError(
          "--" + Twine(name) +
          ": MLIR is part of this mp-opt, which loads no "
          "plugins; mlir-opt does, mp-opt-plugin.so among them");
  return llvm::Error::success();
}
#else
void keepPluginsOut() {}
llvm::Error refusePlugins() { return llvm::Error::success(); }
#endif

LogicalResult setUpRemarks(const MlirOptMainConfig &config,
                           MLIRContext &context) {
  if (!config.shouldEmitRemarks())
    return success();
  remark::RemarkCategories categories{
      config.getRemarksAllFilter(), config.getRemarksPassedFilter(),
      config.getRemarksMissedFilter(), config.getRemarksAnalyseFilter(),
      config.getRemarksFailedFilter()};
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
