//===- TrainedModel.cpp - Trained parameters in a model -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/TrainedModel.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The elements as import would have them: small ones are uniqued.
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
  // As mp-opt --average names them.
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

llvm::Error setInitializers(Model &model, ArrayRef<NamedTensor> tensors) {
  llvm::StringMap<const Tensor *> named;
  for (const auto &[name, tensor] : tensors)
    named[name] = &tensor;
  bool hasAny = false;
  GraphOp graph = getMainGraph(model.getModule());
  for (auto initializer : graph.getBody().getOps<InitializerOp>()) {
    const Tensor *tensor = named.lookup(initializer.getName());
    if (!tensor)
      continue;
    auto type = dyn_cast<RankedTensorType>(initializer.getResult().getType());
    if (!type || !initializer.getValueAttr() ||
        getElementKind(type.getElementType()) != tensor->getKind() ||
        type.getShape() != tensor->getSizes() ||
        tensor->getKind() == ElementKind::Bool)
      return llvm::createStringError(
          model.getName() + ": initializer '" + initializer.getName() +
          "' is not of the trained type " +
          describeType(tensor->getKind(), tensor->getSizes()));
    initializer.setValueAttr(makeValue(type, *tensor, initializer.getName()));
    hasAny = true;
  }
  if (!hasAny)
    return llvm::createStringError(model.getName() +
                                   ": no initializer has the name of a "
                                   "trained parameter");
  return llvm::Error::success();
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
