//===- ModelConversion.cpp - The library converts without a tool ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Model/Reports.h"

#include "Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"

using namespace mp;

namespace {

constexpr const char *modelText = R"(
<ir_version: 7, opset_import: ["" : 12]>
net (float[n,2] x) => (float[n,2] y)
<float[2,2] w = {1, 2, 3, 4}>
{
  h = MatMul(x, w)
  s = Softmax(h)
  y = MatMul(s, w)
}
)";
constexpr const char *brokenMLIR = R"(
module {
  func.func @f() -> i32 {
    return
  }
}
)";

struct Tests {
  Tests() { registerModelDialects(registry); }

  std::optional<std::unique_ptr<Model>> parse(llvm::StringRef content,
                                              llvm::StringRef name) {
    return findings.get(Model::parse(content, name, registry));
  }
  std::string print(const ConversionOptions &conversion);

  void convert();
  void makeStep();
  void refuse(const ConversionOptions &conversion, ErrorKind kind,
              llvm::StringRef text);
  void tellErrors();
  void compareDefaults();
  void hearOfText();

  mlir::DialectRegistry registry;
  Findings findings;
};

} // namespace

/// Converts bytes to bytes: products in bf16, the softmax between them in fp32.
void Tests::convert() {
  auto model = parse(modelText, "net.onnxtxt");
  if (!model)
    return;
  ConversionOptions conversion;
  conversion.mixed.emplace().policy.precision = "bf16";
  ReportOptions wanted;
  wanted.summary = SummaryForm::JSON;
  wanted.explain = {"y"};
  Reports reports(wanted);
  if (llvm::Error failed = (*model)->convert(conversion, &reports))
    return findings.expect(false, toString(std::move(failed)));
  if (llvm::Error failed = joinErrors(reports.prepare(), reports.finish()))
    return findings.expect(false, toString(std::move(failed)));
  findings.expect(reports.getJSON().contains("\"casts\"") &&
                      reports.getExplanation().contains("which is bf16"),
                  "expected reports, found\n" + reports.getJSON() +
                      reports.getExplanation());
  auto bytes = findings.get((*model)->getONNX());
  if (!bytes)
    return;
  auto converted = parse(*bytes, "net.onnx");
  if (!converted)
    return;
  std::string text;
  llvm::raw_string_ostream(text) << (*converted)->getModule();
  llvm::StringRef ir = text;
  findings.expect(ir.count("\"onnx.MatMul\"") == 2 &&
                      ir.count("tensor<2x2xbf16>) -> tensor<?x2xbf16>") == 2,
                  "expected two products in bf16, found\n" + ir);
  auto [before, behind] = ir.split("\"onnx.Softmax\"");
  findings.expect(behind.split('\n').first.contains("tensor<?x2xf32>"),
                  "expected a softmax in fp32, found\n" + ir);
}

void Tests::makeStep() {
  ConversionOptions conversion;
  conversion.training.emplace().loss = {"mse"};
  conversion.training->optimizer = "adamw";
  conversion.mixed.emplace().policy.precision = "fp16";
  auto model = parse(modelText, "net.onnxtxt");
  if (!model)
    return;
  if (llvm::Error failed = (*model)->convert(conversion))
    return findings.expect(false, toString(std::move(failed)));
  auto takes = findings.get((*model)->getInputs({}));
  if (!takes)
    return;
  std::string inputs;
  for (const ModelValue &input : *takes)
    inputs += input.name + " ";
  for (const char *name : {"x ", "labels ", "learning_rate ", "w "})
    findings.expect(llvm::StringRef(inputs).contains(name),
                    "expected the input " + llvm::Twine(name) + "of a step");
}

void Tests::refuse(const ConversionOptions &conversion, ErrorKind kind,
                   llvm::StringRef text) {
  if (auto model = parse(modelText, "net.onnxtxt"))
    findings.expectError((*model)->convert(conversion), kind, text);
}

void Tests::tellErrors() {
  ConversionOptions strict;
  strict.mixed.emplace().policy.precision = "bf16";
  strict.mixed->policy.allow = {"MatMul"};
  strict.mixed->policy.strict = true;
  // No product of opset 12 is in bf16.
  strict.mixed->raiseOpset = false;
  refuse(strict, ErrorKind::NotSupported, "2 nodes cannot run in bf16");
  ConversionOptions typo;
  typo.mixed.emplace().policy.precision = "bf16";
  typo.mixed->policy.allow = {"MatMull"};
  refuse(typo, ErrorKind::BadInput, "MatMull");
  ConversionOptions backwards;
  backwards.training.emplace().learningRate = -1;
  refuse(backwards, ErrorKind::BadInput, "--lr: expected a number from 0 on");
}

std::string Tests::print(const ConversionOptions &conversion) {
  mlir::MLIRContext context(registry);
  mlir::PassManager manager(&context);
  bool isRefused = false;
  findings.expect(succeeded(addConversion(manager, conversion, /*dims=*/{},
                                          /*reports=*/nullptr, isRefused)),
                  "expected a pipeline");
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  return text;
}

/// The defaults of a request are those of the pipelines.
void Tests::compareDefaults() {
  ConversionOptions conversion;
  conversion.training.emplace();
  conversion.mixed.emplace().policy.precision = "bf16";
  mlir::MLIRContext context(registry);
  mlir::PassManager manager(&context);
  buildTrainingPipeline(manager, TrainingOptions().request.get());
  MixedPrecisionOptions mixed;
  PolicyRequest policy;
  policy.precision = "bf16";
  mixed.policy.set(policy);
  buildMixedPrecisionPipeline(manager, mixed);
  buildTrainingExport(manager);
  std::string expected;
  llvm::raw_string_ostream os(expected);
  manager.printAsTextualPipeline(os);
  std::string found = print(conversion);
  findings.expect(found == expected && found.size() > 500,
                  "expected the passes\n" + expected + "\nfound\n" + found);
}

/// Errors in text are passed to the listener, with their place.
void Tests::hearOfText() {
  std::string heard;
  ModelOptions options;
  options.onMessage = [&](llvm::StringRef name, mlir::DiagnosticSeverity,
                          const llvm::Twine &text) {
    heard += (name + ": " + text).str();
  };
  findings.expectError(
      Model::parse(brokenMLIR, "broken.mlir", registry, options).takeError(),
      ErrorKind::BadInput, "", /*isReported=*/true);
  findings.expect(llvm::StringRef(heard).contains("broken.mlir: ") &&
                      llvm::StringRef(heard).contains("(line 3, column "),
                  "expected a message with its line, found '" + heard + "'");
}

int main() {
  Tests tests;
  tests.convert();
  tests.makeStep();
  tests.tellErrors();
  tests.compareDefaults();
  tests.hearOfText();
  return tests.findings.getExitCode();
}
