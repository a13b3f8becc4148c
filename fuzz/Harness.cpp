//===- Harness.cpp - What must hold for every input -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "DataRun.h"
#include "TrainingRun.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Policy/PolicyFile.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "InitAllPasses.h"
#include "Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "onnx/onnx_pb.h"

#include <cstdlib>

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace mp::fuzz {

/// Contexts intern what they see; they are renewed before that is much.
static constexpr unsigned inputsPerContext = 100;
/// The data file in the folder of the models; they may refer to it.
static constexpr llvm::StringLiteral dataFile = "weights.bin";

void fail(const llvm::Twine &message) {
  llvm::errs() << "broken promise: " << message << "\n";
  llvm::errs().flush();
  std::abort();
}

static void writeFile(const Twine &file, StringRef content) {
  // A file that is mapped keeps its content: the old one is not written to.
  fs::remove(file);
  std::error_code error;
  llvm::raw_fd_ostream os(file.str(), error);
  if (error)
    fail("cannot write " + file + ": " + error.message());
  os << content;
}

Harness::Harness() {
  registerAllPasses();
  registry.insert<onnxir::ONNXDialect, MPDialect>();
  SmallString<128> temporary;
  if (std::error_code error =
          fs::createUniqueDirectory("mp-opt-fuzz", temporary))
    fail("cannot make a folder: " + error.message());
  folder = temporary.str().str();
  writeFile(folder + "/" + dataFile, std::string(4096, '\x3f'));
}

Harness::~Harness() { fs::remove_directories(folder); }

MLIRContext &Harness::getContext() {
  if (!context || ++uses % inputsPerContext == 0) {
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
    context->printOpOnDiagnostic(false);
    context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
          ++errors == 1)
        firstError = diagnostic.str();
      return success();
    });
  }
  errors = 0;
  verifying = false;
  firstError.clear();
  return *context;
}

void Harness::checkErrors(bool succeeded, const char *what) {
  if (succeeded && errors)
    fail(Twine(what) + " succeeded with an error: " + firstError);
  if (!succeeded && !errors)
    fail(Twine(what) + " failed without an error");
  if (!succeeded && firstError.empty())
    fail(Twine(what) + " failed with an empty error");
  // The verifier sees every graph and function for itself; the tool shows the
  // first error.
  if (errors > 1 && !verifying)
    fail(Twine(what) + " failed with " + Twine(errors) +
         " errors, the first of them: " + firstError);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> Harness::read(StringRef bytes, bool isText) {
  std::shared_ptr<llvm::MemoryBuffer> buffer =
      llvm::MemoryBuffer::getMemBufferCopy(bytes, "model.onnx");
  auto import = isText ? importONNXText : importONNX;
  OwningOpRef<ModuleOp> module =
      import(buffer, folder + "/model.onnx", context.get(), {});
  verifying = bool(module);
  if (module && failed(verify(*module)))
    return nullptr;
  verifying = false;
  return module;
}

std::string Harness::write(ModuleOp module) {
  std::unique_ptr<ExportedModel> model = exportONNX(module, "written");
  std::string bytes;
  if (!model)
    return bytes;
  if (!model->getExternalData().empty()) {
    std::string data;
    llvm::raw_string_ostream dataStream(data);
    printContent(model->getExternalData(), dataStream);
    writeFile(folder + "/" + model->nameExternalData(/*hash=*/0), data);
  }
  llvm::raw_string_ostream os(bytes);
  printContent(model->getModel(), os);
  return bytes;
}

/// All names that `node` and its subgraphs use.
static void collectUses(const ::onnx::NodeProto &node,
                        llvm::StringSet<> &uses) {
  for (const std::string &name : node.input())
    uses.insert(name);
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    std::vector<const ::onnx::GraphProto *> graphs;
    if (attribute.has_g())
      graphs.push_back(&attribute.g());
    for (const ::onnx::GraphProto &graph : attribute.graphs())
      graphs.push_back(&graph);
    for (const ::onnx::GraphProto *graph : graphs) {
      for (const ::onnx::NodeProto &inner : graph->node())
        collectUses(inner, uses);
      for (const ::onnx::ValueInfoProto &output : graph->output())
        uses.insert(output.name());
    }
  }
}

/// Whether no node, of subgraphs too, stands before one that it needs: import
/// puts these in order, as ONNX demands it.
template <typename Nodes> static bool areSorted(const Nodes &nodes) {
  llvm::StringSet<> later;
  for (const ::onnx::NodeProto &node : llvm::reverse(nodes)) {
    for (const std::string &name : node.output())
      later.insert(name);
    llvm::StringSet<> uses;
    collectUses(node, uses);
    for (const auto &use : uses)
      if (!use.getKey().empty() && later.contains(use.getKey()))
        return false;
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      if (!areSorted(attribute.g().node()))
        return false;
      for (const ::onnx::GraphProto &graph : attribute.graphs())
        if (!areSorted(graph.node()))
          return false;
    }
  }
  return true;
}

/// True if the model is written as it was read: it is in protobuf's own form,
/// with its nodes in order.
static bool isCanonical(StringRef bytes) {
  ::onnx::ModelProto model;
  std::string again;
  if (!model.ParseFromString(bytes.str()) ||
      !model.SerializePartialToString(&again) || again != bytes ||
      !areSorted(model.graph().node()))
    return false;
  for (const ::onnx::TrainingInfoProto &training : model.training_info())
    if (!areSorted(training.initialization().node()) ||
        !areSorted(training.algorithm().node()))
      return false;
  return llvm::all_of(model.functions(), [](const auto &function) {
    return areSorted(function.node());
  });
}

static void clearElementType(::onnx::TypeProto &type) {
  if (type.has_tensor_type())
    type.mutable_tensor_type()->clear_elem_type();
  else if (type.sequence_type().has_elem_type())
    clearElementType(*type.mutable_sequence_type()->mutable_elem_type());
  else if (type.optional_type().has_elem_type())
    clearElementType(*type.mutable_optional_type()->mutable_elem_type());
}

/// Without the element types of described values: export corrects those that
/// contradict another.
static std::string withoutElementTypes(StringRef bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes.str()))
    fail("what was written cannot be parsed");
  std::vector<::onnx::GraphProto *> graphs = {model.mutable_graph()};
  for (size_t index = 0; index < graphs.size(); ++index) {
    ::onnx::GraphProto &graph = *graphs[index];
    for (auto *infos : {graph.mutable_input(), graph.mutable_output(),
                        graph.mutable_value_info()})
      for (::onnx::ValueInfoProto &info : *infos)
        if (info.has_type())
          clearElementType(*info.mutable_type());
    for (::onnx::NodeProto &node : *graph.mutable_node())
      for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
          graphs.push_back(attribute.mutable_g());
        for (::onnx::GraphProto &inner : *attribute.mutable_graphs())
          graphs.push_back(&inner);
      }
  }
  return model.SerializePartialAsString();
}

void Harness::checkUnchanged(ModuleOp module, StringRef bytes) {
  std::string written = write(module);
  checkErrors(!written.empty(), "the export of an unchanged model");
  // External data move to another file.
  if (getExternalFiles(module).empty() && isCanonical(bytes) &&
      written != bytes &&
      withoutElementTypes(written) != withoutElementTypes(bytes)) {
    writeFile("written.onnx", written);
    fail("a model that nothing changed is written otherwise: it is left as "
         "'written.onnx'");
  }
}

bool Harness::convert(ModuleOp module, Mode mode) {
  if (mode == Mode::Train || mode == Mode::TrainFP16) {
    bool trained = succeeded(train(module, mode == Mode::TrainFP16));
    module->removeDiscardableAttr(mark::summary);
    return trained;
  }
  PassManager manager(context.get(), ModuleOp::getOperationName());
  manager.enableVerifier(true);
  MixedPrecisionOptions options;
  PolicyRequest request;
  request.precision = mode == Mode::FP16 ? "fp16" : "bf16";
  options.policy.set(request);
  buildMixedPrecisionPipeline(manager, options);
  if (mode == Mode::Emulate)
    buildEmulationPipeline(manager);
  if (failed(manager.run(module)))
    return false;
  module->removeDiscardableAttr(mark::summary);
  return true;
}

/// Whether nodes may contradict each other where import cannot see it: in
/// functions, at operators of other domains, and behind values of unknown rank.
/// What becomes of these may show it.
static bool mayHideContradictions(ModuleOp module) {
  if (!module.getOps<onnxir::FunctionOp>().empty())
    return true;
  auto hides = [](Operation *op) {
    if (!onnxir::isNode(op))
      return false;
    const OpSchema *schema = onnxir::getSchema(op);
    return !schema || !schema->isONNX() ||
           llvm::any_of(op->getResultTypes(), onnxir::isVague);
  };
  return module
      .walk([&](Operation *op) {
        return hides(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool Harness::runModel(StringRef bytes, Mode mode) {
  getContext();
  OwningOpRef<ModuleOp> module = read(bytes, /*isText=*/false);
  checkErrors(bool(module), "import");
  if (!module)
    return false;
  checkUnchanged(*module, bytes);
  bool mayBeInvalid = mayHideContradictions(*module);
  bool converted = convert(*module, mode);
  checkErrors(converted, "the pipeline");
  if (!converted)
    return false;
  std::string written = write(*module);
  checkErrors(!written.empty(), "export");
  if (written.empty())
    return false;
  module = read(written, /*isText=*/false);
  if (!module && !mayBeInvalid)
    fail("what was written cannot be read: " + firstError);
  checkErrors(bool(module), "reading what was written");
  if (!module)
    return false;
  checkUnchanged(*module, written);
  return true;
}

bool Harness::runModel(StringRef bytes) {
  unsigned sum = 0;
  for (char byte : bytes)
    sum = sum * 31 + static_cast<unsigned char>(byte);
  return runModel(bytes, Mode(sum % modeCount));
}

//===----------------------------------------------------------------------===//
// Other files
//===----------------------------------------------------------------------===//

static bool isAccepted(llvm::Error error, const char *what) {
  if (!error)
    return true;
  if (toString(std::move(error)).empty())
    fail(Twine(what) + " was refused without a reason");
  return false;
}

bool Harness::runPolicy(StringRef text, Reader reader) {
  PolicyOptions options;
  switch (reader) {
  case Reader::PolicyYAML:
    if (!isAccepted(addPolicyYAML(text, "policy.yaml", options), "a policy"))
      return false;
    break;
  case Reader::GaudiJSON:
    if (!isAccepted(addGaudiConfig(text, "gaudi.json", options), "a config"))
      return false;
    break;
  default:
    if (!isAccepted(addListFile(text, "list.txt", OpClass::Allow, options),
                    "a list"))
      return false;
    break;
  }
  MLIRContext &used = getContext();
  auto &dialect = *used.getOrLoadDialect<onnxir::ONNXDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&used));
  auto policy = PrecisionPolicy::create(std::move(options),
                                        [&] { return module->emitError(); });
  bool created =
      succeeded(policy) &&
      succeeded(policy->checkOperators(*module, dialect.getSchemas()));
  checkErrors(created, "a policy");
  if (!created)
    return false;
  std::string printed;
  llvm::raw_string_ostream os(printed);
  printPolicy(*policy, os);
  PolicyOptions again;
  if (llvm::Error failed = addPolicyYAML(printed, "printed.yaml", again))
    fail("a printed policy is refused: " + toString(std::move(failed)));
  return true;
}

bool Harness::runText(StringRef text, Reader reader) {
  if (StringRef("nzfp").contains(char(reader)))
    return runData(text, reader);
  if (reader == Reader::Schemas) {
    std::unique_ptr<SchemaRegistry> schemas = SchemaRegistry::createBuiltin();
    return isAccepted(schemas->addJSON(text, "schemas.json"), "a schema file");
  }
  if (reader != Reader::ONNXText)
    return runPolicy(text, reader);
  getContext();
  OwningOpRef<ModuleOp> module = read(text, /*isText=*/true);
  checkErrors(bool(module), "import of text");
  return bool(module);
}

} // namespace mp::fuzz
