//===- Model.cpp - A model on its way to be run ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/Model.h"

#include "mp-opt/API/Model/ModelOutput.h"
#include "mp-opt/Codegen/Host/HostTarget.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/FreedMemory.h"
#include "mp-opt/Training/Distribution.h"

#include "Graph/Passes.h"
#include "Pipelines/CompileProgram.h"
#include "Pipelines/Pipelines.h"
#include "Precision/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

void registerModelDialects(DialectRegistry &registry) {
  registry.insert<ONNXDialect, MPDialect>();
}

namespace {
/// Records the messages of errors during its lifetime. Outer handlers still
/// receive them.
class ErrorRecorder {
public:
  explicit ErrorRecorder(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text += (text.empty() ? "" : "\n") + diagnostic.str();
          return failure();
        }) {}

  bool isEmpty() const { return text.empty(); }
  StringRef getText() const {
    return text.empty() ? StringRef("the model is invalid") : text;
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Model::Model(ModuleOp from, StringRef name)
    : name(name), context(*from.getContext()), module(from.clone()) {}

Model::Model(const DialectRegistry &registry, ModelOptions given)
    : options(std::move(given)), owned(std::make_unique<MLIRContext>(registry)),
      context(*owned) {
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (options.onMessage)
      options.onMessage(name, diagnostic.getSeverity(), diagnostic.str());
  });
}

/// The error is marked as reported if a listener is set, or if the context's
/// owner receives all messages, as for copies.
llvm::Error Model::fail(ErrorKind kind, const Twine &text) {
  return makeError({kind, text.str(), !owned || options.onMessage});
}

/// Reports an error that has no diagnostic, under the name `path`.
llvm::Error Model::refuse(ErrorKind kind, StringRef path, const Twine &text) {
  if (options.onMessage)
    options.onMessage(path, DiagnosticSeverity::Error, text);
  // No diagnostic was emitted: handlers of a copy's context have not seen it.
  return makeError({kind, (path + ": " + text).str(), bool(options.onMessage)});
}

std::unique_ptr<Model> Model::copy(ModuleOp module, StringRef name) {
  return std::unique_ptr<Model>(new Model(module, name));
}

llvm::Expected<std::unique_ptr<Model>>
Model::read(StringRef path, const DialectRegistry &registry,
            ModelOptions options) {
  std::unique_ptr<Model> model(new Model(registry, std::move(options)));
  model->name = path == "-" ? "<stdin>" : path.str();
  if (llvm::Error failed = model->input.read(path))
    return model->refuse(ErrorKind::BadInput, path,
                         toString(std::move(failed)));
  if (llvm::Error failed = model->import(path))
    return failed;
  return model;
}

llvm::Expected<std::unique_ptr<Model>>
Model::parse(StringRef content, StringRef name, const DialectRegistry &registry,
             ModelOptions options) {
  std::unique_ptr<Model> model(new Model(registry, std::move(options)));
  model->name = name.str();
  if (llvm::Error failed =
          model->input.set(content, name, model->options.borrowsContent))
    return model->refuse(ErrorKind::BadInput, name,
                         toString(std::move(failed)));
  if (llvm::Error failed = model->import(name))
    return failed;
  return model;
}

llvm::Error Model::import(StringRef path) {
  ErrorRecorder recorder(context);
  TimingScope step =
      options.timing ? options.timing->nest("Import") : TimingScope();
  module = input.import(context, {options.externalDataRoots, options.check},
                        options.excerpts);
  if (!module || failed(verify(*module)))
    return fail(ErrorKind::BadInput, recorder.getText());
  if (!getMainGraph(*module))
    return refuse(ErrorKind::BadInput, path, "expected a model with a graph");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

llvm::Error Model::runPasses(llvm::function_ref<void(PassManager &)> add) {
  ErrorRecorder recorder(context);
  PassManager manager(&context, ModuleOp::getOperationName());
  manager.enableVerifier(false);
  add(manager);
  if (options.timing)
    manager.enableTiming(*options.timing);
  if (failed(manager.run(*module)) || failed(verify(*module)))
    return fail(ErrorKind::BadInput, recorder.getText());
  return llvm::Error::success();
}

llvm::Error Model::convert(const ConversionOptions &conversion,
                           Reports *reports, ArrayRef<std::string> dims) {
  if (conversion.training)
    if (llvm::Error failed = checkTraining(*conversion.training))
      return failed;
  bool isRefused = false;
  llvm::Error failed = runPasses([&](PassManager &manager) {
    (void)addConversion(manager, conversion, dims, reports, isRefused);
  });
  (*module)->removeDiscardableAttr(mark::summary);
  if (!failed || !isRefused)
    return failed;
  ErrorDetails details = takeDetails(std::move(failed));
  details.kind = ErrorKind::NotSupported;
  return makeError(std::move(details));
}

llvm::Error Model::mix(StringRef precision,
                       const llvm::StringMap<int64_t> &dims) {
  if (precision.empty())
    return llvm::Error::success();
  ConversionOptions conversion;
  MixedPrecisionRequest &mixed = conversion.mixed.emplace();
  mixed.policy.precision = precision.str();
  for (const auto &dim : dims)
    mixed.dims.push_back((dim.getKey() + "=" + Twine(dim.getValue())).str());
  llvm::sort(mixed.dims);
  return convert(conversion);
}

llvm::Error Model::checkDimensions(const llvm::StringMap<int64_t> &dims) {
  llvm::Error failed = checkDimensionNames(*module, dims);
  return failed ? refuse(ErrorKind::BadInput, name, toString(std::move(failed)))
                : llvm::Error::success();
}

llvm::Error Model::inlineFunctions() {
  return runPasses(
      [](PassManager &manager) { manager.addPass(createInlineFunctions()); });
}

llvm::Error Model::widen() {
  return runPasses([](PassManager &manager) {
    manager.addPass(createInlineFunctions());
    manager.addPass(createWidenFloats());
  });
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

/// The name of a symbolic dimension in an input's description; empty if it has
/// none.
static StringRef getDimName(Attribute described, size_t axis) {
  auto entry = dyn_cast<DictionaryAttr>(described);
  for (StringRef key : {"type", "tensor_type", "shape"})
    entry = entry ? entry.getAs<DictionaryAttr>(key) : entry;
  auto dims = entry ? entry.getAs<ArrayAttr>("dim") : ArrayAttr();
  if (!dims || axis >= dims.size())
    return "";
  auto dim = dyn_cast<DictionaryAttr>(dims[axis]);
  auto name = dim ? dim.getAs<StringAttr>("dim_param") : StringAttr();
  return name ? name.getValue() : "";
}

/// Replaces symbolic dimensions by the sizes given for their names.
static void resolveDims(ModelValue &input, Attribute described,
                        const llvm::StringMap<int64_t> &dims) {
  for (size_t axis = 0; axis < input.sizes.size(); ++axis) {
    StringRef name = getDimName(described, axis);
    input.dimNames.push_back(name.str());
    auto known = dims.find(name);
    if (input.sizes[axis] < 0 && known != dims.end())
      input.sizes[axis] = known->second;
  }
}

llvm::Expected<std::vector<ModelValue>>
Model::getInputs(const llvm::StringMap<int64_t> &dims) {
  GraphOp graph = getMainGraph(*module);
  llvm::StringSet<> defaults;
  for (auto initializer : graph.getBody().getOps<InitializerOp>())
    if (initializer.getOverridable())
      defaults.insert(initializer.getName());
  auto described =
      getYield(graph.getBody())->getAttrOfType<ArrayAttr>(attr::inputs);
  std::vector<ModelValue> inputs;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    ModelValue input;
    input.name = getValueName(argument).str();
    input.hasDefault = defaults.contains(input.name);
    Type element = getTensorElementType(argument.getType());
    if (!element) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "input '" << input.name << "' has the type '" << argument.getType()
          << "': expected a tensor";
      return refuse(ErrorKind::NotSupported, name, text);
    }
    input.kind = getElementKind(element);
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      for (int64_t size : type.getShape())
        input.sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
    if (described && inputs.size() < described.size())
      resolveDims(input, described[inputs.size()], dims);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<std::string> Model::getOutputNames() {
  YieldOp yield = getYield(getMainGraph(*module).getBody());
  auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  std::vector<std::string> names;
  for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
    auto entry = described && index < described.size()
                     ? dyn_cast<DictionaryAttr>(described[index])
                     : DictionaryAttr();
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    names.push_back((name ? name.getValue() : getValueName(value)).str());
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Fails if data would stay in files of the model that was read: they are
/// stored next to the input file, not next to the new model.
llvm::Expected<std::unique_ptr<ExportedModel>> Model::exportTo(StringRef path) {
  ErrorRecorder recorder(context);
  auto exported = exportONNX(*module, llvm::sys::path::filename(path));
  if (!exported)
    return fail(ErrorKind::BadInput, recorder.getText());
  if (!exported->getKeptFiles().empty())
    return makeError(
        {ErrorKind::BadInput,
         (path + ": tensors in '" + exported->getKeptFiles().front() +
          "' stay there, which is not supported")
             .str()});
  return exported;
}

llvm::Error Model::checkONNX(StringRef path) {
  return exportTo(path).takeError();
}

llvm::Expected<std::string> Model::getONNX() {
  auto exported = exportTo(name);
  if (!exported)
    return exported.takeError();
  if (!(*exported)->getExternalData().empty())
    return makeError({ErrorKind::BadInput,
                      name + ": tensors belong into a data file, since they "
                             "were in one or exceed 2 GB: write the model to "
                             "a file instead"});
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  printContent((*exported)->getModel(), os);
  return bytes;
}

llvm::Error Model::writeONNX(StringRef path, bool copiesDataFiles) {
  ErrorRecorder recorder(context);
  ModelOutputOptions where;
  where.path = path.str();
  where.inputPath = name;
  where.externalDataRoots = options.externalDataRoots;
  where.copiesDataFiles = copiesDataFiles;
  llvm::Error failed = ModelOutput(std::move(where), input)
                           .write(*module, Format::ONNX, /*unchanged=*/false);
  if (!failed || recorder.isEmpty())
    return failed;
  consumeError(std::move(failed));
  return fail(ErrorKind::BadInput, recorder.getText());
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Completes the options: adds the host's target if none is given. Removes
/// reductions that a device is not to make.
llvm::Expected<CompileOptions> Model::complete(const CompileOptions &given) {
  CompileOptions own = given;
  if (own.device != DeviceKind::CPU && !own.keepReductions)
    removeReductions(*module);
  if (own.target)
    return own;
  llvm::Expected<Target> host = getHostTarget();
  if (!host)
    return refuse(ErrorKind::NotSupported, name, toString(host.takeError()));
  own.target = *host;
  return own;
}

llvm::Expected<MemoryFigures> Model::planMemory(const CompileOptions &given) {
  ErrorRecorder recorder(context);
  llvm::Expected<CompileOptions> own = complete(given);
  if (!own)
    return own.takeError();
  LoweringFigures lowered;
  if (succeeded(lowerProgram(*module, *own, {nullptr, own->timing}, lowered))) {
    auto figures = getMemoryFigures(*module, own->device, own->updateInPlace);
    if (succeeded(figures))
      return *figures;
  }
  return fail(ErrorKind::NotSupported, recorder.getText());
}

llvm::Expected<std::unique_ptr<Program>>
Model::compile(const CompileOptions &given) {
  ErrorRecorder recorder(context);
  llvm::Expected<CompileOptions> completed = complete(given);
  if (!completed)
    return completed.takeError();
  CompileOptions &own = *completed;
  if (llvm::Error missing = checkDevice(own.device))
    return refuse(ErrorKind::BadInput, name,
                  "--device: " + toString(std::move(missing)));
  if (!own.title.empty())
    own.title += (": compiling " + llvm::sys::path::filename(name)).str();
  if (std::unique_ptr<Program> program = compileProgram(*module, own))
    return program;
  return fail(ErrorKind::NotSupported, recorder.getText());
}

void Model::discard() {
  module = ModuleOp::create(UnknownLoc::get(&context));
  returnFreedMemory();
}

llvm::Expected<DevicePlan> Model::plan(const CompileOptions &given,
                                       StringRef chip) {
  ErrorRecorder recorder(context);
  llvm::Expected<CompileOptions> own = complete(given);
  if (!own)
    return own.takeError();
  removeReductions(*module);
  FailureOr<DevicePlan> plan = chip.empty() ? planProgram(*module, *own)
                                            : countProgram(*module, *own, chip);
  if (failed(plan))
    return fail(ErrorKind::NotSupported, recorder.getText());
  return std::move(*plan);
}

} // namespace mp
