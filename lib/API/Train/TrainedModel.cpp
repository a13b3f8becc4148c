//===- TrainedModel.cpp - Trained parameters in a model -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/TrainedModel.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Stores elements in the same form as import: small ones are uniqued.
static TypedAttr makeValue(RankedTensorType type, const Tensor &tensor,
                           StringRef name) {
  ArrayRef<char> bytes(static_cast<const char *>(tensor.getData()),
                       tensor.getNumBytes());
  constexpr size_t maxDenseBytes = 1024;
  if (bytes.size() <= maxDenseBytes)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  return DenseResourceElementsAttr::get(
      type, name,
      HeapAsmResourceBlob::allocateAndCopyWithAlign(
          bytes, getElementBytes(tensor.getKind()), /*dataIsMutable=*/false));
}

std::vector<NamedTensor> takeAverages(ArrayRef<NamedTensor> states) {
  // The suffix that mp-opt --average uses.
  constexpr StringLiteral suffix = ".ema";
  llvm::StringMap<const Tensor *> named;
  for (const auto &[name, tensor] : states)
    named[name] = &tensor;
  std::vector<NamedTensor> taken;
  for (const auto &[name, tensor] : states) {
    StringRef parameter = name;
    if (parameter.consume_back(suffix) && named.contains(parameter))
      continue;
    const Tensor *average = named.lookup((name + suffix).str());
    taken.push_back({name, average ? *average : tensor});
  }
  return taken;
}

namespace {
/// The element kind and sizes of a state.
struct StateType {
  ElementKind kind;
  SmallVector<int64_t> sizes;
};
using StateTypes = llvm::StringMap<StateType>;
} // namespace

/// The initializers that have the names of states.
static llvm::Expected<std::vector<InitializerOp>>
findTrained(Model &model, const StateTypes &states) {
  std::vector<InitializerOp> found;
  GraphOp graph = getMainGraph(model.getModule());
  for (auto initializer : graph.getBody().getOps<InitializerOp>()) {
    auto state = states.find(initializer.getName());
    if (state == states.end())
      continue;
    const auto &[kind, sizes] = state->second;
    auto type = dyn_cast<RankedTensorType>(initializer.getResult().getType());
    if (!type || !initializer.getValueAttr() ||
        getElementKind(type.getElementType()) != kind ||
        type.getShape() != ArrayRef<int64_t>(sizes) ||
        kind == ElementKind::Bool)
      return llvm::createStringError(
          model.getName() + ": initializer '" + initializer.getName() +
          "' is not of the trained type " + describeType(kind, sizes));
    found.push_back(initializer);
  }
  if (found.empty())
    return llvm::createStringError(model.getName() +
                                   ": no initializer has the name of a "
                                   "trained parameter");
  return found;
}

llvm::Error setInitializers(Model &model, ArrayRef<NamedTensor> tensors) {
  llvm::StringMap<const Tensor *> named;
  StateTypes types;
  for (const auto &[name, tensor] : tensors) {
    named[name] = &tensor;
    types[name] = {tensor.getKind(), llvm::to_vector(tensor.getSizes())};
  }
  auto initializers = findTrained(model, types);
  if (!initializers)
    return initializers.takeError();
  for (InitializerOp initializer : *initializers)
    initializer.setValueAttr(
        makeValue(cast<RankedTensorType>(initializer.getResult().getType()),
                  *named.lookup(initializer.getName()), initializer.getName()));
  return llvm::Error::success();
}

llvm::Error checkTrained(Model *model, const TrainingStep &step,
                         StringRef path) {
  std::vector<ModelValue> states = step.getStates();
  if (!model) {
    if (llvm::Error failed = checkDataFileName(path))
      return failed;
    if (llvm::sys::path::extension(path) == ".npy" && states.size() > 1)
      return llvm::createStringError("'" + path +
                                     "': an .npy file holds one "
                                     "tensor, the step has " +
                                     Twine(states.size()) + " states");
    return AtomicFile::check(path);
  }
  StateTypes types;
  for (const ModelValue &state : states)
    types[state.name] = {state.kind, llvm::to_vector(state.sizes)};
  if (!types.empty())
    if (auto found = findTrained(*model, types); !found)
      return found.takeError();
  if (llvm::Error failed = model->checkONNX(path))
    return failed;
  return AtomicFile::check(path);
}

llvm::Error writeTrained(Model *model, ArrayRef<NamedTensor> states,
                         StringRef path) {
  if (!model)
    return writeDataFile(path, states);
  if (llvm::Error failed = setInitializers(*model, states))
    return failed;
  return model->writeONNX(path);
}

} // namespace mp
