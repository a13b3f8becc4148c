//===- WireFormat.cpp - Big tensors in and out of protobuf data -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireFormat.h"

#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "onnx/onnx_pb.h"

#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "llvm/Support/LEB128.h"

using namespace llvm;
namespace pb = google::protobuf;

namespace mp {

/// A field of TensorProto with a number far from those used by ONNX.
static constexpr int tokenField = 0x1a2b3c4;
/// The nesting that the parser accepts; deeper messages are left to it.
static constexpr int maxMessageDepth = 100;

namespace {

/// One field of a message in wire format.
struct WireField {
  uint32_t number;
  uint32_t wireType;
  /// The bytes from the tag to the end of the value.
  StringRef whole;
  /// The content, if length-delimited.
  StringRef content;
  /// The value, if a varint.
  uint64_t value = 0;
};

class WireReader {
public:
  explicit WireReader(StringRef bytes) : rest(bytes) {}

  bool done() const { return rest.empty(); }
  /// The next field; absent if the bytes are malformed.
  std::optional<WireField> next();

private:
  std::optional<uint64_t> readVarint();
  StringRef rest;
};

} // namespace

std::optional<uint64_t> WireReader::readVarint() {
  uint64_t value = 0;
  for (unsigned i = 0; i < std::min<size_t>(rest.size(), 10); ++i) {
    auto byte = uint8_t(rest[i]);
    value |= uint64_t(byte & 0x7f) << (7 * i);
    if (!(byte & 0x80)) {
      rest = rest.drop_front(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<WireField> WireReader::next() {
  StringRef start = rest;
  std::optional<uint64_t> tag = readVarint();
  if (!tag || *tag > UINT32_MAX)
    return std::nullopt;
  WireField field;
  field.number = uint32_t(*tag >> 3);
  field.wireType = uint32_t(*tag & 7);
  uint64_t skip = 0;
  switch (field.wireType) {
  case 0: {
    std::optional<uint64_t> value = readVarint();
    if (!value)
      return std::nullopt;
    field.value = *value;
    break;
  }
  case 1:
    skip = 8;
    break;
  case 5:
    skip = 4;
    break;
  case 2: {
    std::optional<uint64_t> length = readVarint();
    if (!length || *length > rest.size())
      return std::nullopt;
    field.content = rest.take_front(*length);
    skip = *length;
    break;
  }
  default:
    return std::nullopt;
  }
  if (skip > rest.size())
    return std::nullopt;
  rest = rest.drop_front(skip);
  field.whole = start.take_front(start.size() - rest.size());
  return field;
}

static void appendVarint(std::string &to, uint64_t value) {
  uint8_t buffer[10];
  unsigned size = encodeULEB128(value, buffer);
  to.append(reinterpret_cast<char *>(buffer), size);
}

static void appendHeader(std::string &to, uint32_t number, uint64_t length) {
  appendVarint(to, uint64_t(number) << 3 | 2);
  appendVarint(to, length);
}

/// The message type of a length-delimited field, if a tensor can be in it.
static const pb::Descriptor *getNested(const pb::Descriptor *message,
                                       const WireField &field) {
  if (field.wireType != 2)
    return nullptr;
  const pb::FieldDescriptor *known =
      message->FindFieldByNumber(int(field.number));
  return known && known->type() == pb::FieldDescriptor::TYPE_MESSAGE
             ? known->message_type()
             : nullptr;
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

static void findLocation(StringRef entry, function_ref<void(StringRef)> found) {
  StringRef key, value;
  WireReader reader(entry);
  while (std::optional<WireField> field = reader.next()) {
    if (field->number == ::onnx::StringStringEntryProto::kKeyFieldNumber)
      key = field->content;
    if (field->number == ::onnx::StringStringEntryProto::kValueFieldNumber)
      value = field->content;
  }
  if (key == "location")
    found(value);
}

static void findLocations(StringRef bytes, const pb::Descriptor *type,
                          function_ref<void(StringRef)> found, int depth) {
  WireReader reader(bytes);
  bool isTensor = type == ::onnx::TensorProto::descriptor();
  while (std::optional<WireField> field = reader.next()) {
    const pb::Descriptor *nested = getNested(type, *field);
    if (isTensor &&
        field->number == ::onnx::TensorProto::kExternalDataFieldNumber)
      findLocation(field->content, found);
    else if (nested && depth < maxMessageDepth)
      findLocations(field->content, nested, found, depth + 1);
  }
}

void findExternalLocations(StringRef model,
                           function_ref<void(StringRef)> found) {
  findLocations(model, ::onnx::ModelProto::descriptor(), found, 0);
}

//===----------------------------------------------------------------------===//
// Stripping
//===----------------------------------------------------------------------===//

namespace {

class Stripper {
public:
  Stripper(StrippedModel &result, uint64_t threshold)
      : result(result), threshold(threshold) {}

  /// Appends `bytes`, a message of type `type`, without big tensor data.
  void strip(StringRef bytes, const pb::Descriptor *type, std::string &to,
             int depth);

private:
  bool stripTensor(StringRef bytes, std::string &to);

  StrippedModel &result;
  uint64_t threshold;
};

} // namespace

/// True for element types whose data the dialect stores as raw bytes.
static bool hasPlainElements(uint64_t dataType) {
  switch (dataType) {
  case ::onnx::TensorProto::FLOAT:
  case ::onnx::TensorProto::UINT8:
  case ::onnx::TensorProto::INT8:
  case ::onnx::TensorProto::UINT16:
  case ::onnx::TensorProto::INT16:
  case ::onnx::TensorProto::INT32:
  case ::onnx::TensorProto::INT64:
  case ::onnx::TensorProto::FLOAT16:
  case ::onnx::TensorProto::DOUBLE:
  case ::onnx::TensorProto::UINT32:
  case ::onnx::TensorProto::UINT64:
  case ::onnx::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}

bool Stripper::stripTensor(StringRef bytes, std::string &to) {
  uint64_t dataType = 0;
  StringRef raw;
  int rawFields = 0;
  std::string rest;
  WireReader reader(bytes);
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    if (!field || field->number == uint32_t(tokenField))
      return false;
    if (field->number == ::onnx::TensorProto::kDataTypeFieldNumber)
      dataType = field->value;
    if (field->number == ::onnx::TensorProto::kRawDataFieldNumber &&
        field->wireType == 2) {
      raw = field->content;
      ++rawFields;
      appendHeader(rest, field->number, 0);
      continue;
    }
    rest += field->whole;
  }
  if (rawFields != 1 || raw.size() < threshold || !hasPlainElements(dataType))
    return false;
  appendVarint(rest, uint64_t(tokenField) << 3);
  appendVarint(rest, result.pieces.size());
  result.pieces.push_back(raw);
  to += rest;
  return true;
}

void Stripper::strip(StringRef bytes, const pb::Descriptor *type,
                     std::string &to, int depth) {
  if (bytes.size() < threshold || depth > maxMessageDepth) {
    to += bytes;
    return;
  }
  if (type == ::onnx::TensorProto::descriptor()) {
    if (!stripTensor(bytes, to))
      to += bytes;
    return;
  }
  WireReader reader(bytes);
  StringRef remaining = bytes;
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    if (!field) {
      to += remaining;
      return;
    }
    remaining = remaining.drop_front(field->whole.size());
    const pb::Descriptor *nested = getNested(type, *field);
    if (!nested || field->content.size() < threshold) {
      to += field->whole;
      continue;
    }
    std::string inner;
    strip(field->content, nested, inner, depth + 1);
    appendHeader(to, field->number, inner.size());
    to += inner;
  }
}

StrippedModel stripTensors(StringRef model, uint64_t threshold) {
  StrippedModel result;
  Stripper(result, threshold)
      .strip(model, ::onnx::ModelProto::descriptor(), result.bytes, 0);
  return result;
}

//===----------------------------------------------------------------------===//
// Blanking
//===----------------------------------------------------------------------===//

namespace {

/// Writes a message, with zeros for big fields that may be a tensor's data.
class Blanker {
public:
  explicit Blanker(raw_fd_ostream &os) : os(os) {}

  void write(StringRef bytes, const pb::Descriptor *type, int depth);

private:
  void writeZeros(size_t size);

  static constexpr size_t threshold = 4096;
  raw_fd_ostream &os;
};

} // namespace

void Blanker::writeZeros(size_t size) {
  if (!os.supportsSeeking()) {
    os.write_zeros(unsigned(size));
    return;
  }
  // Skipped ranges of a file take no space. Writing the last byte makes the
  // range part of the file.
  os.seek(os.tell() + size - 1);
  os << '\0';
}

void Blanker::write(StringRef bytes, const pb::Descriptor *type, int depth) {
  WireReader reader(bytes);
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    // Bytes that cannot be parsed, and unknown fields, may be data.
    if (!field)
      break;
    bytes = bytes.drop_front(field->whole.size());
    StringRef content = field->content;
    if (field->wireType != 2 || content.size() < threshold) {
      os << field->whole;
      continue;
    }
    os << field->whole.drop_back(content.size());
    const pb::Descriptor *nested = getNested(type, *field);
    const pb::FieldDescriptor *known =
        type->FindFieldByNumber(int(field->number));
    if (nested && depth < maxMessageDepth)
      write(content, nested, depth + 1);
    else if (type == ::onnx::TensorProto::descriptor() && known &&
             known->is_packed() &&
             known->type() != pb::FieldDescriptor::TYPE_FLOAT &&
             known->type() != pb::FieldDescriptor::TYPE_DOUBLE)
      // Keep the number of varints: the last byte of each has no continuation
      // bit.
      for (char c : content)
        os << char(c & 0x80);
    else
      writeZeros(content.size());
  }
  if (!bytes.empty())
    writeZeros(bytes.size());
}

void writeWithoutData(StringRef model, raw_fd_ostream &os) {
  Blanker(os).write(model, ::onnx::ModelProto::descriptor(), 0);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

std::optional<uint64_t> getToken(const ::onnx::TensorProto &tensor) {
  const pb::UnknownFieldSet &unknown =
      tensor.GetReflection()->GetUnknownFields(tensor);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == tokenField &&
        unknown.field(i).type() == pb::UnknownField::TYPE_VARINT)
      return unknown.field(i).varint();
  return std::nullopt;
}

void setToken(::onnx::TensorProto &tensor, uint64_t index) {
  tensor.set_raw_data("");
  tensor.GetReflection()->MutableUnknownFields(&tensor)->AddVarint(tokenField,
                                                                   index);
}

void clearToken(::onnx::TensorProto &tensor) {
  tensor.GetReflection()->MutableUnknownFields(&tensor)->DeleteByNumber(
      tokenField);
}

//===----------------------------------------------------------------------===//
// Expanding
//===----------------------------------------------------------------------===//

namespace {

/// Walks a stripped message twice in the same order: once for the sizes of
/// the nested messages, once to write.
class Expander {
public:
  explicit Expander(function_ref<uint64_t(uint64_t)> pieceSize)
      : pieceSize(pieceSize) {}

  uint64_t measure(StringRef bytes, const pb::Descriptor *type);
  void write(StringRef bytes, const pb::Descriptor *type,
             function_ref<void(StringRef)> emit,
             function_ref<void(uint64_t)> emitPiece);

private:
  function_ref<uint64_t(uint64_t)> pieceSize;
  /// Sizes of nested messages in the order of the walk.
  std::vector<uint64_t> sizes;
  size_t nextSize = 0;
};

} // namespace

/// True for messages that may contain tensors; others are copied unchanged.
static bool mayHoldTensors(const pb::Descriptor *type) {
  return type == ::onnx::ModelProto::descriptor() ||
         type == ::onnx::GraphProto::descriptor() ||
         type == ::onnx::NodeProto::descriptor() ||
         type == ::onnx::AttributeProto::descriptor() ||
         type == ::onnx::TensorProto::descriptor() ||
         type == ::onnx::FunctionProto::descriptor() ||
         type == ::onnx::TrainingInfoProto::descriptor();
}

static std::optional<uint64_t> findToken(StringRef bytes,
                                         const pb::Descriptor *type) {
  if (type != ::onnx::TensorProto::descriptor())
    return std::nullopt;
  WireReader reader(bytes);
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    if (!field)
      break;
    if (field->number == uint32_t(tokenField) && field->wireType == 0)
      return field->value;
  }
  return std::nullopt;
}

static bool isDataSlot(const WireField &field, bool hasToken) {
  return hasToken && field.number == ::onnx::TensorProto::kRawDataFieldNumber;
}

uint64_t Expander::measure(StringRef bytes, const pb::Descriptor *type) {
  std::optional<uint64_t> token = findToken(bytes, type);
  uint64_t total = 0;
  WireReader reader(bytes);
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    if (!field)
      break;
    if (isDataSlot(*field, token.has_value())) {
      uint64_t size = pieceSize(*token);
      total += 1 + getULEB128Size(size) + size;
      continue;
    }
    if (token && field->number == uint32_t(tokenField))
      continue;
    const pb::Descriptor *nested = getNested(type, *field);
    if (!nested || !mayHoldTensors(nested)) {
      total += field->whole.size();
      continue;
    }
    size_t slot = sizes.size();
    sizes.push_back(0);
    uint64_t inner = measure(field->content, nested);
    sizes[slot] = inner;
    total += getULEB128Size(uint64_t(field->number) << 3) +
             getULEB128Size(inner) + inner;
  }
  return total;
}

void Expander::write(StringRef bytes, const pb::Descriptor *type,
                     function_ref<void(StringRef)> emit,
                     function_ref<void(uint64_t)> emitPiece) {
  std::optional<uint64_t> token = findToken(bytes, type);
  WireReader reader(bytes);
  std::string header;
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    if (!field)
      break;
    header.clear();
    if (isDataSlot(*field, token.has_value())) {
      appendHeader(header, field->number, pieceSize(*token));
      emit(header);
      emitPiece(*token);
      continue;
    }
    if (token && field->number == uint32_t(tokenField))
      continue;
    const pb::Descriptor *nested = getNested(type, *field);
    if (!nested || !mayHoldTensors(nested)) {
      emit(field->whole);
      continue;
    }
    appendHeader(header, field->number, sizes[nextSize++]);
    emit(header);
    write(field->content, nested, emit, emitPiece);
  }
}

void expandTensors(StringRef stripped,
                   function_ref<uint64_t(uint64_t)> pieceSize,
                   function_ref<void(StringRef)> emit,
                   function_ref<void(uint64_t)> emitPiece) {
  Expander expander(pieceSize);
  expander.measure(stripped, ::onnx::ModelProto::descriptor());
  expander.write(stripped, ::onnx::ModelProto::descriptor(), emit, emitPiece);
}

std::string addGraph(StringRef model, StringRef nodes, StringRef rest) {
  constexpr uint32_t graphField = ::onnx::ModelProto::kGraphFieldNumber;
  size_t place = 0;
  WireReader reader(model);
  while (!reader.done()) {
    std::optional<WireField> field = reader.next();
    if (!field || field->number > graphField)
      break;
    place = size_t(field->whole.end() - model.begin());
  }
  std::string bytes;
  bytes.reserve(model.size() + nodes.size() + rest.size() + 16);
  bytes += model.take_front(place);
  appendHeader(bytes, graphField, nodes.size() + rest.size());
  bytes += nodes;
  bytes += rest;
  bytes += model.drop_front(place);
  return bytes;
}

} // namespace mp
