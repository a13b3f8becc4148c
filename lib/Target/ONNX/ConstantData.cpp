//===- ConstantData.cpp - Constants of a model as tensors -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Target/ONNX/ConstantData.h"

#include "Conversion.h"

using namespace mlir;

namespace mp {

FailureOr<Tensor> getConstantData(TypedAttr value, EmitErrorFn emitError) {
  FailureOr<TensorData> data = getTensorData(value, emitError);
  if (failed(data))
    return failure();
  ArrayRef<int64_t> sizes = cast<ShapedType>(value.getType()).getShape();
  bool isPlain = data->from == data->to &&
                 data->through == ElementKind::Undefined &&
                 !std::isfinite(data->clamp);
  unsigned width = getElementBytes(data->to);
  auto address = reinterpret_cast<uintptr_t>(data->bytes.data());
  if (isPlain && width && address % width == 0)
    return Tensor(data->to, sizes, const_cast<char *>(data->bytes.data()),
                  std::const_pointer_cast<void>(data->owner));
  llvm::Expected<Tensor> tensor = Tensor::create(data->to, sizes);
  if (!tensor)
    return emitError() << llvm::toString(tensor.takeError());
  data->read(0,
             {static_cast<char *>(tensor->getData()), tensor->getNumBytes()});
  return *tensor;
}

} // namespace mp
