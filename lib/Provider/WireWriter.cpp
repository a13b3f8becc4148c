//===- WireWriter.cpp - Fields of ONNX messages ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireWriter.h"

#include <cstring>

namespace mp::ort {

/// Forms of fields in the wire format.
enum WireForm : uint32_t { formVarint = 0, formBytes = 2, form32 = 5 };
/// AttributeProto.AttributeType.
enum OnnxAttribute : int {
  onnxFloat = 1,
  onnxInt,
  onnxString,
  onnxTensor,
  onnxFloats = 6,
  onnxInts,
  onnxStrings
};

size_t getVarintSize(uint64_t value) {
  size_t size = 1;
  while (value >>= 7)
    ++size;
  return size;
}

void WireWriter::addVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += char(value | 0x80);
  out += char(value);
}

void WireWriter::addNumber(uint32_t field, uint64_t value) {
  addVarint(field << 3 | formVarint);
  addVarint(value);
}

void WireWriter::beginBytes(uint32_t field, size_t size) {
  addVarint(field << 3 | formBytes);
  addVarint(size);
}

void WireWriter::addBytes(uint32_t field, std::string_view bytes) {
  beginBytes(field, bytes.size());
  out += bytes;
}

void WireWriter::addFloat32(uint32_t field, float value) {
  addVarint(field << 3 | form32);
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

void WireWriter::beginAttribute(std::string_view name, int type) {
  addBytes(onnxfield::attributeName, name);
  addNumber(onnxfield::attributeType, uint64_t(type));
}

void WireWriter::addInt(std::string_view name, int64_t value) {
  beginAttribute(name, onnxInt);
  addNumber(onnxfield::attributeI, uint64_t(value));
}

void WireWriter::addInts(std::string_view name,
                         const std::vector<int64_t> &values) {
  beginAttribute(name, onnxInts);
  for (int64_t value : values)
    addNumber(onnxfield::attributeI64List, uint64_t(value));
}

void WireWriter::addFloat(std::string_view name, float value) {
  beginAttribute(name, onnxFloat);
  addFloat32(onnxfield::attributeF, value);
}

void WireWriter::addFloats(std::string_view name,
                           const std::vector<float> &values) {
  beginAttribute(name, onnxFloats);
  for (float value : values)
    addFloat32(onnxfield::attributeF32List, value);
}

void WireWriter::addString(std::string_view name, std::string_view value) {
  beginAttribute(name, onnxString);
  addBytes(onnxfield::attributeS, value);
}

void WireWriter::addStrings(std::string_view name,
                            const std::vector<std::string> &values) {
  beginAttribute(name, onnxStrings);
  for (const std::string &value : values)
    addBytes(onnxfield::attributeTextList, value);
}

void WireWriter::addTensor(std::string_view name, const Api &api,
                           const Value *value) {
  TensorFields tensor("", api, value);
  beginAttribute(name, onnxTensor);
  beginBytes(onnxfield::attributeT, tensor.getSize());
  tensor.append(out);
}

TensorFields::TensorFields(std::string_view name, const Api &api,
                           const Value *value) {
  TensorView tensor(api, value);
  if (tensor.element == elementString || tensor.element == elementComplex64 ||
      tensor.element == elementComplex128)
    throw std::runtime_error("its elements are not numbers that code is made "
                             "for");
  WireWriter fields(head);
  for (size_t axis = 0; axis < tensor.rank; ++axis)
    fields.addNumber(onnxfield::tensorDim, uint64_t(tensor.sizes[axis]));
  fields.addNumber(onnxfield::tensorElement, uint64_t(tensor.element));
  fields.addBytes(onnxfield::tensorName, name);
  data = static_cast<const char *>(tensor.data);
  bytes = api.get<size_t>(api.GetTensorSizeInBytes, value);
  fields.beginBytes(onnxfield::tensorRaw, bytes);
}

void TensorFields::append(std::string &out) const {
  out += head;
  if (bytes)
    out.append(data, bytes);
}

} // namespace mp::ort
