//===- NarrowIntegers.cpp - Integers that share bytes ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements of 4 and 2 bits share bytes, with the first one in the lowest bits.
// MLIR has no such storage: import leaves them in the fields of their
// TensorProto, and code reads one byte per element.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Target/ONNX/ConstantData.h"

#include "Conversion.h"
#include "ProtoAttr.h"

#include "onnx/onnx_pb.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace mp {

using TensorProto = ::onnx::TensorProto;

/// The bits of an element; 0 for types that do not share bytes.
static unsigned getNarrowWidth(int32_t type) {
  switch (type) {
  case TensorProto::INT4:
  case TensorProto::UINT4:
    return 4;
  case TensorProto::INT2:
  case TensorProto::UINT2:
    return 2;
  default:
    return 0;
  }
}

static void unpack(StringRef bytes, unsigned width, bool isUnsigned,
                   MutableArrayRef<char> elements) {
  unsigned perByte = 8 / width, rest = 8 - width;
  for (size_t index = 0; index < elements.size(); ++index) {
    unsigned shift = index % perByte * width;
    uint8_t high = uint8_t(bytes[index / perByte]) >> shift << rest;
    elements[index] = isUnsigned ? high >> rest : int8_t(high) >> rest;
  }
}

/// The bytes of data that are stored in the model.
static std::string getPacked(const TensorProto &tensor) {
  if (tensor.has_raw_data())
    return tensor.raw_data();
  std::string bytes;
  for (int32_t byte : tensor.int32_data())
    bytes.push_back(static_cast<char>(byte));
  return bytes;
}

FailureOr<Tensor> unpackNarrowTensor(DictionaryAttr fields,
                                     EmitErrorFn emitError) {
  auto kind = fields ? fields.getAs<IntegerAttr>("data_type") : IntegerAttr();
  unsigned width = kind ? getNarrowWidth(kind.getInt()) : 0;
  if (!width)
    return Tensor();
  TensorProto tensor;
  if (failed(attrToProto(fields, tensor, emitError)))
    return failure();
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return emitError() << "integers of " << width
                       << " bits in another file cannot be compiled: expected "
                          "them in the model";
  uint64_t count = 1;
  for (int64_t extent : tensor.dims())
    count *= extent;
  std::string packed = getPacked(tensor);
  uint64_t expected = llvm::divideCeil(count * width, 8);
  if (packed.size() != expected)
    return emitError() << "expected " << expected << " bytes of data for "
                       << count << " integers of " << width << " bits, found "
                       << packed.size();
  bool isUnsigned = kind.getInt() == TensorProto::UINT4 ||
                    kind.getInt() == TensorProto::UINT2;
  SmallVector<int64_t> sizes(tensor.dims().begin(), tensor.dims().end());
  llvm::Expected<Tensor> result = Tensor::create(
      isUnsigned ? ElementKind::UInt8 : ElementKind::Int8, sizes);
  if (!result)
    return emitError() << llvm::toString(result.takeError());
  unpack(packed, width, isUnsigned, result->get<char>());
  return *result;
}

FailureOr<TypedAttr> unpackNarrowIntegers(DictionaryAttr fields,
                                          EmitErrorFn emitError) {
  FailureOr<Tensor> tensor = unpackNarrowTensor(fields, emitError);
  if (failed(tensor))
    return failure();
  if (tensor->getKind() == ElementKind::Undefined)
    return TypedAttr();
  auto element = IntegerType::get(fields.getContext(), 8,
                                  tensor->getKind() == ElementKind::UInt8
                                      ? IntegerType::Unsigned
                                      : IntegerType::Signless);
  auto type = RankedTensorType::get(tensor->getSizes(), element);
  ArrayRef<char> elements = tensor->get<char>();
  // Big elements attributes are hashed by the context, but resources are not.
  constexpr size_t maxInline = 1024;
  if (elements.size() <= maxInline)
    return TypedAttr(DenseElementsAttr::getFromRawBuffer(type, elements));
  return TypedAttr(DenseResourceElementsAttr::get(
      type, "unpacked",
      HeapAsmResourceBlob::allocateAndCopyWithAlign(elements, /*align=*/64,
                                                    /*dataIsMutable=*/false)));
}

} // namespace mp
