//===- Model.cpp - A model on its way to be run ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "ExitCodes.h"
#include "InputFlags.h"
#include "Pipelines/CompileProgram.h"

#include "mp-opt/Codegen/Target/HostTarget.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/Nearest.h"

#include "Graph/Passes.h"
#include "Pipelines/Pipelines.h"
#include "Precision/Passes.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

Timing::Timing() {
  manager.setEnabled(true);
  root = manager.getRootScope();
}

void ModelFlags::addTo(Flags &flags) {
  flags.add("threads", threads, /*least=*/1, /*most=*/65536);
  flags.add("dim", dims, "NAME=SIZE");
  flags.add("kernels", kernels, "auto, direct, widen, dot or amx");
  flags.add("in-place", inPlace);
  flags.add("mixed-bf16", bf16);
  flags.add("mixed-fp16", fp16);
  flags.add("schemas", schemas, "a file name");
  flags.add("external-data-root", roots, "a folder");
  flags.add("cache", cache, "on, off or a folder with a slash in its name");
  flags.add("mlir-timing", isTimed);
}

/// "a=1,b=2" as two entries.
static std::vector<std::string> splitDims(ArrayRef<std::string> dims) {
  std::vector<std::string> entries;
  for (StringRef text : dims) {
    SmallVector<StringRef> parts;
    text.split(parts, ',');
    for (StringRef part : parts)
      entries.push_back(part.str());
  }
  return entries;
}

std::optional<int> ModelFlags::apply(const Flags &flags,
                                     DialectRegistry &registry) {
  if (bf16 && fp16)
    return flags.usageError("--mixed-bf16 and --mixed-fp16 exclude each other");
  llvm::Expected<KernelChoice> choice = parseKernels(kernels);
  if (!choice)
    return flags.usageError("--kernels: " + toString(choice.takeError()));
  llvm::Expected<Target> host = getHostTarget(*choice);
  if (!host) {
    llvm::errs() << "mp-run: error: " << toString(host.takeError()) << "\n";
    return exitBadInput;
  }
  target = *host;
  DimensionSizes sizes;
  if (llvm::Error failed = parseDimensions(splitDims(dims), sizes))
    return flags.usageError("--dim: " + toString(std::move(failed)));
  if (llvm::Error failed = checkRoots(roots))
    return flags.usageError(toString(std::move(failed)));
  auto cacheOptions = CodeCacheOptions::parse(cache);
  if (!cacheOptions)
    return flags.usageError(toString(cacheOptions.takeError()));
  codeCache = std::make_shared<CodeCache>(std::move(*cacheOptions), "mp-run");
  if (isTimed)
    timing = std::make_shared<Timing>();
  if (llvm::Error failed = addSchemas(schemas, registry)) {
    llvm::errs() << "mp-run: error: " << toString(std::move(failed)) << "\n";
    return exitBadInput;
  }
  if (threads)
    setNumThreads(unsigned(threads));
  return std::nullopt;
}

CompileOptions ModelFlags::getOptions() const {
  CompileOptions options;
  llvm::cantFail(parseDimensions(splitDims(dims), options.dims));
  options.target = target;
  options.updateInPlace = inPlace;
  options.cache = codeCache.get();
  options.title = "mp-run";
  options.timing = timing ? &timing->root : nullptr;
  return options;
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

Model::Model(ModuleOp from, StringRef name)
    : name(name), context(*from.getContext()), module(from.clone()) {}

Model::Model(const DialectRegistry &registry)
    : owned(std::make_unique<MLIRContext>(registry)), context(*owned) {
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diag) {
    if (diag.getSeverity() != DiagnosticSeverity::Remark)
      llvm::errs() << getName() << ": " << getKind(diag) << ": " << diag
                   << "\n";
  });
}

int Model::read(StringRef path, const ModelFlags &flags) {
  name = path == "-" ? "<stdin>" : path.str();
  timing = flags.timing ? &flags.timing->root : nullptr;
  TimingScope step = timing ? timing->nest("Import") : TimingScope();
  if (llvm::Error failed = input.read(path)) {
    llvm::errs() << path << ": error: " << toString(std::move(failed)) << "\n";
    return exitBadInput;
  }
  module = input.import(context, {flags.roots});
  if (!module || failed(verify(*module)))
    return exitBadInput;
  if (!getMainGraph(*module)) {
    llvm::errs() << path << ": error: expected a model with a graph\n";
    return exitBadInput;
  }
  for (BlockArgument argument : getMainGraph(*module).getBody().getArguments())
    if (!getTensorElementType(argument.getType())) {
      llvm::errs() << path << ": error: input '" << getValueName(argument)
                   << "' has the type '" << argument.getType()
                   << "': expected a tensor\n";
      return exitNotSupported;
    }
  return exitOk;
}

int Model::runPasses(llvm::function_ref<void(OpPassManager &)> add) {
  PassManager manager(&context, ModuleOp::getOperationName());
  manager.enableVerifier(false);
  add(manager);
  if (timing)
    manager.enableTiming(*timing);
  return succeeded(manager.run(*module)) && succeeded(verify(*module))
             ? exitOk
             : exitBadInput;
}

int Model::mix(StringRef precision, const ModelFlags &flags) {
  if (precision.empty())
    return exitOk;
  MixedPrecisionOptions options;
  PolicyRequest request;
  request.precision = precision.str();
  options.policy.set(request);
  options.dims = splitDims(flags.dims);
  return runPasses([&](OpPassManager &manager) {
    buildMixedPrecisionPipeline(manager, options);
  });
}

int Model::widen() {
  return runPasses([](OpPassManager &manager) {
    manager.addPass(createInlineFunctions());
    manager.addPass(createWidenFloats());
  });
}

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

/// Sizes of symbolic dimensions become those that their names have.
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

std::vector<ModelValue> Model::getInputs(const llvm::StringMap<int64_t> &dims) {
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
    if (Type element = getTensorElementType(argument.getType()))
      input.kind = getElementKind(element);
    else
      input.kind = ElementKind::Undefined;
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      for (int64_t size : type.getShape())
        input.sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
    if (described && inputs.size() < described.size())
      resolveDims(input, described[inputs.size()], dims);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::unique_ptr<Program> Model::compile(const CompileOptions &options) {
  CompileOptions own = options;
  if (!own.title.empty())
    own.title += (": compiling " + llvm::sys::path::filename(name)).str();
  return compileProgram(*module, own);
}

void addSizes(ArrayRef<ModelValue> inputs, ArrayRef<Tensor> data,
              CompileOptions &options) {
  for (auto [input, tensor] : llvm::zip(inputs, data))
    if (tensor.getData())
      options.inputSizes[input.name] = llvm::to_vector(tensor.getSizes());
}

} // namespace mp
