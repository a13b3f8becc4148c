//===- Runner.cpp - Pipelines over many small models in one process -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For test_properties.py. A process takes sixty milliseconds to start, a small
// model one to convert: so one process converts thousands, and checks what is
// best checked inside. Frames are a 32-bit little-endian length and the bytes.
//
// Standard input, per model: a JSON header and the model. Of the header:
//   pipeline   what to run
//   same       pipelines that must leave the model as it is
//   costs      pipelines of which the report shall hold the cost
//   extra      a pipeline of which the result is wanted too
// Standard output, per model: a JSON report, the result, the extra result. Of
// the report:
//   error      diagnostics of `pipeline`, if it failed
//   violations properties that do not hold, as text
//   missed     allowed nodes that stayed fp32, and why
//   summary    the numbers of mp.summary
//   costs      cost_bytes of each pipeline in `costs`, -1 if there is none
//
// `--supports PIPELINE` exits with 0 if PIPELINE can be parsed.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "InitAllPasses.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"

#include <cstdio>

using namespace mlir;
using namespace mp;

/// Contexts intern what they see; they are renewed before that is much.
static constexpr unsigned modelsPerContext = 200;

namespace {

/// Keeps the remarks about allowed nodes that stayed fp32.
class MissedRemarks : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit MissedRemarks(std::vector<std::pair<std::string, std::string>> &list)
      : list(list) {}

  void streamOptimizationRemark(const remark::detail::Remark &rmk) override {
    if (rmk.getRemarkType() != llvm::remarks::Type::Missed)
      return;
    std::string node, reason;
    for (const remark::detail::Remark::Arg &argument : rmk.getArgs()) {
      if (argument.key == "Node")
        node = argument.val;
      else if (argument.key == "Reason")
        reason = argument.val;
    }
    list.emplace_back(node, reason);
  }

private:
  std::vector<std::pair<std::string, std::string>> &list;
};

/// The result of one pipeline for a model.
struct Outcome {
  bool succeeded = false;
  /// The module is as it was.
  bool unchanged = false;
  std::string errors, bytes;
  std::vector<std::string> violations;
  std::vector<std::pair<std::string, std::string>> missed;
  llvm::StringMap<int64_t> summary;
};

/// A context, and what it says while a pipeline runs.
class Workbench {
public:
  explicit Workbench(const DialectRegistry &registry);
  Outcome run(StringRef pipeline, StringRef model);

private:
  LogicalResult runPipeline(ModuleOp module, StringRef pipeline);
  void takeSummary(ModuleOp module);

  MLIRContext context;
  Outcome outcome;
};

/// Between the decision and its execution, every allowed node is 16 bit, or a
/// remark says why it is not.
class DecisionCheck : public PassInstrumentation {
public:
  explicit DecisionCheck(Outcome &outcome) : outcome(outcome) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() == "mp-assign")
      check(op);
  }

private:
  void check(Operation *root);
  Outcome &outcome;
};

} // namespace

void DecisionCheck::check(Operation *root) {
  llvm::StringSet<> explained;
  for (auto &[node, reason] : outcome.missed)
    if (!reason.empty())
      explained.insert(node);
  root->walk([&](Operation *op) {
    PrecisionAttr precision = getPrecision(op);
    if (precision && precision.getReason().empty())
      outcome.violations.push_back(onnxir::describe(op) +
                                   ": a precision without a reason");
    if (!hasClass(op, OpClass::Allow))
      return;
    bool hasF32 = llvm::any_of(op->getOperandTypes(), onnxir::isF32Tensor);
    bool isLow = precision && !precision.getType().isF32();
    if (hasF32 && !isLow && !explained.contains(onnxir::describe(op)))
      outcome.violations.push_back(onnxir::describe(op) +
                                   ": allowed, fp32, and no remark says why");
  });
}

Workbench::Workbench(const DialectRegistry &registry)
    : context(registry, MLIRContext::Threading::DISABLED) {
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    llvm::raw_string_ostream os(outcome.errors);
    os << diagnostic << "\n";
  });
  remark::RemarkCategories categories;
  categories.missed = "mp-precision";
  if (failed(remark::enableOptimizationRemarks(
          context, std::make_unique<MissedRemarks>(outcome.missed),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    llvm::report_fatal_error("cannot enable remarks");
}

LogicalResult Workbench::runPipeline(ModuleOp module, StringRef pipeline) {
  std::string message;
  llvm::raw_string_ostream os(message);
  auto passes = parsePassPipeline(pipeline, os);
  if (failed(passes))
    return module.emitError() << message;
  PassManager manager(&context);
  static_cast<OpPassManager &>(manager) = std::move(*passes);
  manager.enableVerifier(true);
  manager.addInstrumentation(std::make_unique<DecisionCheck>(outcome));
  return manager.run(module);
}

void Workbench::takeSummary(ModuleOp module) {
  auto summary = dyn_cast_or_null<DictionaryAttr>(
      module->removeDiscardableAttr(mark::summary));
  if (!summary)
    return;
  for (NamedAttribute entry : summary)
    if (auto number = dyn_cast<IntegerAttr>(entry.getValue()))
      outcome.summary[entry.getName()] = number.getInt();
}

/// As the tool does it: import, verify, run, verify, export.
Outcome Workbench::run(StringRef pipeline, StringRef model) {
  // The remark streamer refers to the list: emptied, never replaced.
  outcome.missed.clear();
  outcome.violations.clear();
  outcome.summary.clear();
  outcome.errors.clear();
  outcome.bytes.clear();
  outcome.succeeded = outcome.unchanged = false;
  std::shared_ptr<llvm::MemoryBuffer> buffer =
      llvm::MemoryBuffer::getMemBufferCopy(model, "model.onnx");
  OwningOpRef<ModuleOp> module = importONNX(buffer, "model.onnx", &context);
  if (!module || failed(verify(*module)))
    return outcome;
  OperationFingerPrint before(*module);
  if (failed(runPipeline(*module, pipeline)))
    return outcome;
  takeSummary(*module);
  outcome.unchanged = before == OperationFingerPrint(*module);
  module->walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName().strref().starts_with("mp."))
        outcome.violations.push_back(onnxir::describe(op) + ": '" +
                                     attribute.getName().str() + "' is left");
  });
  if (outcome.unchanged) {
    outcome.bytes = model.str();
    outcome.succeeded = true;
    return outcome;
  }
  std::unique_ptr<ExportedModel> exported = exportONNX(*module, "model.onnx");
  if (!exported)
    return outcome;
  if (!exported->getExternalData().empty())
    outcome.violations.push_back("a small model got external data");
  llvm::raw_string_ostream os(outcome.bytes);
  printContent(exported->getModel(), os);
  outcome.succeeded = true;
  return outcome;
}

//===----------------------------------------------------------------------===//
// One model
//===----------------------------------------------------------------------===//

namespace {

struct Answer {
  llvm::json::Object report;
  std::string result, extra;
};

class ModelCheck {
public:
  /// Two contexts: what the order of addresses decides differs between them.
  ModelCheck(Workbench &one, Workbench &two, StringRef model)
      : one(one), two(two), model(model) {}
  Answer run(const llvm::json::Object &header);

private:
  void violate(const Twine &what) { violations.push_back(what.str()); }
  void checkTwice(StringRef pipeline, const Outcome &first);
  void checkSame(StringRef pipeline);
  int64_t getCost(StringRef pipeline);

  Workbench &one, &two;
  StringRef model;
  llvm::json::Array violations;
};

} // namespace

static StringRef firstLine(StringRef text) { return text.split('\n').first; }

void ModelCheck::checkTwice(StringRef pipeline, const Outcome &first) {
  Outcome again = two.run(pipeline, model);
  if (!again.succeeded || again.bytes != first.bytes)
    violate("not deterministic: another context gives other bytes");
  if (again.missed != first.missed)
    violate("not deterministic: another context gives other remarks");
  Outcome second = one.run(pipeline, first.bytes);
  if (!second.succeeded)
    violate("not idempotent: its own output is refused: " +
            firstLine(second.errors));
  else if (second.bytes != first.bytes)
    violate("not idempotent: its own output changes");
}

void ModelCheck::checkSame(StringRef pipeline) {
  Outcome outcome = two.run(pipeline, model);
  if (!outcome.succeeded)
    violate("fails with " + pipeline + ": " + firstLine(outcome.errors));
  else if (outcome.bytes != model)
    violate("must not change with " + pipeline);
}

int64_t ModelCheck::getCost(StringRef pipeline) {
  Outcome outcome = two.run(pipeline, model);
  auto cost = outcome.summary.find("cost_bytes");
  return outcome.succeeded && cost != outcome.summary.end() ? cost->second : -1;
}

Answer ModelCheck::run(const llvm::json::Object &header) {
  Answer answer;
  StringRef pipeline = header.getString("pipeline").value_or("");
  Outcome first = one.run(pipeline, model);
  llvm::json::Object &report = answer.report;
  if (!first.succeeded) {
    report["error"] =
        llvm::json::fixUTF8(first.errors.empty() ? "no message" : first.errors);
    return answer;
  }
  for (const std::string &violation : first.violations)
    violate(llvm::json::fixUTF8(violation));
  checkTwice(pipeline, first);
  llvm::json::Array missed, costs;
  for (auto &[node, reason] : first.missed)
    missed.push_back(llvm::json::fixUTF8(node + ": " + reason));
  llvm::json::Object summary;
  for (auto &entry : first.summary)
    summary[entry.getKey()] = entry.getValue();
  if (const llvm::json::Array *same = header.getArray("same"))
    for (const llvm::json::Value &other : *same)
      checkSame(other.getAsString().value_or(""));
  if (const llvm::json::Array *list = header.getArray("costs"))
    for (const llvm::json::Value &other : *list)
      costs.push_back(getCost(other.getAsString().value_or("")));
  if (auto extra = header.getString("extra")) {
    Outcome outcome = two.run(*extra, model);
    if (!outcome.succeeded)
      violate("fails with " + *extra + ": " + firstLine(outcome.errors));
    answer.extra = std::move(outcome.bytes);
  }
  report["violations"] = std::move(violations);
  report["missed"] = std::move(missed);
  report["summary"] = std::move(summary);
  report["costs"] = std::move(costs);
  answer.result = std::move(first.bytes);
  return answer;
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

static std::optional<std::string> readFrame() {
  char length[4];
  if (std::fread(length, 1, 4, stdin) != 4)
    return std::nullopt;
  std::string bytes(llvm::support::endian::read32le(length), '\0');
  if (std::fread(bytes.data(), 1, bytes.size(), stdin) != bytes.size())
    return std::nullopt;
  return bytes;
}

static void writeFrame(StringRef bytes) {
  char length[4];
  llvm::support::endian::write32le(length, uint32_t(bytes.size()));
  std::fwrite(length, 1, 4, stdout);
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

static int serve(const DialectRegistry &registry) {
  std::unique_ptr<Workbench> one, two;
  for (unsigned count = 0;; ++count) {
    std::optional<std::string> text = readFrame();
    if (!text)
      return 0;
    std::optional<std::string> model = readFrame();
    auto header = llvm::json::parse(*text);
    if (!header) {
      llvm::errs() << toString(header.takeError()) << "\n";
      return 1;
    }
    if (!model || !header->getAsObject())
      return 1;
    if (count % modelsPerContext == 0) {
      one = std::make_unique<Workbench>(registry);
      two = std::make_unique<Workbench>(registry);
    }
    Answer answer = ModelCheck(*one, *two, *model).run(*header->getAsObject());
    std::string report;
    llvm::raw_string_ostream(report)
        << llvm::json::Value(std::move(answer.report));
    writeFrame(report);
    writeFrame(answer.result);
    writeFrame(answer.extra);
    std::fflush(stdout);
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAllPasses();
  DialectRegistry registry;
  registry.insert<onnxir::ONNXDialect, MPDialect>();
  if (argc == 3 && StringRef(argv[1]) == "--supports")
    return failed(parsePassPipeline(argv[2], llvm::nulls()));
  return serve(registry);
}
