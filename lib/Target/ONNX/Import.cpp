//===- Import.cpp - ONNX models into MLIR ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "ProtoAttr.h"
#include "WireFormat.h"

#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "onnx/defs/parser.h"

#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mp::onnxir;
namespace pb = google::protobuf;

namespace mp {

/// Tensors below this size go through protobuf.
static constexpr uint64_t stripThreshold = 4096;

namespace {

/// Turns a parsed ModelProto into a module.
class ModelImporter {
public:
  ModelImporter(const ::onnx::ModelProto &model, TensorSource &source,
                Location loc, CheckLevel check)
      : model(model), source(source), loc(loc), builder(loc.getContext()),
        deviations(loc, check), functions(model) {}

  OwningOpRef<ModuleOp> import();

private:
  LogicalResult checkModel();
  Attribute
  importOpsets(const pb::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports);
  LogicalResult
  checkOpsets(const pb::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports);
  LogicalResult importFunction(const ::onnx::FunctionProto &function);
  LogicalResult importTraining(const ::onnx::TrainingInfoProto &training,
                               size_t number);

  const ::onnx::ModelProto &model;
  TensorSource &source;
  Location loc;
  OpBuilder builder;
  Deviations deviations;
  LocalFunctions functions;
  std::optional<GraphImporter> graphs;
};

} // namespace

/// Returns pairs [domain, version]; the domain is absent if the model omits it.
Attribute ModelImporter::importOpsets(
    const pb::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports) {
  SmallVector<Attribute> result;
  for (const ::onnx::OperatorSetIdProto &import : imports) {
    SmallVector<Attribute> entry;
    entry.push_back(import.has_domain()
                        ? Attribute(builder.getStringAttr(import.domain()))
                        : builder.getUnitAttr());
    entry.push_back(builder.getI64IntegerAttr(import.version()));
    DictionaryAttr rest =
        protoToAttr(loc.getContext(), import,
                    {::onnx::OperatorSetIdProto::kDomainFieldNumber,
                     ::onnx::OperatorSetIdProto::kVersionFieldNumber});
    if (!rest.empty())
      entry.push_back(rest);
    result.push_back(builder.getArrayAttr(entry));
  }
  return builder.getArrayAttr(result);
}

LogicalResult ModelImporter::checkOpsets(
    const pb::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports) {
  const SchemaRegistry &schemas =
      loc.getContext()->getLoadedDialect<ONNXDialect>()->getSchemas();
  llvm::StringMap<int64_t> seen;
  for (const ::onnx::OperatorSetIdProto &import : imports) {
    StringRef domain = normalizeDomain(import.domain());
    StringRef shown = domain.empty() ? StringRef("ai.onnx") : domain;
    int newest = schemas.getNewestOpset(domain);
    if (import.version() < 1 || (newest && import.version() > newest))
      return emitError(loc)
             << "opset import of domain '" << shown << "': expected a version "
             << "from 1 to " << (newest ? newest : INT32_MAX) << ", found "
             << import.version();
    auto [it, inserted] = seen.try_emplace(domain, import.version());
    if (!inserted && it->second != import.version())
      return emitError(loc)
             << "opset import of domain '" << shown << "': found versions "
             << it->second << " and " << import.version();
  }
  return success();
}

LogicalResult
ModelImporter::importFunction(const ::onnx::FunctionProto &function) {
  using Proto = ::onnx::FunctionProto;
  if (failed(checkOpsets(function.opset_import())))
    return failure();
  auto op =
      FunctionOp::create(builder, loc, function.domain(), function.name());
  op->setAttr(attr::opsets, importOpsets(function.opset_import()));
  // Defaults of attributes can be tensors.
  Proto whole;
  if (function.attribute_proto_size()) {
    whole = function;
    whole.clear_node();
  }
  if (!source.restore(whole))
    return emitError(loc) << "function '" << function.name()
                          << "': " << reservedField;
  SmallVector<int> represented = {
      Proto::kNameFieldNumber,        Proto::kInputFieldNumber,
      Proto::kOutputFieldNumber,      Proto::kNodeFieldNumber,
      Proto::kOpsetImportFieldNumber, Proto::kValueInfoFieldNumber};
  // The empty domain may be stored or omitted.
  if (!function.domain().empty())
    represented.push_back(Proto::kDomainFieldNumber);
  DictionaryAttr rest = protoToAttr(
      loc.getContext(), function.attribute_proto_size() ? whole : function,
      represented);
  if (!rest.empty())
    op->setAttr(attr::extra, rest);
  return graphs->importFunctionBody(function, op.getBody());
}

LogicalResult
ModelImporter::importTraining(const ::onnx::TrainingInfoProto &training,
                              size_t number) {
  using Proto = ::onnx::TrainingInfoProto;
  auto op = TrainingOp::create(builder, loc);
  DictionaryAttr rest = protoToAttr(
      loc.getContext(), training,
      {Proto::kInitializationFieldNumber, Proto::kAlgorithmFieldNumber});
  if (!rest.empty())
    op->setAttr(attr::extra, rest);
  std::string entry = "training_info " + std::to_string(number);
  if (training.has_initialization() &&
      failed(graphs->importTrainingGraph(training.initialization(),
                                         op.getInitialization(),
                                         entry + ": the initialization")))
    return failure();
  if (training.has_algorithm())
    return graphs->importTrainingGraph(training.algorithm(), op.getAlgorithm(),
                                       entry + ": the algorithm");
  return success();
}

/// Checks all parts of the model but its graphs.
LogicalResult ModelImporter::checkModel() {
  if (!model.has_graph())
    return emitError(loc) << "expected an ONNX model, found no graph";
  return success(succeeded(checkModelFields(model, loc, deviations)) &&
                 succeeded(checkOpsets(model.opset_import())) &&
                 succeeded(functions.check(loc)));
}

OwningOpRef<ModuleOp> ModelImporter::import() {
  using Proto = ::onnx::ModelProto;
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  (*module)->setAttr(attr::opsets, importOpsets(model.opset_import()));
  (*module)->setAttr(attr::model, protoToAttr(loc.getContext(), model,
                                              {Proto::kGraphFieldNumber,
                                               Proto::kOpsetImportFieldNumber,
                                               Proto::kTrainingInfoFieldNumber,
                                               Proto::kFunctionsFieldNumber}));
  if (failed(checkModel()))
    return {};
  graphs.emplace(model, source, builder, loc, deviations, functions);
  auto graph = GraphOp::create(builder, loc);
  if (failed(graphs->importMainGraph(model.graph(), graph.getBody())))
    return {};
  for (auto [number, training] : llvm::enumerate(model.training_info()))
    if (failed(importTraining(training, number)))
      return {};
  if (failed(checkTrainingInfo(model, loc)))
    return {};
  for (const ::onnx::FunctionProto &function : model.functions())
    if (failed(importFunction(function)))
      return {};
  deviations.report();
  std::vector<std::string> files = source.getExternal().getNames();
  if (!files.empty())
    (*module)->setAttr(
        attr::externalFiles,
        builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(files)));
  return module;
}

SmallVector<std::string> getExternalFiles(ModuleOp module) {
  SmallVector<std::string> files;
  if (auto names = module->getAttrOfType<ArrayAttr>(attr::externalFiles))
    for (auto name : names.getAsRange<StringAttr>())
      files.push_back(name.str());
  return files;
}

void silenceProtobuf() {
  static pb::LogHandler *previous = pb::SetLogHandler(nullptr);
  (void)previous;
}

static Location getFileLoc(StringRef path, MLIRContext *context) {
  return FileLineColLoc::get(context, path, 0, 0);
}

static ExternalData getExternalData(StringRef path,
                                    const ImportOptions &options) {
  return ExternalData(llvm::sys::path::parent_path(path).str(),
                      options.externalDataRoots);
}

llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>>
openExternalFile(StringRef path, StringRef name, const ImportOptions &options) {
  return getExternalData(path, options).getFile(name);
}

OwningOpRef<ModuleOp> importONNX(std::shared_ptr<llvm::MemoryBuffer> buffer,
                                 StringRef path, MLIRContext *context,
                                 const ImportOptions &options) {
  context->getOrLoadDialect<ONNXDialect>();
  Location loc = getFileLoc(path, context);
  try {
    silenceProtobuf();
    TensorSource source(buffer, getExternalData(path, options));
    StrippedModel stripped = stripTensors(buffer->getBuffer(), stripThreshold);
    source.pieces = std::move(stripped.pieces);
    pb::Arena arena;
    auto &model = *pb::Arena::CreateMessage<::onnx::ModelProto>(&arena);
    if (stripped.bytes.size() > INT32_MAX ||
        !model.ParseFromString(stripped.bytes)) {
      emitError(loc) << "expected an ONNX model, found "
                     << (buffer->getBufferSize() ? "malformed protobuf data"
                                                 : "an empty file");
      return {};
    }
    stripped.bytes = std::string();
    return ModelImporter(model, source, loc, options.check).import();
  } catch (const std::exception &exception) {
    emitError(loc) << exception.what();
    return {};
  }
}

/// The maximum nesting of brackets in ONNX's text form, whose parser is
/// recursive. Protobuf refuses models of deeper texts anyway.
static constexpr unsigned maxTextDepth = 256;

/// The line of the first bracket that is nested too deeply, with strings and
/// comments skipped as by the parser; 0 if there is none.
static unsigned findTooDeep(StringRef text) {
  unsigned line = 1, depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
    case '\n':
      ++line;
      break;
    case '#':
      at = text.find('\n', at) - 1;
      break;
    case '"':
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        at += text[at] == '\\';
        line += at < text.size() && text[at] == '\n';
      }
      break;
    case '(':
    case '[':
    case '{':
      if (++depth > maxTextDepth)
        return line;
      break;
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
    if (at >= text.size())
      break;
  }
  return 0;
}

OwningOpRef<ModuleOp> importONNXText(std::shared_ptr<llvm::MemoryBuffer> buffer,
                                     StringRef path, MLIRContext *context,
                                     const ImportOptions &options) {
  context->getOrLoadDialect<ONNXDialect>();
  Location loc = getFileLoc(path, context);
  try {
    silenceProtobuf();
    ::onnx::ModelProto model;
    std::string text = buffer->getBuffer().str();
    if (unsigned line = findTooDeep(text)) {
      emitError(loc) << "line " << line << ": expected at most " << maxTextDepth
                     << " brackets inside brackets";
      return {};
    }
    auto status = ::onnx::OnnxParser::Parse(model, text.c_str());
    if (!status.IsOK()) {
      SmallVector<StringRef> lines;
      StringRef(status.ErrorMessage()).rtrim().split(lines, '\n');
      emitError(loc) << llvm::join(lines, "; ");
      return {};
    }
    TensorSource source(buffer, getExternalData(path, options));
    return ModelImporter(model, source, loc, options.check).import();
  } catch (const std::exception &exception) {
    emitError(loc) << exception.what();
    return {};
  }
}

} // namespace mp
