//===- WireWriter.h - Fields of ONNX messages -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes protobuf's wire format, so that the provider needs no protobuf: two
// copies of it in one process can collide.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_WIREWRITER_H
#define MPOPT_LIB_PROVIDER_WIREWRITER_H

#include "Api.h"

#include <string_view>

namespace mp::ort {

/// Numbers of element types in ONNX.
enum Element : int32_t {
  elementFloat = 1,
  elementString = 8,
  elementFloat16 = 10,
  elementDouble = 11,
  elementComplex64 = 14,
  elementComplex128 = 15,
  elementBFloat16 = 16
};

/// Numbers of fields in ONNX's messages.
namespace onnxfield {
enum : uint32_t {
  modelIRVersion = 1,
  modelGraph = 7,
  modelOpset = 8,
  opsetDomain = 1,
  opsetVersion = 2,
  graphNode = 1,
  graphName = 2,
  graphInitializer = 5,
  graphInput = 11,
  graphOutput = 12,
  graphValue = 13,
  nodeInput = 1,
  nodeOutput = 2,
  nodeName = 3,
  nodeOp = 4,
  nodeAttribute = 5,
  nodeDomain = 7,
  attributeName = 1,
  attributeF = 2,
  attributeI = 3,
  attributeS = 4,
  attributeT = 5,
  attributeF32List = 7,
  attributeI64List = 8,
  attributeTextList = 9,
  attributeType = 20,
  tensorDim = 1,
  tensorElement = 2,
  tensorName = 8,
  tensorRaw = 9,
  valueName = 1,
  valueType = 2,
  typeTensor = 1,
  typeElement = 1,
  typeShape = 2,
  shapeDim = 1,
  dimValue = 1,
  dimName = 2
};
} // namespace onnxfield

/// Appends fields of a message to a text.
class WireWriter {
public:
  explicit WireWriter(std::string &out) : out(out) {}

  void addNumber(uint32_t field, uint64_t value);
  void addBytes(uint32_t field, std::string_view bytes);
  /// The begin of a field with `size` bytes, which the caller appends.
  void beginBytes(uint32_t field, size_t size);

  // All fields of an attribute.
  void addInt(std::string_view name, int64_t value);
  void addInts(std::string_view name, const std::vector<int64_t> &values);
  void addFloat(std::string_view name, float value);
  void addFloats(std::string_view name, const std::vector<float> &values);
  void addString(std::string_view name, std::string_view value);
  void addStrings(std::string_view name,
                  const std::vector<std::string> &values);
  /// Throws if the elements are not numbers.
  void addTensor(std::string_view name, const Api &api, const Value *value);

private:
  void addVarint(uint64_t value);
  void addFloat32(uint32_t field, float value);
  void beginAttribute(std::string_view name, int type);

  std::string &out;
};

/// The bytes of a varint.
size_t getVarintSize(uint64_t value);

/// A tensor of onnxruntime on its way to a TensorProto.
class TensorFields {
public:
  /// Throws if the elements are not numbers.
  TensorFields(std::string_view name, const Api &api, const Value *value);

  /// The number of bytes of the message.
  size_t getSize() const { return head.size() + bytes; }
  size_t getNumBytes() const { return bytes; }
  void append(std::string &out) const;

private:
  /// All fields before the elements.
  std::string head;
  const char *data = nullptr;
  size_t bytes = 0;
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_WIREWRITER_H
