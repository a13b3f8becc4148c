//===- ProtoAttr.cpp - Protobuf messages as attributes --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtoAttr.h"

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/reflection.h"
#include "google/protobuf/unknown_field_set.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

namespace mp {

/// Serialized fields that the schema of the message does not know.
static constexpr StringLiteral unknownKey = "unknown_fields";

//===----------------------------------------------------------------------===//
// Messages to attributes
//===----------------------------------------------------------------------===//

namespace {

struct Encoder {
  Builder builder;
  const pb::Message &message;
  const pb::Reflection &reflection = *message.GetReflection();

  Attribute encode(const Field &field) {
    return field.is_repeated() ? encodeRepeated(field) : encodeOne(field, -1);
  }

private:
  int64_t getInteger(const Field &field, int index);
  Attribute encodeOne(const Field &field, int index);
  Attribute encodeRepeated(const Field &field);
};

} // namespace

int64_t Encoder::getInteger(const Field &field, int index) {
  const pb::Reflection &r = reflection;
  switch (field.cpp_type()) {
  case Field::CPPTYPE_INT32:
    return index < 0 ? r.GetInt32(message, &field)
                     : r.GetRepeatedInt32(message, &field, index);
  case Field::CPPTYPE_INT64:
    return index < 0 ? r.GetInt64(message, &field)
                     : r.GetRepeatedInt64(message, &field, index);
  case Field::CPPTYPE_UINT32:
    return index < 0 ? r.GetUInt32(message, &field)
                     : r.GetRepeatedUInt32(message, &field, index);
  case Field::CPPTYPE_UINT64:
    return int64_t(index < 0 ? r.GetUInt64(message, &field)
                             : r.GetRepeatedUInt64(message, &field, index));
  case Field::CPPTYPE_BOOL:
    return index < 0 ? r.GetBool(message, &field)
                     : r.GetRepeatedBool(message, &field, index);
  default:
    return index < 0 ? r.GetEnumValue(message, &field)
                     : r.GetRepeatedEnumValue(message, &field, index);
  }
}

Attribute Encoder::encodeOne(const Field &field, int index) {
  const pb::Reflection &r = reflection;
  switch (field.cpp_type()) {
  case Field::CPPTYPE_MESSAGE:
    return protoToAttr(builder.getContext(),
                       index < 0
                           ? r.GetMessage(message, &field)
                           : r.GetRepeatedMessage(message, &field, index));
  case Field::CPPTYPE_STRING:
    return builder.getStringAttr(
        index < 0 ? r.GetString(message, &field)
                  : r.GetRepeatedString(message, &field, index));
  case Field::CPPTYPE_FLOAT:
    return builder.getF32FloatAttr(r.GetFloat(message, &field));
  case Field::CPPTYPE_DOUBLE:
    return builder.getF64FloatAttr(r.GetDouble(message, &field));
  default:
    return builder.getI64IntegerAttr(getInteger(field, index));
  }
}

Attribute Encoder::encodeRepeated(const Field &field) {
  int size = reflection.FieldSize(message, &field);
  switch (field.cpp_type()) {
  case Field::CPPTYPE_MESSAGE:
  case Field::CPPTYPE_STRING: {
    SmallVector<Attribute> items;
    for (int i = 0; i < size; ++i)
      items.push_back(encodeOne(field, i));
    return builder.getArrayAttr(items);
  }
  case Field::CPPTYPE_FLOAT: {
    SmallVector<float> values;
    for (float item : reflection.GetRepeatedFieldRef<float>(message, &field))
      values.push_back(item);
    return builder.getDenseF32ArrayAttr(values);
  }
  case Field::CPPTYPE_DOUBLE: {
    SmallVector<double> values;
    for (double item : reflection.GetRepeatedFieldRef<double>(message, &field))
      values.push_back(item);
    return builder.getDenseF64ArrayAttr(values);
  }
  default: {
    SmallVector<int64_t> values;
    for (int i = 0; i < size; ++i)
      values.push_back(getInteger(field, i));
    return builder.getDenseI64ArrayAttr(values);
  }
  }
}

DictionaryAttr protoToAttr(MLIRContext *context, const pb::Message &message,
                           ArrayRef<int> skip) {
  Encoder encoder{Builder(context), message};
  std::vector<const Field *> fields;
  encoder.reflection.ListFields(message, &fields);
  NamedAttrList attributes;
  for (const Field *field : fields)
    if (!llvm::is_contained(skip, field->number()))
      attributes.append(field->name(), encoder.encode(*field));
  const pb::UnknownFieldSet &unknown =
      encoder.reflection.GetUnknownFields(message);
  if (!unknown.empty()) {
    std::string bytes;
    unknown.SerializeToString(&bytes);
    attributes.append(unknownKey, encoder.builder.getStringAttr(bytes));
  }
  return attributes.getDictionary(context);
}

//===----------------------------------------------------------------------===//
// Attributes to messages
//===----------------------------------------------------------------------===//

namespace {

struct Decoder {
  pb::Message &message;
  function_ref<InFlightDiagnostic()> emitError;
  const pb::Reflection &reflection = *message.GetReflection();

  LogicalResult decode(const Field &field, Attribute value) {
    if (!field.is_repeated())
      return decodeOne(field, value);
    if (auto array = dyn_cast<ArrayAttr>(value)) {
      for (Attribute item : array)
        if (failed(decodeOne(field, item)))
          return failure();
      return success();
    }
    return decodeDense(field, value);
  }

private:
  LogicalResult wrong(const Field &field, Attribute value) {
    return emitError() << "field '" << field.name() << "' of "
                       << message.GetDescriptor()->name() << " cannot be "
                       << value;
  }
  LogicalResult decodeOne(const Field &field, Attribute value);
  LogicalResult decodeDense(const Field &field, Attribute value);
  LogicalResult setInteger(const Field &field, int64_t value);
};

} // namespace

LogicalResult Decoder::setInteger(const Field &field, int64_t value) {
  const pb::Reflection &r = reflection;
  bool add = field.is_repeated();
  switch (field.cpp_type()) {
  case Field::CPPTYPE_INT32:
    add ? r.AddInt32(&message, &field, int32_t(value))
        : r.SetInt32(&message, &field, int32_t(value));
    return success();
  case Field::CPPTYPE_INT64:
    add ? r.AddInt64(&message, &field, value)
        : r.SetInt64(&message, &field, value);
    return success();
  case Field::CPPTYPE_UINT32:
    add ? r.AddUInt32(&message, &field, uint32_t(value))
        : r.SetUInt32(&message, &field, uint32_t(value));
    return success();
  case Field::CPPTYPE_UINT64:
    add ? r.AddUInt64(&message, &field, uint64_t(value))
        : r.SetUInt64(&message, &field, uint64_t(value));
    return success();
  case Field::CPPTYPE_BOOL:
    add ? r.AddBool(&message, &field, value != 0)
        : r.SetBool(&message, &field, value != 0);
    return success();
  case Field::CPPTYPE_ENUM:
    add ? r.AddEnumValue(&message, &field, int(value))
        : r.SetEnumValue(&message, &field, int(value));
    return success();
  default:
    return failure();
  }
}

LogicalResult Decoder::decodeOne(const Field &field, Attribute value) {
  const pb::Reflection &r = reflection;
  bool add = field.is_repeated();
  if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
    auto fields = dyn_cast<DictionaryAttr>(value);
    if (!fields)
      return wrong(field, value);
    return attrToProto(fields,
                       add ? *r.AddMessage(&message, &field)
                           : *r.MutableMessage(&message, &field),
                       emitError);
  }
  if (auto text = dyn_cast<StringAttr>(value);
      text && field.cpp_type() == Field::CPPTYPE_STRING) {
    add ? r.AddString(&message, &field, text.str())
        : r.SetString(&message, &field, text.str());
    return success();
  }
  if (auto number = dyn_cast<FloatAttr>(value)) {
    if (field.cpp_type() == Field::CPPTYPE_FLOAT && number.getType().isF32())
      r.SetFloat(&message, &field, number.getValue().convertToFloat());
    else if (field.cpp_type() == Field::CPPTYPE_DOUBLE &&
             number.getType().isF64())
      r.SetDouble(&message, &field, number.getValue().convertToDouble());
    else
      return wrong(field, value);
    return success();
  }
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || !integer.getType().isSignlessInteger(64) ||
      failed(setInteger(field, integer.getInt())))
    return wrong(field, value);
  return success();
}

LogicalResult Decoder::decodeDense(const Field &field, Attribute value) {
  if (auto floats = dyn_cast<DenseF32ArrayAttr>(value);
      floats && field.cpp_type() == Field::CPPTYPE_FLOAT) {
    for (float item : floats.asArrayRef())
      reflection.AddFloat(&message, &field, item);
    return success();
  }
  if (auto doubles = dyn_cast<DenseF64ArrayAttr>(value);
      doubles && field.cpp_type() == Field::CPPTYPE_DOUBLE) {
    for (double item : doubles.asArrayRef())
      reflection.AddDouble(&message, &field, item);
    return success();
  }
  auto integers = dyn_cast<DenseI64ArrayAttr>(value);
  if (!integers)
    return wrong(field, value);
  for (int64_t item : integers.asArrayRef())
    if (failed(setInteger(field, item)))
      return wrong(field, value);
  return success();
}

LogicalResult attrToProto(DictionaryAttr fields, pb::Message &message,
                          function_ref<InFlightDiagnostic()> emitError) {
  Decoder decoder{message, emitError};
  const pb::Descriptor *descriptor = message.GetDescriptor();
  for (NamedAttribute entry : fields) {
    if (entry.getName() == unknownKey) {
      auto bytes = dyn_cast<StringAttr>(entry.getValue());
      if (!bytes ||
          !decoder.reflection.MutableUnknownFields(&message)->ParseFromArray(
              bytes.data(), int(bytes.size())))
        return emitError() << "'" << unknownKey << "' is not protobuf data";
      continue;
    }
    const Field *field = descriptor->FindFieldByName(entry.getName().str());
    if (!field)
      return emitError() << descriptor->name() << " has no field '"
                         << entry.getName().getValue() << "'";
    if (failed(decoder.decode(*field, entry.getValue())))
      return failure();
  }
  return success();
}

} // namespace mp
